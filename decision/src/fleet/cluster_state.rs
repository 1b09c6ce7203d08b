//! Whether a cluster serves, is silent, has failed or must leave (docs/design.md#failover). Pure.

use jiff::Timestamp;

use super::taint::{NO_EXECUTE, NO_SCHEDULE, NOT_READY, Taint, Tolerated, Toleration, UNREACHABLE};
use super::tolerance::FailureTolerance;
use super::{Member, Readiness};
use crate::plan::{ClusterState, Failed};

/// State of a cluster, and when to judge again because a toleration ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The state.
    pub state: ClusterState,
    /// When a toleration ends.
    pub next: Option<Timestamp>,
}

/// Facts about the cluster to judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Facts {
    /// Whether the rules select it.
    pub chosen: bool,
    /// Whether it has an HPA or an entry in the binding.
    pub held: bool,
    /// Whether that is nothing but an HPA which is being deleted.
    pub dying: bool,
    /// When Karmada's own failover evicted the workload from it.
    pub evicted: Option<Timestamp>,
    /// How often it failed recently, with that eviction.
    pub failed: Option<Failed>,
    /// When failover was last resumed: its toleration begins no earlier.
    pub resumed: Option<Timestamp>,
    /// Whether failover is paused, or this cluster must wait for others to fail over first.
    pub waits: bool,
}

/// Judges a cluster that the rules select, or one that still has an HPA or an entry.
///
/// A condition `Ready` that is not True counts as the NoExecute taint that Karmada has for it (`not-ready`,
/// `unreachable`), added when the condition changed, so that one toleration bounds both. Where the placement has no
/// toleration, `tolerance` applies: Karmada evicts nothing then (before 1.15 it tolerated these taints for 300 seconds),
/// and a short outage must not cause failover either. A cluster without the condition does not answer; when it also has
/// no HPA and no entry, or only an HPA that is being deleted, it is away.
///
/// A cluster whose Cluster was never decoded keeps what it has: it is silent without an end.
///
/// A cluster that answers but has a NoExecute taint past its toleration must leave like one that is not a candidate: it
/// can still lower its bounds, so law 2 applies to it without an exception. The same holds for a cluster that Karmada's
/// own failover has begun to evict; it stays out for as long as the toleration of a failed cluster, and for longer when
/// that happened again.
#[must_use]
pub fn judge(
    member: &Member<'_>,
    tolerations: &[Toleration<'_>],
    tolerance: &FailureTolerance,
    facts: Facts,
    now: Timestamp,
) -> Judgement {
    let Facts { chosen, held, dying, evicted, failed, resumed, waits } = facts;
    let ends = |taint: &Taint<'_>| tolerance.tolerated(taint, tolerations, failed, now);
    let over = |end: Tolerated| matches!(end, Tolerated::Until(end) if end <= now);
    let later = |end: Tolerated| match end {
        Tolerated::Until(end) => Some(end),
        Tolerated::Forever => None,
    };
    let here = |state| Judgement { state, next: None };
    if member.deleting {
        return here(ClusterState::Lost);
    }
    // Nobody knows whether it failed, or whether the rules select it.
    if member.readiness == Readiness::Undecoded {
        return here(if held && !dying { ClusterState::Silent } else { ClusterState::Lost });
    }
    let failed_over = |added: Option<Timestamp>| {
        let failed = failed.filter(|failed| !failed.ran_ahead(now)).zip(added);
        failed.is_some_and(|(failed, added)| failed.last >= added)
    };
    let out = evicted.and_then(|evicted| tolerance.stays_out(evicted, failed, now)).filter(|end| *end > now);
    if let Some(taint) = unready(member.readiness) {
        let end = ends(&Taint { added: taint.added.max(resumed), ..taint.clone() });
        // Other clusters have had its share since then: do not wait a second time. Its condition may change while it is
        // down, so one that has nothing left but a dying HPA is not waited for either.
        if !held || dying || out.is_some() || failed_over(taint.added) || over(end) && !waits {
            return here(ClusterState::Lost);
        }
        let state = if chosen { ClusterState::Silent } else { ClusterState::Leaving { evicted: false } };
        return Judgement { state, next: later(end).filter(|end| *end > now) };
    }
    if !chosen {
        return here(if held { ClusterState::Leaving { evicted: false } } else { ClusterState::Lost });
    }
    // Karmada takes the taint of a condition away moments after the cluster is well again: the wait does not go on in it.
    // Where it has evicted for that taint, it would do so again.
    let well = member.since.max(resumed);
    let ends = |taint: &Taint<'_>| match &*taint.key {
        NOT_READY | UNREACHABLE if failed_over(taint.added) => Tolerated::Until(Timestamp::MIN),
        NOT_READY | UNREACHABLE => ends(&Taint { added: taint.added.max(well), ..taint.clone() }),
        _ => ends(taint),
    };
    let of = |effect: &'static str| member.taints.iter().filter(move |taint| taint.effect == effect).map(ends);
    let end = of(NO_EXECUTE).min().unwrap_or(Tolerated::Forever);
    if over(end) || out.is_some() {
        let state = if held { ClusterState::Leaving { evicted: true } } else { ClusterState::Lost };
        return Judgement { state, next: out };
    }
    if !held && of(NO_SCHEDULE).any(|end| end == Tolerated::Until(Timestamp::MIN)) {
        return here(ClusterState::Lost);
    }
    Judgement { state: ClusterState::Serving, next: later(end) }
}

