//! A complete control plane with its members: built, run in passes in virtual or real time, and disturbed by faults.
//! Client required.

mod rounds;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use jiff::SignedDuration;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::clock::{Clock, rfc3339};
use crate::json::name;
use crate::karmada::{self, Karmada};
use crate::member::load::Load;
use crate::member::node_events::NodeAutoscaler;
use crate::member::{self, Link, Member, Profile, nodes};
use crate::objects::Objects;
use crate::pass::Pass;
use embedded_apiserver::ApiServer;
use embedded_apiserver::status::StatusError;

/// Rounds after which controllers that still write are considered to conflict with each other.
const MOST_ROUNDS: usize = 1000;

/// Why a fleet failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// An API server returned an error.
    #[error("an API server failed: {0}")]
    Request(#[from] kube::Error),
    /// An initial object was rejected.
    #[error("an object could not be made: {0:?}")]
    Made(StatusError),
    /// A CRD could not be read.
    #[error("a definition could not be read: {0}")]
    Definition(String),
    /// The controllers did not converge.
    #[error("the controllers still write after {MOST_ROUNDS} rounds")]
    Restless,
    /// There is no such cluster.
    #[error("there is no cluster {0}")]
    Unknown(String),
}

impl From<StatusError> for Fault {
    fn from(failure: StatusError) -> Self {
        Self::Made(failure)
    }
}

/// Configuration of a fleet.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of members, named `member1`, `member2`, ...
    pub clusters: u32,
    /// Nodes of each member.
    pub nodes: u32,
    /// CPUs of each node.
    pub cpu: u32,
    /// Memory of each node.
    pub memory: String,
    /// Durations of Karmada's controllers.
    pub karmada: karmada::Timing,
    /// Durations of the members' controllers.
    pub member: member::Timing,
    /// The clock.
    pub clock: Clock,
    /// Makes uids the same in each run.
    pub seed: Option<u64>,
    /// Properties of members, by name; the others have the defaults.
    pub profiles: BTreeMap<String, Profile>,
}

impl Plan {
    /// Three members of two nodes with four CPUs, in the time of day.
    #[must_use]
    pub fn new() -> Self {
        Self {
            clusters: 3,
            nodes: 2,
            cpu: 4,
            memory: "16Gi".to_owned(),
            karmada: karmada::Timing::default(),
            member: member::Timing::default(),
            clock: Clock::real(),
            seed: None,
            profiles: BTreeMap::new(),
        }
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self::new()
    }
}

/// A running member.
struct RunningMember {
    member: Arc<Member>,
    server: ApiServer,
}

/// A control plane with its members.
pub struct Fleet {
    plan: Plan,
    control: ApiServer,
    karmada: Karmada,
    places: BTreeMap<String, RunningMember>,
    load: Arc<Load>,
    /// State that each controller observed when it last had nothing to do.
    rests: Mutex<BTreeMap<String, (Vec<u64>, Pass)>>,
    /// Whether Karmada's controllers are stopped.
    halted: AtomicBool,
}

fn server(plan: &Plan, number: u64) -> ApiServer {
    let clock = plan.clock.clone();
    let builder = ApiServer::builder().clock(Arc::new(move || clock.now()) as embedded_apiserver::Clock);
    match plan.seed {
        Some(seed) => builder.seed(seed.wrapping_add(number)).build(),
        None => builder.build(),
    }
}

