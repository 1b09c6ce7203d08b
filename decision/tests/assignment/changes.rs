//! What changes of the fleet and of the spec do to a division: bounds that are kept, given away, and written in order.

use decision::plan::{Action, Bounds, Cluster, ClusterState, Hpa, Plan, Policy, Request, Wait, plan};

use super::cases::{available, binding, cluster, g3_clusters, named, request, runs, settled, targets, total};

#[test]
fn capacity_that_changes_moves_nothing() {
    for policy in Policy::ALL {
        let mut request = settled(request(total(8, 24), policy, available([("m1", 1), ("m2", 5), ("m3", 2)])));
        assert!(plan(&request).steps.is_empty(), "{policy:?}");
        for cluster in &mut request.clusters {
            cluster.available = cluster.available.map(|available| 7 - available);
        }
        assert!(plan(&request).steps.is_empty(), "{policy:?}: {:?}", plan(&request).steps);
    }
}

#[test]
fn what_a_failed_cluster_had_goes_to_the_others_by_policy() {
    for (policy, expected) in [
        (Policy::StaticWeighted, named([("m1", 4, 12), ("m3", 4, 12)])),
        (Policy::DynamicWeighted, named([("m1", 2, 8), ("m3", 6, 16)])),
        (Policy::Aggregated, named([("m1", 2, 2), ("m3", 6, 22)])),
        (Policy::Duplicated, named([("m1", 8, 24), ("m3", 8, 24)])),
    ] {
        let mut request = settled(request(total(8, 24), policy, available([("m1", 1), ("m2", 5), ("m3", 2)])));
        request.clusters[1].state = ClusterState::Lost;
        let plan = plan(&request);
        assert_eq!(targets(&plan), expected, "{policy:?}");
        assert!(binding(&plan).iter().all(|(name, _)| name != "m2"), "{policy:?}");
    }
}

#[test]
fn a_returned_cluster_gets_its_min_at_once_and_no_running_replica() {
    let clusters = available([("m1", 1), ("m2", 5), ("m3", 2)]);
    let mut request = settled(request(total(8, 24), Policy::DynamicWeighted, clusters));
    request.clusters[1].state = ClusterState::Lost;
    request.clusters[1].hpa = None;
    request.clusters[1].entry = None;
    request.clusters[1].current = None;
    request.clusters[1].target = None;
    let mut away = settled(request);
    assert_eq!(away.clusters[0].target, Some(total(2, 8)));
    away.clusters[2].ready = 16;
    away.clusters[2].current = Some(16);
    away.clusters[1].state = ClusterState::Serving;
    let plan = plan(&away);
    // Its share of min is 5 of 8; the 5 come from m1's headroom, as all of m3 runs.
    assert_eq!(targets(&plan), named([("m1", 2, 3), ("m2", 5, 5), ("m3", 1, 16)]));
}

#[test]
fn when_all_clusters_are_lost_the_last_bounds_stay() {
    let mut request = settled(request(total(2, 10), Policy::StaticWeighted, g3_clusters(&[("m1", 1)])));
    let before = targets(&plan(&request));
    for cluster in &mut request.clusters {
        cluster.state = ClusterState::Lost;
    }
    let plan = plan(&request);
    assert!(plan.steps.is_empty());
    assert_eq!(targets(&plan), before);
    assert_eq!(plan.notes[0].code(), "AllClustersFailed");
}

#[test]
fn an_edit_of_weights_takes_no_running_replica() {
    let mut request = settled(request(total(2, 20), Policy::StaticWeighted, vec![cluster("m1"), runs("m2", 10)]));
    request.clusters[1].weight = 0;
    request.clusters[0].weight = 3;
    request.clusters[1].weight = 1;
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 2, 15), ("m2", 1, 5)]));
    let now: Vec<Bounds> = plan.shares.iter().map(|share| share.now).collect();
    assert_eq!(now, [total(2, 10), total(1, 10)]);
    assert_eq!(
        plan.shares[1].hold.unwrap().to_string(),
        "10 replicas are running and are not removed for other clusters"
    );
}

#[test]
fn where_more_is_asked_for_than_max_ready_replicas_stay_before_those_that_start() {
    let asked = |name, ready| Cluster { ready, ..runs(name, 8) };
    let clusters = vec![asked("m1", 4), asked("m2", 0), asked("m3", 4)];
    let request = request(total(1, 8), Policy::StaticWeighted, clusters);
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 1, 3), ("m2", 1, 3), ("m3", 1, 2)]));
    let now: Vec<u32> = plan.shares.iter().map(|share| share.now.max).collect();
    assert_eq!(now, [3, 1, 4], "each has at least one");
}

#[test]
fn a_returned_cluster_waits_for_its_min_while_all_of_the_budget_runs() {
    let mut request = settled(request(total(4, 4), Policy::StaticWeighted, vec![runs("m1", 4)]));
    request.clusters.push(cluster("m2"));
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 2, 2), ("m2", 2, 2)]));
    let now: Vec<Bounds> = plan.shares.iter().map(|share| share.now).collect();
    assert_eq!(now, [total(2, 4), Bounds::NONE]);
    assert_eq!(plan.shares[1].hold.unwrap().code(), "WaitingForBudget");
}

