//! The last look at what a plan writes now: by what is known, no write breaks law 2 or law 3
//! (docs/design.md#law-2-stay-within-the-budget, docs/design.md#law-3-keep-ready-pods). Pure.

use super::row::Row;
use super::transition::part;
use super::{Action, Cluster, ClusterState, Law, Refusal, Request, Step, Wait};
use crate::decision::split::Replicas;

/// A cluster before and after the writes.
struct Effect<'a> {
    cluster: &'a Cluster<'a>,
    /// Whether it gets no bounds any more.
    leaves: bool,
    /// The greatest max that may be in effect.
    most: (Replicas, Replicas),
    /// Ready replicas that stay, without the extra pods of a rollout.
    ready: (Replicas, Replicas),
}

/// What each of the rows would be without the writes of `steps`, and is with them; by name, as the rows.
fn effects<'a>(request: &Request<'_>, rows: &[Row<'a>], steps: &[Step<'_>]) -> Vec<Effect<'a>> {
    let mut effects: Vec<Effect<'a>> = rows.iter().map(|row| Effect::before(request, row)).collect();
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
                effects.iter_mut().filter(|effect| !has(effect.cluster.name)).for_each(|effect| effect.ready.1 = 0);
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

fn named<'e, 'a>(effects: &'e mut [Effect<'a>], name: &str) -> Option<&'e mut Effect<'a>> {
    let at = effects.binary_search_by_key(&name, |effect| effect.cluster.name).ok()?;
    effects.get_mut(at)
}

impl<'a> Effect<'a> {
    /// Without any write.
    fn before(request: &Request<'_>, row: &Row<'a>) -> Self {
        let cluster = row.cluster;
        // The bounds of one that is away are given to others.
        let counts = cluster.state != ClusterState::Away;
        let ceiling = cluster.hpa.filter(|_| counts).map_or(0, |hpa| hpa.ceiling());
        let ready = stays(request, cluster);
        Self { cluster, leaves: !row.bounds.is_some(), most: (ceiling, ceiling), ready: (ready, ready) }
    }

    /// Replicas that load asks of it: by its metric, within the tolerance and without one what is ready; of one that
    /// leaves what is ready, since its own HPA still removes what is not needed. Where it was asked to run those of
    /// others, neither tells how many of them load asks for: that is counted where they run until then.
    fn demand(&self, request: &Request<'_>) -> Replicas {
        let Self { cluster, ready: (ready, _), .. } = *self;
        let serving = cluster.state == ClusterState::Serving;
        let told = cluster.load.filter(|load| serving && (request.is_above(*load) || request.is_below(*load)));
        let own = || if serving && cluster.memory.replacement_min.is_some() { cluster.target } else { None };
        told.map_or_else(|| own().map_or(ready, |target| ready.min(target.min)), |load| load.wanted(ready))
    }

    /// What it may run, whether or not it answers.
    fn runs(&self) -> Replicas {
        if self.cluster.state == ClusterState::Away { 0 } else { self.cluster.may_run() }
    }
}

/// Has raises wait that would break law 2, the last ones first. Returns these, and the writes that would break law 3 by
/// the demand that is known now.
pub(super) fn pass<'a>(request: &Request<'_>, rows: &[Row<'a>], steps: &mut [Step<'_>]) -> Vec<Refusal<'a>> {
    if !request.policy.divides() || steps.iter().all(|step| step.wait != Wait::Nothing) {
        return Vec::new();
    }
    let mut refusals = Vec::new();
    let mut now = effects(request, rows, steps);
    while let by @ 1.. = above(request, &now) {
        let Some((cluster, step)) = last_raise(&now, steps) else { break };
        step.wait = Wait::Lowered;
        refusals.push(Refusal { law: Law::Budget, cluster, by });
        now = effects(request, rows, steps);
    }
    let by = lost(request, &now);
    let lowered = now.iter().filter(|effect| by > 0 && effect.ready.1 < effect.ready.0);
    refusals.extend(lowered.map(|effect| Refusal { law: Law::ReadyPods, cluster: effect.cluster.name, by }));
    refusals
}

