//! Events of a cluster's autoscaler about pods that find no node -> whether nodes come
//! (docs/design.md#clusters-that-cannot-scale). Pure.
//!
//! A tenant may write such Events in its own namespace. What it gains is that its own object is helped before its own
//! delay ends, within its own bounds; help never begins later than without Events.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::excerpt::excerpt;
use crate::plan::is_ahead;

/// Most pods of a workload whose Events are read.
pub const PODS: usize = 3;

/// Characters of a message that are kept.
const MESSAGE: usize = 200;

/// The components that add nodes, the reasons of their Events about a pod, and what each reason means. `FailedScaleUp`
/// is GKE's; EKS Auto Mode runs Karpenter under a name of its own.
const KNOWN: [(&str, &str, Answer); 7] = [
    ("cluster-autoscaler", "TriggeredScaleUp", Answer::Coming),
    ("cluster-autoscaler", "NotTriggerScaleUp", Answer::NotComing),
    ("cluster-autoscaler", "FailedScaleUp", Answer::NotComing),
    ("karpenter", "Nominated", Answer::Coming),
    ("karpenter", "FailedScheduling", Answer::NotComing),
    ("eks-auto-mode/compute", "Nominated", Answer::Coming),
    ("eks-auto-mode/compute", "FailedScheduling", Answer::NotComing),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Coming,
    NotComing,
}

/// Whether nodes come for the pods of a cluster that find none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeOutlook {
    /// The autoscaler adds nodes.
    Coming {
        /// Since when, at the latest.
        since: Timestamp,
    },
    /// The autoscaler adds none.
    NotComing {
        /// The beginning of what it says. Anyone may have written it: quote it with `{:?}`.
        message: Arc<str>,
    },
    /// No autoscaler said so lately.
    #[default]
    Unknown,
}

/// An Event about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodEvent<'a> {
    /// The component that reports it.
    pub component: &'a str,
    /// Its reason.
    pub reason: &'a str,
    /// Its message.
    pub message: &'a str,
    /// When it last took place.
    pub at: Timestamp,
}

/// What the autoscaler last said about one pod. Its size is bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodNodes {
    /// When it last added nodes for the pod.
    triggered: Option<Timestamp>,
    /// When it last refused to, or failed, and the beginning of its message.
    refused: Option<(Timestamp, Arc<str>)>,
}

impl PodNodes {
    /// Reads the Events of a pod, in any order; those of other components do not count.
    pub fn of<'a>(events: impl IntoIterator<Item = PodEvent<'a>>) -> Self {
        let mut pod = Self::default();
        for PodEvent { component, reason, message, at } in events {
            match KNOWN.iter().find(|(by, why, _)| (*by, *why) == (component, reason)).map(|(.., answer)| *answer) {
                Some(Answer::Coming) => pod.triggered = pod.triggered.max(Some(at)),
                Some(Answer::NotComing) if pod.refused.as_ref().is_none_or(|(known, _)| *known < at) => {
                    pod.refused = Some((at, excerpt(message, MESSAGE).into()));
                }
                Some(Answer::NotComing) | None => {}
            }
        }
        pod
    }

    /// Since when nodes come for it: believed for `delay`, since a node that does not appear is not told of.
    fn coming(&self, delay: SignedDuration, now: Timestamp) -> Option<Timestamp> {
        let is_believed = |at: &Timestamp| !is_ahead(*at, now) && at.checked_add(delay).is_ok_and(|end| now < end);
        self.triggered.filter(is_believed).filter(|_| self.refusal().is_none())
    }

    /// What it said where that is newer than the last nodes for the pod.
    fn refusal(&self) -> Option<&(Timestamp, Arc<str>)> {
        self.refused.as_ref().filter(|(at, _)| Some(*at) > self.triggered)
    }
}

