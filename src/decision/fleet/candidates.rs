//! The clusters of a plan: those that the rules select, and those that still have an HPA or an entry. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Member;
use super::affinity::takes;
use super::cluster_state::{Facts, Judgement, judge};
use super::patience::{Past, Patience};
use super::placement::{Group, Placement};
use super::settings::{Preferences, Settings, policy};
use super::spread::{Candidate, Unmet, choose};
use crate::decision::plan::{ClusterState, Policy};
use crate::decision::subject::federated_hpa::{Assignment, ClusterAffinity};

/// Selection of clusters by the user.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    /// `spec.federatedHPAAssignment` of the FederatedHPA.
    pub assignment: Option<&'a Assignment<'a>>,
    /// `spec.clusterAffinity` of the FederatedHPA: narrows the candidates of the placement.
    pub affinity: Option<&'a ClusterAffinity<'a>>,
    /// The placement on the ResourceBinding.
    pub placement: &'a Placement<'a>,
    /// `status.schedulerObservingAffinityName` of the ResourceBinding: earlier groups were abandoned, as in Karmada.
    pub observed_group: &'a str,
}

/// A cluster of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateCluster<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether the rules select it, failed or not.
    pub chosen: bool,
    /// Its state.
    pub state: ClusterState,
    /// Settings of the user for it.
    pub settings: Settings,
}

/// Input of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates<'a> {
    /// How bounds are divided.
    pub policy: Policy,
    /// Name of the group of the placement that was used, empty where it has none.
    pub group: &'a str,
    /// The clusters, by name.
    pub clusters: Vec<CandidateCluster<'a>>,
    /// When to look again without another reason: a toleration ends.
    pub next: Option<Timestamp>,
    /// Constraints of the placement that the clusters cannot keep.
    pub unmet: Vec<Unmet<'a>>,
    /// Clusters whose toleration has ended and that may not fail over yet ([`Past::may_fail`]).
    pub waiting: Vec<&'a str>,
    /// Set while failover is paused: the number of clusters that are not Ready, and of all clusters.
    pub paused: Option<(usize, usize)>,
}

/// Selects and judges the clusters. A held cluster that is no longer a member was deleted, which is a kind of failure
/// (docs/design.md#failover).
///
/// Groups of a placement are tried in their order, beginning with the observed one: the first with a cluster that
/// serves or may recover is used. Without such a group the observed one stays. An earlier group is used again when one
/// of its clusters has been healthy for as long as the toleration of a failed cluster.
#[must_use]
pub fn candidates<'a>(
    intent: &Intent<'a>,
    members: &'a [Member<'_>],
    past: &Past<'a>,
    patience: &Patience,
    now: Timestamp,
) -> Candidates<'a> {
    let paused = patience.pauses(members);
    let preferences = Preferences::of(intent.assignment, intent.placement);
    let look = Look { intent, preferences, members, past, patience, paused: paused.is_some(), now };
    let (Found { mut clusters, next, unmet, waiting, overflows }, group) = look.group();
    let names: BTreeSet<&str> = members.iter().map(|member| &*member.name).collect();
    let gone = past.held.union(&past.known).filter(|name| !names.contains(*name));
    clusters.extend(gone.map(|&name| CandidateCluster {
        name,
        chosen: false,
        state: ClusterState::Away,
        settings: Settings::default(),
    }));
    clusters.sort_unstable_by(|a, b| a.name.cmp(b.name));
    let policy = policy(intent.assignment, intent.placement, overflows);
    let delays = clusters.iter().any(|one| one.state == ClusterState::Silent);
    Candidates { policy, group, clusters, next, unmet, waiting, paused: paused.filter(|_| delays) }
}

/// Priority of a cluster by its tier: the group first, then its overflow in order.
fn priority(tier: usize) -> Option<i32> {
    i32::try_from(tier).ok()?.checked_neg()
}

/// Input of the selection.
struct Look<'s, 'a> {
    intent: &'s Intent<'a>,
    preferences: Preferences<'a>,
    members: &'a [Member<'a>],
    past: &'s Past<'a>,
    patience: &'s Patience,
    paused: bool,
    now: Timestamp,
}

