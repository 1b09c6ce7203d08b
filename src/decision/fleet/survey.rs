//! The clusters that a plan is about: those that the rules choose, and those that still hold something. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Member;
use super::affinity::takes;
use super::placement::Placement;
use super::settings::{Settings, policy, settings};
use super::spread::{Candidate, Unmet, choose};
use super::standing::{Judgement, judge};
use super::taint::Toleration;
use crate::decision::plan::{Policy, Standing};
use crate::decision::subject::federated_hpa::{Assignment, ClusterAffinity};

/// What the user asks for.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    /// `spec.federatedHPAAssignment` of the FederatedHPA.
    pub assignment: Option<&'a Assignment<'a>>,
    /// `spec.clusterAffinity` of the FederatedHPA: narrows the candidates of the placement.
    pub affinity: Option<&'a ClusterAffinity<'a>>,
    /// The placement on the ResourceBinding.
    pub placement: &'a Placement<'a>,
    /// `status.schedulerObservingAffinityName` of the ResourceBinding: groups before it were given up, as in Karmada.
    pub observed_group: &'a str,
}

/// A cluster of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Surveyed<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether the rules choose it, failed or not.
    pub chosen: bool,
    /// What it is.
    pub standing: Standing,
    /// What the user says about it.
    pub settings: Settings,
}

/// What a plan starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey<'a> {
    /// How bounds are divided.
    pub policy: Policy,
    /// Name of the group of the placement that was used, empty where it has none.
    pub group: &'a str,
    /// The clusters, by name.
    pub clusters: Vec<Surveyed<'a>>,
    /// When to look again without another reason: a toleration ends.
    pub next: Option<Timestamp>,
    /// Constraints of the placement that the clusters cannot keep.
    pub unmet: Vec<Unmet<'a>>,
}

/// Chooses and judges the clusters; `held` are those with an HPA of ours or an entry in the binding. One that is held and
/// not among the members any more was deleted, which is a way to fail (design: Failover).
///
/// Groups of a placement are tried in their order, from the observed one on: the first with a cluster that serves or may
/// come back is used. Where there is none the observed one stays.
#[must_use]
pub fn survey<'a>(
    intent: &Intent<'a>,
    members: &'a [Member<'_>],
    held: &BTreeSet<&'a str>,
    now: Timestamp,
) -> Survey<'a> {
    let placement = intent.placement;
    let look = |affinity: Option<&ClusterAffinity<'_>>| {
        let mut found = Vec::new();
        let mut next: Option<Timestamp> = None;
        let taken =
            |member: &&Member<'_>| [affinity, intent.affinity].iter().flatten().all(|affinity| takes(affinity, member));
        let spread = (!placement.spread.is_empty()).then(|| {
            let ranked = ranked(members.iter().filter(taken), &placement.tolerations, held, now);
            choose(&ranked, &placement.spread)
        });
        for member in members {
            let within = spread.as_ref().is_none_or(|(kept, _)| kept.contains(&*member.name));
            let chosen = within && taken(&member);
            let held = held.contains(&*member.name);
            if !chosen && !held {
                continue;
            }
            let Judgement { standing, next: end } = judge(member, &placement.tolerations, chosen, held, now);
            next = [next, end].into_iter().flatten().min();
            let settings = settings(intent.assignment, placement, member);
            found.push(Surveyed { name: &member.name, chosen, standing, settings });
        }
        let unmet = spread.map(|(_, unmet)| unmet).unwrap_or_default();
        (found, next, unmet)
    };
    let observed = placement.groups.iter().position(|group| group.name == intent.observed_group).unwrap_or_default();
    let mut tried = placement.groups.iter().skip(observed).map(|group| (&*group.name, look(Some(&group.affinity))));
    let serves = |found: &[Surveyed<'_>]| {
        found.iter().any(|one| one.chosen && matches!(one.standing, Standing::Serving | Standing::Silent))
    };
    let (group, (mut clusters, next, unmet)) = match tried.next() {
        None => ("", look(placement.affinity.as_ref())),
        Some(first) if serves(&first.1.0) => first,
        Some(first) => tried.find(|(_, (found, ..))| serves(found)).unwrap_or(first),
    };
    let known: BTreeSet<&str> = members.iter().map(|member| &*member.name).collect();
    let gone = held.iter().filter(|name| !known.contains(*name));
    clusters.extend(gone.map(|&name| Surveyed {
        name,
        chosen: false,
        standing: Standing::Away,
        settings: Settings::default(),
    }));
    clusters.sort_unstable_by(|a, b| a.name.cmp(b.name));
    Survey { policy: policy(intent.assignment, placement), group, clusters, next, unmet }
}

