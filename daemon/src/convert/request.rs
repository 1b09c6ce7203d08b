//! `spec` of a FederatedHPA -> what a plan is asked for. No I/O.

use jiff::SignedDuration;

use super::fleet::replicas;
use super::scaling;
use crate::api::federated_hpa::FederatedHPASpec;
use crate::decision::defaults::MIN_REPLICAS;
use crate::decision::hpa::behavior::DOWN_WINDOW_SECONDS;
use crate::decision::plan::{Bounds, Request};

/// What the user asks for; policy, clusters and what is known of them follow.
#[must_use]
pub fn asked(spec: &FederatedHPASpec) -> Request<'static> {
    let behavior = spec.behavior.as_ref().map(scaling::behavior);
    let window = behavior.as_ref().and_then(|behavior| behavior.down.window_seconds).unwrap_or(DOWN_WINDOW_SECONDS);
    Request {
        total: Bounds { min: replicas(spec.min_replicas.unwrap_or(MIN_REPLICAS)), max: replicas(spec.max_replicas) },
        suspended: spec.suspend.unwrap_or_default(),
        scaling_to_zero: spec.scaling_to_zero.unwrap_or_default(),
        scale_assist: spec.scale_assist.unwrap_or(true),
        scale_up: behavior.as_ref().map(|behavior| behavior.up.clone()),
        scale_down_tolerance: behavior.and_then(|behavior| behavior.down.tolerance),
        delay: SignedDuration::from_secs(spec.autoscale_multi_cluster_delay.unwrap_or_default().into()),
        window: SignedDuration::from_secs(window.into()),
        ..Request::default()
    }
}
