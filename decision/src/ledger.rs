//! What is promised of the free capacity of clusters, over all objects (docs/design.md#law-13-promise-capacity-once).
//! Pure.
//!
//! Each object is planned alone, against what its clusters report free. The ledger keeps what the others were asked to
//! run there and is not in that report yet, and what those that come first wait for. Nothing is stored: a new leader
//! learns it from its first plan of each object, which finds what was written before.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};

use super::capacity::{Amounts, Demand, Summary};
use super::split::Replicas;

/// A report is at most this old: Karmada collects the status of clusters every ten seconds, and answers of estimators
/// are used for thirty.
const REPORTED: SignedDuration = SignedDuration::from_secs(30);

/// Who waits for capacity looks again after this time: nobody tells that a promise of another ended.
pub const AGAIN: SignedDuration = SignedDuration::from_secs(10);

/// What an object needs free capacity for: the first comes before all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// What lost and leaving clusters ran.
    Replace,
    /// To reach `minReplicas`.
    Min,
    /// Load that clusters cannot run.
    Load,
    /// No load: headroom only.
    #[default]
    Headroom,
}

/// Who comes first where free capacity is scarce: by rank, then by the priority of its ResourceBinding, then the older
/// object, then by name. The least is first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standing {
    /// What it needs capacity for.
    pub rank: Rank,
    /// `spec.schedulePriority` of its ResourceBinding: greater ones come first.
    pub priority: Reverse<i32>,
    /// When the object was created.
    pub created: Option<Timestamp>,
    /// Namespace and name.
    pub name: String,
}

/// What an object asks of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// Replicas that it will run by what was decided.
    pub asked: Replicas,
    /// Replicas that exist there.
    pub current: Replicas,
    /// Further replicas that it would run there, and that no cluster was asked for yet.
    pub waiting: Replicas,
}

/// An [`Ask`] with what reports tell of it: for 30 seconds, since reports are no older.
#[derive(Clone, Debug)]
struct Claim {
    ask: Ask,
    /// The part of its replicas that existed when it began: every report counts these.
    counted: Replicas,
    /// When more was asked for last.
    since: Timestamp,
    /// What the report of the cluster counted when it began.
    taken: Option<Amounts>,
    each: Demand,
    standing: Standing,
}

impl Claim {
    /// What was promised before is promised until 30 seconds after the last time at which more was asked for. `taken`: by
    /// the last report.
    fn after(
        known: Option<Self>,
        ask: Ask,
        each: &Demand,
        standing: &Standing,
        taken: impl FnOnce() -> Option<Amounts>,
        now: Timestamp,
    ) -> Self {
        let (each, standing) = (each.clone(), standing.clone());
        let comes_to = |ask: &Ask| ask.asked.max(ask.current);
        match known.filter(|known| !known.is_over(now)) {
            Some(known) if known.promised(now) > 0 => {
                let since = if comes_to(&ask) > comes_to(&known.ask) { now } else { known.since };
                Self { ask, counted: known.counted.min(ask.current), since, taken: known.taken, each, standing }
            }
            known => {
                let counted = known.map_or(ask.current, |known| known.ask.current.min(ask.current));
                Self { ask, counted, since: now, taken: taken(), each, standing }
            }
        }
    }

    fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.since) >= REPORTED
    }

    /// Replicas that are promised: asked for, and not part of a report.
    fn promised(&self, now: Timestamp) -> Replicas {
        let counted = if self.is_over(now) { self.ask.current } else { self.counted };
        self.ask.asked.max(self.ask.current).saturating_sub(counted)
    }

    /// Replicas that do not exist yet: no report counts them.
    fn missing(&self) -> Replicas {
        self.ask.asked.saturating_sub(self.ask.current)
    }
}

/// The claims on one cluster, by object, and their sums.
#[derive(Clone, Debug, Default)]
struct ClusterClaims {
    by_object: BTreeMap<String, Claim>,
    /// When the sums were made: claims end by time.
    at: Option<Timestamp>,
    promised: Amounts,
    missing: Amounts,
    waiting: BTreeSet<Standing>,
    /// When each claim with a promise began, with the name of its object.
    begun: BTreeSet<(Timestamp, String)>,
}

impl ClusterClaims {
    /// Makes the sums anew, at most once a second.
    fn sum(&mut self, now: Timestamp) {
        if self.at.is_some_and(|at| at.as_second() == now.as_second()) {
            return;
        }
        (self.promised, self.missing, self.at) = (Amounts::default(), Amounts::default(), Some(now));
        for claim in self.by_object.values() {
            self.promised.add(Amounts::of(&claim.each, claim.promised(now)));
            self.missing.add(Amounts::of(&claim.each, claim.missing()));
        }
    }

    fn add(&mut self, claim: Claim, now: Timestamp) {
        self.sum(now);
        self.promised.add(Amounts::of(&claim.each, claim.promised(now)));
        self.missing.add(Amounts::of(&claim.each, claim.missing()));
        if claim.ask.waiting > 0 {
            self.waiting.insert(claim.standing.clone());
        }
        if claim.promised(now) > 0 {
            self.begun.insert((claim.since, claim.standing.name.clone()));
        }
        self.by_object.insert(claim.standing.name.clone(), claim);
    }

