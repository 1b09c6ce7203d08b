//! The webhook, registered in a real kube-apiserver: the output of `kubectl apply`, and the stored objects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::registration::{self, Location};
use fhpa::run::process::{ControlPlane as Watched, Handle, Options, Server};
use fhpa::runtime::control_plane::Origin;
use serde_json::{Value, json};

use super::control_plane::ControlPlane;
use crate::rules::normal;

/// The webhook of this process, asked by `plane`.
struct Webhook {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Webhook {
    /// Serves on a thread of its own until dropped; returns once it is registered and has listed the other objects.
    fn register(plane: &ControlPlane) -> Self {
        let (told, ready) = std::sync::mpsc::channel();
        let kubeconfig = plane.kubeconfig();
        let serve = async move {
            let origin = Origin::find(Some(kubeconfig), None, None).unwrap();
            let options = Options { control_plane: Watched::Kubeconfig(origin), ..Options::loopback() };
            let server = Server::bind(options).await.unwrap();
            let location = Location {
                base_url: format!("https://127.0.0.1:{}", server.local_addr().port()),
                ca_bundle: server.ca_pem().unwrap().into_bytes(),
            };
            let readiness = server.readiness();
            told.send((server.handle(), location, readiness)).unwrap();
            server.run().await;
        };
        let run = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(serve);
        let thread = std::thread::spawn(run);
        let (handle, location, readiness) = ready.recv().unwrap();
        while !readiness.missing(fhpa::runtime::clock::wall()).is_empty() {
            std::thread::yield_now();
        }
        for configuration in [
            kind("MutatingWebhookConfiguration", &registration::mutating(&location, &Endpoint::ALL)),
            kind("ValidatingWebhookConfiguration", &registration::validating(&location, &Endpoint::ALL)),
        ] {
            plane.apply(&configuration.to_string());
        }
        Self { handle, thread: Some(thread) }
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.handle.shut_down();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn kind(kind: &str, object: &impl serde::Serialize) -> Value {
    let mut value = serde_json::to_value(object).unwrap();
    value["apiVersion"] = json!("admissionregistration.k8s.io/v1");
    value["kind"] = json!(kind);
    value
}

fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    files
}

fn namespaces(manifest: &str) -> BTreeSet<&str> {
    manifest.lines().filter_map(|line| line.trim().strip_prefix("namespace: ")).collect()
}

/// The API server runs webhooks as soon as its own watch has brought their registration: until then nothing is refused.
fn wait_until_asked(plane: &ControlPlane) {
    let probe = r#"{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"CronFederatedHPA","metadata":{"name":"probe","namespace":"default"},
        "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"probe"},
                "rules":[{"name":"never","schedule":"0 0 30 2 *","targetReplicas":1}]}}"#;
    for _ in 0..600 {
        if !plane.kubectl(&["create", "--dry-run=server", "-f", "-"], probe).0 {
            return;
        }
    }
    panic!("the webhook is never asked");
}

/// The right ones apply as they stand; the wrong ones name namespaces that are there.
#[test]
fn kubectl_apply_prints_what_to_write_for_each_example() {
    let Some(plane) = ControlPlane::own("kubectl apply of the examples with the webhook registered") else { return };
    plane.install_crds();
    plane.install_karmada();
    let webhook = Webhook::register(&plane);
    wait_until_asked(&plane);
    let mut transcript = String::new();
    for file in examples("examples") {
        let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string();
        let (_, said) = plane.kubectl(&["apply", "-f", &name], "");
        transcript.push_str(&format!("$ kubectl apply -f {name}\n{said}\n"));
    }
    for file in examples("examples/wrong") {
        let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        for namespace in namespaces(&text) {
            plane.kubectl(&["create", "namespace", namespace], "");
        }
        let (_, said) = plane.kubectl(&["apply", "-f", "-"], &text);
        transcript.push_str(&format!("$ kubectl apply -f {name}\n{said}\n"));
        plane.kubectl(&["delete", "--ignore-not-found", "-f", "-"], &text);
    }
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"at \d{4}-\d\d-\d\dT[\d:]+Z", "at (INSTANT)");
    settings.bind(|| insta::assert_snapshot!(transcript.replace('\t', "    ")));
    drop(webhook);
}

#[test]
fn what_karmada_admits_is_stored_as_it_was_written_but_for_the_defaults() {
    let Some(plane) = ControlPlane::own("round trips of objects that Karmada admits") else { return };
    plane.install_crds();
    let webhook = Webhook::register(&plane);
    wait_until_asked(&plane);
    let client = plane.namespace("round-trips");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stored = runtime.block_on(round_trips(&plane, client));
    assert!(stored > 60, "{stored} objects were stored");
    drop(webhook);
}

