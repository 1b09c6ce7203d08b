//! State that a plan keeps for a cluster, from and to the status of a FederatedHPA. No I/O.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::fleet::{number, replicas};
use super::instant::stored;
use crate::api::federated_hpa::{ClusterHPADesired, RecentScaleUp};
use crate::decision::plan::{
    Assist, Bounds, Cause, Failed, Lost, Memory, Moved, Reason, ReplacementMin, ScaleUp, ScaleUpBlock, ScaleUps, Share,
};

/// The bounds and state of a cluster; no bounds for one that does not take part.
#[must_use]
pub fn read(desired: &ClusterHPADesired) -> (Option<Bounds>, Memory) {
    let count = |number: Option<i32>| replicas(number.unwrap_or_default());
    let since = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    let cause = desired.scale_up_blocked_reason.as_deref().and_then(Cause::parse);
    let memory = Memory {
        scale_up_blocked: cause
            .zip(since(&desired.scale_up_blocked_time))
            .map(|(cause, since)| ScaleUpBlock { cause, since }),
        moved: [
            since(&desired.last_donated_time).map(Moved::Donated),
            since(&desired.last_received_time).map(Moved::Received),
        ]
        .into_iter()
        .flatten()
        .max_by_key(|moved| moved.at()),
        covered_replicas: count(desired.covered_replicas),
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
        scaled_to_zero: desired.scaled_to_zero.unwrap_or_default(),
        replacement_min: desired.replacement_min_replicas.zip(since(&desired.replacement_time)).map(
            |(number, since)| ReplacementMin {
                replicas: replicas(number),
                uncovered: if desired.lost_replicas.is_none() { count(desired.uncovered_replicas) } else { 0 },
                since,
            },
        ),
        lost: desired.lost_replicas.zip(since(&desired.lost_time)).map(|(lost, since)| Lost {
            replicas: replicas(lost),
            uncovered: count(desired.uncovered_replicas),
            since,
        }),
        other_replicas: desired.other_replicas.map(replicas),
        evicted: since(&desired.eviction_time),
        failures: desired
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
    let Memory {
        scale_up_blocked,
        moved: _,
        covered_replicas,
        assist,
        scale_ups,
        scaled_to_zero,
        replacement_min,
        lost,
        other_replicas,
        evicted,
        failures,
    } = share.memory;
    let scale_ups: Vec<RecentScaleUp> = scale_ups
        .iter()
        .map(|one| RecentScaleUp { replicas: number(one.replicas), time: one.at.and_then(stored) })
        .collect();
    let before = known.and_then(|known| known.reason.clone()).filter(|_| share.reason == Reason::Unchanged);
    let uncovered = lost.map(|lost| lost.uncovered).or(replacement_min.map(|min| min.uncovered));
    ClusterHPADesired {
        cluster_name: share.cluster.to_owned(),
        min_replicas: share.kept().map(|target| number(target.min)),
        max_replicas: share.kept().map(|target| number(target.max)),
        reason: before.or_else(|| Some(share.reason.code().to_owned())),
        scale_up_blocked_reason: scale_up_blocked.map(|blocked| blocked.cause.code().to_owned()),
        scale_up_blocked_time: scale_up_blocked.and_then(|blocked| stored(blocked.since)),
        last_donated_time: share.memory.donated().and_then(stored),
        last_received_time: share.memory.received().and_then(stored),
        covered_replicas: (covered_replicas > 0).then(|| number(covered_replicas)),
        assist_replicas: assist.map(|assist| number(assist.replicas)),
        assist_time: assist.and_then(|assist| stored(assist.since)),
        recent_scale_ups: Some(scale_ups).filter(|all| !all.is_empty()),
        scaled_to_zero: scaled_to_zero.then_some(true),
        replacement_min_replicas: replacement_min.map(|min| number(min.replicas)),
        replacement_time: replacement_min.and_then(|min| stored(min.since)),
        lost_replicas: lost.map(|lost| number(lost.replicas)),
        uncovered_replicas: uncovered.filter(|uncovered| *uncovered > 0).map(number),
        lost_time: lost.and_then(|lost| stored(lost.since)),
        other_replicas: other_replicas.map(number),
        eviction_time: evicted.and_then(stored),
        failures: failures.map(|failures| number(failures.times)),
        last_failure_time: failures.and_then(|failures| stored(failures.last)),
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
            scale_up_blocked: Some(ScaleUpBlock { cause: Cause::AtMax, since: at(10) }),
            moved: Some(Moved::Donated(at(20))),
            covered_replicas: 4,
            assist: Some(Assist { replicas: 7, since: at(40) }),
            scale_ups: ScaleUps::of([ScaleUp { replicas: 2, at: Some(at(45)) }, ScaleUp { replicas: 3, at: None }]),
            scaled_to_zero: true,
            replacement_min: Some(ReplacementMin { replicas: 5, uncovered: 0, since: at(50) }),
            lost: Some(Lost { replicas: 6, uncovered: 2, since: at(60) }),
            other_replicas: Some(8),
            evicted: Some(at(70)),
            failures: Some(Failed { times: 2, last: at(80) }),
        };
        let target = Bounds { min: 1, max: 9 };
        let share = Share { cluster: "m1", target, now: target, reason: Reason::ScaleUpBlocked, hold: None, memory };
        let kept = write(&share, None);
        assert_eq!(read(&kept), (Some(target), memory));
        assert_eq!(kept.reason.as_deref(), Some("ScaleUpBlocked"));
        let stays = Share { reason: Reason::Unchanged, ..share };
        assert_eq!(write(&stays, Some(&kept)), kept);
        let waits = ReplacementMin { replicas: 5, uncovered: 3, since: at(50) };
        let waits = Share { memory: Memory { replacement_min: Some(waits), lost: None, ..memory }, ..share };
        assert_eq!(read(&write(&waits, None)), (Some(target), waits.memory));
        let received = Share { memory: Memory { moved: Some(Moved::Received(at(30))), ..memory }, ..share };
        assert_eq!(read(&write(&received, None)), (Some(target), received.memory));
        let nothing = Share { memory: Memory::default(), ..share };
        let bare = write(&nothing, None);
        assert_eq!(read(&bare), (Some(target), Memory::default()));
        assert_eq!(serde_json::to_value(&bare).unwrap().as_object().unwrap().len(), 4);
        let gone = Share { reason: Reason::Replaced, target: Bounds::NONE, ..share };
        assert_eq!(read(&write(&gone, None)), (None, memory), "no bounds, unlike one that has none to have");
    }
}
