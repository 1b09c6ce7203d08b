//! The last look at what a plan writes now: by what is known, no write breaks law 2 or law 3
//! (docs/design.md#law-2-stay-within-the-budget, docs/design.md#law-3-keep-ready-pods). Pure.

use super::row::{Row, budget};
use super::transition::part;
use super::{Action, Cluster, ClusterState, Entry, Law, Refusal, Request, Step, Wait};
use crate::load::WHOLE;
use crate::split::Replicas;

/// A cluster before and after the writes.
struct Effect<'r, 'a> {
    row: &'r Row<'a>,
    /// The greatest max that may be in effect.
    most: (Replicas, Replicas),
    /// Ready replicas that stay, without the extra pods of a rollout.
    ready: (Replicas, Replicas),
}

/// What each of the rows would be without the writes of `steps`, and is with them; by name, as the rows.
fn effects<'r, 'a>(request: &Request<'_>, rows: &'r [Row<'a>], steps: &[Step<'_>]) -> Vec<Effect<'r, 'a>> {
    let mut effects: Vec<Effect<'r, 'a>> = rows.iter().map(|row| Effect::before(request, row)).collect();
    for step in steps.iter().filter(|step| step.wait == Wait::Nothing) {
        match &step.action {
            Action::ApplyHpa { cluster, bounds, pending_max, .. } => {
                if let Some(effect) = named(&mut effects, cluster) {
                    effect.most.1 = effect.most.1.max(*pending_max);
                    effect.ready.1 = effect.ready.1.min(bounds.max);
                }
            }
            Action::UpdateBinding { entries, .. } => {
                let has = |name: &str| entries.binary_search_by_key(&name, |entry| entry.cluster).is_ok();
                effects.iter_mut().filter(|effect| !has(effect.row.cluster.name)).for_each(|effect| effect.ready.1 = 0);
            }
            Action::Scale { cluster, replicas, .. } => {
                if let Some(effect) = named(&mut effects, cluster) {
                    effect.ready.1 = effect.ready.1.min(*replicas);
                }
            }
            Action::DeleteHpa { .. } => {}
        }
    }
    effects
}

fn named<'e, 'r, 'a>(effects: &'e mut [Effect<'r, 'a>], name: &str) -> Option<&'e mut Effect<'r, 'a>> {
    let at = effects.binary_search_by_key(&name, |effect| effect.row.cluster.name).ok()?;
    effects.get_mut(at)
}

impl<'r, 'a> Effect<'r, 'a> {
    /// Without any write.
    fn before(request: &Request<'_>, row: &'r Row<'a>) -> Self {
        let cluster = row.cluster;
        // The bounds of one that is away are given to others.
        let counts = cluster.state != ClusterState::Lost;
        let ceiling = cluster.hpa.filter(|_| counts).map_or(0, |hpa| hpa.ceiling());
        let ready = stays(request, cluster);
        Self { row, most: (ceiling, ceiling), ready: (ready, ready) }
    }

    /// Whether it gets no bounds any more.
    fn leaves(&self) -> bool {
        !self.row.bounds.is_some()
    }

    /// Thousandths of replicas that load asks at least of one that stays: by its metric, less the tolerance of an HPA;
    /// without one what is ready.
    fn demand(&self) -> u64 {
        let ready = self.ready.0;
        let load = self.row.cluster.load.filter(|_| self.row.answers());
        load.map_or_else(|| WHOLE.saturating_mul(ready.into()), |load| load.least(ready))
    }

    /// Replicas that it still has to run while it leaves: those that nobody was asked to run instead.
    fn unreplaced(&self) -> Replicas {
        let cluster = self.row.cluster;
        self.row
            .memory
            .lost
            .map_or(self.ready.0, |lost| lost.uncovered.saturating_add(cluster.may_run().saturating_sub(lost.replicas)))
    }

    /// What it may run, whether or not it answers, and at least one where it has an entry: where `maxReplicas` is full,
    /// one pod of another cluster goes for it.
    fn runs(&self) -> Replicas {
        let cluster = self.row.cluster;
        if cluster.state == ClusterState::Lost { 0 } else { cluster.at_least_entry(cluster.may_run()) }
    }
}