#[test]
fn the_webhook_keeps_our_fields_in_definitions_where_no_policy_does() {
    let Some(plane) = ControlPlane::own("the webhook that keeps our fields in the definitions") else { return };
    plane.install_crds();
    let webhook = Webhook::register(&plane);
    wait_until_asked(&plane);
    for text in crate::crds::DEFINITIONS {
        plane.apply(text);
    }
    for (name, field) in [("federatedhpas", "clusterAffinity"), ("cronfederatedhpas", "maxDelaySeconds")] {
        let crd = format!("{name}.autoscaling.karmada.io");
        let (_, said) = plane.kubectl(&["get", "crd", &crd, "-o", "json"], "");
        let definition: Value = serde_json::from_str(&said).unwrap();
        assert!(definition["spec"]["versions"].to_string().contains(field), "{said}");
    }
    drop(webhook);
}

/// The schema limits names of rules and `maxReplicas`; only the webhook reads schedules and types of metrics.
pub fn wrong() -> [(&'static str, Value, [&'static str; 2]); 2] {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let cron = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": "nightly", "namespace": "prod"}, "spec": {"scaleTargetRef": target,
        "rules": [{"name": "a-name-that-is-longer-than-32-characters", "schedule": "61 * * * *", "targetReplicas": 1}]}});
    let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web"}, "maxReplicas": 0}});
    [
        ("cronfederatedhpas", cron, ["spec.rules[0].name", "spec.rules[0].schedule"]),
        ("federatedhpas", hpa, ["spec.maxReplicas", "spec.scaleTargetRef.kind"]),
    ]
}

#[test]
fn errors_of_the_schema_and_of_the_webhook_come_in_one_answer_of_a_real_server() {
    let Some(plane) = ControlPlane::own("all errors of an object in one answer") else { return };
    plane.install_crds();
    let webhook = Webhook::register(&plane);
    wait_until_asked(&plane);
    plane.kubectl(&["create", "namespace", "prod"], "");
    for (_, object, paths) in wrong() {
        let (applied, said) = plane.kubectl(&["apply", "-f", "-"], &object.to_string());
        assert!(!applied, "{said}");
        for path in paths {
            assert!(said.contains(path), "no {path}: {said}");
        }
    }
    drop(webhook);
}

/// A FederatedHPA with values of the wrong type, one outside of the limits of the schema, one that a CEL rule refuses,
/// and a kind that only the webhook knows to have no replicas; and how a user corrects it, layer by layer.
fn wrong_in_each_layer() -> [(&'static str, Value); 4] {
    let mut object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web"},
            "minReplicas": "two", "maxReplicas": 0,
            "behavior": {"scaleUp": {"tolerance": "-0.1"}, "scaleDown": {"tolerance": 0.05}}}});
    let first = object.clone();
    (object["spec"]["minReplicas"], object["spec"]["maxReplicas"]) = (json!(2), json!(10));
    object["spec"]["behavior"]["scaleDown"]["tolerance"] = json!("0.05");
    let second = object.clone();
    object["spec"]["behavior"]["scaleUp"]["tolerance"] = json!("0.1");
    let third = object.clone();
    object["spec"]["scaleTargetRef"]["kind"] = json!("Deployment");
    [
        ("an error of each layer", first),
        ("types and limits corrected", second),
        ("what CEL rules refuse corrected", third),
        ("all corrected", object),
    ]
}

