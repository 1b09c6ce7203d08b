//! What is known of a cluster -> input of the plan.

use jiff::Timestamp;

use super::{HpaReport, Observation, Replicas, Replicated, Room, Waits, WrittenHpa};
use crate::fleet::candidates::CandidateCluster;
use crate::fleet::nodes::NodeOutlook;
use crate::fleet::settings::Settings;
use crate::plan::{Bounds, Cause, Cluster, ClusterState, Hpa, HpaVersion, Memory, ScaleUpBlock};

const NOW: Timestamp = Timestamp::constant(10_000, 0);

fn written(confirmed: bool, since: i64) -> WrittenHpa {
    let bounds = Bounds { min: 3, max: 9 };
    WrittenHpa {
        hpa: Hpa {
            written: Some(bounds),
            version: HpaVersion::V2,
            confirmed,
            pending_max: 9,
            scale_down_disabled: false,
        },
        since: Some(Timestamp::constant(since, 0)),
        report: HpaReport { current: Some(5), desired: Some(6), ..HpaReport::default() },
    }
}

fn known() -> Observation {
    Observation {
        answers: true,
        replicated: Some(Replicated { replicas: 5, ready: 2, updated: 5 }),
        written: Some(written(true, 9_990)),
        ..Observation::default()
    }
}

fn seen(known: &Observation) -> (Cluster<'static>, Option<Timestamp>) {
    let settings = Settings::default();
    let candidate =
        CandidateCluster { name: "m1", chosen: true, deleted: false, state: ClusterState::Serving, settings };
    known.cluster(&candidate, Waits::default(), NOW)
}

#[test]
fn a_silent_cluster_has_nothing_ready_and_wants_nothing() {
    let (cluster, _) = seen(&known());
    assert_eq!((cluster.ready, cluster.hpa_desired_confirmed(), cluster.hpa_current), (2, Some(6), Some(5)));
    let (cluster, _) = seen(&Observation { answers: false, unschedulable: Some(3), ..known() });
    assert_eq!(
        (cluster.ready, cluster.hpa_desired_confirmed(), cluster.hpa_current, cluster.pending),
        (0, None, Some(5), 0)
    );
    assert_eq!(cluster.hpa_desired, None);
    assert_eq!(cluster.current, Some(5), "its replicas may still run");
}

#[test]
fn what_is_reported_of_a_cluster_may_be_from_before_it_answered_again() {
    let back = |since, answers, entry| {
        let answers_since = Some(Timestamp::constant(since, 0));
        let (cluster, due) = seen(&Observation { answers, answers_since, entry, written: None, ..known() });
        (cluster.back_recently, due)
    };
    assert_eq!(back(9_991, true, Some(5)), (true, Some(Timestamp::constant(10_001, 0))));
    assert_eq!(back(9_990, true, Some(5)), (false, None));
    assert_eq!(back(9_991, false, Some(5)), (false, None), "it does not answer");
    assert_eq!(back(9_991, true, None), (false, None), "nothing of it was reported");
    assert_eq!(back(10_060, true, Some(5)), (true, Some(Timestamp::constant(10_070, 0))));
    assert_eq!(back(10_061, true, Some(5)), (false, None), "the clock of the leader is behind");
}

#[test]
fn a_workload_that_tells_nothing_has_no_replicas_where_its_hpa_says_that_none_are_requested() {
    let current = |disabled, confirmed, answers| {
        let report = HpaReport { current: None, desired: Some(0), disabled, ..HpaReport::default() };
        let written = Some(WrittenHpa { report, ..written(confirmed, 9_990) });
        seen(&Observation { answers, replicated: None, written, entry: Some(0), ..known() }).0.current
    };
    assert_eq!(current(true, true, true), Some(0));
    assert_eq!([current(false, true, true), current(true, false, true), current(true, true, false)], [None; 3]);
    let written = written(true, 9_990);
    let report = HpaReport { disabled: true, ..written.report };
    let (cluster, _) = seen(&Observation { written: Some(WrittenHpa { report, ..written }), ..known() });
    assert_eq!(cluster.current, Some(5), "the report of the workload comes first");
}

#[test]
fn extra_pods_of_a_rollout_are_ready_and_do_not_stay() {
    let of = |updated, current| {
        let report = HpaReport { current, ..HpaReport::default() };
        let written = Some(WrittenHpa { report, ..written(true, 9_990) });
        let replicated = Some(Replicated { replicas: 5, ready: 5, updated });
        let (cluster, _) = seen(&Observation { replicated, written, ..known() });
        (cluster.ready, cluster.ready_without_surge())
    };
    assert_eq!([of(2, Some(4)), of(5, Some(4)), of(2, None)], [(5, 4), (5, 5), (5, 5)]);
}

