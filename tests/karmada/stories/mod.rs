//! The stories, in the order in which they run.

mod beside;
mod centralized;
mod day2;
mod evicted;
mod examples;
mod fail;
mod full_writes;
mod groups;
mod guards;
mod kinds;
mod leave;
mod lost_fleet;
mod migrated;
mod moves;
mod nodes;
mod overflow;
mod pull;
mod quota;
mod release;
mod restore;
mod rooms;
mod rotation;
mod scalers;
mod sizes;
mod targets;
mod tenants;
mod upkeep;

use futures::future::LocalBoxFuture;

use crate::stand::Stand;

/// A story.
pub type Story = for<'a> fn(&'a mut Stand) -> LocalBoxFuture<'a, ()>;

macro_rules! stories {
    ($($name:literal: $story:path,)*) => {
        &[$(($name, |stand| Box::pin($story(stand)))),*]
    };
}

/// What many objects cost, and what a fleet runs after a loss. Each takes ten minutes or more, and a lab of its own: they
/// run only when they are asked for.
pub const MEASUREMENTS: &[(&str, Story)] = stories! {
    "sizes_of_karmadas_own_controller_in_one_namespace": sizes::theirs_in_one_namespace,
    "sizes_of_karmadas_own_controller_in_ten_namespaces": sizes::theirs_in_ten_namespaces,
    "sizes_of_centralized_objects_in_one_namespace": sizes::ours_in_one_namespace,
    "sizes_of_centralized_objects_in_ten_namespaces": sizes::ours_in_ten_namespaces,
    "a_fleet_of_twenty_workloads_loses_a_cluster": lost_fleet::compared,
    "sizes_of_objects_that_are_divided": sizes::divided,
    "sizes_of_objects_that_are_divided_without_karmadas_limits": sizes::divided_without_limits,
};