/// Has raises wait that would break law 2, and keeps the ready replicas that writes would take against law 3 by the
/// demand that is known now; of several the last ones first. Returns what it refused.
pub(super) fn pass<'a>(request: &Request<'_>, rows: &[Row<'a>], steps: &mut [Step<'a>]) -> Vec<Refusal<'a>> {
    if steps.iter().all(|step| step.wait != Wait::Nothing) {
        return Vec::new();
    }
    let mut refusals = Vec::new();
    let most = budget(request, rows).into();
    let mut now = effects(request, rows, steps);
    while let by @ 1.. = above(request, &now) {
        let Some((cluster, step)) = last_raise(&now, steps) else { break };
        step.wait = Wait::Lowered;
        refusals.push(Refusal { law: Law::Budget, cluster, by });
        now = effects(request, rows, steps);
    }
    while let by @ 1.. = lost(&now, most) {
        let Some(effect) = now.iter().rev().find(|effect| effect.ready.1 < effect.ready.0) else { break };
        steps.iter_mut().filter(|step| step.wait == Wait::Nothing).for_each(|step| keep(effect, step));
        refusals.push(Refusal { law: Law::ReadyPods, cluster: effect.row.cluster.name, by });
        now = effects(request, rows, steps);
    }
    refusals
}

/// Keeps what is ready in a cluster: its entry, its HPA and its max stay, and it is not scaled down.
fn keep<'a>(effect: &Effect<'_, 'a>, step: &mut Step<'a>) {
    let name = effect.row.cluster.name;
    match &mut step.action {
        Action::UpdateBinding { entries, evictions } => {
            evictions.retain(|eviction| eviction.cluster != name);
            let at = entries.binary_search_by_key(&name, |entry| entry.cluster);
            if let (Err(at), Some(replicas)) = (at, effect.row.cluster.entry) {
                entries.insert(at, Entry { cluster: name, replicas });
            }
        }
        Action::ApplyHpa { cluster, .. } | Action::Scale { cluster, .. } | Action::DeleteHpa { cluster } => {
            step.wait = if *cluster == name { Wait::Shrunk } else { step.wait };
        }
    }
}

/// The last step of now that raises what may be in effect in a cluster.
fn last_raise<'s, 'a, 'b>(
    effects: &[Effect<'_, 'a>],
    steps: &'s mut [Step<'b>],
) -> Option<(&'a str, &'s mut Step<'b>)> {
    steps.iter_mut().rev().filter(|step| step.wait == Wait::Nothing).find_map(|step| {
        let Action::ApplyHpa { cluster: name, .. } = step.action else { return None };
        let raised = |effect: &&Effect<'_, 'a>| effect.row.cluster.name == name && effect.most.1 > effect.most.0;
        Some((effects.iter().find(raised)?.row.cluster.name, step))
    })
}

/// By how much more than `maxReplicas` may be in effect, where it is not less than before. Under Duplicated each
/// cluster may have the whole of it.
fn above(request: &Request<'_>, effects: &[Effect<'_, '_>]) -> Replicas {
    if !request.policy.divides() {
        return 0;
    }
    let (before, after) = sums(effects.iter(), |effect| effect.most);
    replicas(after.saturating_sub(before.max(request.total.max.into())))
}

/// How many ready replicas that load asks for would go, beyond what the user took with a lower `maxReplicas` and what
/// leaving clusters may release first; `most` may run in all clusters. What others were asked to run in place of
/// leaving clusters counts where it runs: there, or as long as it is not ready in the leaving ones.
fn lost(effects: &[Effect<'_, '_>], most: u64) -> Replicas {
    let (before, after) = sums(effects.iter(), |effect| effect.ready);
    let (going, staying): (Vec<_>, Vec<_>) = effects.iter().partition(|effect| effect.leaves());
    let (ready, _) = sums(staying.iter().copied(), |effect| effect.ready);
    let load = staying.iter().map(|effect| effect.demand()).fold(0, u64::saturating_add).div_ceil(WHOLE).min(ready);
    let (leaving, unreplaced) = sums(going.iter().copied(), |effect| (effect.ready.0, effect.unreplaced()));
    let (unready, _) = sums(effects.iter(), |effect| (effect.row.short_of(), 0));
    let (runs, asked) = sums(effects.iter(), |effect| (effect.runs(), effect.row.asked()));
    let needed = load.saturating_add(leaving.min(unreplaced.saturating_add(unready))).min(before);
    let taken = runs.saturating_sub(most);
    // There is headroom for those that leave beside all that others run and are still to be asked for.
    let fits = asked.saturating_add(unreplaced) <= most;
    let part = if fits { 0 } else { released(&going) };
    replicas(needed.saturating_sub(taken).saturating_sub(part).saturating_sub(after))
}

fn sums<'e, 'r: 'e, 'a: 'r>(
    effects: impl Iterator<Item = &'e Effect<'r, 'a>>,
    of: impl Fn(&Effect<'_, '_>) -> (Replicas, Replicas),
) -> (u64, u64) {
    effects.map(of).fold((0, 0), |(before, after), pair| {
        (before.saturating_add(u64::from(pair.0)), after.saturating_add(u64::from(pair.1)))
    })
}

