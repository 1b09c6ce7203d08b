//! Objects of fhpa in karmada-apiserver: their list, their server-side apply, their removal, and the leader's guard
//! over them (docs/operations.md#upgrades-of-karmada). `apply`, `remove`, `members_left`, `guard`, `karmada` and `doctor`
//! talk to the API server; the rest is without I/O.

pub mod apply;
pub mod compare;
pub mod doctor;
pub mod guard;
pub mod karmada;
pub mod kinds;
pub mod members_left;

pub mod manifests;
pub mod modes;
pub mod permissions;
pub mod policy;
pub mod remove;
pub mod schema_merge;
pub mod suspended_bindings;
pub mod upstream_webhooks;
pub mod webhooks;
