//! Karmada's part of the control plane: policies -> bindings -> Works -> members, and their status back. Client required.
//!
//! Each controller is a file with one pass over all its objects. Their order - [`Karmada::propagate`],
//! [`Karmada::schedule_all`], [`Karmada::reflect_all`] - is that of the real processes' latencies: a changed template
//! reaches the members with the old split before the scheduler makes a new one.

pub mod binding;
pub mod clusters;
pub mod customizations;
pub mod delivery;
pub mod detector;
pub mod division;
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

use std::collections::BTreeMap;
use std::sync::Arc;

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

/// The definitions of Karmada's kinds that fhpa touches, as YAML.
const DEFINITIONS: &[&str] = &[
    include_str!("crds/clusters.yaml"),
    include_str!("crds/propagationpolicies.yaml"),
    include_str!("crds/clusterpropagationpolicies.yaml"),
    include_str!("crds/resourcebindings.yaml"),
    include_str!("crds/works.yaml"),
    include_str!("crds/resourceinterpretercustomizations.yaml"),
    include_str!("crds/federatedresourcequotas.yaml"),
];

/// CustomResourceDefinitions of Karmada's kinds, ready to be created.
///
/// # Errors
/// When one of the files is not YAML.
pub fn definitions() -> Result<Vec<Value>, serde_saphyr::Error> {
    DEFINITIONS.iter().map(|text| serde_saphyr::from_str(text)).collect()
}

/// How long things take in Karmada.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Between two looks at a member. Karmada: 10 seconds.
    pub status_period: SignedDuration,
    /// A member that does not answer for so long has failed. Karmada: 30 seconds.
    pub failure_threshold: SignedDuration,
    /// A member that answers again for so long is back. Karmada: 30 seconds.
    pub success_threshold: SignedDuration,
    /// Graceful evictions end after this. Karmada: 10 minutes.
    pub eviction_timeout: SignedDuration,
    /// Whether a failed cluster gets a taint that evicts, as a ClusterTaintPolicy would give it, and whether such taints evict
    /// at all. Karmada: no.
    pub failover: bool,
    /// Whether what is scheduled has to stay within FederatedResourceQuotas. Karmada: no.
    pub quota: bool,
    /// How late a changed Work is come to, when the queue is long. Karmada: not at all.
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

/// Karmada's controllers and the members they manage.
pub struct Karmada {
    objects: Objects,
    kinds: Kinds,
    clock: Clock,
    timing: Timing,
    lag: Mutex<SignedDuration>,
    members: BTreeMap<String, Arc<Member>>,
    memory: Mutex<Memory>,
}

/// What the controllers remember; all of it can be lost.
#[derive(Default)]
struct Memory {
    /// Health of the members.
    probes: BTreeMap<String, Probe>,
    /// Which Works were brought to their cluster.
    deliveries: Deliveries,
    /// Since when a binding is unhealthy in a cluster.
    unhealthy: BTreeMap<(String, String), Timestamp>,
    /// Whose Works were written: a Work that is edited or deleted by hand stays so until its binding changes.
    bindings: Queue,
    /// What templates looked like when their binding was last written, without what changes by itself.
    seen: BTreeMap<String, u32>,
}

impl Karmada {
    /// On the control plane of `objects`, over `members`.
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

    /// From what users wrote to the members.
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

    /// Decides on clusters, after what is decided so far was propagated.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn schedule_all(&self) -> Result<Pass, kube::Error> {
        self.schedule(self.clock.now()).await
    }

    /// From the members back to what users read.
    ///
    /// # Errors
    /// When an API server does not answer.
    pub async fn reflect_all(&self) -> Result<Pass, kube::Error> {
        let interpreter = self.interpreter().await?;
        self.reflect(&interpreter, self.clock.now()).await
    }

    /// Makes changed Works wait so long from now on.
    pub fn lag(&self, by: SignedDuration) {
        *self.lag.lock() = by;
    }

    fn lagging(&self) -> SignedDuration {
        *self.lag.lock()
    }

    /// Forgets all that the controllers remember, as when they are started anew.
    pub fn restart(&self) {
        self.remember(|memory| *memory = Memory::default());
    }

    async fn interpreter(&self) -> Result<Interpreter, kube::Error> {
        Ok(Interpreter::new(self.objects.list(&self.kinds.customization, "").await?))
    }

    async fn clusters(&self) -> Result<Vec<Value>, kube::Error> {
        self.objects.list(&self.kinds.cluster, "").await
    }

    fn remember<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.memory.lock())
    }
}

/// A condition whose time of change is kept while its status is.
fn condition(before: Option<&Value>, kind: &str, holds: bool, why: (&str, &str), now: Timestamp) -> Value {
    let status = if holds { "True" } else { "False" };
    let same = before.filter(|before| super::json::text(before, "/status") == status);
    let since = same.map(|before| super::json::text(before, "/lastTransitionTime").to_owned());
    let since = since.unwrap_or_else(|| super::clock::rfc3339(now));
    serde_json::json!({"type": kind, "status": status, "reason": why.0, "message": why.1, "lastTransitionTime": since})
}
