//! No decision goes by what a condition says. Reason, message and time of transition are for people, so they may change
//! with the words; a decision has a field of its own, or asks whether a condition is true.

use super::sources::{Source, sources};

/// The files that handle conditions, and what for. None of them decides anything.
const HANDLERS: &[(&str, &str)] = &[
    ("daemon/src/reconcile/federated_hpa/status/", "make the status of a FederatedHPA"),
    ("daemon/src/reconcile/federated_hpa/centralized/status.rs", "make that of a Centralized one"),
    ("daemon/src/reconcile/federated_hpa/publish.rs", "count conditions for metrics"),
    ("daemon/src/reconcile/cron_federated_hpa/status.rs", "make the status of a CronFederatedHPA"),
    ("daemon/src/reconcile/cron_federated_hpa/report.rs", "post Events about it"),
    ("decision/src/health", "sum up the conditions of HPAs in members, to be shown"),
    ("decision/src/hpa/decide.rs", "make those of an HPA"),
    (
        "daemon/src/reconcile/federated_hpa/write/apply.rs",
        "make the one that karmada-scheduler makes of a ResourceBinding",
    ),
    ("daemon/src/reconcile/federated_hpa/autoscaling_v1.rs", "convert those of the older API"),
    ("daemon/src/reconcile/federated_hpa/cache/hpa_status.rs", "store those of HPAs in members"),
    (
        "daemon/src/reconcile/federated_hpa/cache/member_hpa.rs",
        "read facts of those: Kubernetes and Karmada have no other field",
    ),
    ("daemon/src/reconcile/federated_hpa/observe/member_reads.rs", "read facts of those of Pods, as Kubernetes does"),
];

/// The files that store the conditions of fhpa's own kinds between two statuses. They read none.
const STORES: &[&str] = &[
    "daemon/src/reconcile/federated_hpa/cache/entry.rs",
    "daemon/src/reconcile/cron_federated_hpa/entry.rs",
    "daemon/src/reconcile/cron_federated_hpa/intake.rs",
];

/// How code comes by a condition.
const ACCESS: &[&str] = &[".condition(", "condition_of(", ".conditions", "/conditions"];
/// Their types.
const TYPES: &[&str] = &["Condition", "HpaCondition", "PodCondition", "WorkCondition"];
/// What no decision reads of one.
const WORDS: &[&str] = &["reason", "message", "last_transition_time", "lastTransitionTime"];

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

fn handles(line: &str) -> bool {
    ACCESS.iter().any(|way| line.contains(way)) || words(line).any(|word| TYPES.contains(&word))
}

fn reads(line: &str) -> bool {
    words(line).any(|word| WORDS.contains(&word))
}

/// The lines of a file that should not be there.
fn decisions(source: &Source) -> Vec<String> {
    let path = source.path.to_string_lossy();
    if HANDLERS.iter().any(|(handler, _)| path.starts_with(handler)) {
        return Vec::new();
    }
    let stores = STORES.contains(&&*path);
    let wrong = |line: &str| if stores { reads(line) } else { handles(line) };
    source.code().filter(|(_, line)| wrong(line)).map(|(at, line)| format!("{path}:{at}: {}", line.trim())).collect()
}

fn deciding() -> Vec<Source> {
    ["daemon/src/reconcile", "decision/src"].into_iter().flat_map(sources).collect()
}

#[test]
fn no_decision_goes_by_what_a_condition_says() {
    let found: Vec<String> = deciding().iter().flat_map(decisions).collect();
    assert!(found.is_empty(), "a fact needs a field of its own:\n{}", found.join("\n"));
}

#[test]
fn each_file_that_handles_conditions_does() {
    let all = deciding();
    let handled = |prefix: &str| {
        let mut below = all.iter().filter(|source| source.path.to_string_lossy().starts_with(prefix));
        below.any(|source| source.code().any(|(_, line)| handles(line)))
    };
    let listed = HANDLERS.iter().map(|(path, _)| path).chain(STORES);
    let stale: Vec<&&str> = listed.filter(|path| !handled(path)).collect();
    assert!(stale.is_empty(), "no condition in {stale:?}");
}

#[test]
fn a_decision_by_a_condition_is_seen() {
    let seen = |path: &str, text: &str| decisions(&Source { path: path.into(), text: text.into() }).len();
    let by_reason = "let told = entry.condition(ASSIGNED).is_some_and(|one| one.reason.as_deref() == Some(WHY));\n";
    let (deciding, storing) = ("daemon/src/reconcile/federated_hpa/release.rs", STORES[0]);
    assert_eq!(seen(deciding, by_reason), 1);
    assert_eq!(seen(deciding, "fn told(one: &Condition) -> bool {\n    one.is_told()\n}\n"), 1);
    assert_eq!(seen("decision/src/phase.rs", "status.pointer(\"/status/conditions\")\n"), 1);
    assert_eq!(seen(storing, by_reason), 1);
    assert_eq!(seen(storing, "self.condition(type_).is_some_and(|one| one.status == \"True\")\n"), 0);
    assert_eq!(seen(deciding, "entry.is_true(FAILOVER_PAUSED) && failure.reason == NOT_FOUND\n"), 0);
    assert_eq!(seen(HANDLERS[0].0, by_reason), 0);
}