/// The taint of a condition.
fn unready(readiness: Readiness) -> Option<Taint<'static>> {
    let (key, added) = match readiness {
        Readiness::Ready | Readiness::Undecoded => return None,
        Readiness::NotReady(since) => (NOT_READY, Some(since)),
        Readiness::Unknown(since) => (UNREACHABLE, Some(since)),
        Readiness::Unsaid => (UNREACHABLE, Some(Timestamp::MIN)),
    };
    Some(Taint { key: key.into(), effect: NO_EXECUTE.into(), added, ..Taint::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_000, 0);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn for_seconds(key: &'static str, seconds: i64) -> Vec<Toleration<'static>> {
        let toleration = Toleration { key: key.into(), operator: "Exists".into(), ..Toleration::default() };
        vec![Toleration { seconds: Some(seconds), ..toleration }]
    }

    fn ready(readiness: Readiness) -> Member<'static> {
        Member { name: "m".into(), readiness, ..Member::default() }
    }

    fn tainted(effect: &'static str, added: i64) -> Member<'static> {
        let taint = Taint { key: "k".into(), effect: effect.into(), added: Some(at(added)), ..Taint::default() };
        Member { taints: vec![taint], ..ready(Readiness::Ready) }
    }

    fn cluster_state(
        member: &Member<'_>,
        tolerations: &[Toleration<'_>],
        held: bool,
    ) -> (ClusterState, Option<Timestamp>) {
        let facts = Facts { chosen: true, held, ..Facts::default() };
        let judged = judge(member, tolerations, &FailureTolerance::default(), facts, NOW);
        (judged.state, judged.next)
    }

    #[test]
    fn a_ready_cluster_serves_and_leaves_when_it_is_not_chosen() {
        let member = ready(Readiness::Ready);
        assert_eq!(cluster_state(&member, &[], false), (ClusterState::Serving, None));
        let other =
            |held| judge(&member, &[], &FailureTolerance::default(), Facts { held, ..Facts::default() }, NOW).state;
        assert_eq!(other(true), ClusterState::Leaving { evicted: false });
        assert_eq!(other(false), ClusterState::Lost);
    }

    #[test]
    fn a_cluster_that_is_not_ready_is_silent_until_the_toleration_ends() {
        let member = ready(Readiness::NotReady(at(800)));
        assert_eq!(cluster_state(&member, &for_seconds(NOT_READY, 300), true), (ClusterState::Silent, Some(at(1_100))));
        assert_eq!(cluster_state(&member, &for_seconds(NOT_READY, 200), true), (ClusterState::Lost, None));
        assert_eq!(cluster_state(&member, &for_seconds(NOT_READY, 300), false), (ClusterState::Lost, None));
        let unknown = ready(Readiness::Unknown(at(800)));
        assert_eq!(
            cluster_state(&unknown, &for_seconds(UNREACHABLE, 300), true),
            (ClusterState::Silent, Some(at(1_100)))
        );
        assert_eq!(
            cluster_state(&ready(Readiness::Unsaid), &for_seconds(UNREACHABLE, 300), true).0,
            ClusterState::Lost
        );
    }

    #[test]
    fn without_a_toleration_a_cluster_is_waited_for_as_long_as_the_installation_says() {
        let since = |second| ready(Readiness::NotReady(at(second)));
        let silent = (ClusterState::Silent, Some(at(1_100)));
        assert_eq!(cluster_state(&since(800), &[], true), silent);
        assert_eq!(cluster_state(&since(800), &for_seconds(UNREACHABLE, 0), true), silent, "that is for another taint");
        assert_eq!(cluster_state(&since(700), &[], true), (ClusterState::Lost, None));
        let taint =
            Taint { key: NOT_READY.into(), effect: NO_EXECUTE.into(), added: Some(at(800)), ..Taint::default() };
        let tainted = Member { taints: vec![taint], ..ready(Readiness::Ready) };
        assert_eq!(cluster_state(&tainted, &[], true), (ClusterState::Serving, Some(at(1_100))));
    }

    #[test]
    fn one_that_was_never_decoded_keeps_what_it_has() {
        let member = ready(Readiness::Undecoded);
        for chosen in [true, false] {
            let of = |facts| judge(&member, &[], &FailureTolerance::default(), facts, NOW);
            let facts = Facts { chosen, ..Facts::default() };
            let held = of(Facts { held: true, failed: Some(Failed { times: 1, last: NOW }), ..facts });
            assert_eq!(held, Judgement { state: ClusterState::Silent, next: None });
            let dying = of(Facts { held: true, dying: true, ..facts });
            assert_eq!((of(facts).state, dying.state), (ClusterState::Lost, ClusterState::Lost));
        }
        let deleting = Member { deleting: true, ..member };
        assert_eq!(cluster_state(&deleting, &[], true), (ClusterState::Lost, None));
    }

    #[test]
    fn one_that_may_not_fail_now_is_silent_for_as_long() {
        let member = ready(Readiness::NotReady(at(0)));
        let facts = Facts { chosen: true, held: true, waits: true, ..Facts::default() };
        let judged = judge(&member, &[], &FailureTolerance::default(), facts, NOW);
        assert_eq!(judged, Judgement { state: ClusterState::Silent, next: None });
    }

    #[test]
    fn one_that_failed_over_is_not_waited_for_again_before_it_was_back() {
        let failed = |last| Some(Failed { times: 1, last: at(last) });
        let judged = |failed| {
            let facts = Facts { chosen: true, held: true, failed, waits: true, ..Facts::default() };
            judge(&ready(Readiness::NotReady(at(600))), &[], &FailureTolerance::default(), facts, NOW).state
        };
        assert_eq!((judged(failed(950)), judged(failed(500))), (ClusterState::Lost, ClusterState::Silent));
        assert_eq!(judged(failed(1_060)), ClusterState::Lost, "clocks differ a little");
        assert_eq!(judged(failed(1_061)), ClusterState::Silent, "a clock that ran ahead noted that");
    }

    #[test]
    fn after_a_pause_a_cluster_is_waited_for_anew() {
        let judged = |resumed| {
            let facts = Facts { chosen: true, held: true, resumed, ..Facts::default() };
            judge(&ready(Readiness::NotReady(at(0))), &[], &FailureTolerance::default(), facts, NOW)
        };
        assert_eq!(judged(None).state, ClusterState::Lost);
        assert_eq!(judged(Some(at(900))), Judgement { state: ClusterState::Silent, next: Some(at(1_200)) });
        assert_eq!(judged(Some(at(700))).state, ClusterState::Lost);
    }

    #[test]
    fn the_taint_of_a_condition_is_tolerated_anew_once_the_cluster_is_well_again() {
        let judged = |since: Option<i64>, resumed: Option<i64>| {
            let key = NOT_READY.into();
            let taint = Taint { key, effect: NO_EXECUTE.into(), added: Some(at(0)), ..Taint::default() };
            let member = Member { taints: vec![taint], since: since.map(at), ..ready(Readiness::Ready) };
            let facts = Facts { chosen: true, held: true, resumed: resumed.map(at), ..Facts::default() };
            judge(&member, &[], &FailureTolerance::default(), facts, NOW)
        };
        assert_eq!(judged(Some(990), None), Judgement { state: ClusterState::Serving, next: Some(at(1_290)) });
        assert_eq!(judged(None, Some(800)), Judgement { state: ClusterState::Serving, next: Some(at(1_100)) });
        assert_eq!(judged(Some(600), None).state, ClusterState::Leaving { evicted: true }, "that is somebody's word");
    }

    #[test]
    fn one_that_karmada_evicts_leaves_and_stays_out_as_long_as_one_that_failed() {
        let facts = |held, evicted| Facts { chosen: true, held, evicted: Some(at(evicted)), ..Facts::default() };
        let member = ready(Readiness::Ready);
        let judged = |facts| judge(&member, &[], &FailureTolerance::default(), facts, NOW);
        let leaves = Judgement { state: ClusterState::Leaving { evicted: true }, next: Some(at(1_200)) };
        assert_eq!(judged(facts(true, 900)), leaves);
        assert_eq!(judged(facts(false, 900)), Judgement { state: ClusterState::Lost, ..leaves });
        assert_eq!(judged(facts(false, 700)).state, ClusterState::Serving);
        let again = Facts { failed: Some(Failed { times: 2, last: at(700) }), ..facts(false, 700) };
        assert_eq!(judged(again), Judgement { state: ClusterState::Lost, next: Some(at(1_300)) });
    }

    #[test]
    fn a_cluster_that_fails_for_ever_in_peace_is_silent_for_ever() {
        let toleration = Toleration { operator: "Exists".into(), ..Toleration::default() };
        let silent = cluster_state(&ready(Readiness::NotReady(at(0))), &[toleration], true);
        assert_eq!(silent, (ClusterState::Silent, None));
    }

    #[test]
    fn a_taint_evicts_after_the_time_of_its_toleration() {
        let member = tainted(NO_EXECUTE, 900);
        assert_eq!(cluster_state(&member, &for_seconds("k", 200), true), (ClusterState::Serving, Some(at(1_100))));
        assert_eq!(
            cluster_state(&member, &for_seconds("k", 100), true),
            (ClusterState::Leaving { evicted: true }, None)
        );
        assert_eq!(cluster_state(&member, &[], true), (ClusterState::Leaving { evicted: true }, None));
        assert_eq!(cluster_state(&member, &[], false), (ClusterState::Lost, None));
        let unheld = cluster_state(&member, &for_seconds("k", 200), false);
        assert_eq!(unheld, (ClusterState::Serving, Some(at(1_100))), "what it is to get goes elsewhere then");
    }

    #[test]
    fn a_taint_against_scheduling_keeps_new_replicas_away_only() {
        let member = tainted(NO_SCHEDULE, 900);
        assert_eq!(cluster_state(&member, &[], true).0, ClusterState::Serving);
        assert_eq!(cluster_state(&member, &[], false).0, ClusterState::Lost);
        assert_eq!(cluster_state(&member, &for_seconds("k", 0), false).0, ClusterState::Serving);
        assert_eq!(cluster_state(&tainted("PreferNoSchedule", 0), &[], false).0, ClusterState::Serving);
    }

    #[test]
    fn a_cluster_that_is_being_deleted_has_failed() {
        let member = Member { deleting: true, ..ready(Readiness::Ready) };
        assert_eq!(cluster_state(&member, &[], true), (ClusterState::Lost, None));
    }
}
