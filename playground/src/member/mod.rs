//! A member cluster: nodes, pods of deployments and stateful sets, and an HPA controller, on its own API server. Client
//! required.

mod ambiguity;
pub mod autoscaler;
pub mod load;
mod metrics;
pub mod node_events;
pub mod nodes;
pub mod pod;
pub mod pods;
mod report;
pub mod rollout;
pub mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::clock::Clock;
use super::json::{name, namespace, text};
use super::objects::{Kind, Objects};
use super::pass::Pass;
use autoscaler::Memory;
use load::Load;
pub use metrics::{GROUPS, adapter_api, discovery, external_api, metrics_api};
use node_events::NodeAutoscaler;

/// Durations in a member cluster.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Time from the start of a pod to its readiness.
    pub ready_delay: SignedDuration,
    /// Time from the deletion of a pod to its end.
    pub stop_delay: SignedDuration,
    /// Interval of the HPA controller. Kubernetes: 15 seconds.
    pub autoscaler_period: SignedDuration,
    /// Window of the metrics; a pod's usage counts only when it was ready for this long. metrics-server: 15 seconds.
    pub metrics_window: SignedDuration,
    /// Window of the HPA controller for scaling down without `behavior`. Kubernetes: 5 minutes.
    pub downscale_window: SignedDuration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ready_delay: SignedDuration::from_secs(2),
            stop_delay: SignedDuration::from_secs(1),
            autoscaler_period: SignedDuration::from_secs(15),
            metrics_window: SignedDuration::from_secs(15),
            downscale_window: SignedDuration::from_secs(300),
        }
    }
}

/// The kinds that the controllers of a member use.
#[derive(Clone, Debug)]
pub struct Kinds {
    pub(crate) node: Kind,
    pub(crate) pod: Kind,
    pub(crate) event: Kind,
    pub(crate) deployment: Kind,
    pub(crate) stateful_set: Kind,
    pub(crate) autoscaler: Kind,
    pub(crate) older_autoscaler: Kind,
}

impl Default for Kinds {
    fn default() -> Self {
        Self {
            node: Kind::regular("v1", "Node", false),
            pod: Kind::regular("v1", "Pod", true),
            event: Kind::regular("v1", "Event", true),
            deployment: Kind::regular("apps/v1", "Deployment", true),
            stateful_set: Kind::regular("apps/v1", "StatefulSet", true),
            autoscaler: Kind::regular("autoscaling/v2", "HorizontalPodAutoscaler", true),
            older_autoscaler: Kind::regular("autoscaling/v1", "HorizontalPodAutoscaler", true),
        }
    }
}

/// Properties of a member cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its version of Kubernetes.
    pub kubernetes: String,
    /// Whether it is in Pull mode, and so unreachable through the control plane.
    pub pulls: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self { kubernetes: "v1.36.2".to_owned(), pulls: false }
    }
}

/// How long a silent connection is kept: Kubernetes' clients send a ping after 30 seconds and wait 15.
pub const CONNECTION_PATIENCE: Duration = Duration::from_secs(45);

/// Reachability of a member from the control plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// It answers.
    #[default]
    Up,
    /// Connections are refused: its API server is gone.
    Refused,
    /// Requests are accepted, or lost, and not answered.
    Hangs,
}

/// A member cluster.
pub struct Member {
    name: String,
    profile: Mutex<Profile>,
    objects: Objects,
    kinds: Kinds,
    clock: Clock,
    load: Arc<Load>,
    timing: Timing,
    link: watch::Sender<Link>,
    halted: AtomicBool,
    unmeasured: AtomicBool,
    unready: AtomicBool,
    node_autoscaler: Mutex<NodeAutoscaler>,
    unlisted: Mutex<BTreeSet<String>>,
    births: AtomicU32,
    memory: Mutex<BTreeMap<String, Memory>>,
}

/// Input of a pass.
struct MemberView {
    nodes: Vec<Arc<Value>>,
    workloads: Vec<Arc<Value>>,
    pods: Vec<Arc<Value>>,
}

impl Member {
    /// The cluster `name` with the objects of its API server.
    #[must_use]
    pub fn new(name: &str, profile: Profile, objects: Objects, clock: Clock, load: Arc<Load>, timing: Timing) -> Self {
        Self {
            name: name.to_owned(),
            profile: Mutex::new(profile),
            objects,
            kinds: Kinds::default(),
            clock,
            load,
            timing,
            link: watch::Sender::new(Link::Up),
            halted: AtomicBool::new(false),
            unmeasured: AtomicBool::new(false),
            unready: AtomicBool::new(false),
            node_autoscaler: Mutex::default(),
            unlisted: Mutex::default(),
            births: AtomicU32::new(0),
            memory: Mutex::default(),
        }
    }

