//! The HPA of a member cluster. Pure.

use super::scenario::instant;
use super::{Second, Timing, Workload};
use decision::hpa::behavior::{Behavior, Rules, Select};
use decision::hpa::decide::{History, Policy, follow};
use decision::hpa::limits::Range;
use decision::hpa::metric::{Source, Target};
use decision::hpa::replicas::Tolerance;
use decision::hpa::uniform::Uniform;
use decision::load::Load;
use decision::plan::Bounds;
use decision::split::Replicas;

/// Request of each pod for a utilization target, in thousandths.
pub(super) const REQUEST: i64 = 1_000_000;

/// An HPA.
#[derive(Clone, Debug)]
pub(super) struct Autoscaler {
    pub(super) bounds: Bounds,
    pub(super) held: bool,
    policy: Policy,
    tolerance: Tolerance,
    history: History,
    /// When it runs next.
    pub(super) due: Second,
    /// Last desired replicas.
    pub(super) desired: Option<Replicas>,
    /// Last measured load.
    pub(super) load: Option<Load>,
}

/// The pods as input of the HPA.
#[derive(Clone, Copy, Debug)]
pub(super) struct HpaReading {
    pub(super) spec: Replicas,
    pub(super) all: Replicas,
    pub(super) ready: Replicas,
    pub(super) settled: Replicas,
    /// Load of each ready pod, in thousandths of its target.
    pub(super) share: u64,
}

/// Rules of an HPA of the workload.
pub(super) fn policy(workload: &Workload<'_>, timing: Timing, range: Range) -> Policy {
    let downscale_window_seconds = i32::try_from(timing.downscale_window).unwrap_or(i32::MAX);
    Policy { range, behavior: workload.behavior.clone(), downscale_window_seconds }
}

pub(super) fn tolerance(workload: &Workload<'_>) -> Tolerance {
    let usual = Tolerance::default();
    workload.behavior.as_ref().map_or(usual, |behavior| behavior.tolerance(usual))
}

impl Autoscaler {
    pub(super) fn new(workload: &Workload<'_>, timing: Timing, due: Second) -> Self {
        Self {
            bounds: Bounds::NONE,
            held: false,
            policy: Policy { behavior: None, ..policy(workload, timing, Range { min: 0, max: 0 }) },
            tolerance: tolerance(workload),
            history: History::default(),
            due,
            desired: None,
            load: None,
        }
    }

    /// Applies new bounds.
    pub(super) fn bind(&mut self, workload: &Workload<'_>, bounds: Bounds, held: bool) {
        (self.bounds, self.held) = (bounds, held);
        let whole = |replicas: Replicas| i32::try_from(replicas).unwrap_or(i32::MAX);
        self.policy.range = Range { min: whole(bounds.min), max: whole(bounds.max) };
        let given = workload.behavior.clone();
        self.policy.behavior = if held {
            let Behavior { up, down } =
                given.unwrap_or_else(|| Behavior { up: Rules::default_up(), down: Rules::default_down() });
            Some(Behavior { up, down: Rules { select: Select::Disabled, ..down } })
        } else {
            given
        };
    }

    /// One pass over the pods; returns new replicas, if they change.
    pub(super) fn evaluate(&mut self, workload: &Workload<'_>, reading: HpaReading, now: Second) -> Option<Replicas> {
        let (source, target) = &workload.metric;
        let (cpu, whole) = (is_cpu(source), matches!(target, Target::Value(_)));
        let counted = if cpu { reading.settled } else { reading.ready };
        let current = i32::try_from(reading.spec).unwrap_or(i32::MAX);
        let alike = Uniform {
            spec_replicas: current,
            counted,
            unready: if whole { 0 } else { reading.all.saturating_sub(counted) },
            tolerance: self.tolerance,
        };
        let (value, load) = measured(*target, reading.share);
        self.load = (counted > 0).then_some(load).or(self.load);
        let at = instant(now);
        let wanted =
            || if current == 0 { Uniform::from_none(*target, value) } else { alike.replicas(*target, value, REQUEST) };
        let written = follow(&self.policy, current, at, &mut self.history, wanted);
        if let Some(replicas) = written {
            self.history.scaled(&self.policy, current, replicas, at);
        }
        let written = written.and_then(|replicas| Replicas::try_from(replicas).ok());
        self.desired = Some(written.unwrap_or(reading.spec));
        written
    }
}

fn is_cpu(source: &Source) -> bool {
    matches!(source, Source::Resource { name } | Source::ContainerResource { name, .. } if name == "cpu")
}

/// Whether the metric of a pod is limited by what the pod can serve.
pub(super) const fn is_bounded(source: &Source) -> bool {
    matches!(source, Source::Resource { .. } | Source::ContainerResource { .. })
}

/// The metric for a load in thousandths of the target, in the unit of the metric; and the load as reported.
pub(super) fn measured(target: Target, share: u64) -> (i64, Load) {
    let share = i64::try_from(share).unwrap_or(i64::MAX);
    let natural = |number: i64| u64::try_from(number).unwrap_or_default();
    match target {
        Target::Utilization(percent) => {
            let value = share.saturating_mul(percent.into()).saturating_mul(REQUEST / 100_000);
            let shown = share.saturating_mul(percent.into()) / 1000;
            (value, Load { value: natural(shown), target: natural(percent.into()) })
        }
        Target::AverageValue(of) | Target::Value(of) => {
            let product = i128::from(share).saturating_mul(of.into()) / 1000;
            let value = i64::try_from(product).unwrap_or(i64::MAX);
            (value, Load { value: natural(value), target: natural(of) })
        }
    }
}
