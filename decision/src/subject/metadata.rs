//! The part of ObjectMeta that rules read. Pure.

use std::collections::BTreeMap;

use super::Text;

/// The metadata of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata<'a> {
    /// `name`; empty when only `generateName` is given.
    pub name: Text<'a>,
    /// `generateName`
    pub generate_name: Text<'a>,
    /// `namespace`
    pub namespace: Text<'a>,
    /// `generation`
    pub generation: i64,
    /// `deletionTimestamp`: set while the object is being deleted.
    pub deletion_timestamp: Option<Time<'a>>,
    /// `labels`, by key.
    pub labels: BTreeMap<Text<'a>, Text<'a>>,
    /// `annotations`, by key.
    pub annotations: BTreeMap<Text<'a>, Text<'a>>,
    /// `ownerReferences`
    pub owner_references: Vec<OwnerReference<'a>>,
    /// `finalizers`
    pub finalizers: Vec<Text<'a>>,
    /// `managedFields`, without the sets of fields.
    pub managed_fields: Vec<ManagedFields<'a>>,
}

/// One owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnerReference<'a> {
    /// `apiVersion`
    pub api_version: Text<'a>,
    /// `kind`
    pub kind: Text<'a>,
    /// `name`
    pub name: Text<'a>,
    /// `uid`
    pub uid: Text<'a>,
    /// `controller`: whether this owner manages the object.
    pub controller: Option<bool>,
}

/// Field ownership of one manager.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagedFields<'a> {
    /// `manager`
    pub manager: Text<'a>,
    /// `operation`
    pub operation: Text<'a>,
    /// `fieldsType`
    pub fields_type: Text<'a>,
    /// `subresource`
    pub subresource: Text<'a>,
}

/// A time in RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Time<'a>(pub Text<'a>);
