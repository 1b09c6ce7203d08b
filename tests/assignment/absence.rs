//! Clusters that do not answer for a while, while others leave, begin or have no nodes.

use fhpa::decision::plan::{Action, Bounds, Cluster, ClusterState, Hpa, HpaVersion, Limits, Policy, plan};
use jiff::SignedDuration;

use super::cases::{request, runs, total};
use super::world::World;

#[test]
fn a_cluster_without_a_share_that_answers_is_nobody_to_be_asked() {
    let room = |(name, weight): (&'static str, u64)| Cluster { weight, available: Some(90), ..runs(name, 3) };
    let clusters = [("a", 3), ("b", 1), ("c", 0)].map(room).to_vec();
    let mut request = request(total(1, 9), Policy::StaticWeighted, clusters);
    request.replacement = Some(SignedDuration::from_mins(10));
    let mut world = World::new(request);
    world.reconcile(usize::MAX);
    for cluster in &mut world.request.clusters {
        if cluster.name != "c" {
            cluster.state = ClusterState::Silent;
        }
    }
    for _ in 0..30 {
        world.reconcile(usize::MAX);
        world.pass(60);
    }
    assert!(world.members["c"].entry.is_some(), "it waits until somebody can be asked");
}

#[test]
fn a_first_hpa_never_has_a_max_below_what_runs_while_an_old_one_waits_for_a_cluster_that_does_not_answer() {
    let old = Hpa { written: None, version: HpaVersion::V2, confirmed: false, outstanding: 11, held: false };
    let a = Cluster { hpa: Some(old), state: ClusterState::Silent, ..runs("a", 3) };
    let bounds = |ran, max| {
        let clusters = vec![a.clone(), Cluster { available: Some(90), ..runs("b", ran) }];
        let request = request(total(1, max), Policy::Aggregated, clusters);
        plan(&request).now().find_map(|step| match step.action {
            Action::ApplyHpa { cluster: "b", bounds, .. } => Some(bounds),
            _ => None,
        })
    };
    assert_eq!(bounds(3, 12), None, "of three, one would be left");
    assert_eq!(bounds(1, 12), Some(Bounds { min: 1, max: 1 }));
    assert_eq!(bounds(3, 14).map(|bounds| bounds.max), Some(3));
}

#[test]
fn the_sizes_of_clusters_of_which_a_share_may_be_used_are_looked_at_again() {
    for (period, seconds) in [(None, 60), (Some(SignedDuration::from_secs(20)), 20)] {
        let next = |cap| {
            let clusters = vec![Cluster { available: Some(90), ..runs("a", 2) }, Cluster { cap, ..runs("b", 2) }];
            let mut request = request(total(2, 8), Policy::Duplicated, clusters);
            request.period = period;
            request.basis = Some(plan(&request).basis);
            plan(&request).next.map(|next| next.duration_since(request.now))
        };
        assert_eq!([None, Some(4)].map(next), [None, Some(SignedDuration::from_secs(seconds))]);
    }
}

#[test]
fn a_copy_that_is_to_go_is_not_what_serves_in_its_place() {
    let hpa = |bounds: Bounds| Hpa {
        written: Some(bounds),
        version: HpaVersion::V2,
        confirmed: true,
        outstanding: bounds.max,
        held: false,
    };
    let goes = |state, ready| {
        let cluster = |name, max, most| Cluster {
            hpa: Some(hpa(total(1, max))),
            limits: Limits { least: 0, most },
            ..runs(name, 3)
        };
        let clusters = vec![Cluster { state, ready, ..cluster("a", 5, 90) }, cluster("b", 3, 0)];
        let mut request = request(total(1, 5), Policy::Duplicated, clusters);
        request.replacement = Some(SignedDuration::from_mins(10));
        request.basis = Some(plan(&request).basis);
        let removed = plan(&request).now().any(|step| matches!(step.action, Action::DeleteHpa { cluster: "b" }));
        removed
    };
    assert!(goes(ClusterState::Serving, 3));
    assert!(!goes(ClusterState::Serving, 0), "nobody else is ready");
    assert!(!goes(ClusterState::Silent, 3), "nobody else answers");
}
