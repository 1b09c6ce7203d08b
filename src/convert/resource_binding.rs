//! ResourceBinding: JSON -> core. No I/O.

use crate::decision::subject::resource_binding::{ObjectReference, ResourceBinding, ResourceBindingSpec, Suspension};

reads! {
    ResourceBinding<'de> {
        "spec" => spec,
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