/// The bounds that are to be written, with what they wait for.
fn writes(plan: &Plan<'_>) -> Vec<(String, u32, Wait)> {
    let bound = |step: &decision::plan::Step<'_>| match &step.action {
        Action::ApplyHpa { cluster, bounds, .. } => Some(((*cluster).to_owned(), bounds.max, step.wait)),
        _ => None,
    };
    plan.steps.iter().filter_map(bound).collect()
}

fn under_way(cluster: &mut Cluster<'_>, max: u32, outstanding: u32) {
    cluster.hpa = Some(Hpa {
        written: Some(Bounds { min: 1, max }),
        confirmed: false,
        pending_max: outstanding,
        ..cluster.hpa.unwrap()
    });
}

#[test]
fn donors_come_before_receivers() {
    let clusters = vec![cluster("m1"), cluster("m2"), cluster("m3")];
    let mut request = settled(request(total(3, 30), Policy::StaticWeighted, clusters));
    for (cluster, weight) in request.clusters.iter_mut().zip([1, 1, 4]) {
        cluster.weight = weight;
    }
    let now = |name: &str, max| (name.to_owned(), max, Wait::Nothing);
    let later = |name: &str, max| (name.to_owned(), max, Wait::Lowered);
    assert_eq!(writes(&plan(&request)), [now("m1", 5), now("m2", 5), later("m3", 20)]);
    // Both are written; one has answered: the whole raise is not free yet.
    under_way(&mut request.clusters[0], 5, 10);
    under_way(&mut request.clusters[1], 5, 10);
    request.clusters[0].hpa.as_mut().unwrap().confirmed = true;
    assert_eq!(writes(&plan(&request)), [later("m3", 20)]);
    // The other takes too long: what is free is given.
    request.clusters[1].unresponsive = true;
    assert_eq!(writes(&plan(&request)), [now("m3", 15), later("m3", 20)]);
    // It answers.
    request.clusters[1].hpa.as_mut().unwrap().confirmed = true;
    assert_eq!(writes(&plan(&request)), [now("m3", 20)]);
}

#[test]
fn a_raise_under_way_counts_after_it_was_taken_back() {
    let mut request = settled(request(total(2, 20), Policy::StaticWeighted, vec![cluster("m1"), cluster("m2")]));
    // 16 was written to m1, then 10 again: the first may still arrive.
    under_way(&mut request.clusters[0], 10, 16);
    under_way(&mut request.clusters[1], 4, 4);
    assert_eq!(writes(&plan(&request)), [("m2".to_owned(), 10, Wait::Lowered)]);
    request.clusters[0].hpa.as_mut().unwrap().confirmed = true;
    assert_eq!(writes(&plan(&request)), [("m2".to_owned(), 10, Wait::Nothing)]);
}

#[test]
fn a_cluster_at_zero_is_woken_unless_it_may_sleep() {
    let mut request = settled(request(total(1, 20), Policy::StaticWeighted, vec![runs("m1", 3), runs("m2", 3)]));
    (request.clusters[0].current, request.clusters[0].ready) = (Some(0), 0);
    let scaled = |request: &Request<'_>| {
        let plan = plan(request);
        plan.now().filter(|step| matches!(step.action, Action::Scale { cluster: "m1", replicas: 1, .. })).count()
    };
    assert_eq!(scaled(&request), 1);
    request.scaling_to_zero = true;
    assert_eq!(scaled(&request), 1);
    request.clusters[0].memory.scaled_to_zero = true;
    assert_eq!(scaled(&request), 0);
    // Without it the user's min would not be covered.
    request.clusters[1].target = Some(Bounds { min: 0, max: 10 });
    request.total.min = 2;
    request.assignment_hash = Some(plan(&request).assignment_hash);
    assert_eq!(scaled(&request), 1);
}

#[test]
fn an_hpa_follows_the_kubernetes_version_of_its_cluster() {
    use decision::plan::HpaVersion;
    let mut request = settled(request(total(2, 20), Policy::StaticWeighted, vec![cluster("m1")]));
    request.clusters[0].version = HpaVersion::V1;
    let plan = plan(&request);
    assert!(matches!(plan.steps[0].action, Action::ApplyHpa { version: HpaVersion::V1, .. }), "{:?}", plan.steps);
}

#[test]
fn a_cluster_that_is_not_taken_in_yet_gives_its_old_bounds_up() {
    let bound = |cluster: Cluster<'static>, written: Bounds, target: Option<Bounds>| {
        let hpa = Hpa {
            written: Some(written),
            version: cluster.version,
            confirmed: true,
            pending_max: 0,
            scale_down_disabled: false,
        };
        Cluster { hpa: Some(hpa), target, ..cluster }
    };
    let a = bound(runs("a", 14), total(14, 15), Some(total(16, 16)));
    let c = bound(runs("c", 2), total(1, 2), Some(total(1, 2)));
    let k = bound(cluster("k"), total(1, 1), None);
    let mut request = request(total(16, 18), Policy::Prioritized, vec![a, c, k]);
    request.assignment_hash = Some(plan(&request).assignment_hash);
    let plan = plan(&request);
    assert!(plan.now().any(|step| matches!(step.action, Action::DeleteHpa { cluster: "k" })), "{:?}", plan.steps);
}
