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

/// An [`Ask`] with what reports tell of it. It begins anew every 30 seconds, since reports are no older.
#[derive(Clone, Debug)]
struct Claim {
    ask: Ask,
    /// The part of its replicas that existed when it began: every report counts these.
    counted: Replicas,
    /// When it began.
    since: Timestamp,
    /// What the report of the cluster counted then.
    taken: Option<Amounts>,
    each: Demand,
    standing: Standing,
}

impl Claim {
    /// What was known before goes on, unless it is to begin anew.
    fn after(known: Option<Self>, ask: Ask, each: &Demand, standing: &Standing, now: Timestamp) -> Self {
        let known = known.filter(|known| !known.is_over(now));
        let (counted, since) = known.as_ref().map_or((ask.current, now), |known| (known.counted, known.since));
        let (counted, taken) = (counted.min(ask.current), known.and_then(|known| known.taken));
        Self { ask, counted, since, taken, each: each.clone(), standing: standing.clone() }
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
    /// When each claim began, with the name of its object.
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
        self.begun.insert((claim.since, claim.standing.name.clone()));
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
        let claims = self.begun.iter().filter_map(|(_, name)| self.by_object.get(name));
        let oldest = claims.skip_while(|claim| claim.is_over(now)).find(|claim| claim.promised(now) > 0);
        let before = oldest?.taken.as_ref()?;
        Some(report?.taken().since(before))
    }

    /// Replicas of `left` that those who come before `of` do not wait for.
    fn unwanted(&self, of: &Standing, each: &Demand, left: Replicas) -> Replicas {
        let mut held = Amounts::default();
        for claim in self.waiting.range(..of.clone()).filter_map(|standing| self.by_object.get(&standing.name)) {
            let mut first = held.clone();
            first.add(Amounts::of(&claim.each, 1));
            // What has no room for one of its pods keeps nothing from others.
            if claim.standing.name != of.name && first.displaced(each) <= left {
                held.add(Amounts::of(&claim.each, claim.ask.waiting));
            }
            if held.displaced(each) >= left {
                return 0;
            }
        }
        left.saturating_sub(held.displaced(each))
    }
}

/// The claims of all objects.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    clusters: HashMap<String, ClusterClaims>,
    /// Since when its leader acts.
    term: Option<Timestamp>,
}

impl Ledger {
    /// A leader that begins to act knows nothing of what was promised when it led before.
    pub fn begin(&mut self, term: Timestamp) {
        if self.term != Some(term) {
            *self = Self { term: Some(term), ..Self::default() };
        }
    }

