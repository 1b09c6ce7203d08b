//! Laws that are visible in the control plane: one writer, looking first, letting go, whole objects, lanes, bounds.

use serde_json::{Value, json};

use super::{Stream, binding, definition, deployment, federated, owned};

fn template(replicas: i64, manager: &str) -> Value {
    owned(deployment(replicas, 10), &[(manager, "scale", json!({"f:spec": {"f:replicas": {}}}))])
}

#[test]
fn a_field_that_is_not_in_the_table_breaks_the_law_of_one_writer() {
    let mut stream = Stream::new();
    let fields = |manager: &str| {
        let spec = json!({"f:spec": {"f:maxReplicas": {}}});
        let mut hpa = owned(federated(json!({})), &[(manager, "", spec)]);
        hpa["spec"]["maxReplicas"] = json!(40);
        hpa
    };
    stream.put("", fields("fhpa-cron-bounds"));
    stream.keeps();
    let mut stream = Stream::new();
    stream.put("", fields("fhpa-status"));
    stream.breaks("law 4");
}

#[test]
fn a_binding_gets_from_us_what_its_template_asks_for_and_no_other_number() {
    for (asked, keeps) in [(10, true), (7, false)] {
        let mut stream = Stream::new();
        let mut after = binding(&[("member1", 6), ("member2", 4)]);
        after["spec"]["replicas"] = json!(asked);
        stream.put("", owned(after, &[("fhpa-binding", "", json!({"f:spec": {"f:replicas": {}}}))]));
        if keeps {
            stream.keeps();
        } else {
            stream.breaks("law 4");
        }
    }
}

#[test]
fn a_status_that_another_writes_breaks_the_law_of_one_writer() {
    let mut stream = Stream::new();
    let theirs = json!({"f:status": {"f:clusterHPADesired": {}}});
    let mut hpa = owned(federated(json!({})), &[("karmada-controller-manager", "status", theirs)]);
    hpa["status"]["clusterHPADesired"] = json!([]);
    stream.put("", hpa);
    stream.breaks("law 4");
}

#[test]
fn what_a_manager_wrote_of_a_status_belongs_to_others_once_they_wrote_it() {
    let mut stream = Stream::new();
    let mut after = binding(&[("member1", 6), ("member2", 4)]);
    after["status"] = json!({"aggregatedStatus": [{"clusterName": "member1", "status": {"replicas": 6}}]});
    // Nothing is left to it but that there is a status.
    let left = ("fhpa-binding", "status", json!({"f:status": {}}));
    let theirs = json!({"f:status": {"f:aggregatedStatus": {}}});
    stream.put("", owned(after, &[left, ("karmada-controller-manager", "status", theirs)]));
    stream.keeps();
}

#[test]
fn replicas_within_the_bounds_are_lowered_by_the_members_hpa_alone() {
    let mut stream = Stream::new();
    // Both are ready, so that no pod goes.
    stream.put("member1", template(5, "fhpa-replicas"));
    let broken = stream.broken();
    assert!(broken.iter().any(|one| one.contains("law 4")), "{broken:?}");
}

#[test]
fn a_binding_that_is_suspended_for_what_cannot_be_scaled_breaks_the_law_of_looking() {
    let mut stream = Stream::new();
    let mut daemons = binding(&[]);
    daemons["metadata"]["name"] = json!("agent-daemonset");
    daemons["spec"]["resource"] =
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "namespace": "prod"});
    stream.put("", daemons);
    stream.breaks("law 7");
}

#[test]
fn a_customization_of_a_kind_that_nobody_allowed_breaks_the_laws_of_looking_and_of_lanes() {
    let mut stream = Stream::new();
    let object = json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": "fhpa-job-batch-v1"}, "spec": {"target": {"apiVersion": "batch/v1", "kind": "Job"}}});
    stream.put("", owned(object, &[("fhpa-interpreter", "", json!({"f:spec": {"f:target": {}}}))]));
    let broken = stream.broken();
    assert!(broken.iter().any(|one| one.contains("law 7")), "{broken:?}");
    assert!(broken.iter().any(|one| one.contains("law 11")), "{broken:?}");
}

