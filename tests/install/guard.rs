//! The leader's guard over the installation, in virtual time on the embedded API server.

use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::{Moment, Which};
use embedded_apiserver::status::StatusError;
use fhpa::admission::registration::Location;
use fhpa::decision::lease::Timings;
use fhpa::install::apply::{Mode, apply};
use fhpa::install::guard::{Guard, Options};
use fhpa::install::manifests::{self, Part, Settings};
use fhpa::install::webhooks::FailurePolicy;
use fhpa::runtime::leader::{Candidate, compete};
use fhpa::runtime::metrics::Metrics;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use super::{DEFINITIONS, webhooks};
use crate::bed::Bed;
use crate::bed::role::{Role, limited};
use crate::stories::Wall;

const HPAS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/federatedhpas.autoscaling.karmada.io";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// An installation with a leader that guards it.
pub struct Stage {
    pub bed: Bed,
    metrics: Arc<Metrics>,
    location: watch::Sender<Location>,
    election: AbortHandle,
    tasks: JoinSet<()>,
    _stop: watch::Sender<bool>,
}

fn location(ca: &str) -> Location {
    Location { base_url: "https://fhpa.karmada-system.svc:443".into(), ca_bundle: ca.as_bytes().to_vec() }
}

fn settings() -> Settings {
    Settings {
        location: Some(location("old")),
        failure_policy: None,
        subject: None,
        lease_namespace: "karmada-system".into(),
        manage_karmada: true,
        // Nobody answers for the webhook here.
        guard_definitions: false,
        scaled: Vec::new(),
        types: Vec::new(),
    }
}

impl Stage {
    async fn new(manage_karmada: bool) -> Self {
        Self::of(manage_karmada, Role::default()).await
    }

    /// With a leader that has these rights and no others.
    pub async fn of(manage_karmada: bool, role: Role) -> Self {
        let wall = Wall::new("2026-11-20T08:00:00Z");
        let bed = Bed::of(ApiServer::builder().clock(wall.clock())).with_karmada().await;
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}});
        bed.server().create(&space).await.unwrap();
        for definition in DEFINITIONS {
            bed.server().create(&serde_saphyr::from_str(definition).unwrap()).await.unwrap();
        }
        for configuration in webhooks() {
            bed.server().create(&configuration).await.unwrap();
        }
        for manifest in manifests::all(&settings()).unwrap() {
            apply(&bed.client, &manifest, Mode { dry_run: false, manage_karmada: true }).await.unwrap();
        }
        let metrics = Arc::new(Metrics::new());
        let (told, location) = watch::channel(location("old"));
        let limited = limited(bed.client.clone(), role);
        let guard = Guard::new(Options {
            client: limited.clone(),
            manage_karmada,
            definitions_guarded: false,
            location: Some(location),
            clock: wall.clock(),
            metrics: metrics.guard(),
            counted: metrics.controller(),
            identity: "one".into(),
        });
        let (tell, mut led) = watch::channel(None);
        let (stop, stopped) = watch::channel(false);
        let candidate = Candidate { lease: "fhpa".into(), identity: "one".into(), timings: Timings::default() };
        let leases = Api::namespaced(limited, "karmada-system");
        let mut tasks = JoinSet::new();
        let election = tasks.spawn(compete(leases, candidate, tell, stopped.clone()));
        let (pass_on, leadership) = watch::channel(None);
        tasks.spawn(async move {
            while led.changed().await.is_ok() {
                pass_on.send_replace(led.borrow_and_update().clone());
            }
            std::future::pending().await
        });
        tasks.spawn(guard.unwrap().run(leadership, stopped));
        let stage = Self { bed, metrics, location: told, election, tasks, _stop: stop };
        stage.pass(5).await;
        stage.bed.server().faults().record();
        stage
    }

    pub async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub async fn get(&self, path: &str) -> Value {
        let answer = self.bed.get(path).await;
        assert_eq!(answer.code, 200, "{answer:?}");
        answer.body
    }

    /// Replaces an object by what `change` makes of it, as Karmada's operator does.
    pub async fn replace(&self, path: &str, change: impl Fn(&mut Value)) {
        let mut object = self.get(path).await;
        change(&mut object);
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        let answer = self.bed.put(&format!("{path}?fieldManager=karmada-operator"), &object).await;
        assert_eq!(answer.code, 200, "{answer:?}");
    }

    /// Restores Karmada's own definition of FederatedHPAs.
    pub async fn restore(&self) {
        let theirs: Value = serde_saphyr::from_str(DEFINITIONS[0]).unwrap();
        self.replace(HPAS, |object| object["spec"]["versions"] = theirs["spec"]["versions"].clone()).await;
    }

    pub async fn is_ours(&self) -> bool {
        self.get(HPAS).await.to_string().contains("scalingToZero")
    }

    /// Names of the objects that were patched. An Event that repeats is counted by a patch, too.
    fn patches(&self) -> Vec<String> {
        let seen = self.bed.server().faults().recorded();
        let patched = seen.into_iter().filter(|seen| seen.verb == "patch" && !seen.resource.starts_with("events"));
        patched.map(|seen| seen.name).collect()
    }

    fn counts(&self, line: &str) {
        let text = self.metrics.text();
        assert!(text.lines().any(|known| known == line), "{line} not in {text}");
    }

    /// `reason: note` of all Events.
    async fn events(&self) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.bed.client.clone(), "default");
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let text = |text: Option<String>| text.unwrap_or_default();
        events.into_iter().map(|event| format!("{}: {}", text(event.reason), text(event.note))).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.tasks.abort_all();
    }
}

