//! Cron rules on a real kube-apiserver, with processes that are killed.

use std::path::PathBuf;
use std::time::Duration;

use fhpa::api::CronFederatedHPA;
use fhpa::api::cron_federated_hpa::ExecutionHistory;
use fhpa::runtime::clock;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::process::Replica;
use crate::bed::objects;
use crate::cluster::control_plane::ControlPlane;
use crate::install::WebhookState;

/// Longest time until something is seen; a rule of every minute may take the whole of it.
const PATIENCE: Duration = Duration::from_secs(90);

pub(super) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what} is not seen in time"))
}

pub(super) fn deployment(name: &str) -> String {
    objects::deployment(name, 2).to_string()
}

fn cron(name: &str, target: Value, rules: Value) -> String {
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": name, "namespace": "prod"}, "spec": {"scaleTargetRef": target, "rules": rules}})
    .to_string()
}

pub(super) fn workload(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name})
}

/// A minute that has begun so many seconds ago at least, and the daily schedule of it.
fn minute_before(seconds: i64) -> (Timestamp, String) {
    let due = clock::wall() - SignedDuration::from_secs(seconds);
    let due = Timestamp::from_second(due.as_second() / 60 * 60).unwrap();
    (due, due.strftime("%M %H * * *").to_string())
}

/// A real control plane, and what is asked of it.
pub(super) struct Stand {
    pub(super) plane: ControlPlane,
    pub(super) client: Client,
    /// Files of an administrator; `limited` is the kubeconfig of the processes, with the rights of the roles and no
    /// others.
    pub(super) desk: WebhookState,
}

impl Stand {
    pub(super) async fn new(shows: &str) -> Option<Self> {
        let plane = ControlPlane::own(shows)?;
        plane.install_karmada();
        for name in ["prod", "karmada-system"] {
            plane.namespace(name);
        }
        let client = plane.client().await;
        let desk = WebhookState::new(&std::fs::read_to_string(plane.kubeconfig()).unwrap());
        std::fs::write(desk.file("limited"), plane.kubeconfig_of("fhpa")).unwrap();
        let installed = desk.fhpa("install", &["--user", "fhpa"]).await;
        assert_eq!(installed.code, 0, "{}{}", installed.stdout, installed.stderr);
        plane.established();
        Some(Self { plane, client, desk })
    }

    pub(super) async fn replica(&self, identity: &str) -> Replica {
        let one = Replica::start("controller", &self.desk.file("limited"), identity, &[], PathBuf::new()).await;
        one.is_ready().await;
        one
    }

    fn crons(&self) -> Api<CronFederatedHPA> {
        Api::namespaced(self.client.clone(), "prod")
    }

    /// A rule that was due at `due` and has no record of it.
    async fn overdue(&self, name: &str, due: Timestamp) {
        let status =
            json!({"status": {"executionHistories": [{"ruleName": "up", "nextExecutionTime": due.to_string()}]}});
        self.crons().patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    }

    /// The history of the one rule of `name`, once it `holds`.
    async fn history(&self, name: &str, holds: impl Fn(&ExecutionHistory) -> bool + Clone) -> ExecutionHistory {
        let of = |cron: Option<&CronFederatedHPA>| {
            let histories = cron.and_then(|cron| cron.status.as_ref()?.execution_histories.clone());
            histories.and_then(|histories| histories.into_iter().next())
        };
        let seen =
            await_condition(self.crons(), name, |cron: Option<&CronFederatedHPA>| of(cron).is_some_and(|h| holds(&h)));
        let cron = within(name, seen).await.unwrap();
        of(cron.as_ref()).unwrap()
    }

    async fn replicas(&self, name: &str) -> i32 {
        let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = Api::namespaced(self.client.clone(), "prod");
        deployments.get(name).await.unwrap().spec.unwrap().replicas.unwrap()
    }

    pub(super) async fn led_by(&self, holder: &str) {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "karmada-system");
        let held = |lease: Option<&Lease>| {
            lease.and_then(|lease| lease.spec.as_ref()?.holder_identity.as_deref()) == Some(holder)
        };
        within("the leader", await_condition(leases, "fhpa", held)).await.unwrap();
    }
}

fn was_executed(history: &ExecutionHistory) -> bool {
    history.successful_executions.as_ref().is_some_and(|runs| !runs.is_empty())
}