/// Those that serve before those that do not, of these the ones that run the workload already, then by name: what runs stays
/// where it is, and what failed is replaced.
fn ranked<'a>(
    candidates: impl Iterator<Item = &'a Member<'a>>,
    tolerations: &[Toleration<'_>],
    held: &BTreeSet<&str>,
    now: Timestamp,
) -> Vec<Candidate<'a>> {
    let mut ranked: Vec<(bool, Candidate<'a>)> = candidates
        .map(|member| {
            let held = held.contains(&*member.name);
            let standing = judge(member, tolerations, true, held, now).standing;
            (held, Candidate { member, serves: matches!(standing, Standing::Serving | Standing::Silent) })
        })
        .collect();
    ranked.sort_unstable_by_key(|(held, one)| (!one.serves, !held, &one.member.name));
    ranked.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::fleet::Readiness;
    use crate::decision::fleet::placement::Group;
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

    fn standings<'a>(survey: &Survey<'a>) -> Vec<(&'a str, bool, Standing)> {
        survey.clusters.iter().map(|one| (one.name, one.chosen, one.standing)).collect()
    }

    #[test]
    fn those_that_are_chosen_or_held_are_surveyed() {
        let placement = Placement { affinity: Some(named(&["a", "b"])), ..Placement::default() };
        let members = members(&[("d", true), ("c", true), ("b", false), ("a", true)]);
        let survey = survey(&intent(&placement), &members, &BTreeSet::from(["c", "gone"]), NOW);
        let expected = [
            ("a", true, Standing::Serving),
            ("b", true, Standing::Away),
            ("c", false, Standing::Leaving { evicted: false }),
            ("gone", false, Standing::Away),
        ];
        assert_eq!(standings(&survey), expected);
    }

    #[test]
    fn a_limit_on_clusters_keeps_what_runs_and_replaces_what_failed() {
        let placement =
            Placement { spread: vec![Spread { most: Some(2), ..Spread::default() }], ..Placement::default() };
        let chosen = |ready: &[(&'static str, bool)], held: &[&'static str]| -> Vec<String> {
            let members = members(ready);
            let held = held.iter().copied().collect();
            let survey = survey(&intent(&placement), &members, &held, NOW);
            survey.clusters.iter().filter(|one| one.chosen).map(|one| one.name.to_owned()).collect()
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
        let survey = survey(&intent, &members, &BTreeSet::new(), NOW);
        assert_eq!(standings(&survey), [("b", true, Standing::Serving)]);
    }

    #[test]
    fn the_first_group_that_serves_is_used_and_none_before_the_observed_one() {
        let group = |name: &'static str, cluster| Group { name: name.into(), affinity: named(&[cluster]) };
        let placement = Placement { groups: vec![group("own", "a"), group("cloud", "b")], ..Placement::default() };
        let group_of = |ready: &[(&'static str, bool)], observed_group| {
            let intent = Intent { observed_group, ..intent(&placement) };
            survey(&intent, &members(ready), &BTreeSet::new(), NOW).group.to_owned()
        };
        assert_eq!(group_of(&[("a", true), ("b", true)], ""), "own");
        assert_eq!(group_of(&[("a", false), ("b", true)], ""), "cloud");
        assert_eq!(group_of(&[("a", true), ("b", true)], "cloud"), "cloud");
        assert_eq!(group_of(&[("a", false), ("b", false)], ""), "own");
    }
}
