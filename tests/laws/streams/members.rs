//! Laws that are visible in members: budget, pods, survival.

use serde_json::{Value, json};

use super::{Stream, binding, deployment, federated, member_hpa, owned, place, status, work};

/// A Deployment whose replicas the member's HPA, fhpa or Karmada wrote.
fn written(by: &str, replicas: i64, ready: i64) -> Value {
    let (manager, subresource) = match by {
        "hpa" => ("kube-controller-manager", "scale"),
        "fhpa" => ("fhpa-replicas", "scale"),
        _ => ("karmada-controller-manager", ""),
    };
    owned(deployment(replicas, ready), &[(manager, subresource, json!({"f:spec": {"f:replicas": {}}}))])
}

/// The user lowers max; no status tells of it yet.
fn lower_max(stream: &mut Stream, max: i64) {
    stream.edit("", "FederatedHPA", |hpa| {
        hpa["spec"]["maxReplicas"] = json!(max);
        hpa["status"] = json!({});
    });
}

/// Every cluster gets the whole of it, by the FederatedHPA.
fn duplicate(stream: &mut Stream) {
    stream.edit("", "FederatedHPA", |hpa| {
        hpa["spec"]["federatedHPAAssignment"] = json!({"federatedHPAAssignmentType": "Duplicated"});
    });
}

/// The placement divides, or duplicates.
fn place_as(stream: &mut Stream, scheduling: &str) {
    stream.edit("", "ResourceBinding", |binding| {
        binding["spec"]["placement"]["replicaScheduling"] = json!({"replicaSchedulingType": scheduling});
    });
}

/// One member has its half of the budget; that of the other is on its way.
fn under_way() -> Stream {
    let mut stream = Stream::new();
    stream.put("", work("member1", 1, 15));
    stream.put("member1", member_hpa(1, 15));
    stream.put("", work("member2", 1, 15));
    stream
}

#[test]
fn a_raise_that_does_not_fit_breaks_the_budget_in_the_work_and_in_the_member() {
    let mut stream = Stream::new();
    stream.put("", work("member2", 1, 13));
    stream.breaks("law 2");
    stream.put("member2", member_hpa(1, 13));
    stream.breaks("law 2");
}

#[test]
fn a_donor_is_seen_to_be_lowered_first() {
    let mut stream = Stream::new();
    stream.put("", work("member1", 1, 17));
    stream.put("", work("member2", 1, 13));
    stream.breaks("law 2");
    let mut stream = Stream::new();
    stream.put("", work("member1", 1, 17));
    stream.put("member1", member_hpa(1, 17));
    stream.put("", work("member2", 1, 13));
    stream.put("member2", member_hpa(1, 13));
    stream.keeps();
}

#[test]
fn duplicated_bounds_have_no_sum() {
    let mut stream = Stream::new();
    stream.edit("", "FederatedHPA", |hpa| {
        hpa["spec"]["federatedHPAAssignment"] = json!({"federatedHPAAssignmentType": "Duplicated"});
        hpa["status"] = json!({});
    });
    stream.put("", work("member2", 1, 30));
    stream.put("member2", member_hpa(1, 30));
    stream.keeps();
}

#[test]
fn what_was_duplicated_a_moment_ago_may_still_arrive() {
    let late = |seconds: i64| {
        let mut stream = Stream::new();
        place_as(&mut stream, "Duplicated");
        stream.put("", work("member2", 1, 30));
        place_as(&mut stream, "Divided");
        stream.pass(seconds);
        stream.put("member2", member_hpa(1, 30));
        stream
    };
    late(30).keeps();
    late(120).breaks("law 2");
    // The same, where the workload is deleted with its binding.
    let deleted = |seconds: i64| {
        let mut stream = Stream::untold();
        place_as(&mut stream, "Duplicated");
        stream.put("", work("member2", 1, 30));
        stream.delete("", &binding(&[("member1", 6), ("member2", 4)]));
        stream.pass(seconds);
        stream.put("member2", member_hpa(1, 30));
        stream
    };
    deleted(30).keeps();
    deleted(120).breaks("law 2");
}

