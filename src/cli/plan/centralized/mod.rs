//! `fhpa plan` of a Centralized object: the numbers of each cluster, and the replicas that follow from them.

pub(super) mod members;
pub(super) mod outline;
pub(super) mod text;
