//! What is read of a `scale` subresource (`autoscaling/v1`). No I/O, no decisions.

use kube::core::ObjectMeta;
use serde::Deserialize;

use super::lenient::null_as_default;

/// The replicas of any kind that can be scaled.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Scale {
    /// Uid and version of the object that is scaled.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// What it should have.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ScaleSpec,
    /// What it has.
    #[serde(deserialize_with = "null_as_default")]
    pub status: ScaleStatus,
}

/// `spec`
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ScaleSpec {
    /// Replicas that it should have. Kubernetes leaves 0 out.
    pub replicas: Option<i32>,
}

/// `status`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ScaleStatus {
    /// Selects its pods, as a query has it; empty where the kind does not say.
    #[serde(deserialize_with = "null_as_default")]
    pub selector: String,
}
