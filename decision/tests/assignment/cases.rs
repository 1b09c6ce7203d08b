//! The worked examples (docs/design.md#worked-examples), by name, and cases that they leave open.

use decision::plan::{Bounds, Cluster, ClusterState, Hpa, HpaVersion, Limits, Plan, Policy, Request, plan};

pub fn total(min: u32, max: u32) -> Bounds {
    Bounds { min, max }
}

pub fn cluster(name: &'static str) -> Cluster<'static> {
    Cluster { name, is_candidate: true, weight: 1, ..Cluster::default() }
}

/// A cluster with an entry in the binding that runs as it says.
pub fn runs(name: &'static str, replicas: u32) -> Cluster<'static> {
    Cluster { entry: Some(replicas), current: Some(replicas), ready: replicas, ..cluster(name) }
}

/// An HPA that has confirmed its bounds.
pub fn confirmed(bounds: Bounds) -> Option<Hpa> {
    let (version, outstanding) = (HpaVersion::V2, bounds.max);
    Some(Hpa { written: Some(bounds), version, confirmed: true, pending_max: outstanding, scale_down_disabled: false })
}

pub fn request(total: Bounds, policy: Policy, clusters: Vec<Cluster<'static>>) -> Request<'static> {
    Request { total, policy, clusters, scale_assist: true, ..Request::default() }
}

pub fn targets(plan: &Plan<'_>) -> Vec<(String, u32, u32)> {
    let taking_part = plan.shares.iter().filter(|share| share.kept().is_some());
    taking_part.map(|share| (share.cluster.to_owned(), share.target.min, share.target.max)).collect()
}

pub fn binding(plan: &Plan<'_>) -> Vec<(String, u32)> {
    plan.binding.iter().map(|entry| (entry.cluster.to_owned(), entry.replicas)).collect()
}

pub fn named<const N: usize>(shares: [(&str, u32, u32); N]) -> Vec<(String, u32, u32)> {
    shares.map(|(name, min, max)| (name.to_owned(), min, max)).to_vec()
}

fn entries<const N: usize>(entries: [(&str, u32); N]) -> Vec<(String, u32)> {
    entries.map(|(name, replicas)| (name.to_owned(), replicas)).to_vec()
}

pub fn to_zero(mut request: Request<'static>) -> Request<'static> {
    request.scaling_to_zero = true;
    request
}

#[test]
fn g1_duplicated_bounds_every_cluster() {
    let request = request(total(3, 10), Policy::Duplicated, vec![runs("m1", 11), runs("m2", 11)]);
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 3, 10), ("m2", 3, 10)]));
    assert_eq!(binding(&plan), entries([("m1", 10), ("m2", 10)]));
}

#[test]
fn g2_duplicated_follows_the_candidates() {
    let leaving = Cluster { is_candidate: false, state: ClusterState::Leaving { evicted: false }, ..runs("m4", 5) };
    let clusters = vec![runs("m1", 1), runs("m2", 4), runs("m3", 20), leaving, cluster("m5")];
    let mut request = request(total(3, 10), Policy::Duplicated, clusters);
    assert_eq!(binding(&plan(&request)), entries([("m1", 6), ("m2", 4), ("m3", 10), ("m5", 3)]), "m1 runs those of m4");
    (request.clusters[3].ready, request.clusters[3].current) = (0, Some(0));
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 3, 10), ("m2", 3, 10), ("m3", 3, 10), ("m5", 3, 10)]));
    assert_eq!(binding(&plan), entries([("m1", 3), ("m2", 4), ("m3", 10), ("m5", 3)]));
}

pub fn g3_clusters(binding: &[(&str, u32)]) -> Vec<Cluster<'static>> {
    [("m1", 1), ("m2", 2), ("m3", 3)]
        .map(|(name, weight)| {
            let entry = binding.iter().find(|(bound, _)| *bound == name);
            Cluster { weight, ..entry.map_or_else(|| cluster(name), |(_, replicas)| runs(name, *replicas)) }
        })
        .to_vec()
}

