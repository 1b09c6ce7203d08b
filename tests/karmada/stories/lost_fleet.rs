//! Twenty workloads lose the cluster that runs thirteen of them, and what is left is just enough for all: what is ready
//! over time with karmada-scheduler or fhpa, with and without estimators.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::json;

use crate::both::{World as _, deployment, policy, tolerating};
use crate::estimators::Estimators;
use crate::observer::Observer;
use crate::stand::Stand;

/// The lost one is the first. Names are numbers for the sake of the estimators.
const MEMBERS: [&str; 3] = ["1", "2", "3"];
/// Cores of each, and those that are used first.
const CORES: [(u32, u32); 3] = [(40, 38), (30, 10), (30, 12)];
/// For how long the cluster is away: 15 s until Karmada knows it, a toleration of 30 s, and the replacement.
const WATCHED: usize = 240;
/// From the first bounds until the cluster is lost.
const REST: usize = 45;
/// The same where karmada-scheduler counts what it assigned: of a workload that was Healthy already it does so for five
/// minutes (its `pkg/scheduler/cache/cache.go`), and the placements were changed a moment ago.
const LONG_REST: usize = 330;
/// Seconds after which most of what was lost is replaced.
const SOON: usize = 60;
/// Seconds between two samples that are shown.
const SAMPLE: usize = 30;

struct Workload {
    name: String,
    /// Millicores that a pod requests.
    each: u32,
    min: u32,
    max: u32,
    /// Replicas, all of them in one member.
    replicas: u32,
    home: &'static str,
}

fn workloads() -> Vec<Workload> {
    let kinds = [
        ("web", 5, 500, (3, 12), 4, MEMBERS[0]),
        ("shop", 5, 500, (3, 12), 4, MEMBERS[1]),
        ("batch", 4, 2000, (2, 8), 3, MEMBERS[0]),
        ("report", 2, 2000, (2, 8), 3, MEMBERS[2]),
        ("payment", 4, 250, (3, 12), 4, MEMBERS[0]),
    ];
    let all = kinds.into_iter().flat_map(|(kind, count, each, (min, max), replicas, home)| {
        let name = move |number| format!("{kind}-{number}");
        (1..=count).map(move |number| Workload { name: name(number), each, min, max, replicas, home })
    });
    all.collect()
}

impl Workload {
    /// Lets its ready pods share a load that nine tenths of its replicas can serve; a target is half of a request.
    fn spread(&self, stand: &Stand, lost: bool) {
        let total = self.replicas * self.each * 9 / 20;
        let serving = |name: &str| !lost || name != MEMBERS[0];
        let ready = |name: &str| if serving(name) { stand.lab.member(name).pods.ready(&self.name) } else { 0 };
        let all: u32 = MEMBERS.iter().map(|name| ready(name)).sum();
        for name in MEMBERS.iter().filter(|name| serving(name)) {
            let part = (total * ready(name)).checked_div(all).unwrap_or_default();
            stand.lab.member(name).pods.load(&self.name, |load| load.total = part);
        }
    }

    fn ready(&self, stand: &Stand, lost: bool) -> u32 {
        let serving = MEMBERS.iter().filter(|name| !lost || **name != MEMBERS[0]);
        serving.map(|name| stand.lab.member(name).pods.ready(&self.name)).sum()
    }
}

/// What divides the replicas.
#[derive(Clone, Copy)]
enum Divider {
    /// karmada-scheduler, with these features.
    Karmada(&'static str),
    Fhpa,
}

/// Ready pods of each workload, by seconds since the loss.
struct Run {
    name: String,
    ready: Vec<Vec<u32>>,
}

pub async fn compared(stand: &mut Stand) {
    let workloads = workloads();
    let gate = "SchedulingOvercommitProtection=true";
    let dividers = [
        ("Karmada", Divider::Karmada("")),
        ("Karmada, with its gate", Divider::Karmada(gate)),
        ("fhpa", Divider::Fhpa),
    ];
    let mut runs = Vec::new();
    for estimated in [false, true] {
        for (name, divider) in dividers {
            // Two labs at once would take the ports of each other.
            stand.fhpa.kill_all();
            stand.lab.end();
            *stand = Stand::of(stand.lab.assets.clone(), &MEMBERS).await;
            stand.observer = Observer::idle();
            let name = if estimated { format!("{name}, with estimators") } else { name.to_owned() };
            let run = Run { name, ready: lose(stand, &workloads, divider, estimated).await };
            run.print(&workloads);
            runs.push(run);
        }
    }
    for (at, ours) in runs.iter().enumerate().filter(|(at, _)| at % 3 == 2) {
        let theirs = runs[at - 2..at].iter().map(Run::replaced);
        assert!(theirs.into_iter().all(|theirs| theirs <= ours.replaced()), "a lost cluster is replaced sooner");
    }
}

async fn lose(stand: &mut Stand, workloads: &[Workload], divider: Divider, estimated: bool) -> Vec<Vec<u32>> {
    let gates = if let Divider::Karmada(gates) = divider { gates } else { "" };
    let estimators = if estimated { Some(Estimators::start(&stand.lab, gates).await) } else { None };
    stand.lab.schedule_with(&features(gates), &[&format!("--enable-scheduler-estimator={estimated}")]);
    for (name, (cores, _)) in MEMBERS.into_iter().zip(CORES) {
        stand.size(name, cores).await;
    }
    run(stand, workloads).await;
    match divider {
        Divider::Karmada(_) => {
            // By itself Karmada evicts from no cluster that does not answer.
            stand.apply(&taints()).await;
            for own in workloads {
                stand.apply(&placed(own, &json!({"replicaDivisionPreference": "Aggregated"}))).await;
            }
        }
        Divider::Fhpa => {
            let arguments: Vec<OsString> = estimators.iter().flat_map(Estimators::arguments).collect();
            stand.fhpa.begin(&arguments);
            stand.leader().await;
            for own in workloads {
                let aggregated = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}});
                stand.federated(&own.name, own.min, own.max, aggregated).await;
            }
            for own in workloads {
                let bound = async |stand: &Stand| stand.bounds(own.home, &own.name).await.is_some();
                stand.later(120, "each has an HPA where it runs", bound).await;
            }
        }
    }
    let rest = if gates.is_empty() { REST } else { LONG_REST };
    seconds(stand, workloads, rest, false).await;
    stand.lab.member_mut(MEMBERS[0]).kill();
    seconds(stand, workloads, WATCHED, true).await
}