#[test]
fn a_work_that_no_object_asks_for_breaks_the_law_of_lanes() {
    let mut stream = Stream::new();
    let mut other = super::work("member1", 1, 1);
    other["spec"]["workload"]["manifests"][0]["metadata"]["namespace"] = json!("kube-system");
    stream.put("", owned(other, &[("fhpa-member-hpa", "", json!({"f:spec": {"f:workload": {}}}))]));
    stream.breaks("law 11");
}

#[test]
fn what_hangs_in_deletion_breaks_the_law_of_letting_go_after_a_while_in_which_somebody_acts() {
    let mut stream = Stream::new();
    stream.edit("", "FederatedHPA", |hpa| hpa["metadata"]["deletionTimestamp"] = json!("2026-11-20T08:00:00Z"));
    stream.pass(200);
    stream.acts(false);
    stream.pass(3600);
    stream.acts(true);
    stream.pass(150);
    stream.keeps();
    stream.pass(60);
    stream.breaks("law 8");
}

#[test]
fn a_suspended_binding_that_nobody_serves_breaks_the_law_of_letting_go() {
    let mut stream = Stream::new();
    stream.delete("", &federated(json!({})));
    stream.keeps();
    stream.pass(400);
    stream.breaks("law 8");
}

#[test]
fn replicas_that_are_not_what_is_asked_for_break_the_law_of_letting_go() {
    for (given, right) in [(0, false), (9, false), (10, true), (11, false)] {
        let mut stream = Stream::new();
        stream.put("", deployment(3, 10));
        stream.put("", template(given, "fhpa-replicas"));
        if right { stream.keeps() } else { stream.breaks("law 8") }
    }
    let mut cron = Stream::new();
    cron.put("", template(5, "fhpa-cron-scale"));
    cron.keeps();
}

#[test]
fn replicas_that_are_right_by_an_earlier_placement_break_it_when_the_binding_is_resumed_with_them() {
    let resumed = |mended: bool| {
        let mut stream = Stream::new();
        stream.put("", deployment(3, 10));
        // Each cluster had the whole of it until a moment ago.
        stream.put("", template(6, "fhpa-replicas"));
        stream.keeps();
        if mended {
            stream.put("", template(10, "fhpa-replicas"));
        }
        stream.edit("", "ResourceBinding", |binding| binding["spec"]["suspension"] = json!({}));
        stream
    };
    resumed(true).keeps();
    resumed(false).breaks("law 8");
}

#[test]
fn a_write_while_another_definition_is_served_breaks_the_law_of_whole_objects() {
    let status = json!({"f:status": {"f:currentReplicas": {}}});
    let write = |stream: &mut Stream| {
        stream.edit("", "FederatedHPA", |hpa| {
            *hpa = owned(hpa.clone(), &[("fhpa-status", "status", status.clone())]);
            hpa["status"]["currentReplicas"] = json!(11);
        });
    };
    let mut stream = Stream::new();
    write(&mut stream);
    stream.keeps();
    let mut stream = Stream::new();
    stream.put("", definition(false));
    write(&mut stream);
    stream.breaks("law 10");
}

#[test]
fn a_field_of_the_user_that_falls_with_our_write_breaks_the_law_of_whole_objects() {
    let mut stream = Stream::new();
    stream.edit("", "FederatedHPA", |hpa| {
        let status = json!({"f:status": {"f:currentReplicas": {}}});
        *hpa = owned(hpa.clone(), &[("fhpa-status", "status", status)]);
        hpa["status"]["currentReplicas"] = json!(12);
        hpa["spec"].as_object_mut().unwrap().remove("mode");
    });
    stream.breaks("law 10");
}

#[test]
fn an_object_too_large_and_one_written_too_often_break_the_law_of_bounds() {
    let hpa = |text: String| {
        let status = json!({"f:status": {"f:lastWords": {}}});
        let mut hpa = owned(federated(json!({})), &[("fhpa-status", "status", status)]);
        hpa["status"]["lastWords"] = json!(text);
        hpa
    };
    let mut large = Stream::new();
    large.put("", hpa("x".repeat(1_100_000)));
    large.breaks("law 12");
    let mut often = Stream::new();
    for count in 0..10 {
        often.put("", hpa(count.to_string()));
    }
    often.keeps();
    often.put("", hpa("more".into()));
    often.breaks("law 12");
}
