//! What karmada-apiserver holds for fhpa: the list of objects, their server-side apply, their removal, and the leader's
//! guard over them (docs/design.md#living-with-karmada). Talks to the API server in `apply`, `remove`, `guard` and
//! `doctor`; the rest is made
//! without I/O.

pub mod apply;
pub mod compare;
pub mod doctor;
pub mod guard;
pub mod kinds;

pub mod manifests;
pub mod marks;
pub mod permissions;
pub mod policy;
pub mod remove;
pub mod schema_merge;
pub mod upstream_webhooks;
pub mod webhooks;