#[test]
fn an_error_of_each_layer_comes_in_one_answer_where_the_definitions_alone_take_one_for_each() {
    let Some(plane) = ControlPlane::own("an error of each layer in one answer") else { return };
    plane.install_crds();
    plane.kubectl(&["create", "namespace", "prod"], "");
    let mut transcript = String::new();
    let mut apply = |heading: &str, object: &Value| {
        let (applied, said) = plane.kubectl(&["apply", "-f", "-"], &object.to_string());
        if applied {
            plane.kubectl(&["delete", "-f", "-"], &object.to_string());
        }
        // The server lists errors of the schema in any order.
        let mut lines: Vec<&str> = said.lines().collect();
        lines.sort_by_key(|line| line.starts_with("* ").then_some(*line));
        transcript.push_str(&format!("# {heading}\n$ kubectl apply -f -\n{}\n\n", lines.join("\n")));
        (applied, said)
    };
    let places = [
        "spec.minReplicas",
        "spec.maxReplicas",
        "spec.behavior.scaleDown.tolerance",
        "spec.behavior.scaleUp.tolerance",
        "spec.scaleTargetRef.kind",
    ];
    let told = |said: &str| places.map(|place| said.contains(place));
    let rounds = wrong_in_each_layer();
    let alone = rounds.each_ref().map(|(heading, object)| apply(&format!("definitions alone: {heading}"), object));
    let webhook = Webhook::register(&plane);
    wait_until_asked(&plane);
    let with = rounds.each_ref().map(|(heading, object)| apply(&format!("with the webhook: {heading}"), object));
    let mut unknown = rounds[0].1.clone();
    unknown["spec"]["replicas"] = json!(3);
    let (_, unknown) = apply("with the webhook: an unknown field, too", &unknown);
    drop(webhook);
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"at \d{4}-\d\d-\d\dT[\d:]+Z", "at (INSTANT)");
    settings.bind(|| insta::assert_snapshot!(transcript.replace('\t', "    ")));
    assert_eq!(alone.each_ref().map(|(applied, _)| *applied), [false, false, true, true]);
    assert_eq!(with.each_ref().map(|(applied, _)| *applied), [false, false, false, true]);
    assert_eq!(told(&alone[0].1), [true, true, true, false, false]);
    assert_eq!(told(&alone[1].1), [false, false, false, true, false]);
    assert_eq!(told(&with[0].1), [true; 5]);
    // The API server refuses it before it asks a webhook.
    assert!(unknown.contains(r#"unknown field "spec.replicas""#) && told(&unknown) == [false; 5], "{unknown}");
}

/// Creates a sample of the objects that Karmada admits; returns how many were stored.
async fn round_trips(plane: &ControlPlane, namespace: &str) -> usize {
    let client = plane.client().await;
    let path = format!("/apis/autoscaling.karmada.io/v1alpha1/namespaces/{namespace}/federatedhpas");
    let lines = include_str!("../fixtures/upstream/admission_federatedhpa_mutate.jsonl").lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let good = |line: &Value| line["operation"] == "CREATE" && line["validate_after_mutate"]["allowed"] == true;
    let mut stored = 0;
    for (index, line) in lines.filter(good).step_by(4).enumerate() {
        let (mut object, mut expected) = (line["object"].clone(), line["mutated"].clone());
        if !object["spec"].is_object() || !expected["spec"].is_object() {
            continue;
        }
        // Two objects on one target would fight.
        let target = format!("target-{index}");
        for object in [&mut object, &mut expected] {
            object["apiVersion"] = json!("autoscaling.karmada.io/v1alpha1");
            object["kind"] = json!("FederatedHPA");
            object["metadata"] = json!({"name": target, "namespace": namespace});
            object["spec"]["scaleTargetRef"]["name"] = json!(target);
        }
        let request = http::Request::post(&path).header("content-type", "application/json");
        let answer = client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await;
        // What our rules refuse on purpose has its own test.
        let Ok(answer) = answer else { continue };
        stored += 1;
        assert_eq!(answer["spec"]["mode"], "Distributed");
        assert_eq!(normal::object(answer)["spec"], normal::object(expected)["spec"], "{}", line["name"]);
    }
    stored
}

/// The answer to a FederatedHPA with this text as its labels and the end of its spec, followed by `tail`.
fn sent(plane: &ControlPlane, labels: &str, spec: &str, tail: &str) -> (bool, String) {
    let body = format!(
        r#"{{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"FederatedHPA",
            "metadata":{{"name":"encoded","namespace":"default","labels":{labels}}},
            "spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},{spec}}}}}{tail}"#
    );
    let path = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/default/federatedhpas?dryRun=All";
    plane.kubectl(&["create", "--raw", path, "-f", "-"], &body)
}

/// kube-apiserver decodes an object and encodes it anew before it asks a webhook, so that the decoder of reviews needs
/// no rules for what only a text can have. A value of another type than the schema says does arrive.
#[test]
fn what_only_a_text_can_have_does_not_reach_the_webhook() {
    let Some(plane) = ControlPlane::own("what a webhook gets of a text") else { return };
    plane.install_crds();
    let webhook = Webhook::register(&plane);
    wait_until_asked(&plane);
    for (labels, spec, stored) in [
        ("{}", r#""maxReplicas":10.0"#, r#""maxReplicas":10,"#),
        ("{}", r#""maxReplicas":1e1"#, r#""maxReplicas":10,"#),
        ("{}", r#""maxReplicas":3,"maxReplicas":5"#, r#""maxReplicas":5,"#),
        ("{}", r#""max\u0052eplicas":5"#, r#""maxReplicas":5,"#),
        ("{}", r#""maxReplicas":5,"scaleAssist":null"#, r#""maxReplicas":5,"#),
        (r#"{"tier":null}"#, r#""maxReplicas":5"#, r#""tier":"""#),
    ] {
        let (admitted, object) = sent(&plane, labels, spec, "");
        assert!(admitted && object.contains(stored), "{labels} {spec}: {object}");
    }
    let both = r#""maxReplicas":"5","behavior":[]"#;
    for (labels, spec, tail, words) in [
        ("{}", r#""maxReplicas":5"#, " x", "invalid character 'x' after top-level value"),
        (r#"{"tier":1}"#, r#""maxReplicas":5"#, "", "cannot unmarshal number"),
        ("{}", both, "", r#"spec.behavior: Invalid value: "list": must be an object"#),
        ("{}", both, "", r#"spec.maxReplicas: Invalid value: "5": must be a whole number"#),
    ] {
        let (admitted, said) = sent(&plane, labels, spec, tail);
        assert!(!admitted && said.contains(words), "{labels} {spec}: {said}");
    }
    drop(webhook);
}