impl Fleet {
    /// Builds the control plane and its members. Nothing runs before [`Self::settle`] or [`Self::run`].
    ///
    /// # Errors
    /// When an initial object is rejected.
    pub async fn build(plan: Plan) -> Result<Self, Fault> {
        let control = server(&plan, 0);
        for definition in karmada::definitions().map_err(|error| Fault::Definition(error.to_string()))? {
            control.create(definition).await?;
        }
        control.admit_by("resourceinterpretercustomizations", &karmada::customizations::webhook());
        if plan.karmada.quota {
            control.admit_by("resourcebindings", &karmada::quota::webhook());
        }
        for space in ["karmada-system", "karmada-cluster"] {
            control.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})).await?;
        }
        let load = Arc::new(Load::default());
        control.aggregate("external.metrics.k8s.io", member::external_api(&load));
        let mut places = BTreeMap::new();
        for number in 1..=plan.clusters {
            let name = format!("member{number}");
            let server = server(&plan, number.into());
            for node in 1..=plan.nodes {
                let made =
                    nodes::node(&format!("{name}-node{node}"), plan.cpu, &plan.memory, &rfc3339(plan.clock.now()));
                server.create(&made).await?;
            }
            let profile = plan.profiles.get(&name).cloned().unwrap_or_default();
            server.become_kubernetes(&profile.kubernetes);
            let (clock, load) = (plan.clock.clone(), load.clone());
            let member = Member::new(&name, profile, Objects::inside(&server), clock, load, plan.member);
            let member = Arc::new(member);
            for group in member::GROUPS {
                server.aggregate(group, member::metrics_api(&member));
            }
            places.insert(name, RunningMember { member, server });
        }
        let members: Vec<Arc<Member>> = places.values().map(|place| place.member.clone()).collect();
        route(&control, &places);
        let karmada = Karmada::new(Objects::inside(&control), plan.clock.clone(), plan.karmada, &members);
        karmada.join("playground").await?;
        Ok(Self { plan, control, karmada, places, load, rests: Mutex::default(), halted: AtomicBool::new(false) })
    }

    /// The control plane's API server.
    #[must_use]
    pub const fn control(&self) -> &ApiServer {
        &self.control
    }

    /// The API server of a member.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn member(&self, name: &str) -> Result<&ApiServer, Fault> {
        Ok(&self.place(name)?.server)
    }

    /// Names of the members.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// Starts karmada-metrics-adapter.
    pub fn adapt_metrics(&self) {
        let members: Vec<Arc<Member>> = self.places.values().map(|place| place.member.clone()).collect();
        for group in ["metrics.k8s.io", "custom.metrics.k8s.io"] {
            self.control.aggregate(group, member::adapter_api(&members));
        }
    }

    /// The load of the workloads.
    #[must_use]
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// The clock.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.plan.clock
    }

    fn place(&self, name: &str) -> Result<&RunningMember, Fault> {
        self.places.get(name).ok_or_else(|| Fault::Unknown(name.to_owned()))
    }

    /// Stops a member with everything in it, so that connections to it are refused, or starts it again.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn fail(&self, name: &str, failed: bool) -> Result<(), Fault> {
        self.place(name)?.member.fail(failed);
        self.wake();
        Ok(())
    }

    /// Disconnects a member in the given way, or connects it again. Its workloads keep running.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn cut(&self, name: &str, link: Link) -> Result<(), Fault> {
        self.place(name)?.member.cut(link);
        self.wake();
        Ok(())
    }

    /// Stops the metrics server of a member, or starts it again.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn lose_metrics(&self, name: &str, lost: bool) -> Result<(), Fault> {
        self.place(name)?.member.lose_metrics(lost);
        self.wake();
        Ok(())
    }

    /// Gives a member a cluster-autoscaler that says this of pods without a node.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn autoscale_nodes(&self, name: &str, autoscaler: NodeAutoscaler) -> Result<(), Fault> {
        self.place(name)?.member.autoscale_nodes(autoscaler);
        self.wake();
        Ok(())
    }

    /// Keeps pods of a member that are not ready yet from becoming ready, or stops doing so.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn hold_pods(&self, name: &str, held: bool) -> Result<(), Fault> {
        self.place(name)?.member.hold_pods(held);
        self.wake();
        Ok(())
    }

    /// Leaves a kind out of the list of those that a member serves, or has it there again. Its objects stay.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn unlist(&self, name: &str, kind: &str, unlisted: bool) -> Result<(), Fault> {
        self.place(name)?.member.unlist(kind, unlisted);
        self.wake();
        Ok(())
    }

    /// Delays changed Works in Karmada, like a long queue.
    pub fn lag(&self, by: SignedDuration) {
        self.karmada.lag(by);
        self.wake();
    }

    /// Restarts Karmada's controllers: they forget earlier attempts, and reconcile everything.
    pub fn restart_karmada(&self) {
        self.karmada.restart();
        self.rests.lock().clear();
        self.wake();
    }

    /// Stops Karmada's controllers, or starts them again. The API servers and the members continue.
    pub fn halt_karmada(&self, halted: bool) {
        self.halted.store(halted, Ordering::SeqCst);
        if !halted {
            self.restart_karmada();
        }
    }

    /// Changes the Kubernetes version of a member.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn upgrade(&self, name: &str, kubernetes: &str) -> Result<(), Fault> {
        let place = self.place(name)?;
        place.server.become_kubernetes(kubernetes);
        place.member.upgrade(kubernetes);
        self.wake();
        Ok(())
    }

    /// Adds nodes to a member, or with a negative number removes the last ones with their pods. Returns their number.
    ///
    /// # Errors
    /// When there is no such cluster, or its API server fails.
    pub async fn change_nodes(&self, name: &str, by: i32) -> Result<usize, Fault> {
        let place = self.place(name)?;
        let kinds = member::Kinds::default();
        let objects = place.member.objects();
        let there = objects.list(&kinds.node, "").await?;
        let mut numbers: Vec<u32> = there.iter().filter_map(node_number).collect();
        numbers.sort_unstable();
        let mut count = there.len();
        for _ in 0..by.max(0) {
            let next = numbers.last().copied().unwrap_or_default().saturating_add(1);
            numbers.push(next);
            let now = rfc3339(self.plan.clock.now());
            place
                .server
                .create(&nodes::node(&format!("{name}-node{next}"), self.plan.cpu, &self.plan.memory, &now))
                .await?;
            count = count.saturating_add(1);
        }
        for _ in by.min(0)..0 {
            let Some(last) = numbers.pop() else { break };
            let gone = format!("{name}-node{last}");
            for pod in objects.list(&kinds.pod, "").await? {
                if crate::json::text(&pod, "/spec/nodeName") == gone {
                    objects.force_delete(&kinds.pod, &pod).await?;
                }
            }
            if let Some(node) = there.iter().find(|node| self::name(node) == gone) {
                objects.delete(&kinds.node, node).await?;
                count = count.saturating_sub(1);
            }
        }
        Ok(count)
    }

    /// A line for each member: its resources and whether it answers.
    ///
    /// # Errors
    /// When an API server fails.
    pub async fn summary(&self) -> Result<Vec<Value>, Fault> {
        let kinds = member::Kinds::default();
        let mut lines = Vec::new();
        for (name, place) in &self.places {
            let nodes = place.member.objects().list(&kinds.node, "").await?;
            let pods = place.member.objects().list(&kinds.pod, "").await?;
            lines
                .push(json!({"name": name, "failed": place.member.failed(), "nodes": nodes.len(), "pods": pods.len()}));
        }
        Ok(lines)
    }
}

fn node_number(node: &Value) -> Option<u32> {
    name(node).rsplit("node").next()?.parse().ok()
}

/// Routes `clusters/<name>/proxy` to the members, unless they fail; a request to one that hangs waits.
fn route(control: &ApiServer, places: &BTreeMap<String, RunningMember>) {
    let known: BTreeMap<String, (Arc<Member>, ApiServer)> =
        places.iter().map(|(name, place)| (name.clone(), (place.member.clone(), place.server.clone()))).collect();
    let proxy: embedded_apiserver::Proxy = Arc::new(move |name: &str| {
        let found = known.get(name).filter(|(member, _)| !member.profile().pulls).cloned();
        async move {
            let (member, server) = found?;
            member.answers().await.then_some(server)
        }
        .boxed()
    });
    control.route_proxy("clusters.cluster.karmada.io", proxy);
}
