//! ObjectMeta: JSON -> core. No I/O.

use super::scalar::Anything;
use crate::decision::subject::Text;
use crate::decision::subject::metadata::{ManagedFields, Metadata, OwnerReference, Time};

reads! {
    Metadata<'de> {
        "name" => name,
        "generateName" => generate_name,
        "namespace" => namespace,
        "generation" => generation,
        "deletionTimestamp" => deletion_timestamp,
        "labels" => labels,
        "annotations" => annotations,
        "ownerReferences" => owner_references,
        "finalizers" => finalizers,
        "managedFields" => managed_fields;
        shape
        "selfLink": Text<'de>,
        "uid": Text<'de>,
        "resourceVersion": Text<'de>,
        "creationTimestamp": Time<'de>,
        "deletionGracePeriodSeconds": Option<i64>,
    }
    OwnerReference<'de> {
        "apiVersion" => api_version,
        "kind" => kind,
        "name" => name,
        "uid" => uid,
        "controller" => controller;
        shape
        "blockOwnerDeletion": Option<bool>,
    }
    ManagedFields<'de> {
        "manager" => manager,
        "operation" => operation,
        "fieldsType" => fields_type,
        "subresource" => subresource;
        shape
        "apiVersion": Text<'de>,
        "time": Option<Time<'de>>,
        "fieldsV1": Anything,
    }
}
