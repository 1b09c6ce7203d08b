//! The member clusters and which of them take part: from the spec and the placement to [`candidates::candidates`].
//! Pure.

pub mod affinity;
pub mod api_enablements;
pub mod candidates;
pub mod cluster_state;
pub mod nodes;
pub mod observation;
pub mod placement;
pub mod settings;
pub mod spread;
pub mod taint;
pub mod tolerance;
pub mod unsupported;
pub mod workload_affinity;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::subject::Text;
use api_enablements::ApiEnablements;
use taint::Taint;

/// A member cluster as its `Cluster` object describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Member<'a> {
    /// `metadata.name`
    pub name: Text<'a>,
    /// `metadata.labels`
    pub labels: BTreeMap<Text<'a>, Text<'a>>,
    /// `spec.provider`
    pub provider: Text<'a>,
    /// `spec.region`
    pub region: Text<'a>,
    /// `spec.zone`, or `spec.zones` where that is empty.
    pub zones: Vec<Text<'a>>,
    /// `spec.taints`
    pub taints: Vec<Taint<'a>>,
    /// The kinds that it serves.
    pub enablements: ApiEnablements<'a>,
    /// Condition `Ready`.
    pub readiness: Readiness,
    /// Since when that condition says what it says.
    pub since: Option<Timestamp>,
    /// Whether it is being unjoined.
    pub deleting: bool,
}

impl Member<'_> {
    /// Whether it answers.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.readiness == Readiness::Ready && !self.deleting
    }
}

/// Condition `Ready` of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// True.
    Ready,
    /// False since then.
    NotReady(Timestamp),
    /// Unknown since then.
    Unknown(Timestamp),
    /// The condition is absent.
    #[default]
    Unsaid,
    /// The Cluster is there and cannot be decoded, so nothing is known of it.
    Undecoded,
}
