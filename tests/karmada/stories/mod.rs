//! The stories, in the order in which they run.

mod beside;
mod centralized;
mod day2;
mod examples;
mod guards;
mod kinds;
mod lost_fleet;
mod migrated;
mod nodes;
mod pull;
mod restore;
mod rollout;
mod rotation;
mod scalers;
mod sizes;
mod upkeep;

use futures::future::LocalBoxFuture;

use crate::both;
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

/// Names and stories, in the order in which they run: first those that are told of both worlds.
pub fn all() -> Vec<(&'static str, Story)> {
    let shared = [
        both::leaving::STORIES,
        both::full_writes::STORIES,
        both::failing::STORIES,
        both::rooms::STORIES,
        both::evicted::STORIES,
        both::releasing::STORIES,
        both::meeting::STORIES,
        both::examples::STORIES,
        both::groups::STORIES,
        both::centralized::STORIES,
    ];
    [&shared[..], &[ALONE]].concat().concat()
}

/// Those of a real Karmada alone.
const ALONE: &[(&str, Story)] = stories! {
    "a_cluster_that_leaves_during_a_rollout_is_replaced_first": rollout::a_cluster_that_leaves_during_a_rollout_is_replaced_first,
    "where_no_nodes_come_others_help_at_once": nodes::where_no_nodes_come_others_help_at_once,
    "what_cannot_be_scaled_is_refused": guards::what_cannot_be_scaled_is_refused,
    "a_customization_of_another_stops_no_scaling": guards::a_customization_of_another_stops_no_scaling,
    "a_lease_deleted_by_hand_makes_no_second_leader": guards::a_lease_deleted_by_hand_makes_no_second_leader,
    "kept_connections_stop_no_review": guards::kept_connections_stop_no_review,
    "what_was_stored_without_the_webhook_harms_nothing": guards::what_was_stored_without_the_webhook_harms_nothing,
    "the_files_of_examples_apply_as_they_stand": examples::the_files_of_examples_apply_as_they_stand,
    "another_hpa_is_found_and_adopted": scalers::another_hpa_is_found_and_adopted,
    "kinds_of_others_are_taken_over_scaled_failed_over_and_handed_back": kinds::taken_over_scaled_failed_over_and_handed_back,
    "a_member_that_pulls_helps_within_one_sync": pull::a_member_that_pulls_helps_within_one_sync,
    "pods_of_a_cluster_under_eviction_count": centralized::pods_of_a_cluster_under_eviction_count,
    "a_workload_at_zero_is_woken_by_an_external_metric": centralized::a_workload_at_zero_is_woken_by_an_external_metric,
    "beside_karmadas_own_controller_replicas_differ_only_where_it_is_wrong": beside::replicas_differ_only_where_it_is_wrong,
    "beside_karmadas_own_controller_requests_do_not_grow_with_the_objects": beside::requests_do_not_grow_with_the_objects,
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