#[test]
fn g3_static_weights_of_the_newer_document() {
    let request = request(total(2, 10), Policy::StaticWeighted, g3_clusters(&[("m2", 1), ("m3", 2)]));
    let shares = named([("m1", 1, 1), ("m2", 1, 4), ("m3", 1, 5)]);
    let awake = plan(&request);
    assert_eq!(targets(&awake), shares);
    assert_eq!(binding(&awake), entries([("m1", 1), ("m2", 1), ("m3", 2)]));
    let request = to_zero(request.clone());
    let asleep = plan(&request);
    assert_eq!(targets(&asleep), shares);
    assert_eq!(binding(&asleep), entries([("m1", 0), ("m2", 1), ("m3", 2)]));
}

#[test]
fn g4_static_weights_of_the_older_document() {
    let request = request(total(2, 10), Policy::StaticWeighted, g3_clusters(&[("m1", 1), ("m2", 4)]));
    assert_eq!(binding(&plan(&request)), entries([("m1", 1), ("m2", 4), ("m3", 1)]));
    assert_eq!(binding(&plan(&to_zero(request))), entries([("m1", 1), ("m2", 4), ("m3", 0)]));
}

pub fn available(rooms: [(&'static str, u32); 3]) -> Vec<Cluster<'static>> {
    rooms.map(|(name, available)| Cluster { available: Some(available), ..cluster(name) }).to_vec()
}

#[test]
fn g5_dynamic_weights() {
    let clusters = available([("m1", 1), ("m2", 5), ("m3", 2)]);
    let request = request(total(8, 24), Policy::DynamicWeighted, clusters);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 3), ("m2", 5, 15), ("m3", 2, 6)]));
}

#[test]
fn the_free_capacity_of_a_cluster_weighs_on_top_of_what_it_runs() {
    let of = |name, room| Cluster { available: Some(room), ..runs(name, 6) };
    let divided = |min, max, clusters: Vec<Cluster<'static>>| {
        let request = request(total(min, max), Policy::DynamicWeighted, clusters);
        targets(&plan(&request)).into_iter().map(|(.., max)| max).collect::<Vec<_>>()
    };
    let clusters = vec![of("m1", 2), of("m2", 1), of("m3", 1)];
    assert_eq!(divided(1, 22, clusters.clone()), [8, 7, 7]);
    assert_eq!(divided(1, 26, clusters.clone()), [10, 8, 8]);
    assert_eq!(divided(1, 12, clusters.clone()), [4, 4, 4], "less than what runs");
    let mut limited = clusters;
    limited[1].limits = Limits { least: 9, most: 12 };
    assert_eq!(divided(1, 22, limited), [7, 9, 6]);
}

#[test]
fn g6_aggregated() {
    let clusters = available([("m1", 8), ("m2", 2), ("m3", 2)]);
    let request = request(total(8, 24), Policy::Aggregated, clusters);
    assert_eq!(targets(&plan(&request)), named([("m1", 8, 20), ("m2", 1, 2), ("m3", 1, 2)]));
}

#[test]
fn g7_prioritized() {
    let m1 = Cluster { priority: Some(2), available: Some(20), ..runs("m1", 15) };
    let m2 = Cluster { priority: Some(1), available: Some(1), ..cluster("m2") };
    let request = request(total(8, 24), Policy::Prioritized, vec![m1, m2]);
    let shares = named([("m1", 8, 23), ("m2", 1, 1)]);
    let awake = plan(&request);
    assert_eq!(targets(&awake), shares);
    assert_eq!(binding(&awake), entries([("m1", 15), ("m2", 1)]));
    let request = to_zero(request.clone());
    let asleep = plan(&request);
    assert_eq!(targets(&asleep), shares);
    assert_eq!(binding(&asleep), entries([("m1", 15), ("m2", 0)]));
}

#[test]
fn thresholds_give_what_does_not_fit_to_the_others() {
    let mut clusters = g3_clusters(&[]);
    clusters[2].limits = Limits { least: 0, most: 2 };
    clusters[0].limits = Limits { least: 4, most: u32::MAX };
    let request = request(total(6, 10), Policy::StaticWeighted, clusters);
    assert_eq!(targets(&plan(&request)), named([("m1", 4, 4), ("m2", 1, 4), ("m3", 2, 2)]));
}

#[test]
fn a_share_of_a_cluster_caps_every_policy() {
    for policy in Policy::ALL {
        let mut clusters = available([("m1", 50), ("m2", 50), ("m3", 50)]);
        clusters[1].usage_limit = Some(2);
        let request = request(total(3, 30), policy, clusters);
        let plan = plan(&request);
        let m2 = plan.shares[1].target;
        assert!(m2.max <= 2, "{policy:?}: {m2}");
        let sum: u32 = plan.shares.iter().map(|share| share.target.max).sum();
        assert_eq!(sum, if policy == Policy::Duplicated { 62 } else { 30 }, "{policy:?}");
    }
}