#[test]
fn a_max_that_the_user_lowers_is_not_exceeded_by_a_raise() {
    let late = |seconds: i64| {
        let mut stream = under_way();
        lower_max(&mut stream, 20);
        stream.put("", work("member1", 1, 6));
        stream.put("member1", member_hpa(1, 6));
        stream.keeps();
        stream.pass(seconds);
        // What was written before arrives.
        stream.put("member2", member_hpa(1, 15));
        stream
    };
    late(30).keeps();
    late(120).breaks("law 2");
}

#[test]
fn a_work_that_was_sent_before_max_came_down_is_on_its_way_for_as_long_as_a_request_may_take() {
    let late = |seconds: i64| {
        let mut stream = Stream::untold();
        lower_max(&mut stream, 20);
        stream.pass(seconds);
        stream.put("", work("member1", 1, 6));
        stream.put("member1", member_hpa(1, 6));
        stream.put("", work("member2", 1, 24));
        stream
    };
    late(12).keeps();
    late(20).breaks("law 2");
}

#[test]
fn what_was_written_before_a_suspension_may_arrive_whatever_max_is_then() {
    let late = |suspended: bool| {
        let mut stream = under_way();
        stream.edit("", "FederatedHPA", |hpa| {
            hpa["spec"]["suspend"] = json!(suspended);
            hpa["status"] = json!({});
        });
        stream.pass(120);
        lower_max(&mut stream, 20);
        stream.pass(600);
        stream.put("member2", member_hpa(1, 15));
        stream
    };
    late(true).keeps();
    late(false).breaks("law 2");
    let nowhere = |reason: &str| {
        let mut stream = under_way();
        lower_max(&mut stream, 20);
        stream.edit("", "FederatedHPA", |hpa| {
            hpa["status"] = json!({"conditions": [{"type": "Assigned", "status": "False", "reason": reason}]});
        });
        stream.pass(600);
        stream.put("member2", member_hpa(1, 15));
        stream
    };
    nowhere("NoCandidates").keeps();
    nowhere("WaitingForMembers").breaks("law 2");
    let mut resumed = late(true);
    resumed.edit("", "FederatedHPA", |hpa| hpa["spec"]["suspend"] = json!(false));
    resumed.pass(120);
    resumed.put("", work("member2", 1, 16));
    resumed.breaks("law 2");
}

#[test]
fn a_cluster_that_does_not_answer_counts_until_its_work_is_gone() {
    let lost = |given_up: bool| {
        let mut stream = Stream::new();
        stream.put("", place("member2", "False"));
        if given_up {
            stream.delete("", &work("member2", 1, 12));
        }
        stream.edit("", "FederatedHPA", |hpa| hpa["status"] = json!({}));
        stream.put("", work("member1", 1, 30));
        stream.put("member1", member_hpa(1, 30));
        stream
    };
    lost(false).breaks("law 2");
    lost(true).keeps();
}

#[test]
fn what_somebody_else_edits_in_a_member_is_not_fhpas_doing() {
    let mut stream = Stream::untold();
    stream.put("member2", member_hpa(1, 25));
    stream.put("member2", member_hpa(1, 12));
    stream.keeps();
    // The member's HPA goes by a max that nobody of fhpa wrote.
    let lowered = |by_a_work: bool| {
        let mut stream = Stream::untold();
        if by_a_work {
            stream.put("", work("member1", 1, 3));
        }
        stream.put("member1", member_hpa(1, 3));
        stream.put("member1", written("hpa", 3, 6));
        stream
    };
    lowered(false).keeps();
    lowered(true).breaks("law 3");
}

#[test]
fn an_hpa_that_no_member_can_run_breaks_survival() {
    let mut stream = Stream::new();
    stream.put("member1", member_hpa(5, 4));
    stream.breaks("law 5");
}

/// member1 leaves: 6 pods go, of which so many run in member2 before.
fn leaves(ready_elsewhere: i64) -> Stream {
    let mut stream = Stream::untold();
    stream.put("member2", written("fhpa", 10, 4));
    stream.put("member2", written("fhpa", 10, ready_elsewhere));
    stream.put("", binding(&[("member2", 10)]));
    stream.delete("member1", &deployment(6, 6));
    stream
}