/// Result of the selection.
struct Found<'a> {
    clusters: Vec<CandidateCluster<'a>>,
    next: Option<Timestamp>,
    unmet: Vec<Unmet<'a>>,
    waiting: Vec<&'a str>,
    /// Whether the group in use has others for what it cannot run.
    overflows: bool,
}

/// The clusters that a placement selects.
#[derive(Clone, Copy)]
struct Selection<'s, 'a> {
    affinity: Option<&'s ClusterAffinity<'a>>,
    overflow: &'s [ClusterAffinity<'a>],
}

impl<'s, 'a> Selection<'s, 'a> {
    fn of(group: &'s Group<'a>) -> Self {
        Self { affinity: Some(&group.affinity), overflow: &group.overflow }
    }

    /// The place of the first affinity that selects the cluster: 0 is the group, then its overflow in order.
    fn tier(self, member: &Member<'_>) -> Option<usize> {
        let first = self.affinity.is_none_or(|affinity| takes(affinity, member));
        if first {
            return Some(0);
        }
        let tier = self.overflow.iter().position(|affinity| takes(affinity, member))?;
        tier.checked_add(1)
    }
}

impl Found<'_> {
    fn serves(&self) -> bool {
        self.clusters.iter().any(|one| one.chosen && matches!(one.state, ClusterState::Serving | ClusterState::Silent))
    }
}

