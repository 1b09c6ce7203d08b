//! Laws that are visible in responses and status: acceptance, records of cron rules, truth.

use serde_json::{Value, json};

use super::{Stream, deployment, federated, member_hpa, place, status, work};

fn said(reason: &str) -> Value {
    json!({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "False", "reason": reason, "message": "no"}]})
}

#[test]
fn an_object_that_was_stored_and_is_refused_breaks_the_law_of_acceptance() {
    let mut stream = Stream::new();
    stream.put("", federated(said("NoCandidates")));
    stream.keeps();
    stream.put("", federated(said("Rejected")));
    stream.breaks("law 1");
}

#[test]
fn what_is_stored_while_no_webhook_is_registered_was_not_accepted() {
    let registration = json!({"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "fhpa"}});
    let go = |edited_unjudged: bool| {
        let mut stream = Stream::new();
        stream.put("", registration.clone());
        stream.delete("", &registration);
        if edited_unjudged {
            stream.edit("", "FederatedHPA", |object| object["metadata"]["generation"] = json!(2));
        }
        stream.put("", registration.clone());
        stream.edit("", "FederatedHPA", |object| object["status"] = said("TargetNotScalable"));
        stream
    };
    go(true).keeps();
    go(false).breaks("law 1");
    // An update is not refused for what it leaves as it was.
    let edited = |field: &str, value: Value| {
        let mut stream = go(true);
        stream.edit("", "FederatedHPA", |object| {
            object["status"] = json!({});
            object["metadata"]["generation"] = json!(3);
            *object.pointer_mut(field).unwrap() = value.clone();
        });
        stream.edit("", "FederatedHPA", |object| object["status"] = said("TargetNotScalable"));
        stream
    };
    edited("/spec/maxReplicas", json!(15)).keeps();
    edited("/spec/scaleTargetRef/name", json!("shop")).breaks("law 1");
}

/// A CronFederatedHPA with one rule, and what is recorded of it.
fn cron(next: &str, executed: &[&str], rule: Value) -> Value {
    let executed: Vec<Value> = executed.iter().map(|time| json!({"scheduleTime": time})).collect();
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": "shop", "namespace": "prod", "uid": "c"}, "spec": {"rules": [rule]},
        "status": {"executionHistories": [
            {"ruleName": "up", "nextExecutionTime": next, "successfulExecutions": executed}]}})
}

fn rule() -> Value {
    json!({"name": "up", "schedule": "*/5 * * * *", "targetReplicas": 3})
}

const FIVE: &str = "2026-11-20T08:05:00Z";
const TEN: &str = "2026-11-20T08:10:00Z";

#[test]
fn a_run_that_is_due_and_not_recorded_breaks_the_law_of_the_record() {
    let go = |executed: &[&str], edited: Value| {
        let mut stream = Stream::new();
        stream.put("", cron(FIVE, &[], rule()));
        stream.pass(310);
        stream.put("", cron(TEN, executed, edited));
        stream
    };
    go(&[FIVE], rule()).keeps();
    go(&[], rule()).breaks("law 6");
    // An edited rule begins anew.
    go(&[], json!({"name": "up", "schedule": "*/10 * * * *", "targetReplicas": 3})).keeps();
}

#[test]
fn a_run_that_is_recorded_twice_breaks_the_law_of_the_record() {
    let mut stream = Stream::new();
    stream.put("", cron(FIVE, &[], rule()));
    stream.pass(310);
    stream.put("", cron(TEN, &[FIVE, FIVE], rule()));
    stream.breaks("law 6");
}

#[test]
fn an_hpa_that_is_not_there_makes_ready_untrue_after_a_while() {
    let mut stream = Stream::new();
    stream.delete("member1", &member_hpa(1, 18));
    stream.pass(50);
    stream.keeps();
    stream.pass(20);
    stream.breaks("law 9");
    // Of a cluster that is cut off it is known once that is seen.
    let mut cut = Stream::new();
    cut.delete("member1", &member_hpa(1, 18));
    cut.pass(50);
    cut.put("", place("member1", "False"));
    cut.pass(50);
    cut.keeps();
    cut.pass(20);
    cut.breaks("law 9");
    stream.put("", federated(status(&[("member1", 1, 18), ("member2", 1, 12)], "False", 10)));
    stream.pass(600);
    let broken = stream.broken();
    assert!(broken.iter().all(|one| !one.contains("Ready=True")), "{broken:?}");
}

#[test]
fn a_workload_that_is_not_there_makes_ready_untrue() {
    let mut stream = Stream::new();
    // The user deletes it, and Karmada takes it out of the member.
    stream.delete("", &deployment(10, 10));
    stream.delete("member1", &deployment(6, 6));
    stream.pass(100);
    stream.breaks("law 9");
}

#[test]
fn bounds_that_are_not_in_force_make_assigned_untrue() {
    let mut stream = Stream::new();
    stream.put("member1", member_hpa(1, 17));
    stream.pass(100);
    stream.breaks("law 9");
}

#[test]
fn replicas_that_are_miscounted_are_untrue() {
    let mut stream = Stream::new();
    stream.put("", federated(status(&[("member1", 1, 18), ("member2", 1, 12)], "True", 11)));
    stream.pass(100);
    stream.breaks("law 9");
}

#[test]
fn a_min_that_goes_to_and_fro_is_no_rest_except_by_a_metric_that_settles_nowhere() {
    let restless = |target: &str| {
        let mut stream = Stream::new();
        let queue =
            json!([{"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": target}}}]);
        stream.edit("", "FederatedHPA", |hpa| hpa["spec"]["metrics"] = queue.clone());
        stream.laws.freeze();
        for min in [1, 4, 1, 4] {
            stream.put("member1", member_hpa(min, 18));
        }
        stream.laws.rest().restless(stream.laws.world())
    };
    assert_eq!(restless("AverageValue").len(), 1, "it settles where each replica has its part");
    assert_eq!(restless("Value"), Vec::<String>::new());
}

#[test]
fn an_hpa_that_is_gone_is_told_once_karmada_tells_it_or_after_the_time_of_its_queue() {
    let gone_for = |seconds: i64, told: Value| {
        let mut stream = Stream::new();
        let mut work = work("member1", 1, 18);
        work["status"] = json!({"manifestStatuses": told});
        stream.put("", work);
        stream.delete("member1", &member_hpa(1, 18));
        stream.pass(seconds);
        stream
    };
    gone_for(59, json!([])).keeps();
    gone_for(61, json!([])).breaks("law 9");
    gone_for(239, json!([{"status": {"currentReplicas": 6}}])).keeps();
    gone_for(241, json!([{"status": {"currentReplicas": 6}}])).breaks("law 9");
}
