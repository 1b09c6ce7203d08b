//! Stories that are told once, of two worlds: an embedded Karmada in virtual time, and a real one.
//!
//! A story is a function of a [`World`]. `told!` runs those that it names: `tests/all.rs` as tests on the embedded world,
//! `tests/karmada` as trials on a real one, one after the other. `x in evicting` means that Karmada evicts for taints.

pub mod centralized;
pub mod evicted;
pub mod examples;
pub mod failing;
pub mod full_writes;
pub mod groups;
pub mod leaving;
pub mod meeting;
mod members;
pub mod pods;
pub mod releasing;
pub mod requests;
pub mod rooms;
mod waiting;
pub mod wanted;

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

pub use members::{CORES, Loss, MEMBERS, OTHERS};
use pods::Pods;
use requests::resource;
pub use requests::{apply, kind};
pub use waiting::{in_time, within};
pub use wanted::{deployment, federated, policy, tolerating};

/// Millicores that each pod asks for; the target of the FederatedHPAs is half of it.
pub const REQUEST: u32 = 100;
/// Longest time for what follows from an edit, in seconds, but for what waits on purpose.
pub const SOON: u64 = 120;
/// Longest time until Karmada tells that a member is away or back.
const KNOWN: u64 = 120;

/// A Karmada with three members and two replicas of fhpa.
pub trait World {
    /// Speaks to a member, or to the control plane where that has no name.
    fn client(&self, place: &str) -> Client;

    /// The pods of all members.
    fn pods(&self) -> &Pods;

    /// The ready pods of an app in a member share so much to do, in millicores.
    fn load(&self, member: &str, app: &str, millicores: u32);

    /// Whether pods of an app in a member become ready that are not yet.
    async fn starts(&self, member: &str, app: &str, starts: bool);

    /// So much time goes by as this world affords, in which nothing is to happen.
    async fn rests(&self);

    /// A limit: so many seconds of virtual time, and so many where machines are slow.
    fn limit(&self, embedded: u64, real: u64) -> u64;

    fn now(&self) -> Timestamp;

    /// A member is lost.
    async fn loses(&mut self, member: &str, how: Loss);

    /// A member that was lost in this way is back.
    async fn heals(&mut self, member: &str, how: Loss);

    /// Karmada's controllers run, or are stopped.
    fn manage(&mut self, runs: bool);

    /// Waits for a replica that leads from now on, and names it.
    async fn leader(&self) -> &'static str;

    /// A replica dies at once.
    async fn kill(&mut self, replica: &str);