fn replicas(number: u64) -> Replicas {
    Replicas::try_from(number).unwrap_or(Replicas::MAX)
}

/// Its ready replicas that stay as long as nothing is written: those that it keeps by its entry and its max, as far as
/// the user lets it have them and its time to leave is not over.
fn stays(request: &Request<'_>, cluster: &Cluster<'_>) -> Replicas {
    let over = |since| request.waits_until(since).is_some_and(|end| end <= request.now);
    let has = cluster.entry.is_some() && !cluster.not_karmadas && !cluster.deleted;
    // What one that is away still runs, Karmada removes once the others are healthy.
    if !has || cluster.state == ClusterState::Lost || cluster.memory.lost.is_some_and(|lost| over(lost.since)) {
        return 0;
    }
    let written = cluster.hpa.and_then(|hpa| hpa.written).map_or(Replicas::MAX, |written| written.max);
    let most = if request.policy.divides() { Replicas::MAX } else { request.total.max };
    cluster.ready_without_surge().min(written).min(cluster.limits.most).min(most)
}

/// What leaving clusters may release before others run it, where `maxReplicas` leaves no headroom for both: a part.
fn released(going: &[&Effect<'_, '_>]) -> u64 {
    let (leaving, ran) = sums(going.iter().copied(), |effect| {
        let ready = effect.ready.0;
        (ready, effect.row.memory.lost.map_or(ready, |lost| lost.replicas))
    });
    if leaving == 0 { 0 } else { part(replicas(ran)).into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Load;
    use crate::plan::row::rows;
    use crate::plan::{Bounds, Hpa, HpaVersion, Lost, Policy, Why};
    use jiff::{SignedDuration, Timestamp};

    const fn bounds(min: Replicas, max: Replicas) -> Bounds {
        Bounds { min, max }
    }

    /// A cluster that runs `ready` of at most `max` replicas, at its target.
    fn cluster(name: &str, ready: Replicas, max: Replicas) -> Cluster<'_> {
        let written = Some(bounds(1, max));
        let hpa =
            Hpa { written, version: HpaVersion::V2, confirmed: true, pending_max: max, scale_down_disabled: false };
        let load = Some(Load { value: 50, target: 50 });
        let (entry, current, target) = (Some(ready), Some(ready), written);
        Cluster { name, is_candidate: true, hpa: Some(hpa), load, entry, current, ready, target, ..Cluster::default() }
    }

    fn request<'a>(max: Replicas, clusters: &[Cluster<'a>; 2]) -> Request<'a> {
        Request {
            total: bounds(1, max),
            policy: Policy::DynamicWeighted,
            clusters: clusters.to_vec(),
            replacement: Some(SignedDuration::from_mins(10)),
            ..Request::default()
        }
    }

    fn now(action: Action<'static>) -> Step<'static> {
        Step { action, wait: Wait::Nothing, why: Why::BindingUpdated }
    }

    fn apply(cluster: &'static str, max: Replicas, ceiling: Replicas) -> Step<'static> {
        let (bounds, version, pending_max) = (bounds(1, max), HpaVersion::V2, max.max(ceiling));
        now(Action::ApplyHpa { cluster, bounds, version, pending_max, scale_down_disabled: false })
    }

    fn bind(entries: &[&'static str]) -> Step<'static> {
        let entries = entries.iter().map(|cluster| Entry { cluster, replicas: 1 }).collect();
        now(Action::UpdateBinding { entries, evictions: Vec::new() })
    }

    /// Law, cluster and replicas of each refusal, and which steps are left for now; `a` and `b` get bounds.
    fn passed(request: &Request<'_>, steps: Vec<Step<'static>>) -> (Vec<(Law, String, Replicas)>, Vec<bool>) {
        let mut steps: Vec<Step<'_>> = steps;
        let mut rows = rows(request);
        for row in &mut rows {
            row.bounds = row.cluster.target.unwrap_or_default();
        }
        let refusals = pass(request, &rows, &mut steps);
        let refusals = refusals.iter().map(|one| (one.law, one.cluster.to_owned(), one.by)).collect();
        (refusals, steps.iter().map(|step| step.wait == Wait::Nothing).collect())
    }

    fn refused(request: &Request<'_>, steps: Vec<Step<'static>>) -> Vec<(Law, String, Replicas)> {
        passed(request, steps).0
    }

    #[test]
    fn raises_that_do_not_fit_wait_and_the_last_ones_first() {
        let fleet = request(12, &[cluster("a", 3, 4), cluster("b", 3, 4)]);
        let raises = vec![apply("a", 8, 4), apply("b", 5, 4)];
        let (refusals, left) = passed(&fleet, raises);
        assert_eq!((refusals, left), (vec![(Law::Budget, "b".into(), 1)], vec![true, false]));
        let (refusals, left) = passed(&fleet, vec![apply("a", 9, 4), apply("b", 9, 4)]);
        let both = [(Law::Budget, "b".into(), 6), (Law::Budget, "a".into(), 1)];
        assert_eq!((refusals, left), (both.to_vec(), vec![false, false]));
        // A lower max may not have arrived when the raise does.
        let (refusals, _) = passed(&fleet, vec![apply("a", 3, 4), apply("b", 9, 4)]);
        assert_eq!(refusals, [(Law::Budget, "b".into(), 1)]);
        // Above the budget already: what may be in effect is written again, and nothing is raised.
        let above = request(6, &[cluster("a", 3, 4), cluster("b", 3, 4)]);
        assert_eq!(passed(&above, vec![apply("a", 3, 4), apply("b", 4, 4)]).1, [true, true]);
        assert_eq!(passed(&above, vec![apply("a", 3, 4), apply("b", 5, 4)]).1, [true, false]);
        // One that is away has lost its bounds to others.
        let mut away = request(12, &[cluster("a", 0, 8), cluster("b", 3, 4)]);
        away.clusters[0].state = ClusterState::Lost;
        assert!(refused(&away, vec![apply("b", 12, 4)]).is_empty());
    }

    #[test]
    fn ready_replicas_that_load_asks_for_may_not_go() {
        let fleet = request(12, &[cluster("a", 3, 4), cluster("b", 3, 4)]);
        let one = |cluster: &str, by| vec![(Law::ReadyPods, cluster.to_owned(), by)];
        assert_eq!(refused(&fleet, vec![apply("a", 1, 4)]), one("a", 2));
        assert_eq!(refused(&fleet, vec![bind(&["b"])]), one("a", 3));
        let zero = Action::Scale { cluster: "b", replicas: 0, reported: 3 };
        assert_eq!(refused(&fleet, vec![now(zero.clone())]), one("b", 3));
        // Load asks for a little more than three of the six, whatever an HPA tolerates.
        let mut idle = fleet.clone();
        for cluster in &mut idle.clusters {
            cluster.load = Some(Load { value: 30, target: 50 });
        }
        assert_eq!(refused(&idle, vec![now(zero)]), one("b", 1));
        assert!(refused(&idle, vec![apply("a", 2, 4)]).is_empty());
        // Surge pods of a rollout end with it.
        let mut rolls = fleet.clone();
        (rolls.clusters[0].rolling, rolls.clusters[0].hpa_current, rolls.clusters[0].hpa_desired) =
            (true, Some(2), Some(2));
        assert!(refused(&rolls, vec![apply("a", 2, 4)]).is_empty());
    }

    #[test]
    fn what_the_user_takes_and_what_is_replaced_may_go() {
        let lowered = request(4, &[cluster("a", 3, 4), cluster("b", 3, 4)]);
        assert!(refused(&lowered, vec![apply("a", 2, 4), apply("b", 2, 4)]).is_empty(), "a lower maxReplicas");
        let more = refused(&lowered, vec![apply("a", 1, 4), apply("b", 2, 4)]);
        assert_eq!(more, [(Law::ReadyPods, "b".to_owned(), 1)], "and no more");
        let mut limited = request(12, &[cluster("a", 3, 4), cluster("b", 3, 4)]);
        limited.clusters[0].limits.most = 1;
        assert!(refused(&limited, vec![apply("a", 1, 4)]).is_empty(), "a lower threshold");
        let leaves = |max, others| {
            let mut fleet = request(max, &[cluster("a", 8, 8), cluster("b", others, 12)]);
            fleet.clusters[0].state = ClusterState::Leaving { evicted: false };
            fleet.clusters[0].target = None;
            fleet.clusters[0].memory.lost = Some(Lost { replicas: 8, uncovered: 0, since: Timestamp::UNIX_EPOCH });
            fleet
        };
        assert_eq!(refused(&leaves(40, 4), vec![bind(&["b"])]).len(), 1, "nobody runs its eight");
        let mut replaced = leaves(40, 12);
        replaced.clusters[1].load = Some(Load { value: 16, target: 50 });
        assert!(refused(&replaced, vec![bind(&["b"])]).is_empty());
        let quarter = leaves(12, 4);
        assert!(refused(&quarter, vec![apply("a", 6, 8)]).is_empty(), "no headroom for both");
        assert_eq!(refused(&quarter, vec![apply("a", 5, 8)]).len(), 1);
        let late = Request { now: Timestamp::UNIX_EPOCH + SignedDuration::from_mins(10), ..leaves(40, 4) };
        assert!(refused(&late, vec![bind(&["b"])]).is_empty(), "its time is over");
    }
}
