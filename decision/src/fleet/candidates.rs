//! The clusters of a plan: those that the rules select, and those that still have an HPA or an entry. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Member;
use super::affinity::takes;
use super::api_enablements::{ApiEnablement, GroupVersionKind};
use super::cluster_state::{Facts, Judgement, judge};
use super::placement::{Group, Placement};
use super::settings::{Preferences, Settings, policy};
use super::spread::{Candidate, Unmet, choose};
use super::tolerance::{ClusterHistory, FailureTolerance};
use super::workload_affinity::{Admission, Neighbours};
use crate::plan::{ClusterState, Policy};
use crate::subject::federated_hpa::{Assignment, ClusterAffinity};

/// Selection of clusters by the user.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    /// `spec.federatedHPAAssignment` of the FederatedHPA.
    pub assignment: Option<&'a Assignment<'a>>,
    /// The kind of the workload.
    pub kind: GroupVersionKind<'a>,
    /// `spec.clusterAffinity` of the FederatedHPA: narrows the candidates of the placement.
    pub affinity: Option<&'a ClusterAffinity<'a>>,
    /// The placement on the ResourceBinding.
    pub placement: &'a Placement<'a>,
    /// `status.schedulerObservingAffinityName` of the ResourceBinding: earlier groups were abandoned, as in Karmada.
    pub observed_group: &'a str,
    /// The other workloads of its groups.
    pub neighbours: Neighbours<'a>,
}

/// A cluster of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateCluster<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether the rules select it, failed or not.
    pub chosen: bool,
    /// Whether its Cluster was deleted.
    pub deleted: bool,
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
    /// Clusters whose toleration has ended and that may not fail over yet ([`ClusterHistory::may_fail`]).
    pub waiting: Vec<&'a str>,
    /// Set while failover is paused: the number of clusters that are not Ready, and of all clusters.
    pub paused: Option<(usize, usize)>,
}

