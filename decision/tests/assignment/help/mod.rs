//! Help across clusters: the worked examples (docs/design.md#worked-examples) by name, and cases that they leave open.

mod headroom;
mod replicas;
mod tiers;
mod zero;

use decision::hpa::behavior::{Policy as RatePolicy, Rules, Select, Unit};
use decision::load::Load;
use decision::plan::{Action, Cluster, Plan, Policy, Request, Why};
use jiff::{SignedDuration, Timestamp};

use super::cases::{request, runs, settled, total};

const NOW: Timestamp = Timestamp::constant(1_000_000, 0);
const MINUTE: SignedDuration = SignedDuration::from_secs(60);
/// Clusters need so long to react to bounds that moved.
const REACTION: SignedDuration = SignedDuration::from_secs(15);
const WINDOW: SignedDuration = SignedDuration::from_secs(300);

const HALF: Load = Load { value: 50, target: 100 };
const TWICE: Load = Load { value: 200, target: 100 };

fn ago(seconds: i64) -> Option<Timestamp> {
    Some(NOW - SignedDuration::from_secs(seconds))
}

/// At rest with these bounds: name, min, max and replicas of each.
fn at_rest<const N: usize>(policy: Policy, clusters: [(Cluster<'static>, u32, u32); N]) -> Request<'static> {
    let sum = |of: fn(&(Cluster<'static>, u32, u32)) -> u32| clusters.iter().map(of).sum::<u32>();
    let total = total(sum(|(_, min, _)| *min), sum(|(.., max)| *max));
    let weighs = clusters.iter().any(|(cluster, ..)| cluster.weight != 1);
    // Where the case gives no weights, the user's split is the one that it has.
    let weight = |cluster: &Cluster<'_>, max: u32| if weighs { cluster.weight } else { max.into() };
    let weighed =
        |(cluster, _, max): &(Cluster<'static>, u32, u32)| Cluster { weight: weight(cluster, *max), ..*cluster };
    let fleet = clusters.iter().map(weighed).collect();
    let mut request = settled(request(total, policy, fleet));
    for (cluster, (before, min, max)) in request.clusters.iter_mut().zip(clusters) {
        let bounds = super::cases::total(min, max);
        let hpa = cluster.hpa.as_mut().unwrap();
        (cluster.target, hpa.written) = (Some(bounds), Some(bounds));
        (cluster.current, cluster.ready, cluster.entry) = (before.current, before.ready, before.entry);
        cluster.hpa_desired = before.hpa_desired.or(before.current);
    }
    (request.now, request.window) = (NOW, WINDOW);
    request
}

/// The user's rules for adding replicas: by so many pods at most.
fn rules(select: Select, pods: i32, tolerance: Option<f64>) -> Option<Rules> {
    let policies = vec![RatePolicy { unit: Unit::Pods, value: pods, period_seconds: 15 }];
    Some(Rules { window_seconds: None, select, policies, tolerance })
}

fn of<'p>(plan: &'p Plan<'_>, name: &str) -> &'p decision::plan::Share<'p> {
    plan.shares.iter().find(|share| share.cluster == name).unwrap()
}

fn scales(plan: &Plan<'_>) -> Vec<(String, u32, Why)> {
    let scale = |step: &decision::plan::Step<'_>| match step.action {
        Action::Scale { cluster, replicas, .. } => Some((cluster.to_owned(), replicas, step.why)),
        _ => None,
    };
    plan.now().filter_map(scale).collect()
}

fn assists(plan: &Plan<'_>) -> Vec<(String, u32)> {
    let assist = |share: &decision::plan::Share<'_>| (share.cluster.to_owned(), share.memory.ordered());
    plan.shares.iter().map(assist).filter(|(_, replicas)| *replicas > 0).collect()
}

fn room(name: &'static str, available: u32) -> Cluster<'static> {
    Cluster { available: Some(available), ..runs(name, 2) }
}
