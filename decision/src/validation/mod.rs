//! The rules of admission: an object, its surroundings, and the findings (docs/validation.md#refused). Pure.
//!
//! One file per topic; every rule adds to the same [`Findings`], in the order of the fields, and none prevents the
//! others.

pub mod assignment;
pub mod behavior;
pub mod bounds;
pub mod conflicts;
pub mod cron_federated_hpa;
pub mod federated_hpa;
pub mod metadata;
mod metric_targets;
pub mod metrics;
pub mod names;
pub mod owners;
pub mod ratchet;
pub mod runnable;
pub mod scale_target;
pub mod schedules;
pub mod selectors;
mod sizes;

use jiff::Timestamp;

use super::cron::zones::Zones;
use super::defaults::Mode;
use super::finding::{Findings, Violation};
use super::related_objects::RelatedObjects;

pub use cron_federated_hpa::validate as validate_cron_federated_hpa;
pub use federated_hpa::validate as validate_federated_hpa;

/// What happens to an object that conflicts with another one (`--conflict-policy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConflictPolicy {
    /// It is rejected.
    #[default]
    Deny,
    /// It is admitted with a warning.
    Warn,
}

/// Settings of the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Default of `spec.mode` of a FederatedHPA.
    pub default_mode: Mode,
    /// Whether the operator named `default_mode`. If not, an object that is stored without a mode stays without one: it
    /// may be one that Karmada ran.
    pub mode_is_chosen: bool,
    /// What happens to objects that conflict over one workload.
    pub conflict_policy: ConflictPolicy,
    /// Whether the mutating endpoint denies what the validating one would, so that one answer has all errors.
    pub deny_early: bool,
    /// IANA name of the zone of schedules without `timeZone`.
    pub default_time_zone: String,
    /// Whether findings may name other objects and their values: not where it is unknown who asks.
    pub names_others: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_mode: Mode::default(),
            mode_is_chosen: true,
            conflict_policy: ConflictPolicy::default(),
            deny_early: true,
            default_time_zone: "UTC".to_owned(),
            names_others: true,
        }
    }
}

impl Settings {
    /// The mode of an object that is stored without one; `None`: the operator has not decided.
    #[must_use]
    pub fn stored_mode(&self) -> Option<Mode> {
        self.mode_is_chosen.then_some(self.default_mode)
    }
}

/// Further input of the rules.
#[derive(Clone, Copy)]
pub struct ValidationContext<'a> {
    /// The other objects.
    pub related_objects: &'a dyn RelatedObjects,
    /// The time zone database.
    pub zones: &'a dyn Zones,
    /// Settings of the operator.
    pub settings: &'a Settings,
    /// The time of the review.
    pub now: Timestamp,
}

/// A kind that can be validated.
pub trait Subject: PartialEq {
    /// All findings of the object.
    fn findings(&self, around: &ValidationContext<'_>) -> Findings;
    /// The violations among its findings; what could only warn is not searched.
    fn violations(&self, around: &ValidationContext<'_>) -> Vec<Violation> {
        self.findings(around).violations
    }
    /// Whether `self` and `stored` have the same spec: everything except metadata and status.
    fn same_spec(&self, stored: &Self) -> bool;
    /// Whether the object is being deleted.
    fn is_being_deleted(&self) -> bool;
}