/// The last step of now that raises what may be in effect in a cluster.
fn last_raise<'s, 'a, 'b>(effects: &[Effect<'a>], steps: &'s mut [Step<'b>]) -> Option<(&'a str, &'s mut Step<'b>)> {
    steps.iter_mut().rev().filter(|step| step.wait == Wait::Nothing).find_map(|step| {
        let Action::ApplyHpa { cluster: name, .. } = step.action else { return None };
        let raised = |effect: &&Effect<'a>| effect.cluster.name == name && effect.most.1 > effect.most.0;
        Some((effects.iter().find(raised)?.cluster.name, step))
    })
}

/// By how much more than `maxReplicas` may be in effect, where it is not less than before.
fn above(request: &Request<'_>, effects: &[Effect<'_>]) -> Replicas {
    let (before, after) = sums(effects, |effect| effect.most);
    replicas(after.saturating_sub(before.max(request.total.max.into())))
}

/// How many ready replicas that load asks for would go, beyond what the user took with a lower `maxReplicas` and what
/// leaving clusters may release first.
fn lost(request: &Request<'_>, effects: &[Effect<'_>]) -> Replicas {
    let (before, after) = sums(effects, |effect| effect.ready);
    let (demand, runs) = sums(effects, |effect| (effect.demand(request), effect.runs()));
    let taken = runs.saturating_sub(request.total.max.into());
    let needed = demand.min(before).saturating_sub(taken).saturating_sub(released(request, effects, runs));
    replicas(needed.saturating_sub(after))
}

fn sums(effects: &[Effect<'_>], of: impl Fn(&Effect<'_>) -> (Replicas, Replicas)) -> (u64, u64) {
    effects.iter().map(of).fold((0, 0), |(before, after), pair| {
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
    if !has || cluster.state == ClusterState::Away || cluster.memory.lost.is_some_and(|lost| over(lost.since)) {
        return 0;
    }
    let written = cluster.hpa.and_then(|hpa| hpa.written).map_or(Replicas::MAX, |written| written.max);
    cluster.ready_without_surge().min(written).min(cluster.limits.most)
}

/// What leaving clusters may release before others run it: a part, where `maxReplicas` leaves no headroom for both; all
/// clusters run `runs` replicas.
fn released(request: &Request<'_>, effects: &[Effect<'_>], runs: u64) -> u64 {
    let (leaving, ran) = sums(effects, |effect| {
        let ready = if effect.leaves { effect.ready.0 } else { 0 };
        (ready, effect.cluster.memory.lost.map_or(ready, |lost| lost.replicas))
    });
    let fits = runs.saturating_add(leaving) <= request.total.max.into();
    if leaving == 0 || fits { 0 } else { part(replicas(ran)).into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::load::Load;
    use crate::decision::plan::row::rows;
    use crate::decision::plan::{Bounds, Entry, Hpa, HpaVersion, Lost, Policy, Why};
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
    fn passed(request: &Request<'_>, mut steps: Vec<Step<'static>>) -> (Vec<(Law, String, Replicas)>, Vec<bool>) {
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
        away.clusters[0].state = ClusterState::Away;
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
        // Load asks for three of the six.
        let mut idle = fleet.clone();
        for cluster in &mut idle.clusters {
            cluster.load = Some(Load { value: 20, target: 50 });
        }
        assert_eq!(refused(&idle, vec![now(zero)]), one("b", 1), "two by two");
        assert!(refused(&idle, vec![apply("a", 2, 4)]).is_empty());
        // Surge pods of a rollout end with it.
        let mut rolls = fleet.clone();
        (rolls.clusters[0].rolling, rolls.clusters[0].hpa_current, rolls.clusters[0].hpa_desired_confirmed) =
            (true, Some(2), Some(2));
        assert!(refused(&rolls, vec![apply("a", 2, 4)]).is_empty());
    }

    #[test]
    fn what_the_user_takes_and_what_is_replaced_may_go() {
        let lowered = request(4, &[cluster("a", 3, 4), cluster("b", 3, 4)]);
        assert!(refused(&lowered, vec![apply("a", 2, 4), apply("b", 2, 4)]).is_empty(), "a lower maxReplicas");
        assert_eq!(refused(&lowered, vec![apply("a", 1, 4), apply("b", 2, 4)]).len(), 2, "and no more");
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
