//! The computation that the controller would make for a Centralized object, from given objects or on a control plane.
//! It uses the code of the controller - observe, compute - and writes nothing.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::Client;

pub use crate::reconcile::federated_hpa::centralized::Settings;
pub use crate::reconcile::federated_hpa::centralized::metrics::{CONTROL_PLANE, MetricsApiQuery, MetricsApiResponse};
pub use crate::reconcile::federated_hpa::centralized::observe::Members;

use super::Objects;
use crate::api::FederatedHPA;
use crate::controller::failure::Asked;
use crate::convert::fleet::number;
use crate::decision::hpa::decide::{Decision, History};
use crate::decision::hpa::multi_cluster::{Controls, Gathered, Observed, compute};
use crate::decision::selector::Selector;
use crate::reconcile::federated_hpa::cache::entry::Binding;
use crate::reconcile::federated_hpa::cache::{Cache, View};
use crate::reconcile::federated_hpa::centralized::Centralized;
use crate::reconcile::federated_hpa::centralized::observe::MetricQueries;
use crate::reconcile::federated_hpa::write::binding_replicas::handed_back;
use crate::reconcile::federated_hpa::write::takeover::target;
use crate::reconcile::federated_hpa::write::writer::{Scalable, Writer};
use crate::reconcile::scale_target::Targets;

/// Longer than any window of stabilization.
const LONG_AGO: SignedDuration = SignedDuration::from_hours(2);

/// A computation.
#[derive(Clone, Debug)]
pub struct Computation<'a> {
    /// Requested replicas of the workload.
    pub current: i32,
    /// How it is scaled.
    pub controls: Controls,
    /// Pods and metrics of each cluster.
    pub gathered: Gathered<'a>,
    /// All clusters as one.
    pub observed: Observed,
    /// The decision of a leader that has just begun, for which the current replicas are a recent recommendation.
    pub decision: Decision,
    /// The decision when every recommendation within the windows was the same.
    pub settled: Decision,
    /// When it was made.
    pub now: Timestamp,
}

impl<'a> Computation<'a> {
    fn of(controls: Controls, current: i32, gathered: Gathered<'a>, now: Timestamp) -> Self {
        let observed = gathered.clone().combined();
        let input = Some(&observed).filter(|_| controls.use_metrics(current));
        let decision = compute(&controls, current, input, now, &mut History::default());
        let mut past = History::default();
        past.recommendations.begin(current, now.checked_sub(LONG_AGO).unwrap_or(Timestamp::MIN));
        let settled = compute(&controls, current, input, now, &mut past);
        Self { current, controls, gathered, observed, decision, settled, now }
    }
}

impl Objects {
    /// The computation for a workload with `current` replicas and these `members`. `None` when the workload has no
    /// binding among these objects.
    pub fn compute<R>(
        &self,
        hpa: &FederatedHPA,
        settings: &Settings,
        current: i32,
        members: &impl Members,
        now: Timestamp,
        tell: impl FnOnce(&Computation<'_>) -> R,
    ) -> Option<R> {
        let view = self.view(hpa)?;
        let binding = bound(&view)?;
        let gathered = MetricQueries::of(&view, binding, settings, now).gather(members);
        Some(tell(&Computation::of(settings.controls(&hpa.spec), current, gathered, now)))
    }

    /// The computation on a control plane: reads the scale of the workload there, and pods and metrics of its members
    /// through the cluster proxy. `None` when the workload has no binding among these objects.
    ///
    /// # Errors
    /// The scale of the workload cannot be read, or does not select its pods.
    pub async fn compute_on<R>(
        &self,
        client: &Client,
        hpa: &FederatedHPA,
        settings: &Settings,
        now: Timestamp,
        tell: impl FnOnce(&Computation<'_>) -> R,
    ) -> Result<Option<R>, String> {
        let Some(view) = self.view(hpa) else { return Ok(None) };
        let Some(binding) = bound(&view) else { return Ok(None) };
        let namespace = hpa.metadata.namespace.as_deref().unwrap_or_default();
        let target = target(&hpa.spec.scale_target_ref, namespace);
        let path = Targets::new(client.clone()).place(&target).await.map_err(|failure| failure.message)?;
        let resource = format!("{}/scale", path.plural);
        let asked = Asked { verb: "get", group: &path.group, resource: &resource, object: &target };
        let reader = Writer { client: client.clone(), cache: Arc::new(Cache::default()) };
        let scale = reader.read_scale(Scalable { path: &path.path, name: target.name, asked }).await;
        let scale = scale.map_err(|failure| failure.message)?;
        let selector = Selector::parse(&scale.status.selector).map_err(|why| {
            format!("the selector {:?} of the target's scale cannot be used: {why}", scale.status.selector)
        })?;
        let gathered = Centralized::new(client, settings.clone()).observe(&view, binding, &selector, now).await;
        // Members run other numbers than the template asks for, until it is handed back.
        let name = hpa.metadata.name.as_deref().unwrap_or_default();
        let current = handed_back(binding, name).map_or(scale.spec.replicas.unwrap_or_default(), number);
        Ok(Some(tell(&Computation::of(settings.controls(&hpa.spec), current, gathered, now))))
    }
}

fn bound(view: &View) -> Option<&Binding> {
    view.binding.as_deref().filter(|binding| binding.object.metadata.deletion_timestamp.is_none())
}