    /// Whether nobody waits for anything, or was promised something that no report counts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Of `free` replicas that a cluster reports for an object, those that it may have: without what others are
    /// promised, and what those that come before it wait for. `report`: of the cluster; `None` while other sources tell
    /// what is free.
    #[must_use]
    pub fn left(
        &mut self,
        cluster: &str,
        of: &Standing,
        each: &Demand,
        (free, report): (Replicas, Option<&Summary>),
        now: Timestamp,
    ) -> Replicas {
        let Some(known) = self.clusters.get_mut(cluster) else { return free };
        known.sum(now);
        let (mut promised, mut missing) = (known.promised.clone(), known.missing.clone());
        if let Some(own) = known.by_object.get(&of.name) {
            // What does not exist yet of its own is for the plan to count.
            let own = Amounts::of(&own.each, own.missing());
            promised.take(&own);
            missing.take(&own);
        }
        let counted = known.counted(report, now);
        let open = counted.map_or(Replicas::MAX, |counted| promised.since(&counted).displaced(each));
        let left = free.saturating_sub(promised.displaced(each).min(open).max(missing.displaced(each)));
        known.unwanted(of, each, left)
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
            let mut claim = Claim::after(known, ask, each, standing, now);
            if claim.promised(now) > 0 || ask.waiting > 0 {
                if claim.since == now {
                    claim.taken = report(cluster).map(Summary::taken);
                }
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
mod tests {
    use super::*;

    const CPU: &[(&str, &str)] = &[("cpu", "1")];

    fn each(request: &[(&str, &str)]) -> Demand {
        Demand::read(request.iter().copied()).unwrap()
    }

    fn standing(name: &str, rank: Rank) -> Standing {
        Standing { rank, priority: Reverse(0), created: None, name: name.to_owned() }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    fn asks(asked: Replicas, current: Replicas, waiting: Replicas) -> [(&'static str, Ask); 1] {
        [("member1", Ask { asked, current, waiting })]
    }

    /// What `b` may have of ten free replicas.
    fn left(ledger: &mut Ledger, of: &Standing, second: i64) -> Replicas {
        ledger.left("member1", of, &each(CPU), (10, None), at(second))
    }

    #[test]
    fn what_was_asked_for_is_taken_until_reports_count_it() {
        let (a, b) = (standing("a", Rank::Load), standing("b", Rank::Replace));
        let mut ledger = Ledger::default();
        ledger.ask(&a, &each(CPU), asks(7, 4, 0), |_| None, at(0));
        assert_eq!((left(&mut ledger, &b, 0), left(&mut ledger, &a, 0)), (7, 10), "its own is for the plan to count");
        // They exist, and the report may be older.
        ledger.ask(&a, &each(CPU), asks(7, 7, 0), |_| None, at(5));
        assert_eq!([5, 29, 30].map(|second| left(&mut ledger, &b, second)), [7, 7, 10]);
        ledger.ask(&a, &each(CPU), asks(7, 7, 0), |_| None, at(40));
        assert_eq!(ledger.clusters.len(), 0, "a quiet fleet keeps nothing");
        // What was not asked for was there before.
        ledger.ask(&a, &each(CPU), asks(9, 9, 0), |_| None, at(41));
        assert_eq!(left(&mut ledger, &b, 41), 10);
        ledger.ask(&a, &each(CPU), asks(12, 9, 0), |_| None, at(42));
        assert_eq!((left(&mut ledger, &b, 42), left(&mut ledger, &b, 4200)), (7, 7), "as long as it does not run");
        ledger.forget("a");
        assert_eq!(left(&mut ledger, &b, 42), 10);
    }

    #[test]
    fn each_takes_what_its_pods_request() {
        let mut ledger = Ledger::default();
        let large = each(&[("cpu", "2"), ("memory", "1Gi")]);
        ledger.ask(&standing("a", Rank::Load), &large, asks(5, 3, 0), |_| None, at(0));
        assert_eq!(left(&mut ledger, &standing("b", Rank::Load), 0), 6, "two of two CPUs each");
        let small = each(&[("cpu", "300m")]);
        assert_eq!(
            ledger.left("member1", &standing("b", Rank::Load), &small, (33, None), at(0)),
            19,
            "rounded for safety"
        );
        let other = each(&[("nvidia.com/gpu", "1")]);
        assert_eq!(ledger.left("member1", &standing("b", Rank::Load), &other, (4, None), at(0)), 2, "pods count, too");
    }

    #[test]
    fn who_comes_first_is_waited_for_by_those_behind_it() {
        let mut ledger = Ledger::default();
        let first = Standing { priority: Reverse(5), ..standing("a", Rank::Min) };
        ledger.ask(&first, &each(CPU), asks(2, 2, 4), |_| None, at(0));
        let behind = [
            standing("b", Rank::Load),
            standing("b", Rank::Min),
            Standing { priority: Reverse(9), ..standing("b", Rank::Min) },
            standing("b", Rank::Replace),
        ];
        assert_eq!(behind.map(|of| left(&mut ledger, &of, 0)), [6, 6, 10, 10]);
        let aged = |second| Standing { created: Some(at(second)), priority: Reverse(5), ..standing("b", Rank::Min) };
        let old = Standing { created: Some(at(100)), ..first.clone() };
        ledger.ask(&old, &each(CPU), asks(2, 2, 4), |_| None, at(0));
        assert_eq!(
            [99, 101].map(|second| left(&mut ledger, &aged(second), 0)),
            [10, 6],
            "the older object comes first"
        );
        // One pod of it does not fit: what is free is of no use to it.
        ledger.ask(&old, &each(&[("cpu", "16")]), asks(2, 2, 4), |_| None, at(0));
        assert_eq!(left(&mut ledger, &aged(101), 0), 10);
    }

    #[test]
    fn what_a_report_counts_since_is_part_of_what_was_asked_for() {
        let report = |taken: &str| {
            Summary::read(vec![("cpu", "20"), ("pods", "100")], vec![("cpu", taken), ("pods", taken)], Vec::new())
        };
        let (empty, half, full) = (report("4"), report("6"), report("8"));
        let mut ledger = Ledger::default();
        ledger.ask(&standing("a", Rank::Replace), &each(CPU), asks(2, 0, 0), |_| Some(&empty), at(0));
        ledger.ask(&standing("b", Rank::Replace), &each(CPU), asks(2, 0, 0), |_| Some(&empty), at(2));
        let left = |ledger: &mut Ledger, report: &Summary| {
            let of = standing("c", Rank::Replace);
            let free = report.available(&each(CPU));
            ledger.left("member1", &of, &each(CPU), (free, Some(report)), at(10))
        };
        // Those that do not exist yet are in no report, whatever it counts.
        assert_eq!([&empty, &half].map(|report| left(&mut ledger, report)), [12, 10]);
        ledger.ask(&standing("a", Rank::Replace), &each(CPU), asks(2, 2, 0), |_| Some(&half), at(4));
        ledger.ask(&standing("b", Rank::Replace), &each(CPU), asks(2, 2, 0), |_| Some(&half), at(5));
        assert_eq!(
            [&empty, &half, &full].map(|report| left(&mut ledger, report)),
            [12; 3],
            "twelve are left of sixteen"
        );
    }

    #[test]
    fn small_pods_that_wait_hold_no_more_than_they_need() {
        let mut ledger = Ledger::default();
        for number in 0..50 {
            let small = each(&[("cpu", "10m")]);
            ledger.ask(&standing(&format!("a{number}"), Rank::Min), &small, asks(2, 2, 1), |_| None, at(0));
        }
        let whole = Demand::read([("cpu", "1")]).unwrap();
        assert_eq!(ledger.left("member1", &standing("b", Rank::Load), &whole, (60, None), at(0)), 10, "by pods");
    }

    #[test]
    fn another_term_knows_nothing_of_the_last_one() {
        let (a, b) = (standing("a", Rank::Load), standing("b", Rank::Load));
        let mut ledger = Ledger::default();
        ledger.begin(at(0));
        ledger.ask(&a, &each(CPU), asks(7, 4, 0), |_| None, at(0));
        ledger.begin(at(0));
        assert_eq!(left(&mut ledger, &b, 1), 7);
        ledger.begin(at(1));
        assert_eq!(left(&mut ledger, &b, 1), 10);
    }
}
