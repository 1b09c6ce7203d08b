//! Conditions: which of them a user should look at, and what to do. No I/O.

use super::advice::{is_harmless, to_do};
use super::model::{ConditionView, Waiting};
use crate::api::hpa_status::Condition;
use crate::decision::health::{CEILINGS, DISABLED, SCALING_LIMITED};
use crate::reconcile::federated_hpa::status::FAILOVER_PAUSED;
use crate::reconcile::federated_hpa::status::conditions::{is_awaited, is_bad};

/// Type of the condition that summarizes an object.
const READY: &str = "Ready";

/// The conditions of an object. `at_zero`: all of its clusters are scaled to zero.
pub(super) fn views(conditions: &[Condition], at_zero: bool) -> Vec<ConditionView> {
    conditions.iter().map(|condition| view(condition, needs_attention(condition, at_zero))).collect()
}

/// The condition `Ready`; `Unknown` while no controller has written one.
pub(super) fn ready(conditions: &[Condition]) -> ConditionView {
    let found = conditions.iter().find(|condition| condition.type_ == READY);
    let absent = || ConditionView { type_: READY.into(), status: "Unknown".into(), ..ConditionView::default() };
    found.map_or_else(absent, |condition| view(condition, condition.status != "True"))
}

/// What the conditions say is waited for; of two with one message the first.
pub(super) fn awaited(conditions: &[Condition]) -> Vec<Waiting> {
    let mut waits: Vec<Waiting> = Vec::new();
    for condition in conditions.iter().filter(|condition| is_awaited(condition)) {
        let ConditionView { reason, message, since, to_do, .. } = view(condition, true);
        if waits.iter().all(|known| known.reason != reason) {
            waits.push(Waiting { reason, message, since, to_do });
        }
    }
    waits
}

fn needs_attention(condition: &Condition, at_zero: bool) -> bool {
    let reason = condition.reason.as_deref().unwrap_or_default();
    match (&*condition.type_, &*condition.status) {
        (SCALING_LIMITED, "True") => CEILINGS.contains(&reason),
        (FAILOVER_PAUSED, status) => status == "True",
        (_, "Unknown") => true,
        (_, "True") => !is_harmless(reason),
        _ if reason == DISABLED => !at_zero,
        _ => is_bad(condition),
    }
}

impl ConditionView {
    /// Whether its status is as it should be; `None` while it is unknown. Most conditions are well while they are true;
    /// `ScalingLimited` and `FailoverPaused` tell of a fault by being true, the first not by each of its reasons.
    #[must_use]
    pub fn is_well(&self) -> Option<bool> {
        let turned = matches!(&*self.type_, SCALING_LIMITED | FAILOVER_PAUSED);
        match &*self.status {
            "True" => Some(!turned || !self.needs_attention),
            "False" => Some(turned),
            _ => None,
        }
    }
}

fn view(condition: &Condition, needs_attention: bool) -> ConditionView {
    let reason = condition.reason.clone().unwrap_or_default();
    let to_do = to_do(&reason).filter(|_| needs_attention).unwrap_or_default().to_owned();
    ConditionView {
        type_: condition.type_.clone(),
        status: condition.status.clone(),
        reason,
        message: condition.message.clone().unwrap_or_default(),
        since: condition.last_transition_time.clone(),
        needs_attention,
        to_do,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(type_: &str, status: &str, reason: &str) -> Condition {
        Condition { type_: type_.into(), status: status.into(), reason: Some(reason.into()), ..Condition::default() }
    }

    #[test]
    fn what_is_as_it_should_be_asks_for_no_attention() {
        let quiet = [
            of("Ready", "True", "MemberHPAsReady"),
            of("Assigned", "True", "Assigned"),
            of("Assigned", "False", "WaitingForMembers"),
            of("ScalingLimited", "False", "DesiredWithinRange"),
            of("ScalingLimited", "True", "TooFewReplicas"),
            of("FailoverPaused", "False", "ClustersReady"),
        ];
        assert!(views(&quiet, false).iter().all(|view| !view.needs_attention && view.to_do.is_empty()));
        assert!(!views(&[of("ScalingActive", "False", "ScalingDisabled")], true)[0].needs_attention);
    }

    #[test]
    fn what_is_not_comes_with_what_to_do() {
        let bad = [
            of("Ready", "False", "ForeignHPA"),
            of("Assigned", "True", "ReplicasUnassigned"),
            of("ScalingActive", "True", "PartialMetrics"),
            of("ScalingActive", "Unknown", "MemberStatusUnknown"),
            of("ScalingActive", "False", "ScalingDisabled"),
            of("ScalingLimited", "True", "TooManyReplicas"),
            of("FailoverPaused", "True", "TooManyClustersNotReady"),
        ];
        for view in views(&bad, false) {
            assert!(view.needs_attention && !view.to_do.is_empty(), "{view:?}");
        }
    }

    #[test]
    fn a_condition_that_tells_of_a_fault_is_well_while_it_is_false() {
        let well = |type_, status, reason| views(&[of(type_, status, reason)], false)[0].is_well();
        assert_eq!(well("Ready", "True", "MemberHPAsReady"), Some(true));
        assert_eq!(well("Ready", "False", "ForeignHPA"), Some(false));
        assert_eq!(well("Ready", "Unknown", "MemberStatusUnknown"), None);
        assert_eq!(well("ScalingLimited", "False", "DesiredWithinRange"), Some(true));
        assert_eq!(well("ScalingLimited", "True", "TooFewReplicas"), Some(true));
        assert_eq!(well("ScalingLimited", "True", "TooManyReplicas"), Some(false));
        assert_eq!(well("FailoverPaused", "True", "TooManyClustersNotReady"), Some(false));
    }

    #[test]
    fn a_wait_is_named_once() {
        let both = [of("Assigned", "False", "HandingBack"), of("Ready", "False", "HandingBack")];
        assert_eq!(awaited(&both).len(), 1);
        assert_eq!((ready(&both).status, ready(&[]).status), ("False".to_owned(), "Unknown".to_owned()));
    }
}
