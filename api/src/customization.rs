//! The parts of Karmada's `ResourceInterpreterCustomization` (`config.karmada.io/v1alpha1`) that fhpa reads: the kinds
//! whose replicas members keep. No I/O, no decisions.

use decision::json::null_as_default;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::karmada::karmada_resource;

/// A customization of Karmada's interpreter for one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceInterpreterCustomization {
    /// Name.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// The kind, and its customizations.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: CustomizationSpec,
}

karmada_resource!(
    ResourceInterpreterCustomization,
    "config.karmada.io",
    "v1alpha1",
    "ResourceInterpreterCustomization",
    "resourceinterpretercustomizations",
    cluster
);

/// `spec`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CustomizationSpec {
    /// The kind.
    #[serde(deserialize_with = "null_as_default")]
    pub target: CustomizationTarget,
    /// The customizations.
    #[serde(deserialize_with = "null_as_default")]
    pub customizations: CustomizationRules,
}

/// `spec.target`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CustomizationTarget {
    /// API version.
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: String,
    /// Kind.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
}

/// `spec.customizations`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CustomizationRules {
    /// Fields that members keep.
    #[serde(deserialize_with = "null_as_default")]
    pub retention: Script,
}

/// A script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Script {
    /// Its text.
    #[serde(deserialize_with = "null_as_default")]
    pub lua_script: String,
}
