//! Karmada's part of the control plane: policies -> bindings -> Works -> members, and their status back. Client
//! required.
//!
//! Each controller is a file with one pass over all its objects. Their order - [`Karmada::propagate`],
//! [`Karmada::schedule_all`], [`Karmada::reflect_all`] - follows the latencies of the real processes: a changed
//! template reaches the members with the old split before the scheduler creates a new one.

pub mod binding;
pub mod clusters;
pub mod customizations;
pub mod delivery;
pub mod detector;
pub mod eviction;
pub mod execution;
mod failover;
pub mod interpreter;
pub mod placement;
pub mod queue;
pub mod quota;
pub mod reflection;
pub mod scheduler;
pub mod taints;
mod workload_affinity;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::Value;

use super::clock::Clock;
use super::member::Member;
use super::objects::{Kind, Objects};
use super::pass::Pass;
use clusters::Probe;
use delivery::Deliveries;
use interpreter::Interpreter;
use queue::Queue;

/// The CRDs of Karmada that fhpa uses, as YAML.
const DEFINITIONS: &[&str] = &[
    include_str!("crds/clusters.yaml"),
    include_str!("crds/propagationpolicies.yaml"),
    include_str!("crds/clusterpropagationpolicies.yaml"),
    include_str!("crds/resourcebindings.yaml"),
    include_str!("crds/works.yaml"),
    include_str!("crds/resourceinterpretercustomizations.yaml"),
    include_str!("crds/federatedresourcequotas.yaml"),
];

/// CustomResourceDefinitions of Karmada's kinds, ready to be created. Read once.
///
/// # Errors
/// When one of the files is not YAML.
pub fn definitions() -> Result<&'static [Value], serde_saphyr::Error> {
    static READ: OnceLock<Vec<Value>> = OnceLock::new();
    if let Some(read) = READ.get() {
        return Ok(read);
    }
    let read: Vec<Value> = DEFINITIONS.iter().map(|text| serde_saphyr::from_str(text)).collect::<Result<_, _>>()?;
    Ok(READ.get_or_init(|| read))
}

/// Durations in Karmada.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Interval of probes of a member. Karmada: 10 seconds.
    pub status_period: SignedDuration,
    /// A member that does not answer for this long has failed. Karmada: 30 seconds.
    pub failure_threshold: SignedDuration,
    /// A member that answers again for this long has recovered. Karmada: 30 seconds.
    pub success_threshold: SignedDuration,
    /// Graceful evictions end after this. Karmada: 10 minutes.
    pub eviction_timeout: SignedDuration,
    /// Whether a failed cluster gets a taint that evicts, as with a ClusterTaintPolicy, and whether such taints evict
    /// at all. Karmada: no.
    pub failover: bool,
    /// Whether scheduled replicas must stay within FederatedResourceQuotas. Karmada: no.
    pub quota: bool,
    /// Delay of a changed Work, when the queue is long. Karmada: none.
    pub lag: SignedDuration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            status_period: SignedDuration::from_secs(10),
            failure_threshold: SignedDuration::from_secs(30),
            success_threshold: SignedDuration::from_secs(30),
            eviction_timeout: SignedDuration::from_secs(600),
            failover: false,
            quota: false,
            lag: SignedDuration::ZERO,
        }
    }
}

/// The kinds that the controllers use.
#[derive(Clone, Debug)]
pub struct Kinds {
    pub(crate) namespace: Kind,
    pub(crate) cluster: Kind,
    pub(crate) policy: Kind,
    pub(crate) cluster_policy: Kind,
    pub(crate) binding: Kind,
    pub(crate) work: Kind,
    pub(crate) customization: Kind,
}

impl Default for Kinds {
    fn default() -> Self {
        let policy = |kind: &str, plural: &str, namespaced| Kind {
            plural: plural.to_owned(),
            ..Kind::regular("policy.karmada.io/v1alpha1", kind, namespaced)
        };
        Self {
            namespace: Kind::regular("v1", "Namespace", false),
            cluster: Kind::regular("cluster.karmada.io/v1alpha1", "Cluster", false),
            policy: policy("PropagationPolicy", "propagationpolicies", true),
            cluster_policy: policy("ClusterPropagationPolicy", "clusterpropagationpolicies", false),
            binding: Kind::regular("work.karmada.io/v1alpha2", "ResourceBinding", true),
            work: Kind::regular("work.karmada.io/v1alpha1", "Work", true),
            customization: Kind::regular("config.karmada.io/v1alpha1", "ResourceInterpreterCustomization", false),
        }
    }
}