#[test]
fn pods_that_a_rollout_recreates_are_asked_for() {
    let of = |entry, zero, current| {
        let report = HpaReport { current, desired: Some(6), ..HpaReport::default() };
        let written = Some(WrittenHpa { report, ..written(true, 9_990) });
        let memory = Memory { scaled_to_zero: zero, ..Memory::default() };
        let replicated = Some(Replicated::default());
        let (cluster, _) = seen(&Observation { replicated, written, entry, memory, ..known() });
        assert_eq!((cluster.ready, cluster.pending), (0, 0));
        cluster.current
    };
    assert_eq!(of(Some(5), false, Some(5)), Some(5));
    assert_eq!(of(Some(5), false, Some(12)), Some(6), "its HPA removes the others");
    assert_eq!(of(Some(5), true, Some(5)), Some(0), "fhpa scaled it to zero");
    assert_eq!(of(None, false, Some(5)), Some(0), "Karmada removes it");
    assert_eq!(of(Some(5), false, Some(0)), Some(0));
    assert_eq!(of(Some(5), false, None), Some(0));
}

#[test]
fn what_an_hpa_wants_counts_once_its_bounds_are_confirmed() {
    let (cluster, _) = seen(&Observation { written: Some(written(false, 9_990)), ..known() });
    assert_eq!((cluster.hpa_desired_confirmed(), cluster.hpa_desired, cluster.hpa_current), (None, Some(6), Some(5)));
}

#[test]
fn unschedulable_replicas_are_among_those_that_are_not_ready() {
    let pending = |unschedulable, stuck: bool| {
        let stuck = stuck.then_some(ScaleUpBlock { since: NOW, cause: Cause::Pending });
        let memory = Memory { scale_up_blocked: stuck, ..Memory::default() };
        seen(&Observation { unschedulable, memory, ..known() }).0.pending
    };
    assert_eq!([Some(1), Some(8), None].map(|unschedulable| pending(unschedulable, false)), [1, 3, 0]);
    assert_eq!(pending(None, true), 3, "until a source responds, the previous state applies");
}

#[test]
fn whether_nodes_come_stays_as_it_was_until_the_cluster_responds() {
    let no_nodes = |outlook, cause| {
        let memory = Memory { scale_up_blocked: Some(ScaleUpBlock { since: NOW, cause }), ..Memory::default() };
        seen(&Observation { unschedulable: Some(1), outlook, memory, ..known() }).0.no_nodes
    };
    let refused = || Some(NodeOutlook::NotComing { message: "max node group size reached".into() });
    assert_eq!([Cause::NoNodes, Cause::Pending].map(|cause| no_nodes(None, cause)), [true, false]);
    assert_eq!([Cause::NoNodes, Cause::Pending].map(|cause| no_nodes(refused(), cause)), [true, true]);
    let others = [NodeOutlook::Unknown, NodeOutlook::Coming { since: NOW }];
    assert_eq!(others.map(|outlook| no_nodes(Some(outlook), Cause::NoNodes)), [false, false]);
}

#[test]
fn the_wait_is_for_the_confirmation_and_then_for_ready_replicas() {
    let wait = |confirmed, since, ready| {
        let replicated = Some(Replicated { replicas: 5, ready, updated: 5 });
        let (cluster, due) = seen(&Observation { replicated, written: Some(written(confirmed, since)), ..known() });
        (cluster.unresponsive, due.map(Timestamp::as_second))
    };
    assert_eq!(wait(false, 9_990, 5), (false, Some(10_050)));
    assert_eq!(wait(false, 9_940, 5), (true, None));
    assert_eq!(wait(true, 9_940, 2), (false, Some(10_540)));
    assert_eq!(wait(true, 9_940, 3), (false, None));
}

#[test]
fn a_share_needs_the_size_of_the_cluster() {
    let cap = |whole: Option<Replicas>| {
        let room = Room { available: Some(4), whole };
        let (cluster, _) = seen(&Observation { room, share: Some(0.25), ..known() });
        (cluster.usage_limit, cluster.available)
    };
    assert_eq!([Some(10), None].map(cap), [(Some(2), Some(4)), (None, Some(4))]);
}