    /// Starts a replica: `one`, `two`.
    fn run(&mut self, replica: &'static str);

    /// Both replicas begin anew with these arguments.
    async fn restart(&mut self, arguments: &[&str]);

    /// All replicas die.
    async fn kill_all(&mut self) {
        for replica in ["one", "two"] {
            self.kill(replica).await;
        }
    }

    /// Both replicas are started.
    fn run_all(&mut self) {
        for replica in ["one", "two"] {
            self.run(replica);
        }
    }

    /// A member is back, and Karmada knows it.
    async fn returns(&mut self, member: &str, how: Loss) {
        self.heals(member, how).await;
        self.cluster_is(member, "True").await;
    }

    /// A member dies, and Karmada knows it.
    async fn dies(&mut self, member: &str) {
        self.loses(member, Loss::Dies).await;
        self.cluster_is(member, "False").await;
    }

    async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    /// Objects of a namespace, or of the cluster where it has no name.
    fn api(&self, place: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (client, resource) = (self.client(place), resource(&self::kind(kind)));
        match namespace {
            "" => Api::all_with(client, &resource),
            namespace => Api::namespaced_with(client, namespace, &resource),
        }
    }

    /// Applies an object as the one who owns every field of it.
    async fn apply(&self, object: &Value) {
        let kind = kind(object["kind"].as_str().unwrap());
        apply(self.client(""), &resource(&kind), object).await;
    }

    /// Merges into an object of namespace `prod`.
    async fn edit(&self, kind: &str, name: &str, change: Value) {
        self.api("", kind, "prod").patch(name, &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    }

    /// Merges into the spec of a FederatedHPA.
    async fn respec(&self, name: &str, spec: Value) {
        self.edit("FederatedHPA", name, json!({"spec": spec})).await;
    }

    /// Merges into a Cluster.
    async fn edit_cluster(&self, name: &str, change: Value) {
        self.api("", "Cluster", "").patch(name, &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    }

    async fn delete(&self, kind: &str, name: &str) {
        match self.api("", kind, "prod").delete(name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{kind} {name}: {error}"),
        }
    }

    async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.api("", kind, "prod").get_opt(name).await.unwrap().map(|object| serde_json::to_value(object).unwrap())
    }

    async fn hpa(&self, name: &str) -> Option<Value> {
        self.get("FederatedHPA", name).await
    }

    /// The Deployment of the user.
    async fn template(&self, name: &str) -> Value {
        self.get("Deployment", name).await.unwrap()
    }

    async fn binding(&self, name: &str) -> Option<Value> {
        self.get("ResourceBinding", &format!("{name}-deployment")).await
    }

    /// The clusters of the binding with their replicas, by name.
    async fn entries(&self, name: &str) -> Vec<(String, u64)> {
        let binding = self.binding(name).await.unwrap_or_default();
        let entries = binding["spec"]["clusters"].as_array().into_iter().flatten();
        let entry = |one: &Value| (one["name"].as_str().unwrap().to_owned(), one["replicas"].as_u64().unwrap_or(0));
        let mut all: Vec<_> = entries.map(entry).collect();
        all.sort();
        all
    }

    /// The clusters of the binding, by name. Their numbers follow what runs.
    async fn assigned(&self, name: &str) -> Vec<String> {
        self.entries(name).await.into_iter().map(|(cluster, _)| cluster).collect()
    }

    /// How many evictions are under way.
    async fn evictions(&self, name: &str) -> usize {
        let binding = self.binding(name).await.unwrap_or_default();
        binding["spec"]["gracefulEvictionTasks"].as_array().map_or(0, Vec::len)
    }

    /// Whether Karmada's scheduler is suspended.
    async fn suspended(&self, name: &str) -> bool {
        self.binding(name).await.unwrap()["spec"]["suspension"]["scheduling"] == true
    }

    /// Whether members keep their replicas.
    async fn retained(&self, name: &str) -> bool {
        self.template(name).await["metadata"]["labels"]["resourcetemplate.karmada.io/retain-replicas"] == "true"
    }

    /// A condition of the FederatedHPA: `True MemberHPAsReady: ...`.
    async fn said(&self, name: &str, type_: &str) -> String {
        let hpa = self.hpa(name).await.unwrap_or_default();
        let mut conditions = hpa["status"]["conditions"].as_array().into_iter().flatten();
        let found = conditions.find(|one| one["type"] == type_).cloned().unwrap_or_default();
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", text("status"), text("reason"), text("message"))
    }

    /// Replicas that the template asks for.
    async fn asked(&self, name: &str) -> u64 {
        self.template(name).await["spec"]["replicas"].as_u64().unwrap()
    }

    /// The HPA that a member has.
    async fn member_hpa(&self, member: &str, name: &str) -> Option<Value> {
        let found = self.api(member, "HorizontalPodAutoscaler", "prod").get_opt(name).await.ok()?;
        found.map(|hpa| serde_json::to_value(hpa).unwrap())
    }

    /// `min..max` of the HPA that a member has.
    async fn bounds(&self, member: &str, name: &str) -> Option<(u64, u64)> {
        let hpa = self.member_hpa(member, name).await?;
        let spec = &hpa["spec"];
        Some((spec["minReplicas"].as_u64()?, spec["maxReplicas"].as_u64()?))
    }

    /// The id of the last write of the HPA that a member has.
    async fn written(&self, member: &str, name: &str) -> Value {
        self.member_hpa(member, name).await.unwrap()["metadata"]["annotations"]["fhpa.karmada.io/write-id"].clone()
    }

    /// The warnings about an object with this reason.
    async fn warnings(&self, namespace: &str, name: &str, reason: &str) -> Vec<String> {
        let events = self.api("", "Event", namespace).list(&ListParams::default()).await.unwrap().items;
        let told = events.iter().map(|event| &event.data);
        let told = told.filter(|one| one["regarding"]["name"] == name && one["reason"] == reason);
        told.filter(|one| one["type"] == "Warning").map(|one| one["note"].as_str().unwrap().to_owned()).collect()
    }

    /// The members with an HPA.
    async fn bounded(&self, name: &str) -> Vec<&'static str> {
        let mut found = Vec::new();
        for member in MEMBERS {
            found.extend(self.bounds(member, name).await.map(|_| member));
        }
        found
    }

    fn ready(&self, app: &str) -> usize {
        self.pods().ready(app)
    }

    fn ready_in(&self, member: &str, app: &str) -> usize {
        self.pods().ready_in(member, app)
    }

    /// Ready pods of all members but the first.
    fn others(&self, app: &str) -> usize {
        OTHERS.iter().map(|member| self.ready_in(member, app)).sum()
    }

    /// Ready pods in each member.
    fn spread(&self, app: &str) -> [usize; 3] {
        MEMBERS.map(|member| self.ready_in(member, app))
    }

    fn note(&self, app: &str) -> usize {
        self.pods().note(app)
    }

    fn least(&self, app: &str) -> usize {
        self.pods().least(app)
    }

    /// A Deployment of pods that ask for [`REQUEST`], and a policy that gives it to clusters by equal weights.
    async fn workload(&self, name: &str, replicas: u32, clusters: &[&str]) {
        self.apply(&deployment(name, replicas)).await;
        self.policy(name, clusters).await;
    }

    async fn policy(&self, name: &str, clusters: &[&str]) {
        self.apply(&policy(name, clusters)).await;
    }

    async fn federated(&self, name: &str, min: u32, max: u32, more: Value) {
        self.apply(&federated(name, min, max, more)).await;
    }

    /// What the pods of a member have to do makes its HPA want so many replicas.
    fn wants(&self, member: &str, app: &str, replicas: u32) {
        self.load(member, app, replicas * REQUEST / 2);
    }

    /// The same, of each member.
    fn each_wants(&self, app: &str, replicas: [u32; 3]) {
        MEMBERS.into_iter().zip(replicas).for_each(|(member, replicas)| self.wants(member, app, replicas));
    }

    async fn soon(&self, what: &str, holds: impl AsyncFnMut(&Self) -> bool) {
        self.later(SOON, what, holds).await;
    }

    async fn later(&self, seconds: u64, what: &str, mut holds: impl AsyncFnMut(&Self) -> bool) {
        within(seconds, what, &mut async || holds(self).await).await;
    }

    /// Waits until Karmada says this of a member: `True`, `False`.
    async fn cluster_is(&self, name: &str, ready: &str) {
        let said = async |world: &Self| {
            let Ok(cluster) = world.api("", "Cluster", "").get(name).await else { return false };
            let conditions = cluster.data["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == ready)
        };
        self.later(KNOWN, &format!("Cluster {name} is Ready={ready}"), said).await;
    }

    /// The one node of a member has so many cores from now on.
    async fn size(&self, member: &str, cores: u32) {
        wanted::nodes(&self.client(member), member, 1, cores).await;
    }

    /// Whether Karmada tells of a member that it has so many cores, and that nothing runs there.
    async fn is_empty(&self, member: &str, cores: u32) -> bool {
        self.has(member, cores, 0).await
    }

    /// Whether Karmada tells of a member that it has so many cores, and that so many are used.
    async fn has(&self, member: &str, cores: u32, used: u32) -> bool {
        let Ok(cluster) = self.api("", "Cluster", "").get(member).await else { return false };
        let summary = &cluster.data["status"]["resourceSummary"];
        let of = |part: &str| summary[part]["cpu"].as_str().unwrap_or("0").to_owned();
        let is = |part: &str, cores: u32| [cores.to_string(), format!("{}m", cores * 1000)].contains(&of(part));
        is("allocatable", cores) && is("allocated", used)
    }

    /// Waits until so many pods are ready in each member.
    async fn runs(&self, app: &str, replicas: &[(&str, usize)]) {
        self.runs_within(SOON, app, replicas).await;
    }

    async fn runs_within(&self, seconds: u64, app: &str, replicas: &[(&str, usize)]) {
        let runs = |(member, count): &(&str, usize)| self.ready_in(member, app) == *count;
        if !in_time(seconds, &mut async || replicas.iter().all(runs)).await {
            let mut told = String::new();
            for (member, count) in replicas {
                let (ready, hpa) = (self.ready_in(member, app), self.member_hpa(member, app).await.unwrap_or_default());
                told += &format!("\n{member}: {ready} of {count} ready, HPA {} {}", hpa["spec"], hpa["status"]);
            }
            panic!("{app} does not run {replicas:?} within {seconds} s: {told}");
        }
    }

    /// Waits until a member runs nothing of an app any more.
    async fn is_left(&self, member: &str, app: &str, seconds: u64) {
        let left = async |world: &Self| world.ready_in(member, app) == 0;
        self.later(seconds, &format!("{member} is left"), left).await;
    }

    /// Waits until the FederatedHPA is gone.
    async fn is_gone(&self, name: &str, seconds: u64) {
        let gone = async |world: &Self| world.hpa(name).await.is_none();
        if !in_time(seconds, &mut async || gone(self).await).await {
            let (hpa, binding) = (self.hpa(name).await, self.binding(name).await);
            panic!("the FederatedHPA does not go: {hpa:?}\nbinding: {binding:?}\nWorks:{}", self.works(name).await);
        }
    }

    /// The Works that contain an app's name, one a line.
    async fn works(&self, name: &str) -> String {
        let mut told = String::new();
        for work in self.api("", "Work", "").list(&ListParams::default()).await.unwrap().items {
            if work.metadata.name.as_deref().unwrap_or_default().contains(name) {
                told += &format!("\n{:?} {}", work.metadata, work.data["status"]);
            }
        }
        told
    }

    /// Takes everything of a story away, and waits until it has gone.
    async fn clear(&self, name: &str) {
        self.delete("FederatedHPA", name).await;
        self.is_gone(name, SOON).await;
        self.delete("Deployment", name).await;
        self.delete("PropagationPolicy", name).await;
        // Karmada lets a policy go when it comes to it, which is late after an outage. Until then the next story would
        // apply its own policy to the one that is being deleted.
        let unplaced = async |world: &Self| world.get("PropagationPolicy", name).await.is_none();
        self.later(3 * SOON, "the policy goes", unplaced).await;
        // The garbage collector of a member that is just back takes its time.
        if !in_time(3 * SOON, &mut async || self.ready(name) == 0).await {
            let (spread, works) = (self.spread(name), self.works(name).await);
            panic!("pods of {name} stay after the Deployment is deleted: {spread:?} {works}");
        }
    }
}