/// All workloads run, and Karmada tells of it.
async fn run(stand: &Stand, workloads: &[Workload]) {
    for own in workloads {
        own.spread(stand, false);
        let mut object = deployment(&own.name, own.replicas);
        let requests = &mut object["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"];
        requests["cpu"] = json!(format!("{}m", own.each));
        let weights = json!([{"targetCluster": {"clusterNames": [own.home]}, "weight": 1}]);
        let weighted =
            json!({"replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": weights}});
        stand.apply(&placed(own, &weighted)).await;
        stand.apply(&object).await;
    }
    let ready = async |stand: &Stand| {
        let at_home = |own: &Workload| stand.lab.member(own.home).pods.ready(&own.name) == own.replicas;
        workloads.iter().all(at_home)
    };
    stand.later(120, "all run", ready).await;
    for (name, (cores, used)) in MEMBERS.into_iter().zip(CORES) {
        stand.soon("Karmada tells of what runs", async |stand| stand.has(name, cores, used).await).await;
    }
}

/// Its policy: all members may run it, and a lost one is tolerated for 30 seconds.
fn placed(own: &Workload, division: &serde_json::Value) -> serde_json::Value {
    let mut policy = tolerating(policy(&own.name, &MEMBERS), 30);
    let placement = &mut policy["spec"]["placement"];
    placement["replicaScheduling"] = division.clone();
    placement["replicaScheduling"]["replicaSchedulingType"] = json!("Divided");
    policy["spec"]["failover"] = json!({"cluster": {"purgeMode": "Gracefully"}});
    policy
}

/// Clusters that do not answer get a taint that evicts.
fn taints() -> serde_json::Value {
    let when = |values: &[&str]| json!([{"conditionType": "Ready", "operator": "In", "statusValues": values}]);
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "lost"},
        "spec": {"addOnConditions": when(&["False", "Unknown"]), "removeOnConditions": when(&["True"]),
            "taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"}]}})
}

fn features(gates: &str) -> String {
    ["Failover=true", gates].into_iter().filter(|gate| !gate.is_empty()).collect::<Vec<_>>().join(",")
}

/// What is ready in each of so many seconds.
async fn seconds(stand: &Stand, workloads: &[Workload], count: usize, lost: bool) -> Vec<Vec<u32>> {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let mut all = Vec::new();
    for _ in 0..count {
        ticks.tick().await;
        workloads.iter().for_each(|own| own.spread(stand, lost));
        all.push(workloads.iter().map(|own| own.ready(stand, lost)).collect());
    }
    all
}

impl Run {
    /// The share of what is needed that is ready, of one workload.
    fn share(&self, at: usize, own: &Workload) -> f64 {
        let served: u32 = self.ready.iter().map(|ready| ready[at].min(own.replicas)).sum();
        f64::from(served) / f64::from(own.replicas) / self.ready.len() as f64
    }

    /// The same, of all.
    fn served(&self, workloads: &[Workload]) -> f64 {
        let needed: u32 = workloads.iter().map(|own| own.replicas).sum();
        let shares = workloads.iter().enumerate().map(|(at, own)| self.share(at, own) * f64::from(own.replicas));
        shares.sum::<f64>() / f64::from(needed)
    }

    /// What is ready a minute after the loss.
    fn replaced(&self) -> u32 {
        self.ready[SOON].iter().sum()
    }

    fn print(&self, workloads: &[Workload]) {
        let mins = |ready: &Vec<u32>| ready.iter().zip(workloads).filter(|(ready, own)| **ready < own.min).count();
        let below: usize = self.ready.iter().map(mins).sum();
        let shares = workloads.iter().enumerate().map(|(at, own)| (self.share(at, own), &*own.name));
        let (worst, name) = shares.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap();
        let hours = f64::from(self.ready.iter().flatten().sum::<u32>()) / 3600.0;
        let samples = self.ready.iter().skip(SAMPLE - 1).step_by(SAMPLE);
        let samples: Vec<u32> = samples.map(|ready| ready.iter().sum()).collect();
        let short = self.ready.last().map_or(0, mins);
        println!(
            "  {}: served {:.2} %, below min {below} s, {short} at the end, {hours:.2} replica-hours, worst {name} {:.0} %, ready each {SAMPLE} s {samples:?}",
            self.name,
            100.0 * self.served(workloads),
            100.0 * worst,
        );
    }
}
