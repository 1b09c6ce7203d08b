//! The part of ObjectMeta that rules read. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Text;
use crate::json::{elements, entries, null_as_default};

/// The metadata of an object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata<'a> {
    /// `name`; empty when only `generateName` is given.
    #[serde(deserialize_with = "null_as_default")]
    pub name: Text<'a>,
    /// `generateName`
    #[serde(deserialize_with = "null_as_default")]
    pub generate_name: Text<'a>,
    /// `namespace`
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: Text<'a>,
    /// `generation`
    #[serde(deserialize_with = "null_as_default")]
    pub generation: i64,
    /// `deletionTimestamp`: set while the object is being deleted.
    pub deletion_timestamp: Option<Time<'a>>,
    /// `labels`, by key.
    #[serde(deserialize_with = "entries")]
    pub labels: BTreeMap<Text<'a>, Text<'a>>,
    /// `annotations`, by key.
    #[serde(deserialize_with = "entries")]
    pub annotations: BTreeMap<Text<'a>, Text<'a>>,
    /// `ownerReferences`
    #[serde(deserialize_with = "elements")]
    pub owner_references: Vec<OwnerReference<'a>>,
    /// `finalizers`
    #[serde(deserialize_with = "elements")]
    pub finalizers: Vec<Text<'a>>,
    /// `managedFields`, without the sets of fields.
    #[serde(deserialize_with = "elements")]
    pub managed_fields: Vec<ManagedFields<'a>>,
}

/// One owner.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OwnerReference<'a> {
    /// `apiVersion`
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: Text<'a>,
    /// `kind`
    #[serde(deserialize_with = "null_as_default")]
    pub kind: Text<'a>,
    /// `name`
    #[serde(deserialize_with = "null_as_default")]
    pub name: Text<'a>,
    /// `uid`
    #[serde(deserialize_with = "null_as_default")]
    pub uid: Text<'a>,
    /// `controller`: whether this owner manages the object.
    pub controller: Option<bool>,
}

/// Field ownership of one manager.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedFields<'a> {
    /// `manager`
    #[serde(deserialize_with = "null_as_default")]
    pub manager: Text<'a>,
    /// `operation`
    #[serde(deserialize_with = "null_as_default")]
    pub operation: Text<'a>,
    /// `fieldsType`
    #[serde(deserialize_with = "null_as_default")]
    pub fields_type: Text<'a>,
    /// `subresource`
    #[serde(deserialize_with = "null_as_default")]
    pub subresource: Text<'a>,
}

/// A time in RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Time<'a>(pub Text<'a>);