impl<'a> Look<'_, 'a> {
    /// The group that is used.
    fn group(&self) -> (Found<'a>, &'a str) {
        let placement = self.intent.placement;
        let whole = Selection { affinity: placement.affinity.as_ref(), overflow: &[] };
        let Some(first) = placement.groups.first() else { return (self.find(whole), "") };
        let named = |group: &Group<'a>| group.name == self.intent.observed_group;
        let observed = placement.groups.iter().position(named).unwrap_or_default();
        let mut well: Option<Timestamp> = None;
        for group in placement.groups.iter().take(observed) {
            match self.well(Selection::of(group)) {
                Some(since) if since <= self.now => return (self.find(Selection::of(group)), &group.name),
                then => well = [well, then].into_iter().flatten().min(),
            }
        }
        let mut tried = placement.groups.iter().skip(observed).map(|group| (self.find(Selection::of(group)), group));
        let (mut found, group) = match tried.next() {
            None => (self.find(Selection::of(first)), first),
            Some((found, group)) if found.serves() => (found, group),
            Some(given_up) => tried.find(|(found, _)| found.serves()).unwrap_or(given_up),
        };
        found.next = [found.next, well].into_iter().flatten().min();
        (found, &group.name)
    }

    /// When an abandoned group may be used again.
    fn well(&self, selection: Selection<'_, '_>) -> Option<Timestamp> {
        let found = self.find(selection);
        let serves = |member: &&Member<'_>| {
            let own = found.clusters.iter().find(|one| one.name == member.name);
            own.is_some_and(|one| one.chosen && one.state == ClusterState::Serving)
        };
        let well = |member: &Member<'_>| {
            member.since.map_or(Ok(Timestamp::MIN), |since| since.checked_add(self.patience.not_ready)).ok()
        };
        self.members.iter().filter(serves).filter_map(well).min()
    }

    fn find(&self, selection: Selection<'_, '_>) -> Found<'a> {
        let Self { intent, members, past, patience, now, .. } = *self;
        let placement = intent.placement;
        let overflows = !selection.overflow.is_empty();
        let mut found = Found { clusters: Vec::new(), next: None, unmet: Vec::new(), waiting: Vec::new(), overflows };
        let taken = |member: &&Member<'_>| {
            intent.affinity.is_none_or(|affinity| takes(affinity, member)) && selection.tier(member).is_some()
        };
        let spread = (!placement.spread.is_empty()).then(|| {
            let ranked = self.ranked(members.iter().filter(taken));
            choose(&ranked, &placement.spread)
        });
        for member in members {
            let name = &*member.name;
            let within = spread.as_ref().is_none_or(|(kept, _)| kept.contains(name));
            let chosen = within && taken(&member);
            if !chosen && !past.held.contains(name) && !past.known.contains(name) {
                continue;
            }
            let facts = self.facts(name, chosen);
            let Judgement { state, next: end } = judge(member, &placement.tolerations, patience, facts, now);
            found.next = [found.next, end].into_iter().flatten().min();
            if facts.waits && !self.paused {
                let freely = judge(member, &placement.tolerations, patience, Facts { waits: false, ..facts }, now);
                found.waiting.extend((freely.state != state).then_some(name));
            }
            let mut settings = self.preferences.settings(member);
            if overflows && intent.assignment.is_none() {
                settings.priority = selection.tier(member).and_then(priority);
            }
            found.clusters.push(CandidateCluster { name, chosen, state, settings });
        }
        found.unmet = spread.map(|(_, unmet)| unmet).unwrap_or_default();
        found
    }

    fn facts(&self, name: &str, chosen: bool) -> Facts {
        let past = self.past;
        Facts {
            chosen,
            held: past.held.contains(name),
            evicted: past.evicted.get(name).copied(),
            failed: past.failed.get(name).copied(),
            resumed: past.resumed,
            waits: self.paused || past.may_fail.as_ref().is_some_and(|may| !may.contains(name)),
        }
    }

    /// Serving clusters first, among them those that already run the workload, then by name: running workloads stay
    /// where they are, and failed clusters are replaced.
    fn ranked<'m>(&self, candidates: impl Iterator<Item = &'m Member<'a>>) -> Vec<Candidate<'m>>
    where
        'a: 'm,
    {
        let mut ranked: Vec<(bool, Candidate<'m>)> = candidates
            .map(|member| {
                let facts = self.facts(&member.name, true);
                let state = judge(member, &self.intent.placement.tolerations, self.patience, facts, self.now).state;
                (
                    facts.held,
                    Candidate { member, serves: matches!(state, ClusterState::Serving | ClusterState::Silent) },
                )
            })
            .collect();
        ranked.sort_unstable_by_key(|(held, one)| (!one.serves, !held, &one.member.name));
        ranked.into_iter().map(|(_, one)| one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::fleet::Readiness;
    use jiff::SignedDuration;

    use crate::decision::fleet::placement::ReplicaScheduling;
    use crate::decision::fleet::spread::Spread;

    const NOW: Timestamp = Timestamp::constant(1_000, 0);

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
        Intent { assignment: None, affinity: None, placement, observed_group: "" }
    }

    fn states<'a>(found: &Candidates<'a>) -> Vec<(&'a str, bool, ClusterState)> {
        found.clusters.iter().map(|one| (one.name, one.chosen, one.state)).collect()
    }

    #[test]
    fn those_that_are_chosen_or_held_are_surveyed() {
        let placement = Placement { affinity: Some(named(&["a", "b"])), ..Placement::default() };
        let members = members(&[("d", true), ("c", true), ("b", false), ("a", true)]);
        let past = Past { held: BTreeSet::from(["c", "gone"]), ..Past::default() };
        let found = candidates(&intent(&placement), &members, &past, &Patience::default(), NOW);
        let expected = [
            ("a", true, ClusterState::Serving),
            ("b", true, ClusterState::Away),
            ("c", false, ClusterState::Leaving { evicted: false }),
            ("gone", false, ClusterState::Away),
        ];
        assert_eq!(states(&found), expected);
    }

    #[test]
    fn a_limit_on_clusters_keeps_what_runs_and_replaces_what_failed() {
        let placement =
            Placement { spread: vec![Spread { most: Some(2), ..Spread::default() }], ..Placement::default() };
        let chosen = |ready: &[(&'static str, bool)], held: &[&'static str]| -> Vec<String> {
            let members = members(ready);
            let past = Past { held: held.iter().copied().collect(), ..Past::default() };
            let none = Patience { not_ready: SignedDuration::ZERO, ..Patience::default() };
            let found = candidates(&intent(&placement), &members, &past, &none, NOW);
            found.clusters.iter().filter(|one| one.chosen).map(|one| one.name.to_owned()).collect()
        };
        assert_eq!(chosen(&[("a", true), ("b", true), ("c", true)], &[]), ["a", "b"]);
        assert_eq!(chosen(&[("a", true), ("b", true), ("c", true)], &["c"]), ["a", "c"]);
        assert_eq!(chosen(&[("a", true), ("b", true), ("c", false)], &["b", "c"]), ["a", "b"]);
        assert_eq!(chosen(&[("a", true)], &[]), ["a"]);
    }

    #[test]
    fn the_affinity_of_the_object_narrows_that_of_the_placement() {
        let placement = Placement { affinity: Some(named(&["a", "b"])), ..Placement::default() };
        let own = named(&["b", "c"]);
        let members = members(&[("a", true), ("b", true), ("c", true)]);
        let intent = Intent { affinity: Some(&own), ..intent(&placement) };
        let found = candidates(&intent, &members, &Past::default(), &Patience::default(), NOW);
        assert_eq!(states(&found), [("b", true, ClusterState::Serving)]);
    }

    #[test]
    fn overflow_affinities_are_lower_priorities_in_their_order() {
        let scheduling =
            ReplicaScheduling { type_: "Divided".into(), preference: "Aggregated".into(), ..<_>::default() };
        let overflow = vec![named(&["a", "cloud1"]), named(&["cloud2", "cloud1"])];
        let own = Group { name: "own".into(), affinity: named(&["a", "b"]), overflow };
        let placement = Placement { groups: vec![own], scheduling: Some(scheduling), ..Placement::default() };
        let members = members(&[("a", true), ("b", true), ("cloud1", true), ("cloud2", true), ("else", true)]);
        let found = candidates(&intent(&placement), &members, &Past::default(), &Patience::default(), NOW);
        let priorities: Vec<_> = found.clusters.iter().map(|one| (one.name, one.settings.priority)).collect();
        let expected = [("a", Some(0)), ("b", Some(0)), ("cloud1", Some(-1)), ("cloud2", Some(-2))];
        assert_eq!((found.policy, priorities), (Policy::Prioritized, expected.to_vec()));
        // The user's own words come first.
        let assignment = Assignment { type_: "DynamicWeighted".into(), ..Assignment::default() };
        let intent = Intent { assignment: Some(&assignment), ..intent(&placement) };
        let found = candidates(&intent, &members, &Past::default(), &Patience::default(), NOW);
        assert_eq!((found.policy, found.clusters.len()), (Policy::DynamicWeighted, 4), "none is dropped");
        assert!(found.clusters.iter().all(|one| one.settings.priority.is_none()));
    }

    #[test]
    fn the_first_group_that_serves_is_used_and_one_before_the_observed_one_when_it_has_been_well() {
        let group = |name: &'static str, cluster| Group {
            name: name.into(),
            affinity: named(&[cluster]),
            overflow: Vec::new(),
        };
        let placement = Placement { groups: vec![group("own", "a"), group("cloud", "b")], ..Placement::default() };
        let group_of = |ready: &[(&'static str, bool)], observed_group, since: i64| {
            let intent = Intent { observed_group, ..intent(&placement) };
            let mut members = members(ready);
            for member in &mut members {
                member.since = Timestamp::from_second(since).ok();
            }
            let found = candidates(&intent, &members, &Past::default(), &Patience::default(), NOW);
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
    fn while_most_of_the_fleet_is_not_ready_nobody_fails() {
        let placement = Placement::default();
        let mut members = members(&[("a", false), ("b", false), ("c", true)]);
        members.iter_mut().take(2).for_each(|one| one.readiness = Readiness::NotReady(Timestamp::UNIX_EPOCH));
        let past = Past { held: BTreeSet::from(["a", "c"]), ..Past::default() };
        let judged = candidates(&intent(&placement), &members, &past, &Patience::default(), NOW);
        let expected =
            [("a", true, ClusterState::Silent), ("b", true, ClusterState::Away), ("c", true, ClusterState::Serving)];
        assert_eq!((states(&judged), judged.paused), (expected.to_vec(), Some((2, 3))));
    }

    #[test]
    fn failovers_are_let_through_one_after_the_other() {
        let placement = Placement::default();
        let mut members = members(&[("a", false), ("b", false), ("c", true), ("d", true)]);
        members.iter_mut().take(2).for_each(|one| one.readiness = Readiness::NotReady(Timestamp::UNIX_EPOCH));
        let may_fail = Some(BTreeSet::from(["b"]));
        let past = Past { held: BTreeSet::from(["a", "b"]), may_fail, ..Past::default() };
        let found = candidates(&intent(&placement), &members, &past, &Patience::default(), NOW);
        let state = |name| found.clusters.iter().find(|one| one.name == name).unwrap().state;
        assert_eq!((state("a"), state("b")), (ClusterState::Silent, ClusterState::Away));
        assert_eq!(found.waiting, ["a"]);
    }
}