#[test]
fn a_cluster_that_leaves_before_its_replacement_is_ready_breaks_the_law_of_pods() {
    leaves(4).breaks("law 3");
    leaves(9).breaks("law 3");
    leaves(10).keeps();
}

#[test]
fn the_min_of_a_cluster_that_leaves_falls_no_lower_than_its_max_before_its_entry_leaves() {
    let lowered = |told: &[(&str, i64, i64)], (min, max), entries: &[(&str, i64)]| {
        let mut stream = Stream::new();
        stream.put("", work("member1", 6, 6));
        stream.edit("", "FederatedHPA", |hpa| hpa["status"] = status(told, "True", 10));
        stream.put("", binding(entries));
        stream.put("", work("member1", min, max));
        stream
    };
    let (gone, both) = ([("member2", 1, 30)], [("member1", 6), ("member2", 4)]);
    lowered(&gone, (1, 6), &both).breaks("law 3");
    lowered(&[("member1", 0, 0), ("member2", 1, 30)], (4, 5), &both).breaks("law 3");
    lowered(&gone, (5, 5), &both).keeps();
    lowered(&gone, (6, 6), &both).keeps();
    lowered(&[("member1", 1, 18), ("member2", 1, 12)], (1, 6), &both).keeps();
    lowered(&gone, (1, 6), &both[1..]).keeps();
}

