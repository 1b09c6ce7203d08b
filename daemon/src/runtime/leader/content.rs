//! What a Lease says: its holder, and whether that one is frozen. No I/O.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::decision::freeze::{FREEZE, FROZEN, Freeze};
use crate::decision::lease::Record;

/// Value of the annotation that freezes the controllers.
pub(super) fn freeze(lease: &Lease) -> Option<String> {
    lease.metadata.annotations.as_ref()?.get(FREEZE).cloned()
}

/// Whether its holder is frozen, or will be when it reads the Lease.
pub(super) fn is_frozen(lease: &Lease) -> bool {
    let confirmed = lease.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(FROZEN));
    confirmed || Freeze::of(freeze(lease).as_deref(), None).is_some()
}

/// Sets or removes an annotation.
pub(super) fn annotate(metadata: &mut ObjectMeta, key: &str, value: Option<String>) {
    if let Some(value) = value {
        metadata.annotations.get_or_insert_default().insert(key.to_owned(), value);
    } else if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(key);
    }
}

/// Content of a Lease.
pub(super) fn record(lease: &Lease) -> Record {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default();
    Record {
        holder: spec.holder_identity.unwrap_or_default(),
        lease: Duration::from_secs(seconds),
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
    }
}