/// Whether nodes come, by what the autoscaler said of some of the pods that find none; `delay` is how long the others
/// wait for nodes.
#[must_use]
pub fn outlook(pods: &[PodNodes], delay: SignedDuration, now: Timestamp) -> NodeOutlook {
    if let Some(since) = pods.iter().filter_map(|pod| pod.coming(delay, now)).max() {
        return NodeOutlook::Coming { since };
    }
    let newest = pods.iter().filter_map(PodNodes::refusal).max_by_key(|(at, _)| *at);
    newest.map_or(NodeOutlook::Unknown, |(_, message)| NodeOutlook::NotComing { message: Arc::clone(message) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: SignedDuration = SignedDuration::from_mins(10);

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    fn event(reason: &'static str, second: i64) -> PodEvent<'static> {
        PodEvent { component: "cluster-autoscaler", reason, message: reason, at: at(second) }
    }

    fn pod(events: &[PodEvent<'static>]) -> PodNodes {
        PodNodes::of(events.iter().copied())
    }

    fn refused(message: &str) -> NodeOutlook {
        NodeOutlook::NotComing { message: message.into() }
    }

    #[test]
    fn the_newest_event_of_a_pod_counts_in_any_order() {
        let (no, yes) = (event("NotTriggerScaleUp", 1_000), event("TriggeredScaleUp", 1_010));
        let failed = event("FailedScaleUp", 1_020);
        let now = at(1_100);
        let of = |events: &[PodEvent<'static>]| outlook(&[pod(events)], DELAY, now);
        assert_eq!(of(&[no]), refused("NotTriggerScaleUp"));
        assert_eq!([of(&[no, yes]), of(&[yes, no])], [NodeOutlook::Coming { since: at(1_010) }, of(&[no, yes])]);
        assert_eq!(
            [of(&[yes, failed, no]), of(&[failed, no, yes])],
            [refused("FailedScaleUp"), refused("FailedScaleUp")]
        );
        let both = [event("NotTriggerScaleUp", 1_010), yes];
        assert_eq!(of(&both), NodeOutlook::Coming { since: at(1_010) }, "of one second: nodes come");
        assert_eq!(of(&[]), NodeOutlook::Unknown);
    }

    #[test]
    fn nodes_are_waited_for_as_long_as_the_delay_and_not_by_a_clock_that_is_ahead() {
        let pods = [pod(&[event("TriggeredScaleUp", 1_000)])];
        let of = |now| outlook(&pods, DELAY, at(now));
        assert_eq!([of(1_599), of(1_600)], [NodeOutlook::Coming { since: at(1_000) }, NodeOutlook::Unknown]);
        assert_eq!([of(940), of(939)], [NodeOutlook::Coming { since: at(1_000) }, NodeOutlook::Unknown]);
        assert_eq!(outlook(&pods, SignedDuration::ZERO, at(1_000)), NodeOutlook::Unknown);
    }

    #[test]
    fn no_nodes_come_only_where_none_come_for_any_of_the_pods() {
        let (no, yes) = (pod(&[event("NotTriggerScaleUp", 1_000)]), pod(&[event("TriggeredScaleUp", 900)]));
        let of = |pods: &[PodNodes], now| outlook(pods, DELAY, at(now));
        assert_eq!(of(&[no.clone(), yes.clone()], 1_100), NodeOutlook::Coming { since: at(900) });
        assert_eq!(of(&[no.clone(), yes], 1_500), refused("NotTriggerScaleUp"), "they are overdue");
        assert_eq!(of(&[no, pod(&[])], 1_100), refused("NotTriggerScaleUp"));
    }

    #[test]
    fn only_components_that_add_nodes_are_believed_and_their_text_is_bounded() {
        let by = |component, reason| PodNodes::of([PodEvent { component, ..event(reason, 1_000) }]);
        let of = |component, reason| outlook(&[by(component, reason)], DELAY, at(1_100));
        assert_eq!(of("default-scheduler", "FailedScheduling"), NodeOutlook::Unknown);
        assert_eq!(of("karpenter", "FailedScheduling"), refused("FailedScheduling"));
        assert_eq!(of("eks-auto-mode/compute", "Nominated"), NodeOutlook::Coming { since: at(1_000) });
        assert_eq!(of("cluster-autoscaler", "ScaleDown"), NodeOutlook::Unknown);
        let long = "\u{e9}".repeat(5_000);
        let pods = [PodNodes::of([PodEvent { message: &long, ..event("NotTriggerScaleUp", 1_000) }])];
        assert_eq!(outlook(&pods, DELAY, at(1_100)), refused(&"\u{e9}".repeat(200)));
    }
}
