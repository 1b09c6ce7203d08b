//! What karmada-apiserver holds for fhpa: the list of objects, their server-side apply, and their removal
//! (design: Living with Karmada). Talks to the API server in `apply` and `remove`; the rest is made
//! without I/O.

pub mod apply;
pub mod compare;

pub mod manifests;
pub mod permissions;
pub mod remove;
pub mod set_aside;
pub mod superset;
pub mod webhooks;
