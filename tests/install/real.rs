//! On a real kube-apiserver: over Karmada's own CRDs with live objects, and after a simulated upgrade of Karmada.

use serde_json::{Value, json};

use super::doctor::{found, of};
use super::{DEFINITIONS, WebhookState, webhooks};
use crate::bed::within;
use crate::cluster::control_plane::ControlPlane;
use crate::controller::process::Replica;

struct Stand {
    plane: ControlPlane,
    desk: WebhookState,
}

impl Stand {
    /// A Karmada as its own installation leaves it.
    fn new(shows: &str) -> Option<Self> {
        let plane = ControlPlane::own(shows)?;
        plane.install_karmada();
        plane.namespace("karmada-system");
        plane.namespace("prod");
        let stand = Self { desk: WebhookState::new(&std::fs::read_to_string(plane.kubeconfig()).unwrap()), plane };
        stand.upgrade_karmada();
        stand.plane.established();
        Some(stand)
    }

    /// What the job of Karmada's chart does at each install and upgrade.
    fn upgrade_karmada(&self) {
        let webhooks = webhooks().into_iter().map(|configuration| configuration.to_string());
        for text in DEFINITIONS.into_iter().map(str::to_owned).chain(webhooks) {
            let (applied, said) = self.plane.kubectl(&["apply", "-f", "-"], &text);
            assert!(applied, "{said}");
        }
    }

    fn get(&self, what: &[&str]) -> Value {
        let (found, said) = self.plane.kubectl(&[&["get", "-o", "json"][..], what].concat(), "");
        assert!(found, "{what:?}: {said}");
        serde_json::from_str(&said).unwrap()
    }

    fn patch(&self, object: &str, patch: &Value) -> (bool, String) {
        self.plane.kubectl(&["patch", "-n", "prod", object, "--type=merge", "-p", &patch.to_string()], "")
    }

