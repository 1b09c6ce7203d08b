//! The used part of a `scale` subresource (`autoscaling/v1`). No I/O, no decisions.

use decision::json::null_as_default;
use kube::core::ObjectMeta;
use serde::Deserialize;

/// The replicas of an object of any scalable kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Scale {
    /// Uid and version of the scaled object.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ScaleSpec,
    /// The current state.
    #[serde(deserialize_with = "null_as_default")]
    pub status: ScaleStatus,
}

/// `spec`
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ScaleSpec {
    /// Desired replicas. Kubernetes leaves 0 out.
    pub replicas: Option<i32>,
}

/// `status`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ScaleStatus {
    /// Selector of its pods in the form of a query parameter; empty when the kind has none.
    #[serde(deserialize_with = "null_as_default")]
    pub selector: String,
}