const OBJECT: &str = "CustomResourceDefinition/federatedhpas.autoscaling.karmada.io";

#[tokio::test(start_paused = true)]
async fn what_an_upgrade_of_karmada_restores_is_put_back_within_a_second() {
    let stage = Stage::new(true).await;
    stage.pass(120).await;
    assert_eq!(stage.patches(), [""; 0], "at rest nothing is written");
    stage.counts(&format!("fhpa_managed_object_in_sync{{object=\"{OBJECT}\"}} 1"));
    stage.restore().await;
    stage.pass(1).await;
    assert!(stage.is_ours().await);
    stage.counts(&format!("fhpa_managed_object_drift_corrected_total{{object=\"{OBJECT}\"}} 1"));
    stage.counts(&format!("fhpa_managed_object_in_sync{{object=\"{OBJECT}\"}} 1"));
    assert_eq!(stage.events().await, ["DriftCorrected: karmada-operator had changed it (spec.versions); corrected"]);

    let path = format!("{MUTATING}/mutating-config");
    stage
        .replace(&path, |object| {
            for webhook in object["webhooks"].as_array_mut().unwrap() {
                webhook.as_object_mut().unwrap().remove("objectSelector");
            }
        })
        .await;
    stage.pass(1).await;
    assert!(stage.get(&path).await.to_string().contains("reviewed-by-fhpa"));
}

#[tokio::test(start_paused = true)]
async fn the_registration_follows_its_ca_and_comes_back_when_it_is_lost() {
    let stage = Stage::new(false).await;
    let path = format!("{MUTATING}/fhpa");
    let ca = async || stage.get(&path).await["webhooks"][0]["clientConfig"]["caBundle"].clone();
    assert_eq!(ca().await, "b2xk");
    stage.location.send_replace(location("old and new"));
    stage.pass(1).await;
    assert_eq!(ca().await, "b2xkIGFuZCBuZXc=");
    stage
        .replace(&path, |object| {
            object["webhooks"][0]["clientConfig"].as_object_mut().unwrap().remove("caBundle");
        })
        .await;
    stage.pass(1).await;
    assert_eq!(ca().await, "b2xkIGFuZCBuZXc=", "it is ours, whatever Karmada's objects are");
    assert_eq!(stage.bed.delete(&path, &Value::Null).await.code, 200);
    stage.pass(1).await;
    assert_eq!(ca().await, "b2xkIGFuZCBuZXc=");
}

#[tokio::test(start_paused = true)]
async fn a_ca_that_one_configuration_lacks_is_registered_there_when_its_api_server_takes_it() {
    let stage = Stage::new(true).await;
    let which = Which { resource: "validatingwebhookconfigurations".into(), verb: "patch".into(), name: "fhpa".into() };
    stage.bed.server().faults().fail(which, usize::MAX, StatusError::plain(503, "ServiceUnavailable", "busy"));
    stage.location.send_replace(location("old and new"));
    let (mutating, validating) = (format!("{MUTATING}/fhpa"), format!("{VALIDATING}/fhpa"));
    let has = async |path: &str| stage.get(path).await.to_string().contains("b2xkIGFuZCBuZXc=");
    stage.pass(60).await;
    assert!(has(&mutating).await && !has(&validating).await, "the other one is still without it");
    stage.bed.server().faults().heal();
    stage.pass(120).await;
    assert!(has(&mutating).await && has(&validating).await);
}

