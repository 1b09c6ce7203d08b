//! Several objects on one workload.

use std::sync::Arc;

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use fhpa::admission::response;
use fhpa::admission::review::Reviewer;
use fhpa::admission::verdict::Verdict;
use fhpa::api;
use fhpa::convert::{Scaler as _, known_cron_federated_hpa, known_federated_hpa};
use fhpa::decision::defaults::Mode;
use fhpa::decision::validation::{ConflictPolicy, Settings};

use super::cases::{cron, cron_on_federated, federated, federated_with};
use super::world::{Others, review, reviewer_with, said};

fn others(objects: &[&str]) -> Others {
    let mut others = Others::default();
    for object in objects {
        if object.contains("autoscaling/v2") {
            others.scalers.extend(serde_json::from_str::<api::scaler::PlainHPA>(object).unwrap().known());
        } else if object.contains("keda.sh") {
            others.scalers.extend(serde_json::from_str::<api::scaler::ScaledObject>(object).unwrap().known());
        } else if object.contains("CronFederatedHPA") {
            let cron: api::CronFederatedHPA = serde_json::from_str(object).unwrap();
            others.cron.push(known_cron_federated_hpa(&cron));
        } else {
            let hpa: api::FederatedHPA = serde_json::from_str(object).unwrap();
            others.federated.push(known_federated_hpa(&hpa, Mode::Distributed));
        }
    }
    others
}

fn verdict(object: &str, around: &[&str], conflict_policy: ConflictPolicy) -> Verdict {
    let endpoint = if object.contains("CronFederatedHPA") {
        Endpoint::ValidateCronFederatedHPA
    } else {
        Endpoint::ValidateFederatedHPA
    };
    let settings = Settings { conflict_policy, ..Settings::default() };
    review(&reviewer_with(others(around), settings), endpoint, Operation::Create, object, None)
}

