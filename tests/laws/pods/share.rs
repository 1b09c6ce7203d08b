//! What the law of pods knows of one workload in one cluster.

use jiff::{SignedDuration, Timestamp};

use super::super::world::Workload;
use super::REPORTED;

/// Replicas that the HPA of a member asked for.
#[derive(Clone, Copy, Debug)]
pub struct Raise {
    pub at: Timestamp,
    /// The same, in worked time.
    pub worked: SignedDuration,
    /// How many more.
    pub by: i64,
}

/// What is known of one workload in one cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    pub asked: i64,
    pub ready: i64,
    /// What load or users ask for there.
    pub demand: i64,
    /// Since when more than that is ready.
    pub spare_since: Option<Timestamp>,
    /// Bounds of its HPA.
    pub min: i64,
    pub max: i64,
    /// The least that its HPA has, or was written for it.
    pub least: i64,
    /// The most that was ready.
    pub most: i64,
    /// What its HPA last asked for.
    pub raised: Option<Raise>,
    /// The same of what load asks for.
    pub grew: Option<(Timestamp, i64)>,
}

impl Share {
    pub fn spare(&self) -> i64 {
        (self.ready - self.demand).max(0)
    }

    /// The workload was `before`, and is now, also in worked time, `after`. `held`: fhpa holds it; `by_hpa`: its HPA wrote that; `leaves`: some
    /// cluster is to leave; `least`: the least that its HPA has, or was written for it.
    pub fn change(
        &mut self,
        (before, after): (Self, Workload),
        (now, worked): (Timestamp, SignedDuration),
        (held, by_hpa, leaves): (bool, bool, bool),
        least: i64,
    ) {
        let grows = after.asked > before.asked;
        // Whoever asks for more than its HPA added a moment ago, and may not know of that yet, counts from before.
        let unseen = before.grew.filter(|(at, _)| now.duration_since(*at) < REPORTED);
        let known = unseen.map_or(before.demand, |(_, by)| before.demand - by);
        self.ready = after.ready.min(after.asked);
        self.most = self.most.max(self.ready);
        self.demand = match (held, by_hpa) {
            (false, _) => after.asked,
            // Raised to its min, which may still be on its way, it does what fhpa wrote.
            (true, true) if grows && after.asked <= least => self.demand,
            // What replaces a cluster that is to leave goes on to: what the load asks for since then comes on top.
            (true, true) if grows && leaves => after.asked.saturating_sub(before.spare()),
            (true, true) if grows => after.asked,
            (true, true) => self.demand.min(after.asked),
            (true, false) => self.demand.min(after.asked.max(0)),
        };
        let raised = before.least > 0 && least > before.least;
        if held && leaves && (raised || !by_hpa && grows) {
            self.demand = self.demand.min(known);
        }
        self.least = least;
        if by_hpa && grows {
            // What nobody could know of yet adds up.
            let unseen = before.raised.filter(|raised| worked - raised.worked < REPORTED);
            let earlier = unseen.map_or(0, |raised| raised.by);
            self.raised = Some(Raise { at: now, worked, by: earlier + after.asked - before.asked });
            self.grew = Some((now, self.demand - before.demand)).filter(|(_, by)| *by > 0);
        }
        self.asked = after.asked;
    }
}
