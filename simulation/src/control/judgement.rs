//! Which clusters take part, serve and have failed, and which of them may fail over now. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Control, File};
use crate::Second;
use crate::scenario::instant;
use crate::shared::Shared;
use decision::fleet::candidates::{CandidateCluster, Candidates, candidates};
use decision::fleet::tolerance::{ClusterHistory, FailureTolerance};
use decision::ledger::Rank;
use decision::plan::ClusterState;

impl<'a> Control<'a> {
    /// Whether a toleration has ended, or it is to ask again whether a cluster may fail over.
    pub(super) fn is_judgement_due(&self, now: Second) -> bool {
        self.rejudge.is_some_and(|end| end <= instant(now))
    }

    /// Selects and judges the clusters, when their state has changed.
    pub(super) fn judge(&mut self, now: Second, shared: &mut Shared<'a>) {
        if !self.stale && self.rejudge.is_none_or(|end| end > instant(now)) {
            return;
        }
        self.stale = false;
        let (found, turn) = self.candidates(now, shared);
        let Candidates { policy, next, clusters, .. } = found;
        let judged = clusters.into_iter().filter_map(|candidate| {
            let CandidateCluster { name, chosen, deleted, state, settings } = candidate;
            let at = *self.places.get(name)?;
            let name = &*self.scenario.sites.get(at)?.member.name;
            Some((at, CandidateCluster { name, chosen, deleted, state, settings }))
        });
        let judged = judged.collect();
        self.judged = judged;
        self.policy = self.workload.policy.unwrap_or(policy);
        self.rejudge = [next, turn].into_iter().flatten().min();
        let away = self.judged.iter().filter(|(_, candidate)| candidate.state == ClusterState::Lost);
        self.away = away.map(|(at, _)| *at).collect();
    }

    /// The candidates, and when to ask again whether those that wait may fail over.
    fn candidates(&self, now: Second, shared: &mut Shared<'a>) -> (Candidates<'_>, Option<Timestamp>) {
        let past = self.past();
        if self.scenario.timing.failover == 0 {
            return (self.find(&past, now), None);
        }
        let found = self.find(&ClusterHistory { may_fail: Some(BTreeSet::new()), ..past.clone() }, now);
        let standing = self.workload.standing(Rank::Replace, self.age);
        let (admitted, turn) = shared.may_fail(&standing, &found.waiting, now);
        if admitted.is_empty() {
            return (found, turn);
        }
        let may_fail = self.places.keys().copied().filter(|name| admitted.iter().any(|admitted| admitted == name));
        (self.find(&ClusterHistory { may_fail: Some(may_fail.collect()), ..past }, now), turn)
    }

    fn find<'s>(&'s self, past: &ClusterHistory<'s>, now: Second) -> Candidates<'s> {
        candidates(&self.workload.intent, &self.members, past, &FailureTolerance::default(), instant(now))
    }

    fn past(&self) -> ClusterHistory<'a> {
        let sites = || self.scenario.sites.iter().zip(&self.files).map(|(site, file)| (&*site.member.name, file));
        let named = |is: fn(&File) -> bool| sites().filter(move |(_, file)| is(file)).map(|(name, _)| name).collect();
        ClusterHistory {
            held: named(|file| file.work.is_some() || file.entry.is_some()),
            dying: named(|file| file.entry.is_none() && file.work.is_some_and(|work| work.written.is_none())),
            known: named(|file| file.memory.owes()),
            failed: sites().filter_map(|(name, file)| Some((name, file.memory.failures?))).collect(),
            ..ClusterHistory::default()
        }
    }
}