/// Selects and judges the clusters. A held cluster that is no longer a member was deleted, which is a kind of failure
/// (docs/design.md#failover).
///
/// Groups of a placement are tried in their order, beginning with the observed one: the first with a cluster that
/// serves or may recover is used. Without such a group the observed one stays. An earlier group is used again when one
/// of its clusters has been healthy for as long as the toleration of a failed cluster, and so long ago the binding was
/// last scheduled, which it was when the earlier group was given up.
#[must_use]
pub fn candidates<'a>(
    intent: &Intent<'a>,
    members: &'a [Member<'_>],
    past: &ClusterHistory<'a>,
    tolerance: &FailureTolerance,
    now: Timestamp,
) -> Candidates<'a> {
    let paused = tolerance.pauses(members);
    let preferences = Preferences::of(intent.assignment, intent.placement);
    let admission = Admission::default();
    let input = Input { intent, preferences, members, past, tolerance, paused: paused.is_some(), now, admission };
    let input = Input { admission: intent.neighbours.leave(|name| input.lasts(name)), ..input };
    let (Selected { mut clusters, next, unmet, waiting, overflows }, group) = input.group();
    let names: BTreeSet<&str> = members.iter().map(|member| &*member.name).collect();
    let gone = past.held.union(&past.known).filter(|name| !names.contains(*name));
    clusters.extend(gone.map(|&name| CandidateCluster {
        name,
        chosen: false,
        deleted: true,
        state: ClusterState::Lost,
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
struct Input<'s, 'a> {
    intent: &'s Intent<'a>,
    preferences: Preferences<'a>,
    members: &'a [Member<'a>],
    past: &'s ClusterHistory<'a>,
    tolerance: &'s FailureTolerance,
    paused: bool,
    now: Timestamp,
    /// Clusters that the other workloads of its groups leave to it.
    admission: Admission<'a>,
}

/// Result of the selection.
struct Selected<'a> {
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

impl Selected<'_> {
    fn serves(&self) -> bool {
        self.clusters.iter().any(|one| one.chosen && matches!(one.state, ClusterState::Serving | ClusterState::Silent))
    }
}

impl<'a> Input<'_, 'a> {
    /// The group that is used.
    fn group(&self) -> (Selected<'a>, &'a str) {
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

    /// When an abandoned group may be used again, or where none of its clusters serves, when one may serve again.
    fn well(&self, selection: Selection<'_, '_>) -> Option<Timestamp> {
        let found = self.find(selection);
        let serves = |member: &&Member<'_>| {
            let own = found.clusters.iter().find(|one| one.name == member.name);
            own.is_some_and(|one| one.chosen && one.state == ClusterState::Serving)
        };
        // A taint leaves no trace when it goes. The group was given up when the binding was last scheduled, or before.
        let given_up = self.past.scheduled.filter(|scheduled| *scheduled <= self.now);
        let well = |member: &Member<'_>| {
            let since = member.since.max(given_up);
            since.map_or(Ok(Timestamp::MIN), |since| since.checked_add(self.tolerance.not_ready)).ok()
        };
        let well = self.members.iter().filter(serves).filter_map(well).min();
        well.or(found.next.filter(|next| *next > self.now))
    }

    fn find(&self, selection: Selection<'_, '_>) -> Selected<'a> {
        let Self { intent, members, past, tolerance, now, .. } = *self;
        let placement = intent.placement;
        let overflows = !selection.overflow.is_empty();
        let mut found =
            Selected { clusters: Vec::new(), next: None, unmet: Vec::new(), waiting: Vec::new(), overflows };
        let taken = |member: &&Member<'_>| {
            intent.affinity.is_none_or(|affinity| takes(affinity, member))
                && selection.tier(member).is_some()
                && self.may_run(member)
        };
        let spread = (!placement.spread.is_empty()).then(|| {
            let ranked = self.ranked(members.iter().filter(taken));
            choose(&ranked, &placement.spread)
        });
        for member in members {
            let name = &*member.name;
            let within = spread.as_ref().is_none_or(|(kept, _)| kept.contains(name));
            let chosen = within && taken(&member);
            // What failed in one group is remembered while another is used: it is tried again more seldom each time.
            let remembered = past.held.contains(name) || past.known.contains(name) || past.failed.contains_key(name);
            if !chosen && !remembered {
                continue;
            }
            let facts = self.facts(name, chosen);
            let Judgement { state, next: end } = judge(member, &placement.tolerations, tolerance, facts, now);
            found.next = [found.next, end].into_iter().flatten().min();
            if facts.waits && !self.paused {
                let freely = judge(member, &placement.tolerations, tolerance, Facts { waits: false, ..facts }, now);
                found.waiting.extend((freely.state != state).then_some(name));
            }
            let mut settings = self.preferences.settings(member);
            if overflows && intent.assignment.is_none() {
                settings.priority = selection.tier(member).and_then(priority);
            }
            found.clusters.push(CandidateCluster { name, chosen, deleted: false, state, settings });
        }
        found.unmet = spread.map(|(_, unmet)| unmet).unwrap_or_default();
        found
    }

    /// Whether the cluster serves the kind of the workload (docs/placement.md#other-features-of-the-scheduler), and the
    /// other workloads of its groups leave it to this one. Where the kind is not known to be served the workload stays,
    /// and does not come; the groups, too, keep it only from where it is not.
    fn may_run(&self, member: &Member<'_>) -> bool {
        let has = self.past.held.contains(&*member.name) && !self.past.dying.contains(&*member.name);
        match member.enablements.of(self.intent.kind) {
            ApiEnablement::Enabled => has || self.admission.admits(&member.name),
            ApiEnablement::Disabled => false,
            ApiEnablement::Unknown => has,
        }
    }

    /// Whether a workload stays in a cluster that has it.
    fn lasts(&self, name: &str) -> bool {
        let facts =
            Facts { chosen: true, held: true, resumed: self.past.resumed, waits: self.paused, ..<_>::default() };
        let judged = |member| judge(member, &self.intent.placement.tolerations, self.tolerance, facts, self.now).state;
        let mut named = self.members.iter().filter(|member| member.name == name);
        named.any(|member| matches!(judged(member), ClusterState::Serving | ClusterState::Silent))
    }

    fn facts(&self, name: &str, chosen: bool) -> Facts {
        let past = self.past;
        Facts {
            chosen,
            held: past.held.contains(name),
            dying: past.dying.contains(name),
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
                let state = judge(member, &self.intent.placement.tolerations, self.tolerance, facts, self.now).state;
                (
                    facts.held && !facts.dying,
                    Candidate { member, serves: matches!(state, ClusterState::Serving | ClusterState::Silent) },
                )
            })
            .collect();
        ranked.sort_unstable_by_key(|(held, one)| (!one.serves, !held, &one.member.name));
        ranked.into_iter().map(|(_, one)| one).collect()
    }
}

#[cfg(test)]
mod tests;
