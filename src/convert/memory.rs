//! State that a plan keeps for a cluster, from and to the status of a FederatedHPA. No I/O.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::fleet::{number, replicas};
use super::instant::stored;
use crate::api::federated_hpa::{ClusterHPADesired, RecentScaleUp};
use crate::decision::plan::{
    Assist, Bounds, Cause, Failed, Floor, Lost, Memory, Reason, ScaleUp, ScaleUps, Share, Stuck,
};

/// The bounds and state of a cluster; no bounds for one that does not take part.
#[must_use]
pub fn read(desired: &ClusterHPADesired) -> (Option<Bounds>, Memory) {
    let count = |number: Option<i32>| replicas(number.unwrap_or_default());
    let since = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    let cause = desired.scale_up_blocked_reason.as_deref().and_then(Cause::parse);
    let memory = Memory {
        stuck: cause.zip(since(&desired.scale_up_blocked_time)).map(|(cause, since)| Stuck { cause, since }),
        gave: since(&desired.last_donated_time),
        got: since(&desired.last_received_time),
        helped: count(desired.covered_replicas),
        assist: desired
            .assist_replicas
            .zip(since(&desired.assist_time))
            .map(|(number, since)| Assist { replicas: replicas(number), since }),
        scale_ups: ScaleUps::of(
            desired
                .recent_scale_ups
                .iter()
                .flatten()
                .map(|one| ScaleUp { replicas: replicas(one.replicas), at: since(&one.time) }),
        ),
        zero: desired.scaled_to_zero.unwrap_or_default(),
        floor: desired
            .replacement_min_replicas
            .zip(since(&desired.replacement_time))
            .map(|(number, since)| Floor { replicas: replicas(number), since }),
        lost: desired.lost_replicas.zip(since(&desired.lost_time)).map(|(ran, since)| Lost {
            ran: replicas(ran),
            due: count(desired.uncovered_replicas),
            since,
        }),
        others: desired.other_replicas.map(replicas),
        evicted: since(&desired.eviction_time),
        failed: desired
            .failures
            .zip(since(&desired.last_failure_time))
            .map(|(times, last)| Failed { times: replicas(times), last }),
    };
    let bounds = desired.min_replicas.zip(desired.max_replicas);
    (bounds.map(|(min, max)| Bounds { min: replicas(min), max: replicas(max) }), memory)
}

/// A share in its stored form; `known` is the previous one. An unchanged share keeps its reason.
#[must_use]
pub fn write(share: &Share<'_>, known: Option<&ClusterHPADesired>) -> ClusterHPADesired {
    ClusterHPADesired { cluster_name: share.cluster.to_owned(), ..unnamed(share, known) }
}

/// As [`write()`], without the name of the cluster.
#[must_use]
pub fn unnamed(share: &Share<'_>, known: Option<&ClusterHPADesired>) -> ClusterHPADesired {
    let Memory { stuck, gave, got, helped, assist, scale_ups, zero, floor, lost, others, evicted, failed } =
        share.memory;
    let scale_ups: Vec<RecentScaleUp> = scale_ups
        .iter()
        .map(|one| RecentScaleUp { replicas: number(one.replicas), time: one.at.and_then(stored) })
        .collect();
    let before = known.and_then(|known| known.reason.clone()).filter(|_| share.reason == Reason::Unchanged);
    ClusterHPADesired {
        cluster_name: String::new(),
        min_replicas: share.kept().map(|target| number(target.min)),
        max_replicas: share.kept().map(|target| number(target.max)),
        reason: before.or_else(|| Some(share.reason.code().to_owned())),
        scale_up_blocked_reason: stuck.map(|stuck| stuck.cause.code().to_owned()),
        scale_up_blocked_time: stuck.and_then(|stuck| stored(stuck.since)),
        last_donated_time: gave.and_then(stored),
        last_received_time: got.and_then(stored),
        covered_replicas: (helped > 0).then(|| number(helped)),
        assist_replicas: assist.map(|assist| number(assist.replicas)),
        assist_time: assist.and_then(|assist| stored(assist.since)),
        recent_scale_ups: Some(scale_ups).filter(|all| !all.is_empty()),
        scaled_to_zero: zero.then_some(true),
        replacement_min_replicas: floor.map(|floor| number(floor.replicas)),
        replacement_time: floor.and_then(|floor| stored(floor.since)),
        lost_replicas: lost.map(|lost| number(lost.ran)),
        uncovered_replicas: lost.filter(|lost| lost.due > 0).map(|lost| number(lost.due)),
        lost_time: lost.and_then(|lost| stored(lost.since)),
        other_replicas: others.map(number),
        eviction_time: evicted.and_then(stored),
        failures: failed.map(|failed| number(failed.times)),
        last_failure_time: failed.and_then(|failed| stored(failed.last)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_is_remembered_comes_back() {
        let at = |second| Timestamp::constant(second, 0);
        let memory = Memory {
            stuck: Some(Stuck { cause: Cause::AtMax, since: at(10) }),
            gave: Some(at(20)),
            got: Some(at(30)),
            helped: 4,
            assist: Some(Assist { replicas: 7, since: at(40) }),
            scale_ups: ScaleUps::of([ScaleUp { replicas: 2, at: Some(at(45)) }, ScaleUp { replicas: 3, at: None }]),
            zero: true,
            floor: Some(Floor { replicas: 5, since: at(50) }),
            lost: Some(Lost { ran: 6, due: 2, since: at(60) }),
            others: Some(8),
            evicted: Some(at(70)),
            failed: Some(Failed { times: 2, last: at(80) }),
        };
        let target = Bounds { min: 1, max: 9 };
        let share = Share { cluster: "m1", target, now: target, reason: Reason::ScaleUpBlocked, hold: None, memory };
        let kept = write(&share, None);
        assert_eq!(read(&kept), (Some(target), memory));
        assert_eq!(kept.reason.as_deref(), Some("ScaleUpBlocked"));
        let stays = Share { reason: Reason::Unchanged, ..share };
        assert_eq!(write(&stays, Some(&kept)), kept);
        let nothing = Share { memory: Memory::default(), ..share };
        let bare = write(&nothing, None);
        assert_eq!(read(&bare), (Some(target), Memory::default()));
        assert_eq!(serde_json::to_value(&bare).unwrap().as_object().unwrap().len(), 4);
        let gone = Share { reason: Reason::Replaced, target: Bounds::NONE, ..share };
        assert_eq!(read(&write(&gone, None)), (None, memory), "no bounds, unlike one that has none to have");
    }
}
