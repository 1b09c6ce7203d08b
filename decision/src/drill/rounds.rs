//! The plans of one object after a loss, one after the other, before any report follows. Pure.

use std::collections::BTreeSet;

use super::Shortage;
use crate::plan::{AssignmentHash, Bounds, Memory, Note, Plan, Request, Share};
use crate::split::Replicas;

/// Most plans for one object: the first asks the clusters that run it, a further one wakes those at zero.
pub const ROUNDS: usize = 4;

/// What a plan leaves of a loss, and what the next one starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Whether others are asked for what a lost cluster ran.
    fails_over: bool,
    /// Whether no cluster could be asked.
    nobody: bool,
    /// Lost replicas that nobody was asked for, as far as `maxReplicas` allows them.
    open: Replicas,
    /// Replicas that the others were asked to run in place of the lost ones.
    given: Replicas,
    hash: AssignmentHash,
    /// In the order of the clusters of the request.
    kept: Vec<(Option<Bounds>, Memory)>,
}

impl Round {
    /// Of `plan` for `request`, with the clusters `lost` away.
    #[must_use]
    pub fn of(request: &Request<'_>, plan: &Plan<'_>, lost: &BTreeSet<String>) -> Self {
        let share = |name: &str| plan.shares.iter().find(|share| share.cluster == name);
        let (mut fails_over, mut open, mut given) = (false, 0_u32, 0_u32);
        let mut kept = Vec::with_capacity(request.clusters.len());
        for cluster in &request.clusters {
            let share = share(cluster.name);
            let memory = share.map(|share| share.memory).unwrap_or_default();
            if lost.contains(cluster.name) {
                fails_over |= memory.lost.is_some();
                open = open.saturating_add(memory.lost.map_or(0, |lost| lost.uncovered));
            } else {
                let more = memory.replacement_replicas().saturating_sub(cluster.current.unwrap_or_default());
                given = given.saturating_add(more);
            }
            kept.push((share.and_then(Share::kept), memory));
        }
        let nobody = plan.notes.iter().any(|note| matches!(note, Note::NoCandidates | Note::AllLost { .. }));
        Self { fails_over, nobody, open, given, hash: plan.assignment_hash, kept }
    }

    /// Whether a further plan could ask others for more.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.open > 0
    }

    /// Makes `request` what the next plan is made of.
    pub fn enter(&self, request: &mut Request<'_>) {
        request.assignment_hash = Some(self.hash);
        for (cluster, (target, memory)) in request.clusters.iter_mut().zip(&self.kept) {
            (cluster.target, cluster.memory) = (*target, *memory);
        }
    }

    /// Of the `ran` replicas of the lost clusters, those that would run nowhere, and why. `waits`: the lost clusters may
    /// not fail over; `paused`: because so many are away.
    #[must_use]
    pub fn shortage(
        &self,
        request: &Request<'_>,
        ran: Replicas,
        waits: bool,
        paused: bool,
    ) -> Option<(Replicas, Shortage)> {
        let short = if self.fails_over { ran.saturating_sub(self.given) } else { ran };
        let why = match short {
            0 => return None,
            _ if self.nobody => Shortage::NoCandidates,
            _ if paused => Shortage::TooManyClustersNotReady,
            _ if request.suspended => Shortage::Suspended,
            _ if !self.fails_over && waits => Shortage::FailoverOff,
            _ if !self.fails_over => Shortage::LossTolerated,
            _ if self.open == 0 => Shortage::MaxReplicasReached,
            _ => Shortage::RoomMissing,
        };
        Some((short, why))
    }
}
