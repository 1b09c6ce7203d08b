//! Events of a member about a pod -> what the autoscaler says of it. No I/O.

use jiff::Timestamp;

use crate::api::event::Event;
use crate::decision::fleet::nodes::{PodEvent, PodNodes};

/// What the autoscaler says of a pod, by the Events about it.
#[must_use]
pub fn of_pod(events: &[Event]) -> PodNodes {
    PodNodes::of(events.iter().filter_map(pod_event))
}

fn pod_event(event: &Event) -> Option<PodEvent<'_>> {
    let source = &*event.source.component;
    let component = if source.is_empty() { &*event.reporting_component } else { source };
    Some(PodEvent { component, reason: &event.reason, message: &event.message, at: time(event)? })
}

/// When it last took place.
fn time(event: &Event) -> Option<Timestamp> {
    let again = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref()).map(|time| time.0);
    let first = event.event_time.as_ref().map(|time| time.0);
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    let created = event.metadata.creation_timestamp.as_ref().map(|time| time.0);
    [again, first, last].into_iter().flatten().max().or(created)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::{Value, json};

    use super::*;
    use crate::decision::fleet::nodes::{NodeOutlook, outlook};

    fn said(event: Value) -> NodeOutlook {
        let event: Event = serde_json::from_value(event).unwrap();
        let now = "2026-11-28T12:00:00Z".parse().unwrap();
        outlook(&[of_pod(&[event])], SignedDuration::from_mins(5), now)
    }

    fn since(time: &str) -> NodeOutlook {
        NodeOutlook::Coming { since: time.parse().unwrap() }
    }

    #[test]
    fn the_last_time_of_an_event_counts_however_its_client_says_it() {
        let older = json!({"reason": "TriggeredScaleUp", "source": {"component": "cluster-autoscaler"}, "eventTime": null,
            "firstTimestamp": "2026-11-28T11:00:00Z", "lastTimestamp": "2026-11-28T11:58:00Z", "series": null});
        assert_eq!(said(older), since("2026-11-28T11:58:00Z"));
        let newer = json!({"reason": "Nominated", "source": {}, "reportingComponent": "karpenter", "lastTimestamp": null,
            "eventTime": "2026-11-28T11:50:00.000001Z", "series": {"lastObservedTime": "2026-11-28T11:59:00.5Z"}});
        assert_eq!(said(newer), since("2026-11-28T11:59:00.5Z"));
        let bare = json!({"metadata": {"creationTimestamp": "2026-11-28T11:57:00Z"}, "reason": "Nominated",
            "source": {"component": "karpenter"}});
        assert_eq!(said(bare), since("2026-11-28T11:57:00Z"));
        assert_eq!(said(json!({"reason": "Nominated", "source": {"component": "karpenter"}})), NodeOutlook::Unknown);
        assert_eq!(said(json!({"metadata": null, "source": null, "reason": null})), NodeOutlook::Unknown);
    }
}
