//! Labels, annotations and finalizers of this controller, and those of Karmada that it writes. No I/O.

pub use crate::decision::names::ADOPT;
/// Finalizer of a FederatedHPA: its workload is taken over.
pub use crate::decision::names::FINALIZER;
pub use crate::decision::names::{SUSPENDED_BEFORE, SUSPENDED_FOR, WORKLOAD};
/// Label of a Work: uid of its FederatedHPA.
pub const OWNER_UID: &str = "fhpa.karmada.io/federatedhpa-uid";
/// Annotation of a Work: namespace and name of its FederatedHPA.
pub const OWNER: &str = "fhpa.karmada.io/federatedhpa";
/// Annotation of a Work: the greatest maxReplicas that may be in effect until its write is confirmed.
pub const OUTSTANDING: &str = "fhpa.karmada.io/pending-max-replicas";
/// Annotation of a Work: digest of everything except the bounds.
pub const CONTENT: &str = "fhpa.karmada.io/template-hash";
/// Annotation of a Work: its HPA may not scale down.
pub const HELD: &str = "fhpa.karmada.io/scale-down-disabled";
/// Annotation of a member's HPA: id of its last write.
pub const WRITE_ID: &str = "fhpa.karmada.io/write-id";
/// Member of the reflected status that contains [`WRITE_ID`].
pub const REFLECTED_WRITE_ID: &str = "writeID";
/// Member of the reflected status that contains the metrics of an HPA of the older API.
pub const REFLECTED_METRICS: &str = "autoscalingV1Metrics";
/// Member of the reflected status that contains the conditions of an HPA of the older API.
pub const REFLECTED_CONDITIONS: &str = "autoscalingV1Conditions";
/// Label of a workload: member clusters keep their replicas.
pub use crate::decision::names::RETAIN_REPLICAS;
/// Annotation of a ResourceBinding: the placement that was last scheduled.
pub const APPLIED_PLACEMENT: &str = "policy.karmada.io/applied-placement";
/// Annotation of a ResourceBinding: name of its PropagationPolicy.
pub const POLICY: &str = "propagationpolicy.karmada.io/name";
/// Annotation of a ResourceBinding: name of its ClusterPropagationPolicy.
pub const CLUSTER_POLICY: &str = "clusterpropagationpolicy.karmada.io/name";
/// Label of a Work: the ResourceBinding by which Karmada propagates what is in it.
pub const BINDING_ID: &str = "resourcebinding.karmada.io/permanent-id";
/// Finalizer of a Work, with which Karmada removes the object from the cluster.
pub const EXECUTION_FINALIZER: &str = "karmada.io/execution-controller";

/// Producer of the eviction tasks of Karmada for taints.
pub const TAINT_MANAGER: &str = "TaintManager";
/// Producer of eviction tasks of fhpa.
pub const PRODUCER: &str = "fhpa";

/// Whether Karmada's message about an object of a member says that it leaves it alone, as it is not its own. Nothing else
/// that it writes tells this from other failures.
#[must_use]
pub fn is_left_alone(message: &str) -> bool {
    ["will not manage this resource", "not managed by Karmada"].iter().any(|words| message.contains(words))
}