/// Karmada's controllers and their members.
pub struct Karmada {
    objects: Objects,
    kinds: Kinds,
    clock: Clock,
    timing: Timing,
    lag: Mutex<SignedDuration>,
    members: BTreeMap<String, Arc<Member>>,
    memory: Mutex<Memory>,
}

/// State of the controllers; all of it can be lost.
#[derive(Default)]
struct Memory {
    /// Health of the members.
    probes: BTreeMap<String, Probe>,
    /// Deliveries of Works to their clusters.
    deliveries: Deliveries,
    /// Versions of what the Works of clusters that do not answer, or are just back, have there: Karmada's own copies.
    copies: BTreeMap<String, String>,
    /// Since when a binding is unhealthy in a cluster.
    unhealthy: BTreeMap<(String, String), Timestamp>,
    /// Bindings whose Works were written: a Work that is edited or deleted manually stays so until its binding changes.
    bindings: Queue,
    /// Digests of templates when their binding was last written, without parts that change by themselves.
    seen: BTreeMap<String, u32>,
}

impl Karmada {
    /// Karmada on the control plane of `objects`, with `members`.
    #[must_use]
    pub fn new(objects: Objects, clock: Clock, timing: Timing, members: &[Arc<Member>]) -> Self {
        Self {
            objects,
            kinds: Kinds::default(),
            clock,
            timing,
            lag: Mutex::new(timing.lag),
            members: members.iter().map(|member| (member.name().to_owned(), member.clone())).collect(),
            memory: Mutex::default(),
        }
    }

    /// The objects of the control plane.
    #[must_use]
    pub const fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Propagates from users to the members.
    ///
    /// # Errors
    /// When an API server does not answer.
    pub async fn propagate(&self) -> Result<Pass, kube::Error> {
        let now = self.clock.now();
        let mut pass = self.watch_clusters(now).await?;
        pass.join(self.evict(now).await?);
        pass.join(self.fail_over(now).await?);
        pass.join(self.detect().await?);
        let interpreter = self.interpreter().await?;
        pass.join(self.bind(now).await?);
        pass.join(self.execute(&interpreter, now).await?);
        Ok(pass)
    }

    /// Schedules bindings, after earlier decisions were propagated.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn schedule_all(&self) -> Result<Pass, kube::Error> {
        self.schedule(self.clock.now()).await
    }

    /// Reflects from the members to users.
    ///
    /// # Errors
    /// When an API server does not answer.
    pub async fn reflect_all(&self) -> Result<Pass, kube::Error> {
        let interpreter = self.interpreter().await?;
        self.reflect(&interpreter, self.clock.now()).await
    }

    /// Delays changed Works from now on.
    pub fn lag(&self, by: SignedDuration) {
        *self.lag.lock() = by;
    }

    fn lagging(&self) -> SignedDuration {
        *self.lag.lock()
    }

    /// Forgets the state of the controllers, as after a restart.
    pub fn restart(&self) {
        self.remember(|memory| *memory = Memory::default());
    }

    async fn interpreter(&self) -> Result<Interpreter, kube::Error> {
        Ok(Interpreter::new(self.objects.all(&self.kinds.customization, "").await?))
    }

    async fn clusters(&self) -> Result<Vec<Arc<Value>>, kube::Error> {
        self.objects.all(&self.kinds.cluster, "").await
    }

    fn remember<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.memory.lock())
    }
}

/// A condition that keeps its transition time while its status is unchanged.
fn condition(before: Option<&Value>, kind: &str, holds: bool, why: (&str, &str), now: Timestamp) -> Value {
    let status = if holds { "True" } else { "False" };
    let same = before.filter(|before| super::json::text(before, "/status") == status);
    let since = same.map(|before| super::json::text(before, "/lastTransitionTime").to_owned());
    let since = since.unwrap_or_else(|| super::clock::rfc3339(now));
    serde_json::json!({"type": kind, "status": status, "reason": why.0, "message": why.1, "lastTransitionTime": since})
}
