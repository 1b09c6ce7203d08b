//! Which clusters a plan sees, under each placement and past.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::fleet::Readiness;
use crate::fleet::api_enablements::ApiEnablements;
use crate::plan::Failed;
use jiff::SignedDuration;

use crate::fleet::placement::ReplicaScheduling;
use crate::fleet::spread::Spread;

const NOW: Timestamp = Timestamp::constant(1_000, 0);
const DEPLOYMENT: GroupVersionKind<'_> = GroupVersionKind { group_version: "apps/v1", kind: "Deployment" };

fn named(names: &[&'static str]) -> ClusterAffinity<'static> {
    ClusterAffinity { cluster_names: names.iter().map(|name| (*name).into()).collect(), ..<_>::default() }
}

fn members(ready: &[(&'static str, bool)]) -> Vec<Member<'static>> {
    let readiness = |ready: bool| if ready { Readiness::Ready } else { Readiness::NotReady(NOW) };
    let member = |(name, ready): &(&'static str, bool)| Member {
        name: (*name).into(),
        readiness: readiness(*ready),
        ..Member::default()
    };
    ready.iter().map(member).collect()
}

fn intent<'a>(placement: &'a Placement<'a>) -> Intent<'a> {
    Intent {
        assignment: None,
        kind: DEPLOYMENT,
        affinity: None,
        placement,
        observed_group: "",
        neighbours: <_>::default(),
    }
}

/// The cluster `a`, and where it fails, `b`.
fn grouped() -> Placement<'static> {
    let group =
        |name: &'static str, cluster| Group { name: name.into(), affinity: named(&[cluster]), overflow: Vec::new() };
    Placement { groups: vec![group("own", "a"), group("cloud", "b")], ..Placement::default() }
}

fn states<'a>(found: &Candidates<'a>) -> Vec<(&'a str, bool, ClusterState)> {
    found.clusters.iter().map(|one| (one.name, one.chosen, one.state)).collect()
}

#[test]
fn those_that_are_chosen_or_held_are_surveyed() {
    let placement = Placement { affinity: Some(named(&["a", "b"])), ..Placement::default() };
    let members = members(&[("d", true), ("c", true), ("b", false), ("a", true)]);
    let past = ClusterHistory { held: BTreeSet::from(["c", "gone"]), ..ClusterHistory::default() };
    let found = candidates(&intent(&placement), &members, &past, &FailureTolerance::default(), NOW);
    let expected = [
        ("a", true, ClusterState::Serving),
        ("b", true, ClusterState::Lost),
        ("c", false, ClusterState::Leaving { evicted: false }),
        ("gone", false, ClusterState::Lost),
    ];
    assert_eq!(states(&found), expected);
}

#[test]
fn a_limit_on_clusters_keeps_what_runs_and_replaces_what_failed() {
    let placement = Placement { spread: vec![Spread { most: Some(2), ..Spread::default() }], ..Placement::default() };
    let chosen = |ready: &[(&'static str, bool)], held: &[&'static str]| -> Vec<String> {
        let members = members(ready);
        let past = ClusterHistory { held: held.iter().copied().collect(), ..ClusterHistory::default() };
        let none = FailureTolerance { not_ready: SignedDuration::ZERO, ..FailureTolerance::default() };
        let found = candidates(&intent(&placement), &members, &past, &none, NOW);
        found.clusters.iter().filter(|one| one.chosen).map(|one| one.name.to_owned()).collect()
    };
    assert_eq!(chosen(&[("a", true), ("b", true), ("c", true)], &[]), ["a", "b"]);
    assert_eq!(chosen(&[("a", true), ("b", true), ("c", true)], &["c"]), ["a", "c"]);
    assert_eq!(chosen(&[("a", true), ("b", true), ("c", false)], &["b", "c"]), ["a", "b"]);
    assert_eq!(chosen(&[("a", true)], &[]), ["a"]);
}

#[test]
fn a_cluster_that_is_back_with_a_dying_hpa_displaces_none_that_runs() {
    let placement = Placement { spread: vec![Spread { most: Some(1), ..Spread::default() }], ..Placement::default() };
    let members = members(&[("a", true), ("b", true)]);
    let past =
        ClusterHistory { held: BTreeSet::from(["a", "b"]), dying: BTreeSet::from(["a"]), ..ClusterHistory::default() };
    let found = candidates(&intent(&placement), &members, &past, &FailureTolerance::default(), NOW);
    let leaving = ClusterState::Leaving { evicted: false };
    assert_eq!(states(&found), [("a", false, leaving), ("b", true, ClusterState::Serving)]);
}

#[test]
fn a_cluster_that_failed_over_and_still_has_its_dying_hpa_is_not_waited_for_again() {
    let placement = Placement::default();
    let mut members = members(&[("a", true), ("b", true), ("c", true)]);
    // Its condition changed since.
    members[0].readiness = Readiness::Unknown(Timestamp::constant(960, 0));
    let failed = Failed { times: 1, last: Timestamp::constant(900, 0) };
    let past = |dying: &[&'static str]| ClusterHistory {
        held: BTreeSet::from(["a", "b", "c"]),
        dying: dying.iter().copied().collect(),
        failed: BTreeMap::from([("a", failed)]),
        ..ClusterHistory::default()
    };
    let state =
        |past| candidates(&intent(&placement), &members, &past, &FailureTolerance::default(), NOW).clusters[0].state;
    assert_eq!([state(past(&["a"])), state(past(&[]))], [ClusterState::Lost, ClusterState::Silent]);
}

#[test]
fn the_affinity_of_the_object_narrows_that_of_the_placement() {
    let placement = Placement { affinity: Some(named(&["a", "b"])), ..Placement::default() };
    let own = named(&["b", "c"]);
    let members = members(&[("a", true), ("b", true), ("c", true)]);
    let intent = Intent { affinity: Some(&own), ..intent(&placement) };
    let found = candidates(&intent, &members, &ClusterHistory::default(), &FailureTolerance::default(), NOW);
    assert_eq!(states(&found), [("b", true, ClusterState::Serving)]);
}

#[test]
fn a_cluster_that_does_not_serve_the_kind_gets_nothing_and_leaves_and_where_that_is_unknown_what_runs_stays() {
    let served = |kind: &'static str, complete| {
        let kinds = BTreeMap::from([("apps/v1".into(), vec![kind.into()])]);
        ApiEnablements::Collected { kinds: Arc::new(kinds), complete }
    };
    let uncollected = ApiEnablements::Collected { kinds: Arc::default(), complete: false };
    let (serving, leaving) = (ClusterState::Serving, ClusterState::Leaving { evicted: false });
    let (new, runs, dies) = (&[][..], &["a"][..], &["a"][..]);
    for (enablements, held, dying, expected) in [
        (served("Deployment", true), new, new, Some((true, serving))),
        (served("Deployment", false), new, new, Some((true, serving))),
        (served("Deployment", true), runs, new, Some((true, serving))),
        (served("StatefulSet", true), new, new, None),
        (served("StatefulSet", true), runs, new, Some((false, leaving))),
        (served("StatefulSet", false), new, new, None),
        (served("StatefulSet", false), runs, new, Some((true, serving))),
        (served("StatefulSet", false), runs, dies, Some((false, leaving))),
        (uncollected.clone(), new, new, None),
        (uncollected, runs, new, Some((true, serving))),
    ] {
        let placement = Placement::default();
        let mut members = members(&[("a", true), ("b", true)]);
        members[0].enablements = enablements.clone();
        let names = |list: &[&'static str]| list.iter().copied().collect();
        let past = ClusterHistory { held: names(held), dying: names(dying), ..ClusterHistory::default() };
        let found = candidates(&intent(&placement), &members, &past, &FailureTolerance::default(), NOW);
        let own = found.clusters.iter().find(|one| one.name == "a").map(|one| (one.chosen, one.state));
        assert_eq!(own, expected, "{enablements:?}, held {held:?}, dying {dying:?}");
    }
}

#[test]
fn the_groups_of_a_workload_keep_it_from_where_it_is_not_and_lost_clusters_of_an_affinity_group_do_not_count() {
    let placement = Placement::default();
    let members = members(&[("a", true), ("b", true), ("lost", false)]);
    let found = |affinity: &[&str], anti_affinity: &[&str], held: &[&'static str], tolerance: &FailureTolerance| {
        let set = |names: &[&str]| {
            let names: BTreeSet<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
            (!names.is_empty()).then(|| Arc::new(names)).into_iter().collect::<Vec<_>>()
        };
        let (affinity, anti_affinity) = (set(affinity), set(anti_affinity));
        let neighbours = Neighbours { affinity: &affinity, anti_affinity: &anti_affinity };
        let past = ClusterHistory { held: held.iter().copied().collect(), ..ClusterHistory::default() };
        let found = candidates(&Intent { neighbours, ..intent(&placement) }, &members, &past, tolerance, NOW);
        let serves = |one: &&CandidateCluster<'_>| one.chosen && one.state == ClusterState::Serving;
        found.clusters.iter().filter(serves).map(|one| one.name).collect::<String>()
    };
    let (tolerant, at_once) = (
        FailureTolerance::default(),
        FailureTolerance { not_ready: SignedDuration::ZERO, ..FailureTolerance::default() },
    );
    assert_eq!(found(&["a"], &[], &[], &tolerant), "a");
    assert_eq!(found(&["a"], &[], &["b"], &tolerant), "ab", "what runs stays");
    assert_eq!(found(&[], &["a"], &[], &tolerant), "b");
    assert_eq!(found(&[], &["a"], &["a"], &tolerant), "ab", "what runs stays");
    assert_eq!(found(&["lost"], &[], &[], &tolerant), "", "it may come back");
    assert_eq!(found(&["lost"], &[], &["lost"], &at_once), "ab");
    assert_eq!(found(&["lost", "b"], &[], &["lost"], &at_once), "b");
}

#[test]
fn a_limit_on_clusters_is_filled_from_those_that_serve_the_kind() {
    let placement = Placement { spread: vec![Spread { most: Some(1), ..Spread::default() }], ..Placement::default() };
    let mut members = members(&[("a", true), ("b", true)]);
    members[0].enablements = ApiEnablements::Collected { kinds: Arc::default(), complete: true };
    let past = ClusterHistory { held: BTreeSet::from(["a"]), ..ClusterHistory::default() };
    let found = candidates(&intent(&placement), &members, &past, &FailureTolerance::default(), NOW);
    let leaving = ClusterState::Leaving { evicted: false };
    assert_eq!(states(&found), [("a", false, leaving), ("b", true, ClusterState::Serving)]);
}

#[test]
fn overflow_affinities_are_lower_priorities_in_their_order() {
    let scheduling = ReplicaScheduling { type_: "Divided".into(), preference: "Aggregated".into(), ..<_>::default() };
    let overflow = vec![named(&["a", "cloud1"]), named(&["cloud2", "cloud1"])];
    let own = Group { name: "own".into(), affinity: named(&["a", "b"]), overflow };
    let placement = Placement { groups: vec![own], scheduling: Some(scheduling), ..Placement::default() };
    let members = members(&[("a", true), ("b", true), ("cloud1", true), ("cloud2", true), ("else", true)]);
    let found =
        candidates(&intent(&placement), &members, &ClusterHistory::default(), &FailureTolerance::default(), NOW);
    let priorities: Vec<_> = found.clusters.iter().map(|one| (one.name, one.settings.priority)).collect();
    let expected = [("a", Some(0)), ("b", Some(0)), ("cloud1", Some(-1)), ("cloud2", Some(-2))];
    assert_eq!((found.policy, priorities), (Policy::Prioritized, expected.to_vec()));
    // The user's own words come first.
    let assignment = Assignment { type_: "DynamicWeighted".into(), ..Assignment::default() };
    let intent = Intent { assignment: Some(&assignment), ..intent(&placement) };
    let found = candidates(&intent, &members, &ClusterHistory::default(), &FailureTolerance::default(), NOW);
    assert_eq!((found.policy, found.clusters.len()), (Policy::DynamicWeighted, 4), "none is dropped");
    assert!(found.clusters.iter().all(|one| one.settings.priority.is_none()));
}

#[test]
fn the_first_group_that_serves_is_used_and_one_before_the_observed_one_when_it_has_been_well() {
    let placement = grouped();
    let group_of = |ready: &[(&'static str, bool)], observed_group, since: i64| {
        let intent = Intent { observed_group, ..intent(&placement) };
        let mut members = members(ready);
        for member in &mut members {
            member.since = Timestamp::from_second(since).ok();
        }
        let found = candidates(&intent, &members, &ClusterHistory::default(), &FailureTolerance::default(), NOW);
        (found.group.to_owned(), found.next.map(Timestamp::as_second))
    };
    assert_eq!(group_of(&[("a", true), ("b", true)], "", 900), ("own".to_owned(), None));
    assert_eq!(group_of(&[("a", false), ("b", true)], "", 900), ("cloud".to_owned(), None));
    assert_eq!(group_of(&[("a", true), ("b", true)], "cloud", 900), ("cloud".to_owned(), Some(1_200)));
    assert_eq!(group_of(&[("a", true), ("b", true)], "cloud", 700), ("own".to_owned(), None));
    assert_eq!(group_of(&[("a", false), ("b", true)], "cloud", 0), ("cloud".to_owned(), None));
    assert_eq!(group_of(&[("a", false), ("b", false)], "", 900), ("own".to_owned(), None));
}

#[test]
fn a_group_that_was_given_up_for_a_taint_is_not_gone_back_to_as_soon_as_the_taint_is_gone() {
    let placement = grouped();
    let mut members = members(&[("a", true), ("b", true)]);
    for member in &mut members {
        member.since = Some(Timestamp::UNIX_EPOCH);
    }
    let group_of = |scheduled: Option<i64>| {
        let scheduled = scheduled.map(|at| Timestamp::constant(at, 0));
        let past = ClusterHistory { held: BTreeSet::from(["a", "b"]), scheduled, ..ClusterHistory::default() };
        let intent = Intent { observed_group: "cloud", ..intent(&placement) };
        let found = candidates(&intent, &members, &past, &FailureTolerance::default(), NOW);
        (found.group.to_owned(), found.next.map(Timestamp::as_second))
    };
    let own = ("own".to_owned(), None);
    assert_eq!(group_of(Some(997)), ("cloud".to_owned(), Some(1_297)));
    assert_eq!([group_of(Some(700)), group_of(None)], [own.clone(), own.clone()]);
    assert_eq!(group_of(Some(1_500)), own, "the clock of another was ahead");
}

#[test]
fn a_cluster_that_was_evicted_from_a_group_before_the_observed_one_is_remembered_and_tried_later_each_time() {
    let placement = grouped();
    let members = members(&[("a", true), ("b", true)]);
    let evicted = Timestamp::constant(500, 0);
    let group_of = |times, now| {
        let past = ClusterHistory {
            held: BTreeSet::from(["b"]),
            evicted: BTreeMap::from([("a", evicted)]),
            failed: BTreeMap::from([("a", Failed { times, last: evicted })]),
            scheduled: Some(evicted),
            ..ClusterHistory::default()
        };
        let intent = Intent { observed_group: "cloud", ..intent(&placement) };
        let now = Timestamp::constant(now, 0);
        let found = candidates(&intent, &members, &past, &FailureTolerance::default(), now);
        let remembered = found.clusters.iter().any(|one| one.name == "a");
        (found.group.to_owned(), found.next.map(Timestamp::as_second), remembered)
    };
    assert_eq!(group_of(1, 700), ("cloud".to_owned(), Some(800), true));
    assert_eq!(group_of(1, 800), ("own".to_owned(), None, true));
    assert_eq!(group_of(2, 800), ("cloud".to_owned(), Some(1_100), true));
    assert_eq!(group_of(2, 1_100), ("own".to_owned(), None, true));
}

#[test]
fn while_most_of_the_fleet_is_not_ready_nobody_fails() {
    let placement = Placement::default();
    let mut members = members(&[("a", false), ("b", false), ("c", true)]);
    members.iter_mut().take(2).for_each(|one| one.readiness = Readiness::NotReady(Timestamp::UNIX_EPOCH));
    let past = ClusterHistory { held: BTreeSet::from(["a", "c"]), ..ClusterHistory::default() };
    let judged = candidates(&intent(&placement), &members, &past, &FailureTolerance::default(), NOW);
    let expected =
        [("a", true, ClusterState::Silent), ("b", true, ClusterState::Lost), ("c", true, ClusterState::Serving)];
    assert_eq!((states(&judged), judged.paused), (expected.to_vec(), Some((2, 3))));
}

#[test]
fn failovers_are_let_through_one_after_the_other() {
    let placement = Placement::default();
    let mut members = members(&[("a", false), ("b", false), ("c", true), ("d", true)]);
    members.iter_mut().take(2).for_each(|one| one.readiness = Readiness::NotReady(Timestamp::UNIX_EPOCH));
    let may_fail = Some(BTreeSet::from(["b"]));
    let past = ClusterHistory { held: BTreeSet::from(["a", "b"]), may_fail, ..ClusterHistory::default() };
    let found = candidates(&intent(&placement), &members, &past, &FailureTolerance::default(), NOW);
    let state = |name| found.clusters.iter().find(|one| one.name == name).unwrap().state;
    assert_eq!((state("a"), state("b")), (ClusterState::Silent, ClusterState::Lost));
    assert_eq!(found.waiting, ["a"]);
}
