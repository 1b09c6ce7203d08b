//! Operations of users and faults, as data: generated, shrunk, stored in files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a write of fhpa meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// 409, and nothing is done.
    Conflict,
    /// 500, and nothing is done.
    Internal,
    /// It is done, and the answer is lost.
    Lost,
    /// It arrives eight seconds later.
    Late,
}

/// Why new pods of a cluster never start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stall {
    /// No node takes them.
    Pending,
    /// They never get ready.
    Unready,
}

/// One thing that happens. What does not apply is passed over, so that any part of a history is one, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operation {
    /// A user creates the FederatedHPA of a workload.
    Create { workload: String, spec: Value },
    /// A user deletes it.
    Delete { workload: String },
    /// A user sets one field of its spec, or with null takes it away.
    Edit { workload: String, field: String, value: Value },
    /// A user creates the CronFederatedHPA of a workload, on it or on its FederatedHPA.
    CreateCron { workload: String, bounds: bool, rules: Value },
    /// A user sets one field of its spec.
    EditCron { workload: String, field: String, value: Value },
    /// A user deletes it.
    DeleteCron { workload: String },
    /// A user changes the placement of a workload.
    Place { workload: String, placement: Value },
    /// A user gives a cluster a label, or takes it away.
    Label { cluster: u32, value: Option<String> },
    /// A user taints a cluster, or takes the taint away.
    Taint { cluster: u32, effect: Option<String> },
    /// A user sets the replicas of a template.
    Scale { workload: String, replicas: i64 },
    /// A user rolls a new version out.
    RollOut { workload: String, image: String },
    /// A user deletes a workload.
    Remove { workload: String },
    /// A user brings it back.
    Bring { workload: String, replicas: i64 },
    /// Somebody deletes our HPA in a member.
    DropHpa { workload: String, cluster: u32 },
    /// Somebody edits our HPA in a member.
    BendHpa { workload: String, cluster: u32, max: i64 },
    /// The load of a workload changes.
    Load { workload: String, milli: i64 },
    /// A cluster is cut off, or comes back.
    Fail { cluster: u32, on: bool },
    /// The requests to a cluster are not answered, and what runs in it goes on; or they are answered again.
    Cut { cluster: u32, on: bool },
    /// The metrics server of a cluster stops, or starts again.
    LoseMetrics { cluster: u32, on: bool },
    /// A user takes a cluster out of the fleet.
    Unjoin { cluster: u32 },
    /// A user brings it back.
    Join { cluster: u32 },
    /// Somebody makes an HPA of their own on a workload in a cluster, or deletes it.
    OtherHpa { workload: String, cluster: u32, on: bool },
    /// A user makes an HPA of their own on a workload in the control plane, which Karmada brings to each member, or
    /// deletes it.
    PlainHpa { workload: String, on: bool },
    /// A user limits what the workloads together may be given, in thousandths of a CPU, or no more.
    Quota { cpu: Option<u32> },
    /// A user lets Karmada's application failover take a workload in, or no more.
    ApplicationFailover { workload: String, on: bool },
    /// Karmada comes to a changed Work so many seconds late.
    Lag { seconds: u32 },
    /// Karmada's controllers are restarted.
    RestartKarmada,
    /// Karmada's definitions of both kinds are served, or ours again.
    Upgrade { on: bool },
    /// fhpa is taken back, as `fhpa uninstall` does, and its replicas end.
    Uninstall,
    /// It is installed again, and its replicas start.
    Install,
    /// The webhook does not answer, or again.
    SilenceWebhook { on: bool },
    /// The clock of a replica is set so many seconds forward or back.
    Clock { replica: usize, by: i64 },
    /// New pods of a cluster never start, or with nothing start again.
    Stall { cluster: u32, how: Option<Stall> },
    /// A cluster gets a node, or loses one.
    Nodes { cluster: u32, by: i32 },
    /// A replica is killed.
    Kill { replica: usize },
    /// A replica is stopped.
    Stop { replica: usize },
    /// A replica that does not run is started.
    Start { replica: usize },
    /// Somebody deletes the Lease.
    DropLease,
    /// An operator freezes the controllers, or ends it.
    Freeze { on: bool },
    /// All watches end.
    DropWatches,
    /// Requests of a replica are refused, or no more.
    Down { replica: usize, on: bool },
    /// Requests of a replica are not answered, or again.
    Hang { replica: usize, on: bool },
    /// What a replica watches stands still, or goes on.
    Stale {
        replica: usize,
        on: bool,
        /// Of this resource only.
        #[serde(default)]
        of: String,
    },
    /// The next writes of a replica meet trouble.
    Trouble { replica: usize, what: Trouble, count: u32 },
}

/// Something happens, and then time goes by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub what: Operation,
    /// Seconds.
    pub then: u64,
}

/// How a cluster is not like the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Oddity {
    /// Its agent pulls Works, and the control plane cannot reach it.
    Pulls,
    /// Its Kubernetes has `autoscaling/v1` only.
    Old,
}

/// A history: a fleet and what happens to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    pub clusters: u32,
    /// The installation is kept as it is to be by the webhook, which is asked about definitions, and by the leader.
    #[serde(default)]
    pub guarded: bool,
    /// Karmada's own controller ran each FederatedHPA before: it begins with the status that it wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub migrated: bool,
    /// By the number of the cluster.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub odd: BTreeMap<u32, Oddity>,
    pub steps: Vec<Step>,
}