#[test]
fn a_copy_may_leave_when_another_runs_what_it_ran() {
    let leaves = |asked: i64, ready: i64| {
        let mut stream = Stream::new();
        duplicate(&mut stream);
        stream.put("member2", written("fhpa", asked, ready));
        stream.put("", binding(&[("member2", 4)]));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    leaves(10, 10).keeps();
    leaves(10, 9).breaks("law 3");
    leaves(4, 4).breaks("law 3");
}

#[test]
fn a_copy_that_was_handed_back_may_leave_whatever_the_others_run() {
    let leaves = |type_: &str, handed_back: bool| {
        let mut stream = Stream::new();
        let placed = |entries: &[(&str, i64)]| {
            let mut binding = binding(entries);
            binding["spec"]["placement"]["replicaScheduling"]["replicaSchedulingType"] = json!(type_);
            binding
        };
        stream.put("", placed(&[("member1", 6), ("member2", 4)]));
        stream.put("member2", written("karmada", 4, 0));
        if handed_back {
            stream.delete("", &federated(json!({})));
        }
        stream.broken();
        stream.put("", placed(&[("member2", 4)]));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    leaves("Duplicated", true).keeps();
    leaves("Duplicated", false).breaks("law 3");
    leaves("Divided", true).breaks("law 3");
}

#[test]
fn a_pod_replaces_one_only() {
    let mut stream = Stream::untold();
    stream.put("member2", written("fhpa", 7, 7));
    stream.put("member1", written("karmada", 3, 6));
    stream.put("member1", written("karmada", 3, 3));
    stream.keeps();
    stream.pass(30);
    stream.put("member1", written("karmada", 1, 3));
    stream.breaks("law 3");
}

#[test]
fn a_replacement_that_the_others_own_hpas_took_away_is_none() {
    let taken = |left: i64| {
        let mut stream = Stream::untold();
        stream.put("member2", written("fhpa", 10, 10));
        stream.put("member2", written("hpa", left, left));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    taken(10).keeps();
    taken(7).breaks("law 3");
}

#[test]
fn a_replacement_that_the_others_own_hpas_took_away_while_the_deletion_waited_was_one() {
    let taken = |ready: i64, by: &str| {
        let mut stream = Stream::untold();
        stream.put("member2", written("fhpa", 10, ready));
        stream.put("", binding(&[("member2", 10)]));
        if by == "fhpa" {
            stream.put("", work("member2", 1, 7));
            stream.put("member2", member_hpa(1, 7));
        }
        stream.put("member2", written("hpa", 7, 7));
        stream.pass(60);
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    taken(10, "hpa").keeps();
    taken(8, "hpa").breaks("law 3");
    taken(10, "fhpa").breaks("law 3");
}

#[test]
fn a_workload_that_the_user_deleted_may_go_from_a_member_after_it_was_made_anew() {
    let anew = |deleted: bool| {
        let mut stream = Stream::untold();
        if deleted {
            stream.delete("", &deployment(10, 10));
            stream.put("", deployment(10, 10));
        }
        stream.pass(60);
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    anew(true).keeps();
    anew(false).breaks("law 3");
    // Once only.
    let mut again = anew(true);
    again.put("member1", written("hpa", 6, 6));
    again.delete("member1", &deployment(6, 6));
    again.breaks("law 3");
}

#[test]
fn what_load_asks_for_while_a_replaced_cluster_leaves_comes_on_top() {
    let raised = |evicted: bool, told: &[(&str, i64, i64)]| {
        let mut stream = Stream::untold();
        stream.put("member2", written("fhpa", 10, 10));
        stream.put("", federated(status(told, "False", 10)));
        let mut after = binding(&[("member2", 10)]);
        if evicted {
            after["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "member1"}]);
            stream.put("", after.clone());
        }
        stream.put("member2", written("hpa", 12, 12));
        stream.put("", after);
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    let both = [("member1", 1, 18), ("member2", 1, 12)];
    raised(true, &both).keeps();
    raised(false, &[("member1", 0, 0), ("member2", 10, 30)]).keeps();
    raised(false, &both).breaks("law 3");
}

#[test]
fn what_an_hpa_raises_to_the_min_that_is_on_its_way_was_asked_for() {
    let raised = |min: i64| {
        let mut stream = Stream::untold();
        stream.put("", work("member2", min, 12));
        stream.put("member2", written("hpa", 10, 10));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    raised(10).keeps();
    raised(9).breaks("law 3");
}

#[test]
fn the_members_own_hpa_may_shrink_within_bounds_that_allow_what_runs() {
    let mut stream = Stream::new();
    stream.put("member1", written("hpa", 2, 6));
    stream.keeps();
    // Its max was taken away from what runs. What goes below that max as well is not fhpa's doing.
    let below = |max: i64| {
        let mut stream = Stream::new();
        lower_max(&mut stream, 10);
        stream.put("", work("member1", 1, max));
        stream.put("member1", member_hpa(1, max));
        stream.put("member1", written("hpa", 2, 6));
        stream
    };
    below(5).keeps();
    below(2).breaks("law 3");
    // The same in each cluster, where the user lowers what each may run.
    let each = |max: i64| {
        let mut stream = Stream::new();
        duplicate(&mut stream);
        lower_max(&mut stream, 5);
        stream.put("", work("member1", 1, max));
        stream.put("member1", member_hpa(1, max));
        stream.put("member1", written("hpa", 2, 6));
        stream
    };
    each(5).keeps();
    each(4).breaks("law 3");
}

#[test]
fn what_a_lost_cluster_ran_is_asked_of_the_others_at_once() {
    let lost = |asked: i64| {
        let mut stream = Stream::untold();
        stream.put("", place("member1", "False"));
        stream.put("", binding(&[("member2", 4)]));
        stream.pass(20);
        stream.put("member2", written("fhpa", asked, asked));
        stream.pass(50);
        stream.pass(1);
        // Back again, it loses what it ran.
        stream.put("", place("member1", "True"));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    lost(10).keeps();
    lost(9).breaks("law 3");
}

#[test]
fn a_lost_copy_is_run_by_the_others_as_far_as_they_may() {
    let lost = |max: i64| {
        let mut stream = Stream::untold();
        let shares = status(&[("member1", 1, max), ("member2", 1, max)], "True", 10);
        stream.edit("", "FederatedHPA", |hpa| {
            (hpa["spec"]["maxReplicas"], hpa["status"]) = (max.into(), shares.clone());
        });
        duplicate(&mut stream);
        stream.pass(20);
        stream.put("", place("member1", "False"));
        stream.edit("", "FederatedHPA", |hpa| hpa["status"] = json!({}));
        stream.put("", binding(&[("member2", 4)]));
        stream.pass(61);
        stream
    };
    lost(4).keeps();
    lost(15).breaks("law 3");
}

#[test]
fn what_was_asked_for_while_a_lost_cluster_left_replaces_it() {
    let lost = |asked: i64| {
        let mut stream = Stream::untold();
        // It leaves: six are asked for elsewhere, and not ready yet.
        stream.put("member2", written("fhpa", asked, 4));
        stream.put("", place("member1", "False"));
        stream.put("", binding(&[("member2", 4)]));
        stream.put("member2", written("fhpa", asked, asked));
        stream.pass(61);
        stream
    };
    lost(10).keeps();
    lost(9).breaks("law 3");
}

#[test]
fn of_a_lost_cluster_counts_what_karmada_told_and_what_the_others_did_not_add_since() {
    let lost = |told: i64, added: i64, asked: i64| {
        let mut stream = Stream::untold();
        stream.put("", place("member1", "False"));
        stream.put("member2", written("hpa", 4 + added, 4 + added));
        let mut left = binding(&[("member2", 4)]);
        let status = json!({"clusterName": "member1", "status": {"replicas": told}});
        left["status"] = json!({"aggregatedStatus": [status]});
        stream.put("", left);
        stream.put("member2", written("fhpa", asked, asked));
        stream.pass(61);
        stream
    };
    lost(4, 0, 8).keeps();
    lost(4, 0, 7).breaks("law 3");
    lost(6, 3, 10).keeps();
    lost(6, 3, 9).breaks("law 3");
    // What their own HPAs remove meanwhile the load does not ask for.
    let mut calm = Stream::untold();
    calm.put("", place("member1", "False"));
    calm.put("", binding(&[("member2", 4)]));
    calm.put("member2", written("hpa", 2, 2));
    calm.put("member2", written("fhpa", 8, 8));
    calm.pass(61);
    calm.keeps();
}

#[test]
fn what_a_lost_cluster_ran_beyond_a_max_that_it_did_not_learn_of_is_not_asked_for() {
    let lost = |asked: i64| {
        let mut stream = Stream::untold();
        stream.put("", place("member1", "False"));
        lower_max(&mut stream, 8);
        stream.put("", work("member1", 1, 4));
        stream.put("member2", written("hpa", 2, 2));
        stream.put("", binding(&[("member2", 4)]));
        stream.put("member2", written("fhpa", asked, asked));
        stream.pass(61);
        stream
    };
    lost(6).keeps();
    lost(5).breaks("law 3");
}

#[test]
fn what_a_cluster_runs_too_much_while_it_does_not_answer_goes_when_it_is_back() {
    let back = |silent: bool, waits: [i64; 2]| {
        let mut stream = Stream::new();
        if silent {
            stream.put("", place("member1", "False"));
        }
        lower_max(&mut stream, 7);
        stream.put("member2", written("karmada", 4, 0));
        stream.pass(waits[0]);
        stream.pass(waits[1]);
        stream.put("", place("member1", "True"));
        stream.pass(1);
        stream.put("member1", written("karmada", 4, 6));
        stream
    };
    back(true, [40, 40]).keeps();
    back(true, [40, 20]).keeps();
    back(false, [40, 40]).breaks("law 3");
}

#[test]
fn what_a_cluster_missed_may_be_deleted_minutes_after_it_got_a_share_again() {
    let deleted = |after: i64| {
        let mut stream = Stream::untold();
        stream.put("", place("member1", "False"));
        stream.put("", binding(&[("member2", 4)]));
        stream.put("member2", written("fhpa", 10, 10));
        stream.pass(900);
        stream.put("", place("member1", "True"));
        stream.put("", binding(&[("member1", 1), ("member2", 10)]));
        stream.put("member1", written("hpa", 1, 1));
        stream.pass(after);
        stream.broken();
        stream.delete("member1", &deployment(1, 1));
        stream
    };
    deleted(900).keeps();
    deleted(1_200).breaks("law 3");
}

#[test]
fn what_an_hpa_added_in_the_moment_in_which_its_max_came_down_was_not_known() {
    let lowered = |seconds: i64| {
        let mut stream = Stream::untold();
        stream.put("member1", written("hpa", 9, 9));
        stream.pass(seconds);
        stream.put("", work("member1", 1, 6));
        stream.put("member1", member_hpa(1, 6));
        stream.put("member1", written("hpa", 6, 9));
        stream
    };
    lowered(2).keeps();
    lowered(10).breaks("law 3");
}

#[test]
fn what_an_hpa_added_since_nobody_can_act_has_no_room_when_karmada_comes_to_a_lower_max() {
    let arrives = |acts: bool| {
        let mut stream = Stream::untold();
        stream.put("", work("member1", 1, 6));
        stream.acts(acts);
        stream.put("member1", written("hpa", 8, 8));
        stream.pass(2);
        stream.put("member1", written("hpa", 9, 9));
        stream.pass(50);
        stream.put("member1", member_hpa(1, 6));
        stream.put("member1", written("hpa", 6, 9));
        stream
    };
    arrives(false).keeps();
    arrives(true).breaks("law 3");
}

#[test]
fn what_an_hpa_added_while_the_maxes_of_a_duplicated_workload_came_down_had_no_room() {
    let lowered = |from: i64| {
        let mut stream = Stream::untold();
        duplicate(&mut stream);
        for cluster in ["member1", "member2"] {
            stream.put("", work(cluster, 1, from));
            stream.put(cluster, member_hpa(1, from));
        }
        stream.put("", federated(status(&[("member1", 1, from), ("member2", 1, from)], "True", 10)));
        stream.put("", federated(status(&[("member1", 1, 6), ("member2", 1, 24)], "True", 10)));
        stream.put("", work("member1", 1, 6));
        stream.put("member1", written("hpa", 9, 9));
        stream.pass(30);
        stream.put("member1", member_hpa(1, 6));
        stream.put("member1", written("hpa", 6, 9));
        stream
    };
    lowered(30).keeps();
    lowered(15).breaks("law 3");
}

#[test]
fn a_tainted_or_relabelled_cluster_may_leave_after_the_longest_time_of_a_replacement() {
    let leaves = |seconds: i64| {
        let mut stream = Stream::untold();
        stream.edit("", "Cluster", |cluster| {
            let taint = json!({"key": "a", "effect": "NoExecute", "timeAdded": "2026-11-20T08:00:00Z"});
            cluster["spec"] = json!({"taints": [taint]});
        });
        stream.pass(seconds);
        stream.put("", binding(&[("member2", 4)]));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    leaves(600).keeps();
    leaves(300).breaks("law 3");
    let relabelled = |seconds: i64| {
        let mut stream = Stream::untold();
        stream.edit("", "Cluster", |cluster| cluster["metadata"]["labels"] = json!({"tier": "iron"}));
        stream.pass(seconds);
        stream.put("", binding(&[("member2", 4)]));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    relabelled(600).keeps();
    relabelled(300).breaks("law 3");
    let excluded = |ahead: i64, seconds: i64, field: &str, value: Value| {
        let mut stream = Stream::untold();
        stream.clock_jumped(ahead);
        stream.edit("", "FederatedHPA", |hpa| hpa["spec"][field] = value.clone());
        stream.pass(seconds);
        stream.put("", binding(&[("member2", 4)]));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    for (field, value) in [
        ("clusterAffinity", json!({"exclude": ["member1"]})),
        ("federatedHPAAssignment", json!({"federatedHPAAssignmentType": "StaticWeighted"})),
    ] {
        excluded(0, 600, field, value.clone()).keeps();
        excluded(0, 300, field, value.clone()).breaks("law 3");
        // What began by a clock that runs ahead takes longer by another.
        excluded(600, 1_200, field, value.clone()).keeps();
        excluded(300, 1_200, field, value).breaks("law 3");
    }
    let taken = |seconds: i64| {
        let mut stream = Stream::untold();
        stream.pass(1_000);
        stream.edit("", "FederatedHPA", |hpa| hpa["metadata"]["finalizers"] = json!([]));
        stream.pass(100);
        stream.broken();
        stream.edit("", "FederatedHPA", |hpa| {
            hpa["metadata"]["finalizers"] = json!([fhpa::reconcile::federated_hpa::names::FINALIZER]);
        });
        stream.pass(seconds);
        stream.broken();
        stream.put("", binding(&[("member2", 4)]));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    taken(600).keeps();
    taken(300).breaks("law 3");
    // A leader that begins meanwhile waits as long again.
    let led = |until: i64, seconds: i64| {
        let mut stream = Stream::untold();
        stream.edit("", "Cluster", |cluster| cluster["metadata"]["labels"] = json!({"tier": "iron"}));
        stream.acts(false);
        stream.pass(until);
        stream.acts(true);
        stream.pass(seconds);
        stream.put("", binding(&[("member2", 4)]));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    led(400, 600).keeps();
    led(400, 400).breaks("law 3");
}

#[test]
fn an_object_that_became_centralized_is_handed_over_after_the_longest_time_of_a_replacement() {
    let leaves = |seconds: i64| {
        let mut stream = Stream::new();
        stream.edit("", "FederatedHPA", |hpa| {
            hpa["spec"]["mode"] = json!("Centralized");
            hpa["status"] = json!({});
        });
        stream.pass(seconds);
        stream.broken();
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    leaves(600).keeps();
    leaves(300).breaks("law 3");
}

#[test]
fn that_a_workload_was_handed_back_is_noted_when_the_webhook_answers() {
    let retargeted = |reviews: bool, back: bool| {
        let mut stream = Stream::new();
        stream.reviews(reviews);
        stream.edit("", "FederatedHPA", |hpa| hpa["spec"]["scaleTargetRef"]["name"] = json!("shop"));
        if back {
            for cluster in ["member1", "member2"] {
                stream.delete("", &work(cluster, 1, 1));
            }
            stream.edit("", "ResourceBinding", |binding| binding["spec"]["suspension"] = json!({}));
        }
        let is_late = |stream: &mut Stream, seconds| {
            stream.pass(seconds);
            stream.broken().iter().any(|broken| broken.contains("was not let go"))
        };
        is_late(&mut stream, 350);
        let silent = is_late(&mut stream, 20);
        stream.reviews(true);
        (silent, is_late(&mut stream, 350), is_late(&mut stream, 20))
    };
    assert_eq!(retargeted(false, true), (false, false, true), "in time once it answers");
    assert_eq!(retargeted(true, true), (true, false, false));
    assert_eq!(retargeted(false, false), (true, false, false));
}

#[test]
fn what_karmada_divides_before_a_workload_is_taken_over_is_not_fhpas_doing() {
    let divided = |writes: bool| {
        let mut stream = Stream::new();
        stream.delete("", &federated(json!({})));
        for cluster in ["member1", "member2"] {
            stream.delete("", &work(cluster, 1, 1));
        }
        stream.edit("", "ResourceBinding", |binding| binding["spec"]["suspension"] = json!({}));
        stream.pass(300);
        stream.broken();
        stream.put("", federated(json!({})));
        if writes {
            stream.put("", work("member1", 1, 18));
            stream.put("", federated(json!({"conditions": []})));
        }
        stream.put("member1", written("karmada", 2, 6));
        stream
    };
    divided(false).keeps();
    divided(true).breaks("law 3");
}

#[test]
fn pods_that_run_for_long_replace_nothing() {
    let mut stream = Stream::untold();
    stream.put("member2", written("fhpa", 10, 10));
    stream.pass(100);
    stream.pass(100);
    stream.delete("member1", &deployment(6, 6));
    stream.breaks("law 3");
}

#[test]
fn what_the_user_wishes_breaks_nothing() {
    let mut lowered = Stream::new();
    lowered.edit("", "FederatedHPA", |hpa| {
        hpa["spec"]["maxReplicas"] = json!(4);
        hpa["status"] = json!({});
    });
    lowered.put("member1", written("karmada", 2, 6));
    lowered.keeps();
    let mut deleted = Stream::untold();
    deleted.delete("", &deployment(10, 10));
    deleted.delete("member1", &deployment(6, 6));
    deleted.keeps();
    let mut zero = Stream::new();
    zero.edit("", "FederatedHPA", |hpa| {
        hpa["spec"]["scalingToZero"] = json!(true);
        hpa["status"] = json!({});
    });
    zero.put("member2", written("fhpa", 0, 4));
    zero.keeps();
}

#[test]
fn a_handed_back_workload_keeps_its_pods_too() {
    let mut stream = Stream::new();
    stream.delete("", &federated(json!({})));
    stream.broken();
    stream.put("member1", written("karmada", 0, 6));
    stream.breaks("law 3");
}

#[test]
fn what_was_divided_a_moment_ago_may_still_arrive() {
    let late = |seconds: i64| {
        let mut stream = Stream::new();
        lower_max(&mut stream, 8);
        place_as(&mut stream, "Duplicated");
        stream.pass(seconds);
        stream.put("member1", written("karmada", 4, 6));
        stream
    };
    late(30).keeps();
    late(120).breaks("law 3");
}

#[test]
fn what_follows_from_another_placement_of_a_handed_back_workload_is_the_users_doing() {
    let moved = |placed: bool| {
        let mut stream = Stream::new();
        stream.edit("", "FederatedHPA", |hpa| hpa["metadata"]["finalizers"] = json!([]));
        stream.pass(5);
        if placed {
            stream.edit("", "ResourceBinding", |binding| {
                binding["spec"]["placement"]["clusterAffinity"] = json!({"clusterNames": ["member2"]});
            });
        }
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    moved(true).keeps();
    moved(false).breaks("law 3");
    // The same where its scheduler, let in again, finds entries of another placement.
    let moves = |let_in: bool| {
        let mut stream = Stream::new();
        stream.edit("", "ResourceBinding", |binding| {
            binding["spec"]["placement"]["clusterAffinity"] = json!({"clusterNames": ["member2"]});
            if let_in {
                binding["spec"]["suspension"] = json!({});
            }
        });
        stream.edit("", "FederatedHPA", |hpa| hpa["metadata"]["finalizers"] = json!([]));
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    moves(true).keeps();
    moves(false).breaks("law 3");
}

#[test]
fn what_follows_from_a_rule_that_sets_the_replicas_of_a_handed_back_workload_is_the_users_doing() {
    let moved = |ruled: bool| {
        let mut stream = Stream::new();
        stream.edit("", "FederatedHPA", |hpa| hpa["metadata"]["finalizers"] = json!([]));
        stream.pass(5);
        if ruled {
            let replicas = json!({"f:spec": {"f:replicas": {}}});
            stream.put("", owned(deployment(12, 10), &[("fhpa-cron-scale", "scale", replicas)]));
        }
        stream.delete("member1", &deployment(6, 6));
        stream
    };
    moved(true).keeps();
    moved(false).breaks("law 3");
}

#[test]
fn where_max_leaves_no_headroom_a_quarter_may_be_away() {
    let rolls = |removed: i64| {
        let mut stream = Stream::new();
        lower_max(&mut stream, 10);
        stream.put("member1", written("karmada", 6 - removed, 6));
        stream
    };
    rolls(1).keeps();
    rolls(3).breaks("law 3");
    // Each that leaves gives up a quarter.
    let mut both = rolls(1);
    both.put("member2", written("karmada", 3, 4));
    both.keeps();
    both.put("member2", written("karmada", 2, 3));
    both.breaks("law 3");
    // The user raises max while Karmada's queue holds a deletion back.
    let raised = |seconds: i64| {
        let mut stream = Stream::new();
        lower_max(&mut stream, 10);
        stream.pass(1);
        stream.edit("", "FederatedHPA", |hpa| hpa["spec"]["maxReplicas"] = json!(30));
        stream.pass(seconds);
        stream.put("member1", written("karmada", 5, 6));
        stream
    };
    raised(30).keeps();
    raised(90).breaks("law 3");
}