#[tokio::test(start_paused = true)]
async fn an_installation_that_states_a_failure_policy_is_kept_by_the_leader() {
    let stage = Stage::new(true).await;
    let path = format!("{VALIDATING}/fhpa");
    let cases = [(FailurePolicy::Ignore, "Ignore", "Fail"), (FailurePolicy::Fail, "Fail", "Ignore")];
    for (policy, shown, other) in cases {
        let settings = Settings { failure_policy: Some(policy), ..settings() };
        for manifest in manifests::all(&settings).unwrap() {
            apply(&stage.bed.client, &manifest, Mode { dry_run: false, manage_karmada: true }).await.unwrap();
        }
        stage.pass(2).await;
        let twist = |object: &mut Value| object["webhooks"][0]["failurePolicy"] = json!(other);
        stage.replace(&path, twist).await;
        stage.pass(2).await;
        let object = stage.get(&path).await;
        assert_eq!(object["webhooks"][0]["failurePolicy"], shown);
        // Without a statement of its own an installation keeps what is there.
        let quiet = manifests::all(&self::settings()).unwrap();
        for manifest in quiet.iter().filter(|manifest| manifest.part == Part::Webhook) {
            apply(&stage.bed.client, manifest, Mode { dry_run: false, manage_karmada: true }).await.unwrap();
        }
        assert_eq!(stage.get(&path).await["webhooks"][0]["failurePolicy"], shown);
    }
}