fn named(name: &str, object: &str) -> String {
    object.replacen(r#""name":"web""#, &format!(r#""name":"{name}""#), 1)
}

fn right() -> String {
    federated_with(r#""mode":"Distributed""#)
}

const RULE: &str = r#"{"name":"a","schedule":"0 8 * * *","targetReplicas":1}"#;

#[test]
fn two_federated_hpas_on_one_workload_are_refused() {
    let other = named("web2", &right());
    insta::assert_snapshot!(said(&verdict(&right(), &[&other], ConflictPolicy::Deny)), @r#"denied: spec.scaleTargetRef: Forbidden: FederatedHPA "web2" scales this Deployment already: change or delete one of them"#);
    insta::assert_snapshot!(said(&verdict(&right(), &[&other], ConflictPolicy::Warn)), @r#"warning: spec.scaleTargetRef: FederatedHPA "web2" scales this Deployment already: change or delete one of them"#);
}

const PLAIN: &str = r#"{"apiVersion":"autoscaling/v2","metadata":{"name":"old","namespace":"prod"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}"#;
const KEDA: &str = r#"{"apiVersion":"keda.sh/v1alpha1","metadata":{"name":"queue","namespace":"prod"},"spec":{"scaleTargetRef":{"name":"web"}}}"#;

#[test]
fn an_hpa_or_a_scaled_object_on_the_workload_is_refused_with_what_to_do() {
    insta::assert_snapshot!(said(&verdict(&right(), &[PLAIN, KEDA], ConflictPolicy::Deny)), @r#"
    denied: spec.scaleTargetRef: Forbidden: HorizontalPodAutoscaler "old" scales this Deployment too: delete it, or have the HPAs of members taken over (fhpa.karmada.io/adopt-hpa)
    denied: spec.scaleTargetRef: Forbidden: ScaledObject "queue" scales this Deployment too: delete it, and use its triggers as External metrics
    "#);
    insta::assert_snapshot!(said(&verdict(&right(), &[PLAIN], ConflictPolicy::Warn)), @r#"warning: spec.scaleTargetRef: HorizontalPodAutoscaler "old" scales this Deployment too: delete it, or have the HPAs of members taken over (fhpa.karmada.io/adopt-hpa)"#);
    let elsewhere = PLAIN.replace("Deployment", "StatefulSet");
    let going = PLAIN.replace(r#""name":"old""#, r#""name":"old","deletionTimestamp":"2026-01-01T00:00:00Z""#);
    for other in [&*elsewhere, &*going] {
        assert_eq!(said(&verdict(&right(), &[other], ConflictPolicy::Deny)), "", "{other}");
    }
}

#[test]
fn what_to_do_stands_in_the_part_of_a_warning_that_an_api_server_passes_on() {
    let long = "very-long-name-of-an-object-".repeat(8);
    let named_so = named(&long, &right());
    let plain = PLAIN.replace("old", &long);
    let keda = KEDA.replace("queue", &long);
    let rule = cron(RULE).replace("nightly", &long);
    for (object, around, remedy) in [
        (right(), &named_so, "change or delete one of them"),
        (right(), &plain, "or have the HPAs of members taken over (fhpa.karmada.io/adopt-hpa)"),
        (right(), &keda, "delete it, and use its triggers as External metrics"),
        (right(), &rule, "point it at this FederatedHPA instead"),
        (cron(RULE), &named_so, "point the rules at that FederatedHPA, with targetMinReplicas or targetMaxReplicas"),
    ] {
        let warned = verdict(&object, &[around], ConflictPolicy::Warn);
        let sent = response::write(Endpoint::ValidateFederatedHPA, "u", "web", &warned);
        let sent: serde_json::Value = serde_json::from_slice(&sent).unwrap();
        let told = sent["response"]["warnings"][0].as_str().unwrap();
        assert!(told.ends_with(remedy) && told.chars().count() <= 256, "{told}");
    }
}

#[test]
fn an_hpa_that_is_to_be_taken_over_is_warned_of_and_a_scaled_object_is_refused_all_the_same() {
    let adopting =
        right().replace(r#""namespace""#, r#""annotations":{"fhpa.karmada.io/adopt-hpa":"true"},"namespace""#);
    insta::assert_snapshot!(said(&verdict(&adopting, &[PLAIN], ConflictPolicy::Deny)), @r#"warning: spec.scaleTargetRef: HorizontalPodAutoscaler "old" scales this Deployment too: delete it; with preserveResourcesOnDeletion on its policy members keep theirs"#);
    assert!(verdict(&adopting, &[KEDA], ConflictPolicy::Deny).denial.is_some());
}

#[test]
fn a_cron_rule_beside_an_hpa_is_warned_of() {
    insta::assert_snapshot!(said(&verdict(&cron(RULE), &[PLAIN], ConflictPolicy::Deny)), @r#"warning: spec.scaleTargetRef: HorizontalPodAutoscaler "old" scales this Deployment too: scale it by a FederatedHPA, and point the rules at that, unless members keep their own replicas"#);
}

#[test]
fn the_version_of_the_target_does_not_hide_a_conflict() {
    let other = named("web2", &right()).replace("apps/v1", "apps/v1beta1");
    assert!(verdict(&right(), &[&other], ConflictPolicy::Deny).denial.is_some());
}

#[test]
fn an_object_is_no_conflict_to_itself() {
    assert_eq!(verdict(&right(), &[&right()], ConflictPolicy::Deny).denial, None);
}

#[test]
fn other_namespaces_kinds_and_names_do_not_conflict() {
    for (from, to) in [
        ("prod", "test"),
        ("Deployment", "StatefulSet"),
        (r#""Deployment","name":"web"#, r#""Deployment","name":"api"#),
    ] {
        let other = named("web2", &right()).replace(from, to);
        assert_eq!(verdict(&right(), &[&other], ConflictPolicy::Deny).denial, None, "{to}");
    }
}

#[test]
fn an_object_that_goes_away_is_no_conflict() {
    let other =
        named("web2", &right()).replace(r#""namespace""#, r#""deletionTimestamp":"2026-01-01T00:00:00Z","namespace""#);
    assert_eq!(verdict(&right(), &[&other], ConflictPolicy::Deny).denial, None);
}

#[test]
fn a_cron_rule_on_a_workload_that_is_scaled_is_refused_both_ways() {
    insta::assert_snapshot!(said(&verdict(&cron(RULE), &[&right()], ConflictPolicy::Deny)), @r#"denied: spec.scaleTargetRef: Forbidden: FederatedHPA "web" scales this Deployment already: point the rules at that FederatedHPA, with targetMinReplicas or targetMaxReplicas"#);
    insta::assert_snapshot!(said(&verdict(&right(), &[&cron(RULE)], ConflictPolicy::Deny)), @r#"denied: spec.scaleTargetRef: Forbidden: CronFederatedHPA "nightly" scales this Deployment too: point it at this FederatedHPA instead"#);
}

#[test]
fn a_cron_rule_on_the_federated_hpa_is_no_conflict() {
    let rules = r#"{"name":"a","schedule":"0 8 * * *","targetMinReplicas":3}"#;
    assert_eq!(said(&verdict(&cron_on_federated(rules), &[&right()], ConflictPolicy::Deny)), "");
    assert_eq!(said(&verdict(&right(), &[&cron_on_federated(rules)], ConflictPolicy::Deny)), "");
}

#[test]
fn crons_on_one_target_that_meet_with_other_values_are_warned_of() {
    let other = cron(&RULE.replace(r#""targetReplicas":1"#, r#""targetReplicas":7"#)).replace("nightly", "daily");
    insta::assert_snapshot!(said(&verdict(&cron(RULE), &[&other], ConflictPolicy::Deny)), @r#"warning: spec.rules[0]: sets other values than CronFederatedHPA "daily" at 2026-11-21T08:00:00Z, when both run"#);
    for quiet in [
        other.replace("0 8 * * *", "1 8 * * *"),
        other.replace(r#""targetReplicas":7"#, r#""targetReplicas":1"#),
        other.replace(r#""targetReplicas":7"#, r#""targetReplicas":7,"suspend":true"#),
        other.replace(r#""targetReplicas":7"#, r#""targetReplicas":7,"timeZone":"Asia/Tokyo""#),
        other.replace("daily", "nightly"),
    ] {
        assert_eq!(said(&verdict(&cron(RULE), &[&quiet], ConflictPolicy::Deny)), "", "{quiet}");
    }
}

#[test]
fn bounds_that_contradict_the_federated_hpa_are_warned_of() {
    let rules = r#"{"name":"up","schedule":"0 8 * * *","targetMinReplicas":20},
        {"name":"down","schedule":"0 20 * * *","targetMaxReplicas":1},
        {"name":"both","schedule":"0 21 * * *","targetMinReplicas":20,"targetMaxReplicas":30}"#;
    insta::assert_snapshot!(said(&verdict(&cron_on_federated(rules), &[&right()], ConflictPolicy::Deny)), @r#"
    warning: spec.rules[0].targetMinReplicas: above maxReplicas 10 of the FederatedHPA: set targetMaxReplicas too
    warning: spec.rules[1].targetMaxReplicas: below minReplicas 2 of the FederatedHPA: set targetMinReplicas too
    "#);
}

#[test]
fn bounds_that_a_stored_rule_contradicts_are_warned_of() {
    let rules = r#"{"name":"up","schedule":"0 8 * * *","targetMinReplicas":20},
        {"name":"higher","schedule":"0 9 * * *","targetMinReplicas":30},
        {"name":"down","schedule":"0 20 * * *","targetMaxReplicas":1},
        {"name":"off","schedule":"0 20 * * *","targetMaxReplicas":0,"suspend":true},
        {"name":"both","schedule":"0 21 * * *","targetMinReplicas":50,"targetMaxReplicas":60}"#;
    insta::assert_snapshot!(said(&verdict(&right(), &[&cron_on_federated(rules)], ConflictPolicy::Deny)), @r#"
    warning: spec.maxReplicas: below targetMinReplicas 30 of CronFederatedHPA "nightly": that run would fail
    warning: spec.minReplicas: above targetMaxReplicas 1 of CronFederatedHPA "nightly": that run would fail
    "#);
    let wide = right()
        .replace(r#""maxReplicas":10"#, r#""maxReplicas":30"#)
        .replace(r#""minReplicas":2"#, r#""minReplicas":1"#);
    assert_eq!(said(&verdict(&wide, &[&cron_on_federated(rules)], ConflictPolicy::Deny)), "");
    let another =
        named("web2", &right()).replace(r#""kind":"Deployment","name":"web""#, r#""kind":"Deployment","name":"b""#);
    assert_eq!(said(&verdict(&another, &[&cron_on_federated(rules)], ConflictPolicy::Deny)), "");
}

#[test]
fn a_conflict_that_is_stored_already_does_not_block_updates() {
    let reviewer = reviewer_with(others(&[&named("web2", &right())]), Settings::default());
    let new = right().replace(r#""maxReplicas":10"#, r#""maxReplicas":11"#);
    let verdict = review(&reviewer, Endpoint::ValidateFederatedHPA, Operation::Update, &new, Some(&right()));
    assert_eq!(verdict.denial, None);
    assert_eq!(verdict.warnings.len(), 1);
}

#[test]
fn the_order_of_the_neighbours_does_not_matter() {
    let (one, two) = (named("web2", &right()), named("web3", &right()));
    let forth = verdict(&right(), &[&one, &two, &cron(RULE)], ConflictPolicy::Deny);
    let back = verdict(&right(), &[&cron(RULE), &two, &one], ConflictPolicy::Deny);
    assert_eq!(forth, back);
}

fn binding(suspension: &str) -> String {
    format!(
        r#"{{"apiVersion":"work.karmada.io/v1alpha2","kind":"ResourceBinding","metadata":{{"name":"web-deployment","namespace":"prod"}},"spec":{{"resource":{{"apiVersion":"apps/v1","kind":"Deployment","namespace":"prod","name":"web"}}{suspension}}}}}"#
    )
}

/// The mark that says for whom.
const MARKED: &str = r#"{"op":"add","path":"/metadata/annotations","value":{"fhpa.karmada.io/suspended-for":"web"}}"#;

#[test]
fn who_is_not_known_is_told_of_a_conflict_and_of_no_name_or_value() {
    let (other, rule) = (named("web2", &right()), cron(RULE));
    let seven = cron(&RULE.replace(r#""targetReplicas":1"#, r#""targetReplicas":7"#)).replace("nightly", "daily");
    let least = cron_on_federated(r#"{"name":"up","schedule":"0 8 * * *","targetMinReplicas":20}"#);
    let adopting =
        right().replace(r#""namespace""#, r#""annotations":{"fhpa.karmada.io/adopt-hpa":"true"},"namespace""#);
    let told = |object: &str, around: &[&str], conflict_policy| {
        let endpoint = if object.contains("CronFederatedHPA") {
            Endpoint::ValidateCronFederatedHPA
        } else {
            Endpoint::ValidateFederatedHPA
        };
        let settings = Settings { conflict_policy, names_others: false, ..Settings::default() };
        said(&review(&reviewer_with(others(around), settings), endpoint, Operation::Create, object, None))
    };
    let conflict = |of: &str, scales: &str, rest: &str| format!("another {of} scales this Deployment {scales}{rest}");
    let at_it = ": point the rules at that FederatedHPA, with targetMinReplicas or targetMaxReplicas";
    for (object, around, of, scales, remedy) in [
        (&right(), &other, "FederatedHPA", "already", ": change or delete one of them"),
        (&right(), &rule, "CronFederatedHPA", "too", ": point it at this FederatedHPA instead"),
        (&rule, &other, "FederatedHPA", "already", at_it),
    ] {
        let conflict = conflict(of, scales, remedy);
        let deny = format!("denied: spec.scaleTargetRef: Forbidden: {conflict}");
        assert_eq!(told(object, &[around], ConflictPolicy::Deny), deny);
        let warn = format!("warning: spec.scaleTargetRef: {conflict}");
        assert_eq!(told(object, &[around], ConflictPolicy::Warn), warn);
    }
    for (object, remedy) in [
        (&adopting, ": delete it; with preserveResourcesOnDeletion on its policy members keep theirs"),
        (&rule, ": scale it by a FederatedHPA, and point the rules at that, unless members keep their own replicas"),
    ] {
        let warn = format!("warning: spec.scaleTargetRef: {}", conflict("HorizontalPodAutoscaler", "too", remedy));
        assert_eq!(told(object, &[PLAIN], ConflictPolicy::Deny), warn);
    }
    // Whoever tries long enough would find what others set.
    for (object, around) in [(&rule, &seven), (&least, &right()), (&right(), &least)] {
        assert_ne!(said(&verdict(object, &[around], ConflictPolicy::Deny)), "");
        assert_eq!(told(object, &[around], ConflictPolicy::Deny), "");
    }
}

fn suspended(operation: Operation, binding: &str, around: &[&str]) -> String {
    let known = Others { kept: Some(Vec::new()), ..others(around) };
    let reviewer = reviewer_with(known, Settings::default());
    let verdict = review(&reviewer, Endpoint::MutateResourceBinding, operation, binding, None);
    assert_eq!(verdict.denial, None);
    serde_json::to_string(&verdict.patch).unwrap()
}

#[test]
fn a_new_binding_is_left_to_the_scheduler_while_it_is_not_known_whether_members_keep_replicas() {
    let reviewer = reviewer_with(others(&[&right()]), Settings::default());
    let verdict = review(&reviewer, Endpoint::MutateResourceBinding, Operation::Create, &binding(""), None);
    assert_eq!((verdict.denial, verdict.patch), (None, Vec::new()));
}

#[test]
fn a_new_binding_is_left_to_the_scheduler_while_no_controller_acts() {
    for (frozen, idle) in [(true, false), (false, true), (false, false)] {
        let known = Others { kept: Some(Vec::new()), ..others(&[&right()]) };
        let reviewer = Reviewer {
            frozen: Some(Arc::new(move || frozen)),
            idle: Some(Arc::new(move || idle)),
            ..reviewer_with(known, Settings::default())
        };
        let verdict = review(&reviewer, Endpoint::MutateResourceBinding, Operation::Create, &binding(""), None);
        assert_eq!(verdict.patch.is_empty(), frozen || idle);
    }
}

#[test]
fn a_new_binding_of_a_distributed_workload_is_kept_from_the_scheduler() {
    assert_eq!(
        suspended(Operation::Create, &binding(""), &[&right()]),
        format!(r#"[{{"op":"add","path":"/spec/suspension","value":{{"scheduling":true}}}},{MARKED}]"#)
    );
    assert_eq!(
        suspended(Operation::Create, &binding(r#","suspension":{"dispatching":true}"#), &[&right()]),
        format!(r#"[{{"op":"add","path":"/spec/suspension/scheduling","value":true}},{MARKED}]"#)
    );
    let annotated =
        binding("").replace(r#""namespace":"prod"},"spec""#, r#""namespace":"prod","annotations":{"a":"b"}},"spec""#);
    let patch = suspended(Operation::Create, &annotated, &[&right()]);
    let mark = r#"{"op":"add","path":"/metadata/annotations/fhpa.karmada.io~1suspended-for","value":"web"}"#;
    assert!(patch.ends_with(&format!("{mark}]")), "{patch}");
}

#[test]
fn a_workload_that_cannot_be_divided_is_neither_admitted_nor_suspended() {
    let on = |kind: &str| right().replace(r#""kind":"Deployment""#, &format!(r#""kind":"{kind}""#));
    for (kind, denial) in [
        (
            "DaemonSet",
            r#"Invalid value: "DaemonSet": cannot be scaled; in apps/v1 these can: Deployment, StatefulSet, ReplicaSet"#,
        ),
        (
            "ReplicaSet",
            "Invalid value: \"ReplicaSet\": this installation does not scale it: allow it with `fhpa install --scale-kind \
             apps/replicasets`",
        ),
    ] {
        let mut around = others(&[&on(kind)]);
        around.kept = Some(vec![("apps/v1", "StatefulSet")]);
        let reviewer = reviewer_with(around, Settings::default());
        let bound = binding("").replace("Deployment", kind);
        let verdict = review(&reviewer, Endpoint::MutateResourceBinding, Operation::Create, &bound, None);
        assert!(verdict.patch.is_empty(), "{kind}");
        let around = Others { kept: Some(vec![("apps/v1", "StatefulSet")]), ..Others::default() };
        let reviewer = reviewer_with(around, Settings::default());
        let verdict = review(&reviewer, Endpoint::ValidateFederatedHPA, Operation::Create, &on(kind), None);
        assert_eq!(said(&verdict), format!("denied: spec.scaleTargetRef.kind: {denial}"));
        let set = review(&reviewer, Endpoint::ValidateFederatedHPA, Operation::Create, &on("StatefulSet"), None);
        assert_eq!(said(&set), "");
    }
}

#[test]
fn other_bindings_are_left_alone() {
    let gone = right().replace(r#""namespace""#, r#""deletionTimestamp":"2026-01-01T00:00:00Z","namespace""#);
    let centralized = right().replace("Distributed", "Centralized");
    let held = binding(r#","suspension":{"scheduling":true}"#);
    for (operation, binding, around) in [
        (Operation::Create, binding(""), vec![]),
        (Operation::Create, binding(""), vec![&*gone]),
        (Operation::Create, binding(""), vec![&*centralized]),
        (Operation::Update, binding(""), vec![&*right()]),
        (Operation::Create, held, vec![&*right()]),
        (Operation::Create, "[]".to_owned(), vec![&*right()]),
    ] {
        assert_eq!(suspended(operation, &binding, &around), "[]", "{binding}");
    }
}

#[test]
fn an_incomplete_object_is_asked_for_nothing() {
    assert!(verdict(&federated("{}"), &[&right()], ConflictPolicy::Deny).denial.is_some());
}

fn workload(labels: &str) -> String {
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","namespace":"prod"{labels}}},"spec":{{}}}}"#
    )
}

#[test]
fn a_workload_that_a_distributed_object_scales_gets_its_label_back() {
    const KEPT: &str = r#","labels":{"resourcetemplate.karmada.io/retain-replicas":"true"}"#;
    let ask = |around: &[&str], labels: &str| {
        let reviewer = reviewer_with(others(around), Settings::default());
        let (new, old) = (workload(labels), workload(KEPT));
        let verdict = review(&reviewer, Endpoint::MutateWorkload, Operation::Update, &new, Some(&old));
        assert_eq!(verdict.denial, None);
        serde_json::to_string(&verdict.patch).unwrap()
    };
    let alone =
        r#"[{"op":"add","path":"/metadata/labels","value":{"resourcetemplate.karmada.io/retain-replicas":"true"}}]"#;
    assert_eq!(ask(&[&right()], ""), alone);
    let beside =
        r#"[{"op":"add","path":"/metadata/labels/resourcetemplate.karmada.io~1retain-replicas","value":"true"}]"#;
    assert_eq!(ask(&[&right()], r#","labels":{"app":"web"}"#), beside);
    let deleted =
        right().replace(r#""namespace":"prod""#, r#""namespace":"prod","deletionTimestamp":"2026-11-20T09:00:00Z""#);
    assert_eq!(ask(&[&deleted], ""), alone, "until it is handed back");
    assert_eq!(ask(&[&right().replace("Distributed", "Centralized")], ""), "[]");
    assert_eq!(ask(&[], ""), "[]");
}