    /// Name of the cluster.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its properties.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile.lock().clone()
    }

    /// Changes its Kubernetes version. Its API server must follow.
    pub fn upgrade(&self, kubernetes: &str) {
        kubernetes.clone_into(&mut self.profile.lock().kubernetes);
    }

    /// Its objects. They can be read while the cluster is unreachable; a remote caller must check [`Self::failed`].
    #[must_use]
    pub const fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Its reachability.
    #[must_use]
    pub fn link(&self) -> Link {
        *self.link.borrow()
    }

    /// Whether it is unreachable.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.link() != Link::Up
    }

    /// Whether a request is answered; while the cluster hangs it waits, as long as a connection is kept.
    pub async fn answers(&self) -> bool {
        let mut link = self.link.subscribe();
        let settled = link.wait_for(|link| *link != Link::Hangs);
        let settled = tokio::time::timeout(CONNECTION_PATIENCE, settled).await;
        matches!(settled, Ok(Ok(link)) if *link == Link::Up)
    }

    /// Whether nothing runs in it.
    #[must_use]
    pub fn halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// Disconnects the cluster, or connects it again. Its workloads keep running.
    pub fn cut(&self, link: Link) {
        self.link.send_replace(link);
    }

    /// Stops the cluster with everything in it, so that connections are refused, or starts it again.
    pub fn fail(&self, failed: bool) {
        self.cut(if failed { Link::Refused } else { Link::Up });
        self.halted.store(failed, Ordering::Release);
        if failed {
            self.load.forget(&self.name);
        }
    }

    /// Leaves a kind out of the list of those that it serves, or has it there again. Its objects stay.
    pub fn unlist(&self, kind: &str, unlisted: bool) {
        let mut kinds = self.unlisted.lock();
        if unlisted {
            kinds.insert(kind.to_owned());
        } else {
            kinds.remove(kind);
        }
    }

    /// The kinds that it serves, by their group and version, as Karmada collects them.
    #[must_use]
    pub fn api_enablements(&self) -> Vec<Value> {
        let unlisted = self.unlisted.lock().clone();
        self.objects.api_enablements(|kind| !unlisted.contains(kind))
    }

    /// Stops its metrics server, or starts it again.
    pub fn lose_metrics(&self, lost: bool) {
        self.unmeasured.store(lost, Ordering::Release);
    }

    /// Whether its metrics server is stopped.
    fn metrics_gone(&self) -> bool {
        self.unmeasured.load(Ordering::Acquire)
    }

    /// Keeps pods that are not ready yet from becoming ready, like an image that cannot be pulled, or stops doing so.
    pub fn hold_pods(&self, held: bool) {
        self.unready.store(held, Ordering::Release);
    }

    /// Whether pods that are not ready yet stay so.
    #[must_use]
    pub fn holds_pods(&self) -> bool {
        self.unready.load(Ordering::Acquire)
    }

    /// Has a cluster-autoscaler that says this of pods without a node.
    pub fn autoscale_nodes(&self, autoscaler: NodeAutoscaler) {
        *self.node_autoscaler.lock() = autoscaler;
    }

    fn node_autoscaler(&self) -> NodeAutoscaler {
        *self.node_autoscaler.lock()
    }

    /// One pass of all its controllers.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn pass(&self) -> Result<Pass, kube::Error> {
        if self.halted() {
            return Ok(Pass::default());
        }
        let now = self.clock.now();
        let mut pass = Pass::default();
        let seen = self.look().await?;
        pass.join(self.roll_out(&seen, now).await?);
        pass.join(self.bind(&seen, now).await?);
        pass.join(self.judge_pods(&seen, now).await?);
        pass.join(self.run(&seen, now).await?);
        self.publish_ready(&seen);
        pass.join(self.report(&seen, now).await?);
        pass.join(self.autoscale(&seen, now).await?);
        Ok(pass)
    }

    async fn look(&self) -> Result<MemberView, kube::Error> {
        let nodes = self.objects.all(&self.kinds.node, "").await?;
        let mut workloads = self.objects.all(&self.kinds.deployment, "").await?;
        workloads.extend(self.objects.all(&self.kinds.stateful_set, "").await?);
        let pods = self.objects.all(&self.kinds.pod, "").await?;
        Ok(MemberView { nodes, workloads, pods })
    }

    fn publish_ready(&self, seen: &MemberView) {
        let mut ready = BTreeMap::new();
        for pod in seen.pods.iter().filter(|pod| pod::ready(pod)) {
            if let Some((_, owner)) = pod::owner(pod) {
                let count: &mut u32 = ready.entry((namespace(pod).to_owned(), owner.to_owned())).or_default();
                *count = count.saturating_add(1);
            }
        }
        self.load.publish(&self.name, ready);
    }
}

impl MemberView {
    fn pods_of<'a>(&'a self, workload: &'a Value) -> impl Iterator<Item = &'a Value> {
        let uid = text(workload, "/metadata/uid");
        self.pods.iter().map(AsRef::as_ref).filter(move |pod| pod::owner(pod).is_some_and(|(owner, _)| owner == uid))
    }

    /// The workload of an HPA.
    fn target_of(&self, object: &Value) -> Option<&Value> {
        self.workloads.iter().map(AsRef::as_ref).find(|workload| {
            namespace(workload) == namespace(object)
                && name(workload) == text(object, "/spec/scaleTargetRef/name")
                && text(workload, "/kind") == text(object, "/spec/scaleTargetRef/kind")
        })
    }
}
