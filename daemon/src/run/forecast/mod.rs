//! The assignment that the controller would make, from caches or from given objects: for the webhook's dry runs and the
//! command line. It uses the code of the controller - cache, observe, plan - and writes nothing.

pub mod centralized;
pub mod drill;
pub mod live;
mod objects;
mod preview;

use std::fmt;

use jiff::Timestamp;

pub use crate::reconcile::federated_hpa::observe::capacity::Rooms;
pub use objects::Objects;
pub use preview::{Forecaster, Withheld};

use crate::api::resource_binding::ResourceBinding;
use crate::decision::plan::{Plan, Request, plan};
use crate::reconcile::federated_hpa::cache::View;
pub use crate::reconcile::federated_hpa::names::{CLUSTER_POLICY, POLICY};
use crate::reconcile::federated_hpa::observe::live_state::LiveState;
use crate::reconcile::federated_hpa::observe::{PlacementSpec, observe};

/// Source of the policy of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'a> {
    /// `spec.federatedHPAAssignment`
    Own,
    /// The placement of a policy of that kind and name.
    Policy(&'static str, &'a str),
    /// The placement of the ResourceBinding of that name, with any origin.
    Binding(&'a str),
}

impl<'a> Origin<'a> {
    fn of(view: &'a View, binding: &'a ResourceBinding) -> Self {
        if view.federated_hpa.object.spec.federated_hpa_assignment.is_some() {
            return Self::Own;
        }
        let metadata = &binding.metadata;
        let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).map(String::as_str);
        let spaced = annotation(POLICY).map(|name| Self::Policy("PropagationPolicy", name));
        let cluster = || annotation(CLUSTER_POLICY).map(|name| Self::Policy("ClusterPropagationPolicy", name));
        spaced.or_else(cluster).unwrap_or(Self::Binding(metadata.name.as_deref().unwrap_or_default()))
    }
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("federatedHPAAssignment"),
            Self::Policy(kind, name) => write!(f, "the {kind} {name}"),
            Self::Binding("") => f.write_str("the placement"),
            Self::Binding(name) => write!(f, "the ResourceBinding {name}"),
        }
    }
}

/// The decision that the controller would make.
#[derive(Clone, Copy, Debug)]
pub struct Forecast<'a> {
    /// Its input.
    pub request: &'a Request<'a>,
    /// Its result.
    pub plan: &'a Plan<'a>,
    /// Source of the policy.
    pub origin: Origin<'a>,
    /// Name of the affinity group in use; empty where there is none.
    pub group: &'a str,
    /// Clusters with unknown free capacity, while the policy depends on it.
    pub unknown_capacity: &'a [&'a str],
    /// When a toleration or a wait ends, so that another plan is due.
    pub next: Option<Timestamp>,
}

/// Computes a forecast at `now` and passes it to `tell`; `None` when the workload has no readable binding.
fn forecast<R>(view: &View, live: &LiveState, now: Timestamp, tell: impl FnOnce(&Forecast<'_>) -> R) -> Option<R> {
    let binding = view.binding.as_deref()?;
    let placement_spec = PlacementSpec::of(view, binding).ok()?;
    let mut observed = observe(view, binding, &placement_spec, live, now);
    observed.leave_promised(live, &mut live.ledger.lock(), view, binding, now);
    Some(tell(&Forecast {
        request: &observed.request,
        plan: &plan(&observed.request),
        origin: Origin::of(view, &binding.object),
        group: observed.group,
        unknown_capacity: &observed.unknown_capacity,
        next: observed.next,
    }))
}
