//! The parts of other autoscalers in karmada-apiserver that fhpa reads: which object they scale. No I/O, no decisions.

use decision::json::null_as_default;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::hpa::CrossVersionObjectReference;
use super::karmada::karmada_resource;

/// An object that scales another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScalerSpec {
    /// The object that it scales.
    #[serde(deserialize_with = "null_as_default")]
    pub scale_target_ref: CrossVersionObjectReference,
}

/// A `HorizontalPodAutoscaler` (`autoscaling/v2`), as Karmada propagates it to members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlainHPA {
    /// Name and namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// What it scales.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ScalerSpec,
}

karmada_resource!(PlainHPA, "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", namespaced);

/// A `ScaledObject` of KEDA (`keda.sh/v1alpha1`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScaledObject {
    /// Name and namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// What it scales.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ScalerSpec,
}

karmada_resource!(ScaledObject, "keda.sh", "v1alpha1", "ScaledObject", "scaledobjects", namespaced);