#[tokio::test]
async fn a_leader_killed_in_the_second_of_its_runs_is_followed_and_each_run_is_recorded_once() {
    let Some(stand) = Stand::new("a leader killed in the second of its runs").await else { return };
    let (due, schedule) = minute_before(90);
    let names: Vec<String> = (0..8).map(|number| format!("web{number}")).collect();
    for name in &names {
        stand.plane.apply(&deployment(name));
        let rules = json!([{"name": "up", "schedule": schedule, "timeZone": "UTC", "targetReplicas": 5, "maxDelaySeconds": 3600}]);
        stand.plane.apply(&cron(name, workload(name), rules));
    }
    let mut one = stand.replica("one").await;
    stand.led_by("one").await;
    let two = stand.replica("two").await;
    for name in &names {
        stand.history(name, |history| history.next_execution_time.is_some()).await;
    }
    // All become due at once; the leader dies while it works them off.
    futures::future::join_all(names.iter().map(|name| stand.overdue(name, due))).await;
    one.child.start_kill().unwrap();
    assert_eq!(one.ends().await, None);
    for name in &names {
        let history = stand.history(name, was_executed).await;
        let runs = history.successful_executions.unwrap();
        assert_eq!(runs.len(), 1, "{name}: {runs:?}");
        assert_eq!(runs[0].schedule_time.as_ref().unwrap().0, due, "{name}");
        assert_eq!((history.failed_executions, stand.replicas(name).await), (None, 5), "{name}");
    }
    stand.led_by("two").await;
    drop(two);
}

#[tokio::test]
async fn rules_run_on_time_late_or_not_at_all_and_say_so_on_a_real_api_server() {
    let Some(stand) = Stand::new("cron rules on time, late and missed").await else { return };
    stand.plane.apply(&deployment("web"));
    let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"}, "spec": {"minReplicas": 1, "maxReplicas": 9,
            "scaleTargetRef": workload("web")}});
    stand.plane.apply(&hpa.to_string());
    let (due, schedule) = minute_before(90);
    let up = |more: Value| {
        let mut rule = json!({"name": "up", "schedule": schedule, "timeZone": "UTC"});
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([rule])
    };
    let bounds = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": "web"});
    stand.plane.apply(&cron("bounds", bounds, up(json!({"targetMaxReplicas": 20, "maxDelaySeconds": 3600}))));
    stand.plane.apply(&cron("missed", workload("web"), up(json!({"targetReplicas": 7, "maxDelaySeconds": 30}))));
    stand.plane.apply(&cron("nowhere", workload("gone"), up(json!({"targetReplicas": 7}))));
    let each_minute = json!([{"name": "up", "schedule": "* * * * *", "targetReplicas": 4}]);
    stand.plane.apply(&cron("minute", workload("web"), each_minute));
    for name in ["bounds", "missed", "nowhere"] {
        stand.overdue(name, due).await;
    }
    let mut one = stand.replica("one").await;

    stand.history("bounds", was_executed).await;
    let hpas: Api<fhpa::api::FederatedHPA> = Api::namespaced(stand.client.clone(), "prod");
    let hpa = hpas.get("web").await.unwrap();
    assert_eq!((hpa.spec.min_replicas, hpa.spec.max_replicas), (Some(1), 20));
    let missed = stand.history("missed", |history| history.failed_executions.is_some()).await;
    let failure = &missed.failed_executions.unwrap()[0];
    assert!(failure.message.starts_with("missed, later than maxDelaySeconds (30)"), "{}", failure.message);
    let told = |cron: Option<&CronFederatedHPA>| {
        let status = cron.and_then(|cron| cron.status.clone()).unwrap_or_default();
        status.conditions.iter().flatten().any(|condition| condition.reason.as_deref() == Some("TargetNotFound"))
    };
    within("the missing target", await_condition(stand.crons(), "nowhere", told)).await.unwrap();

    let run = stand.history("minute", was_executed).await.successful_executions.unwrap().remove(0);
    let late = run.execution_time.unwrap().0.duration_since(run.schedule_time.unwrap().0);
    assert!(late <= SignedDuration::from_secs(2), "{late}");
    assert_eq!(stand.replicas("web").await, 4);
    let events: Api<Event> = Api::namespaced(stand.client.clone(), "prod");
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let reasons: Vec<_> = events.iter().filter_map(|event| event.reason.as_deref()).collect();
    for reason in ["RuleExecuted", "RuleMissed", "TargetNotFound"] {
        assert!(reasons.contains(&reason), "{reason} not among {reasons:?}");
    }
    one.signal("TERM").await;
    assert_eq!(one.ends().await, Some(0));
}