#[test]
fn weight_zero_gets_nothing_and_leaves() {
    let mut clusters = g3_clusters(&[("m1", 3)]);
    clusters[0].weight = 0;
    let request = request(total(2, 10), Policy::StaticWeighted, clusters);
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 0, 0), ("m2", 1, 4), ("m3", 2, 6)]));
    assert_eq!(binding(&plan), entries([("m2", 1), ("m3", 2)]));
}

#[test]
fn clusters_of_one_priority_share() {
    let clusters = [("m1", 2, 6), ("m2", 2, 6), ("m3", 1, 50)];
    let clusters = clusters.map(|(name, priority, room)| Cluster {
        priority: Some(priority),
        available: Some(room),
        ..cluster(name)
    });
    let request = |max| request(total(2, max), Policy::Prioritized, clusters.to_vec());
    assert_eq!(targets(&plan(&request(9))), named([("m1", 1, 4), ("m2", 1, 4), ("m3", 1, 1)]));
    // What exceeds all capacity is with the highest priority.
    assert_eq!(targets(&plan(&request(20))), named([("m1", 1, 10), ("m2", 1, 9), ("m3", 1, 1)]));
    assert_eq!(targets(&plan(&request(100))), named([("m1", 1, 50), ("m2", 1, 49), ("m3", 1, 1)]));
}

#[test]
fn a_lower_tier_gets_what_the_tiers_above_cannot_run_and_else_its_min() {
    let divided = |min, own: Cluster<'static>, assists| {
        let own = Cluster { priority: Some(2), ..own };
        let cloud = Cluster { priority: Some(1), available: Some(40), ..cluster("cloud") };
        let request =
            Request { scale_assist: assists, ..request(total(min, 60), Policy::Prioritized, vec![cloud, own]) };
        targets(&plan(&request))
    };
    let own = Cluster { available: Some(5), ..runs("own", 15) };
    assert_eq!(divided(4, own, true), named([("cloud", 1, 1), ("own", 4, 59)]), "it has room for twenty");
    assert_eq!(divided(25, own, true), named([("cloud", 5, 40), ("own", 20, 20)]), "the min is asked for");
    assert_eq!(divided(25, Cluster { available: None, ..own }, true), named([("cloud", 1, 1), ("own", 24, 59)]));
    let limited = Cluster { limits: Limits { least: 0, most: 18 }, ..own };
    assert_eq!(divided(4, limited, true), named([("cloud", 1, 1), ("own", 4, 18)]), "the rest waits");
    assert_eq!(divided(4, own, false), named([("cloud", 1, 40), ("own", 4, 20)]), "nothing moves later");
}

#[test]
fn where_nobody_has_room_all_weigh_the_same() {
    let request = request(total(1, 9), Policy::DynamicWeighted, available([("m1", 0), ("m2", 0), ("m3", 0)]));
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 3), ("m2", 1, 3), ("m3", 1, 3)]));
}

#[test]
fn a_full_cluster_keeps_what_it_runs() {
    let full = Cluster { available: Some(0), ..runs("m1", 6) };
    let empty = Cluster { available: Some(10), ..cluster("m2") };
    let request = request(total(2, 10), Policy::DynamicWeighted, vec![full, empty]);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 6), ("m2", 2, 4)]));
}

/// A request whose members have what the plan says.
pub fn settled(mut request: Request<'static>) -> Request<'static> {
    let planned = request.clone();
    let plan = plan(&planned);
    for cluster in &mut request.clusters {
        let Some(share) = plan.shares.iter().find(|share| share.cluster == cluster.name) else { continue };
        cluster.target = Some(share.target);
        let hpa = Hpa {
            written: Some(share.target),
            version: cluster.version,
            confirmed: true,
            pending_max: 0,
            scale_down_disabled: false,
        };
        cluster.hpa = share.target.is_some().then_some(hpa);
        cluster.entry = plan.binding.iter().find(|entry| entry.cluster == cluster.name).map(|entry| entry.replicas);
        cluster.current = cluster.entry;
        cluster.ready = cluster.entry.unwrap_or_default();
    }
    request.assignment_hash = Some(plan.assignment_hash);
    request
}