#[tokio::test(start_paused = true)]
async fn reviews_that_an_operator_makes_optional_stay_so_until_the_annotation_is_gone() {
    let stage = Stage::new(true).await;
    let configurations = [MUTATING, VALIDATING].map(|path| format!("{path}/fhpa"));
    // Each value that occurs, once.
    let policies = async |path: &str| {
        let object = stage.get(path).await;
        let policy = |webhook: &Value| webhook["failurePolicy"].as_str().unwrap().to_owned();
        let mut all: Vec<String> = object["webhooks"].as_array().unwrap().iter().map(policy).collect();
        all.sort_unstable();
        all.dedup();
        all.join(" ")
    };
    let set_fail = |object: &mut Value| {
        for webhook in object["webhooks"].as_array_mut().unwrap() {
            webhook["failurePolicy"] = json!("Fail");
        }
    };
    let annotate = async |policy: Value| {
        for path in &configurations {
            stage
                .replace(path, |object| {
                    object["metadata"]["annotations"] = json!({"fhpa.karmada.io/failure-policy": policy})
                })
                .await;
        }
        stage.pass(2).await;
    };
    // Any other value has no effect.
    annotate(json!("Never")).await;
    assert_eq!(policies(&configurations[1]).await, "Fail");
    annotate(json!("Ignore")).await;
    for path in &configurations {
        assert_eq!(policies(path).await, "Ignore", "{path}");
    }
    stage.counts("fhpa_managed_object_reviews_optional{object=\"ValidatingWebhookConfiguration/fhpa\"} 1");
    stage.counts("fhpa_managed_object_in_sync{object=\"ValidatingWebhookConfiguration/fhpa\"} 1");
    // A new CA is registered all the same, and whoever sets the policy again is corrected.
    stage.location.send_replace(location("new"));
    stage.replace(&configurations[1], set_fail).await;
    stage.pass(2).await;
    assert_eq!(policies(&configurations[1]).await, "Ignore");
    assert!(stage.get(&configurations[1]).await.to_string().contains("bmV3"));
    let events = stage.events().await;
    let said = |reason: &str| events.iter().filter(|event| event.starts_with(reason)).count();
    assert_eq!((said("ReviewsOptional"), said("ReviewsRequired")), (2, 0), "{events:?}");

    for path in &configurations {
        stage.replace(path, |object| drop(object["metadata"].as_object_mut().unwrap().remove("annotations"))).await;
    }
    stage.pass(2).await;
    assert_eq!(policies(&configurations[1]).await, "Fail");
    stage.counts("fhpa_managed_object_reviews_optional{object=\"ValidatingWebhookConfiguration/fhpa\"} 0");
    let events = stage.events().await;
    assert_eq!(events.iter().filter(|event| event.starts_with("ReviewsRequired")).count(), 2, "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_registration_that_is_deleted_comes_back_with_the_policy_that_it_had() {
    let stage = Stage::new(true).await;
    let configurations = [MUTATING, VALIDATING].map(|path| format!("{path}/fhpa"));
    for manifest in manifests::all(&Settings { failure_policy: Some(FailurePolicy::Ignore), ..settings() }).unwrap() {
        apply(&stage.bed.client, &manifest, Mode { dry_run: false, manage_karmada: true }).await.unwrap();
    }
    stage.pass(2).await;
    let ignores = async || {
        for path in &configurations {
            let object = stage.get(path).await;
            assert_eq!(object["webhooks"][0]["failurePolicy"], "Ignore", "{path}");
            assert_eq!(object["metadata"]["annotations"]["fhpa.karmada.io/failure-policy"], "Ignore", "{path}");
        }
    };
    ignores().await;
    assert_eq!(stage.bed.delete(&configurations[1], &Value::Null).await.code, 200);
    stage.pass(2).await;
    ignores().await;
    for path in &configurations {
        assert_eq!(stage.bed.delete(path, &Value::Null).await.code, 200);
    }
    stage.pass(2).await;
    ignores().await;
    let events = stage.events().await;
    assert!(!events.iter().any(|event| event.starts_with("ReviewsRequired")), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_correction_is_given_up_before_somebody_else_may_lead() {
    let stage = Stage::new(true).await;
    let which = Which { resource: "customresourcedefinitions".into(), verb: "patch".into(), ..Which::default() };
    let mut held = stage.bed.server().faults().hold(which, Moment::Arriving);
    // Nothing tells the guard that the Lease is not renewed.
    stage.election.abort();
    stage.pass(7).await;
    stage.restore().await;
    held.reached().await;
    stage.pass(8).await;
    drop(held);
    stage.pass(1).await;
    assert!(!stage.is_ours().await, "another process may lead by now");
}

#[tokio::test(start_paused = true)]
async fn who_no_longer_leads_says_nothing_of_the_installation() {
    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases/fhpa";
    let stage = Stage::new(true).await;
    let says = |stage: &Stage| stage.metrics.text().contains("fhpa_managed_object_in_sync{");
    assert!(says(&stage), "{}", stage.metrics.text());
    let taken = json!({"spec": {"holderIdentity": "two", "leaseDurationSeconds": 3600}});
    assert_eq!(stage.bed.patch("merge", LEASE, &taken).await.code, 200);
    stage.pass(30).await;
    assert!(!says(&stage), "{}", stage.metrics.text());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_managed_is_reported_once_and_let_be() {
    let stage = Stage::new(false).await;
    stage.restore().await;
    stage.pass(60).await;
    stage.restore().await;
    stage.pass(60).await;
    assert!(!stage.is_ours().await);
    stage.counts(&format!("fhpa_managed_object_in_sync{{object=\"{OBJECT}\"}} 0"));
    let said = "DriftDetected: it differs from what fhpa needs (spec.versions), and is not corrected (--manage-karmada=false): run `fhpa install`";
    assert_eq!(stage.events().await, [said]);
}

#[tokio::test(start_paused = true)]
async fn a_fight_is_reported_and_not_fought_for_ever() {
    let stage = Stage::new(true).await;
    // Another writer restores it whenever it is put back.
    for _ in 0..1800 {
        if stage.is_ours().await {
            stage.restore().await;
        }
        stage.pass(2).await;
    }
    let times = stage.patches().len();
    assert!((6..=12).contains(&times), "{times} times within an hour");
    stage.counts(&format!("fhpa_managed_object_drift_conflict{{object=\"{OBJECT}\"}} 1"));
    let events = stage.events().await;
    let contested: Vec<&String> =
        events.iter().filter(|event| event.starts_with("DriftConflict: karmada-operator changes it")).collect();
    assert!(!contested.is_empty() && contested.len() <= times, "{events:?}");
    // The other gives in.
    stage.pass(3600).await;
    assert!(stage.is_ours().await);
    stage.counts(&format!("fhpa_managed_object_drift_conflict{{object=\"{OBJECT}\"}} 0"));
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_was_deleted_is_not_made_anew() {
    let stage = Stage::new(true).await;
    assert_eq!(stage.bed.delete(HPAS, &Value::Null).await.code, 200);
    stage.pass(30).await;
    assert_eq!(stage.bed.get(HPAS).await.code, 404);
    assert_eq!(stage.events().await, ["DefinitionMissing: it does not exist: run `fhpa install` to restore it"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_refused_is_told_and_tried_again() {
    let stage = Stage::new(true).await;
    let said = "customresourcedefinitions is forbidden: User \"a\" cannot patch resource \"customresourcedefinitions\"";
    let which = Which { resource: "customresourcedefinitions".into(), verb: "patch".into(), ..Which::default() };
    stage.bed.server().faults().fail(which, 3, StatusError::plain(403, "Forbidden", said));
    stage.restore().await;
    stage.pass(60).await;
    assert!(stage.is_ours().await);
    let events = stage.events().await;
    assert_eq!(
        events.iter().filter(|event| event.starts_with("Forbidden: the user of the kubeconfig may not patch")).count(),
        1
    );
}