    /// Whether entries of Karmada's are set aside.
    fn set_aside(&self, kind: &str, configuration: &str) -> Vec<String> {
        let object = self.get(&[kind, configuration]);
        let aside = |webhook: &&Value| webhook["objectSelector"].to_string().contains("reviewed-by-fhpa");
        let webhooks = object["webhooks"].as_array().unwrap().iter().filter(aside);
        webhooks.map(|webhook| webhook["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn hpa(name: &str, more: Value) -> String {
    let mut spec = json!({"minReplicas": 2, "maxReplicas": 9, "metrics": [{"type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}],
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "prod"}, "spec": spec})
    .to_string()
}

/// The objects of Karmada name no mode.
const DISTRIBUTED: [&str; 4] = ["--user", "fhpa", "--default-mode", "Distributed"];

/// Karmada's webhooks do not run here, so its objects are made before they are registered.
fn stored(stand: &Stand, manifest: &str) {
    for configuration in
        ["mutatingwebhookconfiguration/mutating-config", "validatingwebhookconfiguration/validating-config"]
    {
        stand.plane.kubectl(&["delete", configuration], "");
    }
    stand.plane.apply(manifest);
    stand.upgrade_karmada();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_karmada_stay_as_they_are_and_an_upgrade_of_karmada_is_put_right() {
    let Some(stand) = Stand::new("an installation over Karmada's own definitions") else { return };
    stored(&stand, &hpa("web", json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}})));
    let before = stand.get(&["-n", "prod", "fhpa", "web"]);

    let first = stand.desk.fhpa("install", &DISTRIBUTED).await;
    assert_eq!((first.code, &*first.stderr), (0, ""), "{}", first.stdout);
    assert!(first.stdout.contains("\n9 created, 4 changed, 0 unchanged\n"), "{}", first.stdout);
    assert_eq!(stand.get(&["-n", "prod", "fhpa", "web"]), before);
    assert_eq!(stand.set_aside("mutatingwebhookconfiguration", "mutating-config"), ["autoscaling.karmada.io"]);
    let ours = ["federatedhpa.karmada.io", "cronfederatedhpa.karmada.io"];
    assert_eq!(stand.set_aside("validatingwebhookconfiguration", "validating-config"), ours);
    let second = stand.desk.fhpa("install", &DISTRIBUTED).await;
    assert!(second.stdout.contains("\n0 created, 0 changed, 13 unchanged\n"), "{}", second.stdout);

    // Karmada's webhook for this kind does not run, and is not asked.
    let known = json!({"spec": {"scalingToZero": true, "autoscaleMultiClusterDelay": 30}});
    for _ in 0..600 {
        if stand.patch("fhpa/web", &known).0 {
            break;
        }
    }
    assert_eq!(stand.get(&["-n", "prod", "fhpa", "web"])["spec"]["scalingToZero"], true);

    stand.upgrade_karmada();
    // What is set aside stays so: Karmada's manifests do not say anything of it.
    assert_eq!(stand.set_aside("mutatingwebhookconfiguration", "mutating-config"), ["autoscaling.karmada.io"]);
    assert_eq!(stand.set_aside("validatingwebhookconfiguration", "validating-config"), ours);
    let third = stand.desk.fhpa("install", &DISTRIBUTED).await;
    assert!(third.stdout.contains("0 created, 2 changed, 11 unchanged"), "{}", third.stdout);
    // Nothing wrote the object in between: what etcd holds is whole.
    stand.plane.established();
    let after = stand.get(&["-n", "prod", "fhpa", "web"]);
    assert_eq!(
        (&after["spec"]["scalingToZero"], &after["spec"]["autoscaleMultiClusterDelay"]),
        (&json!(true), &json!(30))
    );

    let removed = stand.desk.fhpa("uninstall", &["--yes", "--timeout", "60s"]).await;
    assert_eq!((removed.code, &*removed.stderr), (0, ""), "{}", removed.stdout);
    assert!(stand.set_aside("mutatingwebhookconfiguration", "mutating-config").is_empty());
    assert!(stand.set_aside("validatingwebhookconfiguration", "validating-config").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_of_a_newer_karmada_survive_the_installation() {
    let Some(stand) = Stand::new("a definition with fields that only a newer Karmada knows") else { return };
    let mut newer: Value = serde_saphyr::from_str(DEFINITIONS[0]).unwrap();
    newer["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["warmUp"] =
        json!({"type": "object", "properties": {"seconds": {"type": "integer"}}});
    stand.plane.apply(&newer.to_string());
    stored(&stand, &hpa("web", json!({})));
    stand.plane.apply(&newer.to_string());
    stand.plane.kubectl(&["delete", "mutatingwebhookconfiguration/mutating-config"], "");
    stand.plane.kubectl(&["delete", "validatingwebhookconfiguration/validating-config"], "");
    for _ in 0..600 {
        if stand.patch("fhpa/web", &json!({"spec": {"warmUp": {"seconds": 7}}})).0
            && stand.get(&["-n", "prod", "fhpa", "web"])["spec"]["warmUp"]["seconds"] == 7
        {
            break;
        }
    }
    for _ in 0..2 {
        let outcome = stand.desk.fhpa("install", &DISTRIBUTED).await;
        assert_eq!(outcome.code, 0, "{}", outcome.stdout);
        stand.plane.established();
        let (patched, said) = stand.patch("fhpa/web", &json!({"spec": {"maxReplicas": 8}}));
        assert!(patched, "{said}");
        assert_eq!(stand.get(&["-n", "prod", "fhpa", "web"])["spec"]["warmUp"]["seconds"], 7);
    }
}

/// Fields of a definition below `spec`.
fn spec_fields(definition: &Value) -> Vec<String> {
    let spec = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    spec.as_object().unwrap().keys().cloned().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policy_keeps_our_fields_beside_those_of_a_newer_karmada() {
    let Some(stand) = Stand::new("the policy that keeps our fields in the definitions") else { return };
    let installed = stand.desk.fhpa("install", &["--user", "fhpa"]).await;
    assert_eq!(installed.code, 0, "{}", installed.stdout);
    if installed.stdout.contains("MutatingAdmissionPolicy fhpa  not served") {
        eprintln!("ran without MutatingAdmissionPolicies: this kube-apiserver has none");
        return;
    }
    let crd = ["crd", "federatedhpas.autoscaling.karmada.io"];
    let cron = ["crd", "cronfederatedhpas.autoscaling.karmada.io"];
    let mut newer: Value = serde_saphyr::from_str(DEFINITIONS[0]).unwrap();
    newer["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["warmUp"] =
        json!({"type": "integer"});
    let ours = spec_fields(&stand.get(&crd));
    // The API server follows policies by a watch of its own.
    let mut kept = Vec::new();
    for _ in 0..200 {
        stand.plane.apply(&newer.to_string());
        kept = spec_fields(&stand.get(&crd));
        if kept.contains(&"mode".to_owned()) {
            break;
        }
        assert_eq!(stand.desk.fhpa("install", &["--user", "fhpa"]).await.code, 0);
    }
    assert!(ours.iter().all(|field| kept.contains(field)) && kept.contains(&"warmUp".to_owned()), "{kept:?}");
    stand.upgrade_karmada();
    let cron_fields = stand.get(&cron)["spec"]["versions"][0]["schema"]["openAPIV3Schema"].to_string();
    assert!(cron_fields.contains("maxDelaySeconds") && cron_fields.contains("observedGeneration"), "{cron_fields}");
    let ledger =
        stand.get(&crd)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"].to_string();
    assert!(ledger.contains("clusterHPADesired") && ledger.contains("assignmentHash"), "{ledger}");
    // Ours pass.
    assert_eq!(stand.desk.fhpa("install", &["--user", "fhpa"]).await.code, 0);
    let (_, _, all) = found(&stand.desk).await;
    assert_eq!(of(&all, "definition guard")["state"], "ok", "{all:#?}");
    assert_eq!(of(&all, "frozen")["state"], "ok", "{all:#?}");

    assert!(stand.plane.kubectl(&["delete", "mutatingadmissionpolicybinding", "fhpa"], "").0);
    let (_, _, all) = found(&stand.desk).await;
    assert_eq!(of(&all, "definition guard")["state"], "warn", "{all:#?}");
    assert_eq!(stand.desk.fhpa("install", &["--user", "fhpa"]).await.code, 0);
    let removed = stand.desk.fhpa("uninstall", &["--yes", "--timeout", "60s"]).await;
    assert_eq!((removed.code, &*removed.stderr), (0, ""), "{}", removed.stdout);
    assert!(
        removed.stdout.starts_with("Lease") || removed.stdout.starts_with("MutatingAdmissionPolicy"),
        "{}",
        removed.stdout
    );
    for _ in 0..200 {
        stand.upgrade_karmada();
        if !spec_fields(&stand.get(&crd)).contains(&"mode".to_owned()) {
            return;
        }
    }
    panic!("Karmada's own definitions do not come back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_puts_an_upgrade_of_karmada_right_with_no_more_rights_than_its_role_gives() {
    let Some(stand) = Stand::new("the leader's guard over the installation") else { return };
    let installed = stand.desk.install(&[]).await;
    assert_eq!(installed.code, 0, "{}", installed.stdout);
    stand.plane.established();
    let limited = WebhookState::new(&stand.plane.kubeconfig_of("fhpa"));
    let ca = stand.desk.file("ca.crt").display().to_string();
    let more = ["--webhook-url", "https://fhpa.karmada-system.svc:443/", "--webhook-ca-file", &ca];
    let mut one = Replica::start("controller", &limited.file("kubeconfig"), "one", &more, "".into()).await;
    one.is_ready().await;
    let object = "CustomResourceDefinition/federatedhpas.autoscaling.karmada.io";
    one.counts(&format!("fhpa_managed_object_in_sync{{object=\"{object}\"}} 1")).await;
    one.counts("fhpa_managed_object_in_sync{object=\"MutatingWebhookConfiguration/fhpa\"} 1").await;

    // How fast: `guard`, in virtual time.
    stand.upgrade_karmada();
    one.counts(&format!("fhpa_managed_object_drift_corrected_total{{object=\"{object}\"}} 1")).await;
    one.counts(&format!("fhpa_managed_object_in_sync{{object=\"{object}\"}} 1")).await;
    assert!(stand.get(&["crd", "federatedhpas.autoscaling.karmada.io"]).to_string().contains("scalingToZero"));

    let gone = stand.plane.kubectl(&["delete", "mutatingwebhookconfiguration", "fhpa"], "");
    assert!(gone.0, "{}", gone.1);
    one.counts("fhpa_managed_object_drift_corrected_total{object=\"MutatingWebhookConfiguration/fhpa\"} 1").await;
    assert_eq!(one.metrics().await.lines().filter(|line| line.contains("code=\"403\"")).count(), 0);
    one.signal("TERM").await;
    assert_eq!(one.ends().await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_finds_an_installation_well_but_for_what_is_not_there() {
    let Some(stand) = Stand::new("doctor after an installation") else { return };
    let limited = WebhookState::new(&stand.plane.kubeconfig_of("fhpa"));
    let ca = stand.desk.file("webhook.crt");
    let serve =
        ["--self-signed", "--listen", "127.0.0.1:0", "--shutdown-delay", "0", "--ca-output", ca.to_str().unwrap()];
    let mut one = Replica::start("run", &limited.file("kubeconfig"), "one", &serve, ca.clone()).await;
    let url = format!("https://{}/", one.webhook.unwrap());
    let place = ["--url", &url, "--ca-file", ca.to_str().unwrap(), "--user", "fhpa"];
    let installed = stand.desk.fhpa("install", &place).await;
    assert_eq!(installed.code, 0, "{}", installed.stdout);
    stand.plane.established();
    one.is_ready().await;
    one.counts("fhpa_leader 1").await;
    // The API server asks as soon as its own watch has brought the registration.
    let (code, lines, all) = within(async {
        loop {
            let found = found(&stand.desk).await;
            if of(&found.2, "probe")["state"] == "ok" {
                return found;
            }
        }
    })
    .await;
    assert_eq!(code, 0, "{all:#?}");
    insta::assert_snapshot!("an_administrator_sees", lines.join("\n"));
    assert_eq!(of(&all, "members")["seen"], "no cluster has joined");

    // As `helm test` asks: with the kubeconfig of the processes.
    let (code, lines, all) = found(&limited).await;
    assert_eq!(code, 0, "{all:#?}");
    insta::assert_snapshot!("a_process_sees", lines.join("\n"));
    let nobody = WebhookState::new(&stand.plane.kubeconfig_of("nobody"));
    let (code, _, all) = found(&nobody).await;
    assert_eq!((code, &of(&all, "rights")["state"]), (1, &json!("fail")), "{all:#?}");
    one.signal("TERM").await;
    assert_eq!(one.ends().await, Some(0));
}
