//! ResourceBinding: JSON -> core. No I/O.

use crate::decision::subject::resource_binding::{
    BindingMetadata, ObjectReference, ResourceBinding, ResourceBindingSpec, Suspension,
};

reads! {
    ResourceBinding<'de> {
        "metadata" => metadata,
        "spec" => spec,
    }
    BindingMetadata<'de> {
        "annotations" => annotations,
    }
    ResourceBindingSpec<'de> {
        "resource" => resource,
        "suspension" => suspension,
    }
    ObjectReference<'de> {
        "apiVersion" => api_version,
        "kind" => kind,
        "namespace" => namespace,
        "name" => name,
    }
    Suspension {
        "scheduling" => scheduling,
    }
}
