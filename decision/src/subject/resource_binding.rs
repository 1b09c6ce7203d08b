//! The part of Karmada's ResourceBinding that matters at its creation. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Text;
use crate::json::{entries, null_as_default};

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceBinding<'a> {
    /// `metadata`
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: BindingMetadata<'a>,
    /// `spec`
    pub spec: Option<ResourceBindingSpec<'a>>,
}

/// The part of `metadata` that rules read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BindingMetadata<'a> {
    /// `annotations`, by key.
    #[serde(deserialize_with = "entries")]
    pub annotations: BTreeMap<Text<'a>, Text<'a>>,
}

/// `spec`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceBindingSpec<'a> {
    /// `resource`: the template that is bound.
    #[serde(deserialize_with = "null_as_default")]
    pub resource: ObjectReference<'a>,
    /// `suspension`
    pub suspension: Option<Suspension>,
}

/// `resource`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectReference<'a> {
    /// `apiVersion`
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: Text<'a>,
    /// `kind`
    #[serde(deserialize_with = "null_as_default")]
    pub kind: Text<'a>,
    /// `namespace`
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: Text<'a>,
    /// `name`
    #[serde(deserialize_with = "null_as_default")]
    pub name: Text<'a>,
}

/// `suspension`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Suspension {
    /// `scheduling`: true suspends Karmada's scheduler.
    pub scheduling: Option<bool>,
}
