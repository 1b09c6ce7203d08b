//! The part of Karmada's ResourceBinding that matters at its creation. Pure.

use std::collections::BTreeMap;

use super::Text;

/// The object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceBinding<'a> {
    /// `metadata`
    pub metadata: BindingMetadata<'a>,
    /// `spec`
    pub spec: Option<ResourceBindingSpec<'a>>,
}

/// The part of `metadata` that rules read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BindingMetadata<'a> {
    /// `annotations`, by key.
    pub annotations: BTreeMap<Text<'a>, Text<'a>>,
}

/// `spec`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceBindingSpec<'a> {
    /// `resource`: the template that is bound.
    pub resource: ObjectReference<'a>,
    /// `suspension`
    pub suspension: Option<Suspension>,
}

/// `resource`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectReference<'a> {
    /// `apiVersion`
    pub api_version: Text<'a>,
    /// `kind`
    pub kind: Text<'a>,
    /// `namespace`
    pub namespace: Text<'a>,
    /// `name`
    pub name: Text<'a>,
}

/// `suspension`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspension {
    /// `scheduling`: true suspends Karmada's scheduler.
    pub scheduling: Option<bool>,
}
