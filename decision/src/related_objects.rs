//! Other objects in the control plane that rules may read. Pure: an interface, filled by watches in the server and by
//! the given files on the command line.

use super::kinds::Retention;

/// Identifies an object that can be scaled. Two references are one target when kind, group and name are equal; the API
/// version does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Namespace of the target and of the object that refers to it.
    pub namespace: String,
    /// API group, empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

/// Facts about a FederatedHPA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFederatedHPA {
    /// Its name; the namespace is that of its target.
    pub name: String,
    /// The object that it scales.
    pub target: Target,
    /// `spec.minReplicas`; absent when it was never defaulted.
    pub min_replicas: Option<i32>,
    /// `spec.maxReplicas`.
    pub max_replicas: i32,
    /// Whether it works in Distributed mode (docs/design.md#on-the-wire).
    pub distributed: bool,
    /// Whether the user suspends it.
    pub suspended: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The object that it has taken over and not handed back: after an edit another one than `target`.
    pub taken_over: Option<Target>,
}

/// Facts about a CronFederatedHPA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCronFederatedHPA {
    /// Its name; the namespace is that of its target.
    pub name: String,
    /// The object that it scales.
    pub target: Target,
    /// Its rules.
    pub rules: Box<[KnownRule]>,
    /// Whether it is being deleted.
    pub deleting: bool,
}

/// Facts about a rule of a CronFederatedHPA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRule {
    /// `schedule`
    pub schedule: Box<str>,
    /// `timeZone`
    pub time_zone: Option<Box<str>>,
    /// Whether it is suspended.
    pub suspended: bool,
    /// `targetReplicas`, `targetMinReplicas`, `targetMaxReplicas`
    pub values: [Option<i32>; 3],
}

/// Kind of an autoscaler that is not fhpa's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScalerKind {
    /// An HPA of Kubernetes, which a policy of Karmada may bring to members.
    HorizontalPodAutoscaler,
    /// KEDA's, which makes an HPA where KEDA runs.
    ScaledObject,
}

impl ScalerKind {
    /// The kind as users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HorizontalPodAutoscaler => "HorizontalPodAutoscaler",
            Self::ScaledObject => "ScaledObject",
        }
    }

    /// What a user does with one on the workload of a FederatedHPA.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::HorizontalPodAutoscaler => {
                "delete it, or have the HPAs of members taken over (fhpa.karmada.io/adopt-hpa)"
            }
            Self::ScaledObject => "delete it, and use its triggers as External metrics",
        }
    }
}

/// Facts about an autoscaler in karmada-apiserver that is not fhpa's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownScaler {
    /// Its kind.
    pub kind: ScalerKind,
    /// Its name; the namespace is that of its target.
    pub name: String,
    /// The object that it scales.
    pub target: Target,
}

impl std::fmt::Display for KnownScaler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} scales this {} too", self.kind.name(), self.name, self.target.kind)
    }
}

/// The other objects at one moment. Every result is ordered by name.
pub trait RelatedObjects {
    /// The FederatedHPAs that scale `target`.
    fn federated_hpas_on(&self, target: &Target) -> Vec<KnownFederatedHPA>;
    /// The CronFederatedHPAs that scale `target`.
    fn cron_federated_hpas_on(&self, target: &Target) -> Vec<KnownCronFederatedHPA>;
    /// The FederatedHPA that has taken `target` over and not handed it back.
    fn holder_of(&self, _target: &Target) -> Option<KnownFederatedHPA> {
        None
    }
    /// The FederatedHPA of that name.
    fn federated_hpa(&self, namespace: &str, name: &str) -> Option<KnownFederatedHPA>;
    /// Autoscalers that are not fhpa's and scale `target`.
    fn scalers_on(&self, _target: &Target) -> Vec<KnownScaler> {
        Vec::new()
    }
    /// What customizations of Karmada's interpreter retain of objects of a kind; `None` while that is not known.
    fn retention(&self, _api_version: &str, _kind: &str) -> Option<Retention> {
        None
    }
}

/// Has no objects: for a server without a control plane (`--offline`).
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRelatedObjects;

impl RelatedObjects for NoRelatedObjects {
    fn federated_hpas_on(&self, _: &Target) -> Vec<KnownFederatedHPA> {
        Vec::new()
    }
    fn cron_federated_hpas_on(&self, _: &Target) -> Vec<KnownCronFederatedHPA> {
        Vec::new()
    }
    fn federated_hpa(&self, _: &str, _: &str) -> Option<KnownFederatedHPA> {
        None
    }
}