/// Names and stories, in the order in which they run.
pub const ALL: &[(&str, Story)] = stories! {
    "a_cluster_that_leaves_the_policy_is_replaced_first": leave::replaced_first,
    "a_cluster_that_leaves_is_replaced_before_a_switch_of_mode": leave::replaced_before_a_switch_of_mode,
    "a_cluster_leaves_in_quarters_where_there_is_no_headroom": leave::rolls_without_headroom,
    "a_cluster_that_leaves_during_a_rollout_is_replaced_first": leave::leaves_during_a_rollout,
    "a_cluster_whose_label_falls_is_replaced_first": leave::its_label_falls,
    "a_workload_that_is_replaced_keeps_its_pods": full_writes::a_workload_that_is_replaced_keeps_its_pods,
    "a_federated_hpa_that_is_replaced_leaves_nothing_behind": full_writes::a_federated_hpa_that_is_replaced_leaves_nothing_behind,
    "a_short_absence_moves_nothing": fail::a_short_absence_moves_nothing,
    "a_hang_moves_nothing": fail::a_hang_moves_nothing,
    "what_a_cluster_missed_is_in_effect_soon_after_its_return": fail::what_a_cluster_missed_is_in_effect_soon_after_its_return,
    "an_edit_takes_nothing_from_a_member_that_no_longer_reports": fail::an_edit_takes_nothing_from_a_member_that_no_longer_reports,
    "what_a_lost_cluster_ran_is_run_by_the_others": fail::what_a_lost_cluster_ran_is_run_by_the_others,
    "a_long_hang_is_replaced_and_costs_no_pod_when_it_ends": fail::a_long_hang_is_replaced_and_costs_no_pod_when_it_ends,
    "a_cluster_that_was_given_up_takes_part_soon_after_its_return": fail::a_cluster_that_was_given_up_takes_part_soon_after_its_return,
    "a_lost_cluster_leaves_no_workload_below_its_min": rooms::a_lost_cluster_leaves_no_workload_below_its_min,
    "where_no_nodes_come_others_help_at_once": nodes::where_no_nodes_come_others_help_at_once,
    "a_leader_killed_during_a_failover_is_followed": fail::a_leader_killed_during_a_failover_is_followed,
    "karmadas_own_failover_waits_for_the_replacement": fail::karmadas_own_failover_waits_for_the_replacement,
    "an_eviction_that_nobody_can_replace_waits": fail::an_eviction_that_nobody_can_replace_waits,
    "an_eviction_that_nobody_replaces_is_taken_back": evicted::an_eviction_that_nobody_replaces_is_taken_back,
    "a_narrowed_policy_is_carried_out_after_the_release": evicted::a_narrowed_policy_is_carried_out_after_the_release,
    "a_workload_that_runs_nowhere_keeps_its_replicas": release::a_workload_that_runs_nowhere_keeps_its_replicas,
    "what_cannot_be_scaled_is_refused": release::what_cannot_be_scaled_is_refused,
    "handing_back_moves_no_pod": release::handing_back_moves_no_pod,
    "a_workload_whose_policy_is_gone_keeps_its_pods": release::a_workload_whose_policy_is_gone_keeps_its_pods,
    "a_binding_that_nobody_serves_is_scheduled_again": release::a_binding_that_nobody_serves_is_scheduled_again,
    "a_customization_of_another_stops_no_scaling": guards::a_customization_of_another_stops_no_scaling,
    "a_lease_deleted_by_hand_makes_no_second_leader": guards::a_lease_deleted_by_hand_makes_no_second_leader,
    "kept_connections_stop_no_review": guards::kept_connections_stop_no_review,
    "what_was_stored_without_the_webhook_harms_nothing": guards::what_was_stored_without_the_webhook_harms_nothing,
    "two_objects_that_swap_places_never_meet": targets::two_objects_that_swap_places_never_meet,
    "two_namespaces_with_one_hash_have_their_own_hpas": tenants::two_namespaces_with_one_hash_have_their_own_hpas,
    "late_runs_on_one_target_end_with_the_latest": targets::late_runs_on_one_target_end_with_the_latest,
    "a_quota_holds_no_member_back_and_a_release_ends_no_pod": quota::a_quota_holds_no_member_back_and_a_release_ends_no_pod,
    "assignments_are_those_of_the_worked_examples": examples::assignments,
    "pods_without_a_node_are_run_by_the_next_priority": examples::pods_without_a_node_are_run_by_the_next_priority,
    "the_files_of_examples_apply_as_they_stand": examples::files_apply_as_they_stand,
    "candidates_come_and_go": moves::candidates,
    "the_lowest_priority_shrinks_first": moves::the_lowest_priority_shrinks_first,
    "headroom_follows_the_room": moves::headroom_follows_the_room,
    "what_a_full_cluster_lacks_others_run": moves::help,
    "overflow_groups_fill_in_order_and_empty_in_reverse": overflow::groups_fill_in_order_and_empty_in_reverse,
    "workloads_of_an_anti_affinity_group_are_apart": groups::workloads_of_a_group_are_apart,
    "workloads_of_an_affinity_group_are_together": groups::workloads_of_a_group_are_together,
    "another_hpa_is_found_and_adopted": scalers::another_hpa_is_found_and_adopted,
    "kinds_of_others_are_taken_over_scaled_failed_over_and_handed_back": kinds::taken_over_scaled_failed_over_and_handed_back,
    "a_member_that_pulls_helps_within_one_sync": pull::a_member_that_pulls_helps_within_one_sync,
    "one_computation_scales_over_all_clusters": centralized::one_computation_scales_over_all_clusters,
    "a_switch_of_the_mode_keeps_what_a_member_asked_for": centralized::a_switch_of_the_mode_keeps_what_a_member_asked_for,
    "pods_of_a_cluster_under_eviction_count": centralized::pods_of_a_cluster_under_eviction_count,
    "a_workload_at_zero_is_woken_by_an_external_metric": centralized::a_workload_at_zero_is_woken_by_an_external_metric,
    "beside_karmadas_own_controller_replicas_differ_only_where_it_is_wrong": beside::replicas_differ_only_where_it_is_wrong,
    "beside_karmadas_own_controller_requests_do_not_grow_with_the_objects": beside::requests_do_not_grow_with_the_objects,
    "an_absent_karmada_costs_no_pod": upkeep::an_absent_karmada_costs_no_pod,
    "an_absent_karmada_costs_no_pod_at_a_release": upkeep::an_absent_karmada_costs_no_pod_at_a_release,
    "a_member_is_decommissioned": upkeep::a_member_is_decommissioned,
    "a_lost_zone_stops_no_member": day2::a_lost_zone_stops_no_member,
    "going_back_a_version_moves_nothing": day2::going_back_a_version_moves_nothing,
    "a_restored_etcd_ends_no_pod": restore::a_restored_etcd_ends_no_pod,
    "credentials_and_certificates_are_exchanged_without_a_failed_review": rotation::exchanged_without_a_failed_review,
    "an_upgrade_of_karmada_loses_nothing": upkeep::an_upgrade_of_karmada_loses_nothing,
    "an_uninstallation_hands_everything_back": upkeep::an_uninstallation_hands_everything_back,
    "the_way_back_to_karmadas_controllers": upkeep::the_way_back_to_karmadas_controllers,
    "what_karmada_ran_is_taken_over_and_let_go": migrated::what_karmada_ran_is_taken_over_and_let_go,
};
