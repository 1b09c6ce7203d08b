//! Names that objects carry for this controller, and those of Karmada that it writes. No I/O.

/// Finalizer of a FederatedHPA whose workload is taken over.
pub const FINALIZER: &str = "autoscaling.karmada.io/fhpa";
/// Annotation of a FederatedHPA: an HPA of that name that is in a cluster already may be taken over.
pub const ADOPT: &str = "autoscaling.karmada.io/adopt-hpa";
/// Annotation of a FederatedHPA: the workload that is taken over, as `apiVersion kind name`.
pub const WORKLOAD: &str = "autoscaling.karmada.io/workload";
/// Annotation of a ResourceBinding: name of the FederatedHPA for which Karmada's scheduler is kept off.
pub use crate::decision::names::SUSPENDED_FOR;
/// Label of a Work: uid of its FederatedHPA.
pub const OWNER_UID: &str = "autoscaling.karmada.io/federatedhpa-uid";
/// Annotation of a Work: namespace and name of its FederatedHPA.
pub const OWNER: &str = "autoscaling.karmada.io/federatedhpa";
/// Annotation of a Work: the greatest maxReplicas that may be in effect until its write is confirmed.
pub const OUTSTANDING: &str = "autoscaling.karmada.io/outstanding";
/// Annotation of a Work: digest of everything but the bounds.
pub const CONTENT: &str = "autoscaling.karmada.io/content";
/// Annotation of a Work: its HPA may not scale down.
pub const HELD: &str = "autoscaling.karmada.io/scale-down-held";
/// Annotation of a member's HPA: marks the write that made it what it is.
pub const TOKEN: &str = "autoscaling.karmada.io/write";
/// Where [`TOKEN`] comes back, in the reflected status.
pub const REFLECTED_TOKEN: &str = "write";
/// Where the metrics of an HPA of the older API come back, in the reflected status.
pub const REFLECTED_METRICS: &str = "olderMetrics";
/// Where the conditions of an HPA of the older API come back, in the reflected status.
pub const REFLECTED_CONDITIONS: &str = "olderConditions";
/// Label of a workload: member clusters keep their replicas.
pub use crate::decision::names::RETAIN_REPLICAS;
/// Annotation of a ResourceBinding: the placement that was last scheduled.
pub const APPLIED_PLACEMENT: &str = "policy.karmada.io/applied-placement";
/// Finalizer of a Work, by which Karmada takes the object out of the cluster.
pub const EXECUTION_FINALIZER: &str = "karmada.io/execution-controller";

/// Producer of the eviction tasks that are ours.
pub const PRODUCER: &str = "fhpa";