    fn remove(&mut self, name: &str) -> Option<Claim> {
        let claim = self.by_object.remove(name)?;
        self.waiting.remove(&claim.standing);
        self.begun.remove(&(claim.since, name.to_owned()));
        if let Some(at) = self.at {
            self.promised.take(&Amounts::of(&claim.each, claim.promised(at)));
            self.missing.take(&Amounts::of(&claim.each, claim.missing()));
        }
        Some(claim)
    }

    /// What the report counts more than it did when the oldest claim began: part of what was asked for.
    fn counted(&self, report: Option<&Summary>, now: Timestamp) -> Option<Amounts> {
        let mut claims = self.begun.iter().filter_map(|(_, name)| self.by_object.get(name));
        let oldest = claims.find(|claim| !claim.is_over(now) && claim.promised(now) > 0);
        let before = oldest?.taken.as_ref()?;
        Some(report?.taken().since(before))
    }

    /// `taken`, and what those wait for who come before `of`.
    fn first(&self, of: &Standing, room: &Room<'_>, taken: Amounts) -> Amounts {
        let mut first = taken;
        for claim in self.waiting.range(..of.clone()).filter_map(|standing| self.by_object.get(&standing.name)) {
            if room.beside(&first) == 0 {
                break;
            }
            // What has no room for one of its pods keeps nothing from others.
            if claim.standing.name != of.name && room.fits(&first, &claim.each) {
                first.add(Amounts::of(&claim.each, claim.ask.waiting));
            }
        }
        first
    }
}

/// What a cluster reports free.
struct Room<'a> {
    /// Replicas of `each`.
    free: Replicas,
    each: &'a Demand,
    /// The report, where that is the source.
    report: Option<&'a Summary>,
}

impl Room<'_> {
    /// Replicas that fit beside `taken`. By the number alone it is not known which resource limits them: any may.
    fn beside(&self, taken: &Amounts) -> Replicas {
        match self.report {
            Some(report) => report.beside(taken, self.each).min(self.free),
            None => self.free.saturating_sub(taken.displaced(self.each)),
        }
    }

    /// Whether a pod of another object fits beside `taken`.
    fn fits(&self, taken: &Amounts, other: &Demand) -> bool {
        let mut both = taken.clone();
        both.add(Amounts::of(other, 1));
        self.report.map_or_else(|| both.displaced(self.each) <= self.free, |report| report.beside(taken, other) > 0)
    }
}

/// The claims of all objects.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    clusters: HashMap<String, ClusterClaims>,
}

impl Ledger {
    /// Whether nobody waits for anything, or was promised something that no report counts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Of `free` replicas that a cluster reports for an object, those that it may have: without what others are
    /// promised, what it was given itself and no report counts, and what those that come before it wait for. `current`:
    /// its replicas that exist there. `report`: of the cluster; `None` while other sources tell what is free.
    #[must_use]
    pub fn left(
        &mut self,
        cluster: &str,
        of: &Standing,
        each: &Demand,
        current: Replicas,
        (free, report): (Replicas, Option<&Summary>),
        now: Timestamp,
    ) -> Replicas {
        let Some(known) = self.clusters.get_mut(cluster) else { return free };
        known.sum(now);
        let (mut promised, mut missing) = (known.promised.clone(), known.missing.clone());
        if let Some(own) = known.by_object.get(&of.name) {
            // What does not exist yet of its own is for the plan to count.
            let absent = own.ask.asked.saturating_sub(own.ask.current.max(current));
            promised.take(&Amounts::of(&own.each, absent));
            missing.take(&Amounts::of(&own.each, own.missing()));
        }
        let counted = known.counted(report, now);
        let taken = counted.map_or(promised.clone(), |counted| promised.since(&counted)).most(&missing);
        let room = Room { free, each, report };
        room.beside(&known.first(of, &room, taken))
    }

    /// Replaces what an object asks for: `asks` by cluster, each replica of `each`; `report` is the last one of a
    /// cluster.
    pub fn ask<'a, 's>(
        &mut self,
        standing: &Standing,
        each: &Demand,
        asks: impl IntoIterator<Item = (&'a str, Ask)>,
        report: impl Fn(&str) -> Option<&'s Summary>,
        now: Timestamp,
    ) {
        let mut before = self.take(&standing.name);
        for (cluster, ask) in asks {
            let known = before.remove(cluster);
            if known.is_none() && ask.asked <= ask.current && ask.waiting == 0 {
                continue;
            }
            let taken = || report(cluster).map(Summary::taken);
            let claim = Claim::after(known, ask, each, standing, taken, now);
            if claim.promised(now) > 0 || ask.waiting > 0 {
                self.clusters.entry(cluster.to_owned()).or_default().add(claim, now);
            }
        }
    }

    /// Forgets an object.
    pub fn forget(&mut self, name: &str) {
        self.take(name);
    }

    fn take(&mut self, name: &str) -> HashMap<String, Claim> {
        let mut taken = HashMap::new();
        self.clusters.retain(|cluster, known| {
            taken.extend(known.remove(name).map(|claim| (cluster.clone(), claim)));
            !known.by_object.is_empty()
        });
        taken
    }
}

#[cfg(test)]
mod tests;
