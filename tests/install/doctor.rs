//! The findings of `fhpa doctor`, on the embedded API server with a webhook on a socket.

use fhpa::install::doctor::{CheckState, TROUBLES};
use fhpa::playground::fleet::{Fleet, Plan};
use fhpa::run::process::{Options, Server};
use serde_json::{Value, json};

use super::WebhookState;
use super::stand::Stand;
use crate::bed::webhook::{Webhook, allowed, certificate};

impl Stand {
    async fn found(&self) -> (i32, Vec<String>, Vec<Value>) {
        found(&self.desk).await
    }

    /// Installs with the CA of a file, for a webhook at `url`.
    async fn install(&self, url: &str, ca: &str) {
        std::fs::write(self.desk.file("webhook.crt"), ca).unwrap();
        let file = self.desk.file("webhook.crt").display().to_string();
        let outcome = self.desk.fhpa("install", &["--user", "fhpa", "--url", url, "--ca-file", &file]).await;
        assert_eq!(outcome.code, 0, "{}", outcome.stdout);
    }
}

/// Exit code, `check state` line by line, and everything that was found. A cluster's name is the port of its estimator.
pub async fn found(desk: &WebhookState) -> (i32, Vec<String>, Vec<Value>) {
    let outcome = desk.fhpa("doctor", &["-o", "json", "--estimator-address", "127.0.0.1:{cluster}"]).await;
    assert_eq!(outcome.stderr, "");
    let found: Vec<Value> = serde_json::from_str(&outcome.stdout).unwrap();
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    for finding in found.iter().filter(|finding| finding["state"] != "ok") {
        let is_known = |(check, states): &(&str, &[CheckState])| {
            *check == text(finding, "check") && states.iter().any(|state| json!(state) == finding["state"])
        };
        assert!(TROUBLES.iter().any(is_known), "not in the list of what can be found: {finding}");
    }
    let lines = found.iter().map(|finding| format!("{} {}", text(finding, "check"), text(finding, "state")));
    (outcome.code, lines.collect(), found)
}

pub fn of<'a>(found: &'a [Value], check: &str) -> &'a Value {
    found.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("no {check} in {found:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_karmada_without_fhpa_is_told_what_to_do() {
    let stand = Stand::new().await;
    let (code, lines, found) = stand.found().await;
    assert_eq!(code, 1);
    insta::assert_snapshot!(lines.join("\n"));
    let to_do = "run `fhpa install`: Karmada's own definitions drop fields of fhpa";
    assert_eq!(of(&found, "definitions")["toDo"], to_do);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_that_works_has_no_failure_and_a_wrong_ca_is_seen() {
    let stand = Stand::new().await;
    let webhook = Server::bind(Options::loopback()).await.unwrap();
    let (url, ca, handle) =
        (format!("https://localhost:{}/", webhook.local_addr().port()), webhook.ca_pem().unwrap(), webhook.handle());
    let serving = tokio::spawn(webhook.run());
    stand.install(&url, &ca).await;
    let (code, lines, found) = stand.found().await;
    assert_eq!(code, 0, "{found:#?}");
    insta::assert_snapshot!(lines.join("\n"));
    assert!(
        of(&found, "certificate")["seen"].as_str().unwrap().starts_with("trusted, for the name of the URL, until ")
    );

    // What an operator lets through is respected by a further installation, and named.
    for kind in ["mutating", "validating"] {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/fhpa");
        let mut object = stand.get(&path).await;
        object["metadata"]["annotations"] = json!({"fhpa.karmada.io/failure-policy": "Ignore"});
        assert_eq!(stand.bed.put(&path, &object).await.code, 200);
    }
    stand.install(&url, &ca).await;
    let (code, _, found) = stand.found().await;
    let registration = of(&found, "registration");
    assert_eq!((code, &registration["state"]), (0, &json!("warn")));
    let seen = registration["seen"].as_str().unwrap();
    assert!(seen.ends_with("and writes pass unreviewed while it does not answer"), "{seen}");
    assert_eq!(of(&found, "probe")["state"], "ok", "the webhook is still asked");

    stand.install(&url, &certificate("another").1).await;
    let (code, _, found) = stand.found().await;
    assert_eq!((code, &of(&found, "certificate")["state"]), (1, &json!("fail")));
    assert_eq!(of(&found, "probe")["state"], "fail", "nothing reviews it: {found:?}");
    handle.shut_down();
    serving.await.unwrap();
    stand.install(&url, &ca).await;
    let (code, _, found) = stand.found().await;
    assert_eq!((code, &of(&found, "certificate")["state"]), (1, &json!("skipped")));
    assert_eq!(of(&found, "probe")["state"], "fail");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_the_api_server_generates_is_no_error_in_any_webhook() {
    let stand = Stand::new().await;
    let webhook = Server::bind(Options::loopback()).await.unwrap();
    let (url, ca) = (format!("https://localhost:{}/", webhook.local_addr().port()), webhook.ca_pem().unwrap());
    let (handle, serving) = (webhook.handle(), tokio::spawn(webhook.run()));
    stand.install(&url, &ca).await;
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    // More than a default is missing, so that the mutating endpoint judges it; once it is only doubtful.
    let spec = json!({"scaleTargetRef": target, "maxReplicas": 0, "mode": "Distributed"});
    let object = |spec: &Value| {
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"generateName": "web-", "namespace": "prod"}, "spec": spec})
    };
    let path = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/prod/federatedhpas";
    let refused = stand.bed.post(path, &object(&spec)).await;
    assert_eq!(refused.code, 422);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.contains("spec.maxReplicas") && !message.contains("metadata.name"), "{message}");
    let mut right = spec.clone();
    right["maxReplicas"] = json!(3);
    let made = stand.bed.post(path, &object(&right)).await;
    assert_eq!(made.code, 201, "{made:?}");
    assert!(made.body["metadata"]["name"].as_str().unwrap().starts_with("web-"));
    handle.shut_down();
    serving.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_refuses_for_another_reason_fails_the_probe() {
    let stand = Stand::new().await;
    let webhook = Webhook::start(|review| {
        let mut answer = allowed(review);
        answer["response"]["allowed"] = json!(false);
        answer["response"]["status"] = json!({"code": 422, "message": "metadata.name: Required value"});
        (200, answer)
    })
    .await;
    stand.install(webhook.url.trim_end_matches("review"), &webhook.ca).await;
    let (_, _, found) = stand.found().await;
    assert_eq!(of(&found, "probe")["state"], "fail", "{found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_freeze_is_a_warning_that_says_whether_the_leader_knows_it_and_how_it_ends() {
    let stand = Stand::new().await;
    let lease = |annotations: Value| {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "fhpa", "namespace": "karmada-system", "annotations": annotations},
            "spec": {"holderIdentity": "one"}})
    };
    let (freeze, frozen) = ("fhpa.karmada.io/freeze", "fhpa.karmada.io/frozen");
    let annotate = "`kubectl annotate lease fhpa --namespace karmada-system fhpa.karmada.io/freeze-` ends it";
    let path = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases";
    for (annotations, state, seen, to_do) in [
        (json!({}), "ok", "no operator froze the controllers", ""),
        (json!({freeze: "false"}), "ok", "no operator froze the controllers", ""),
        (
            json!({freeze: "incident"}),
            "warn",
            "a freeze is asked for, and no leader has confirmed it yet (fhpa.karmada.io/freeze: incident)",
            annotate,
        ),
        (
            json!({freeze: "incident", frozen: "fhpa.karmada.io/freeze: incident"}),
            "warn",
            "the controllers are frozen, members keep scaling (fhpa.karmada.io/freeze: incident)",
            annotate,
        ),
        (
            json!({frozen: "--freeze: restore"}),
            "warn",
            "the controllers are frozen, members keep scaling (--freeze: restore)",
            "it ends with a leader that is started without the flag --freeze",
        ),
    ] {
        assert_eq!(stand.bed.post(path, &lease(annotations)).await.code, 201);
        let (_, _, found) = stand.found().await;
        let found = of(&found, "freeze");
        assert_eq!((&found["state"], &found["seen"], &found["toDo"]), (&json!(state), &json!(seen), &json!(to_do)));
        assert_eq!(stand.bed.delete(&format!("{path}/fhpa"), &json!({})).await.code, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_version_of_the_process_that_leads_is_told() {
    let stand = Stand::new().await;
    let path = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases";
    let now = fhpa::runtime::clock::wall().to_string();
    for (annotations, seen) in [
        (json!({"fhpa.karmada.io/version": "9.8.7 (abc)"}), "one leads, version 9.8.7 (abc)"),
        (json!({}), "one leads"),
    ] {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "fhpa", "namespace": "karmada-system", "annotations": annotations},
            "spec": {"holderIdentity": "one", "renewTime": now, "leaseDurationSeconds": 15}});
        assert_eq!(stand.bed.post(path, &lease).await.code, 201);
        let (_, _, found) = stand.found().await;
        assert_eq!(of(&found, "lease")["seen"], seen);
        assert_eq!(stand.bed.delete(&format!("{path}/fhpa"), &json!({})).await.code, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_an_uninstallation_reserved_is_a_warning_that_says_how_it_is_freed() {
    let stand = Stand::new().await;
    let path = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases";
    // The second one was killed.
    for holder in ["fhpa-uninstall", "uninstall_fhpa-uninstall-x7k2p_1"] {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "fhpa", "namespace": "karmada-system"},
            "spec": {"holderIdentity": holder, "renewTime": "2026-01-01T00:00:00.000000Z",
                "leaseDurationSeconds": i32::MAX}});
        assert_eq!(stand.bed.post(path, &lease).await.code, 201);
        let (_, _, found) = stand.found().await;
        let lease = of(&found, "lease");
        assert_eq!((&lease["state"], &lease["seen"]), (&json!("warn"), &json!("it is kept from controllers")));
        assert!(lease.to_string().contains("`fhpa install` frees it"), "{lease}");
        assert_eq!(stand.bed.delete(&format!("{path}/fhpa"), &json!({})).await.code, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_controllers_and_a_member_that_is_not_ready_are_seen() {
    let stand = Stand::new().await;
    let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "default"}, "spec": {"maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let path = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/default/federatedhpas?fieldManager=karmada-controller-manager";
    assert_eq!(stand.bed.post(path, &hpa).await.code, 201);
    let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "member1"},
        "spec": {"syncMode": "Push"}});
    stand.bed.server().create(&cluster).await.unwrap();
    let (_, _, found) = stand.found().await;
    let upstream = of(&found, "upstream controllers");
    assert_eq!(upstream["seen"], "karmada-controller-manager writes federatedhpas");
    assert!(upstream["toDo"].as_str().unwrap().contains("-federatedHorizontalPodAutoscaler"));
    assert_eq!(
        (&of(&found, "members")["state"], &of(&found, "members")["seen"]),
        (&json!("warn"), &json!("not ready: member1"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_that_answer_through_the_proxy_are_told_from_those_that_do_not() {
    let fleet = Fleet::build(Plan { clusters: 2, ..Plan::new() }).await.unwrap();
    fleet.settle().await.unwrap();
    let listening = fleet.control().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let desk = WebhookState::new(&listening.kubeconfig("karmada"));
    let (_, _, all) = found(&desk).await;
    let members = of(&all, "members");
    assert_eq!((&members["state"], &members["seen"]), (&json!("ok"), &json!("2 ready, and reached through the proxy")));
    // Karmada does not know yet.
    fleet.fail("member2", true).unwrap();
    let (_, _, all) = found(&desk).await;
    let members = of(&all, "members");
    assert_eq!(members["state"], "warn");
    assert!(members["seen"].as_str().unwrap().starts_with("member2: "), "{members}");
    assert!(members["toDo"].as_str().unwrap().contains("is scaled by its HPA alone"), "{members}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn estimators_are_looked_for_in_each_cluster() {
    let stand = Stand::new().await;
    let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // Held and not listening: nobody else gets it.
    let silent = tokio::net::TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let ports = [listening.local_addr().unwrap().port(), silent.local_addr().unwrap().port()];
    for (port, state, count) in [(ports[0], "ok", "1 of 1"), (ports[1], "warn", "1 of 2")] {
        let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": port.to_string()}, "spec": {"syncMode": "Push"}});
        stand.bed.server().create(&cluster).await.unwrap();
        let (_, _, all) = stand.found().await;
        let seen = format!("{count} clusters have one that is reachable from here");
        let estimators = of(&all, "estimators");
        assert_eq!((&estimators["state"], &estimators["seen"]), (&json!(state), &json!(seen)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_connection_nothing_else_is_looked_at() {
    let desk = WebhookState::new(
        r#"{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "a", "user": {}}]}"#,
    );
    let outcome = desk.fhpa("doctor", &[]).await;
    assert_eq!((outcome.code, outcome.stdout.lines().count()), (1, 4), "{}", outcome.stdout);
    assert!(outcome.stdout.starts_with("FAIL     connection  "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("-> is karmada-apiserver up"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("could not be reached to get /version: Connection refused"), "{}", outcome.stdout);
    let removed = desk.fhpa("uninstall", &["--yes"]).await;
    assert_eq!(removed.code, 1, "{}", removed.stdout);
    assert!(removed.stdout.contains("could not be reached to get /apis: Connection refused"), "{}", removed.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_without_a_mode_are_named_and_so_are_manifests_that_name_none() {
    const HPAS: &str = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/prod/federatedhpas";
    let stand = Stand::new().await;
    let installed = stand.desk.fhpa("install", &["--user", "fhpa"]).await;
    assert_eq!(installed.code, 0, "{}", installed.stdout);
    let hpa = |name: &str| {
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "prod"}, "spec": {"maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}})
    };
    let mut named = hpa("named");
    named["spec"]["mode"] = json!("Distributed");
    for object in [named, hpa("web")] {
        assert_eq!(stand.bed.post(&format!("{HPAS}?fieldManager=kubectl-create"), &object).await.code, 201);
    }
    let modes = async || of(&stand.found().await.2, "modes").clone();
    let found = modes().await;
    assert_eq!((&found["state"], &found["seen"]), (&json!("warn"), &json!("stored without spec.mode: prod/web")));
    let written = json!({"spec": {"mode": "Distributed"}});
    let path = format!("{HPAS}/web?fieldManager=fhpa-mirror");
    assert_eq!(stand.bed.patch("merge", &path, &written).await.code, 200);
    let found = modes().await;
    let seen = "of 1 FederatedHPAs the manifest names none: prod/web";
    assert_eq!((&found["state"], &found["seen"]), (&json!("ok"), &json!(seen)));
    assert!(found["toDo"].as_str().unwrap().starts_with("a hint: write spec.mode into them"), "{found}");
    let path = format!("{HPAS}/web?fieldManager=kubectl-edit");
    let other = json!({"spec": {"mode": "Centralized"}});
    assert_eq!(stand.bed.patch("merge", &path, &other).await.code, 200);
    assert_eq!(modes().await["seen"], "each of 2 FederatedHPAs has one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_failover_and_replicas_that_run_nowhere_are_told() {
    const HPAS: &str = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/prod/federatedhpas";
    let stand = Stand::new().await;
    let installed = stand.desk.fhpa("install", &["--user", "fhpa"]).await;
    assert_eq!(installed.code, 0, "{}", installed.stdout);
    let told = async |check: &str| {
        let found = stand.found().await.2;
        let one = of(&found, check);
        (one["state"].as_str().unwrap().to_owned(), one["seen"].as_str().unwrap().to_owned())
    };
    for name in ["shop", "web"] {
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
        let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "prod"},
            "spec": {"maxReplicas": 3, "mode": "Distributed", "scaleTargetRef": target}});
        assert_eq!(stand.bed.post(HPAS, &hpa).await.code, 201);
    }
    assert_eq!(told("failover").await, ("ok".into(), "it is not paused".into()));
    assert_eq!(told("replacement").await.0, "ok");
    let says = async |name: &str, type_: &str, reason: &str| {
        let condition = json!({"type": type_, "status": "True", "reason": reason, "message": "",
            "lastTransitionTime": "2026-11-20T08:00:00Z"});
        let status = json!({"status": {"currentReplicas": 1, "desiredReplicas": 1, "conditions": [condition]}});
        let stored = stand.bed.patch("merge", &format!("{HPAS}/{name}/status"), &status).await;
        assert_eq!(stored.code, 200, "{}", stored.body);
    };
    says("web", "FailoverPaused", "TooManyClustersNotReady").await;
    says("shop", "Assigned", "ReplicasMissing").await;
    let (state, seen) = told("failover").await;
    assert!(state == "warn" && seen.ends_with(" for prod/web"), "{state} {seen}");
    let (state, seen) = told("replacement").await;
    assert!(state == "warn" && seen.ends_with(" elsewhere: prod/shop"), "{state} {seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_metrics_apis_that_centralized_objects_need_are_looked_for_in_their_members() {
    let fleet = Fleet::build(Plan { clusters: 2, ..Plan::new() }).await.unwrap();
    fleet.settle().await.unwrap();
    let control = fleet.control();
    for definition in fhpa::api::crd::all().unwrap() {
        let _: Result<_, _> = control.create(definition).await;
    }
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}});
    control.create(&space).await.unwrap();
    let hpa = |metric: serde_json::Value| {
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": "web", "namespace": "prod"}, "spec": {"maxReplicas": 3, "mode": "Centralized",
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "metrics": [metric]}})
    };
    let binding = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "web-deployment", "namespace": "prod"},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": "web"},
            "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 1}]}});
    control.create(&binding).await.unwrap();
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
    control.create(&hpa(cpu)).await.unwrap();
    let listening = control.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let desk = WebhookState::new(&listening.kubeconfig("karmada"));
    let metrics = async || {
        let (_, _, all) = found(&desk).await;
        let found = all.into_iter().filter(|finding| finding["check"] == "member metrics");
        found.map(|finding| format!("{} {}", finding["state"], finding["seen"])).collect::<Vec<_>>()
    };
    assert_eq!(metrics().await, [r#""ok" "2 metrics APIs answer, for the Centralized FederatedHPAs""#]);
    fleet.lose_metrics("member2", true).unwrap();
    assert_eq!(metrics().await, [r#""warn" "not available: metrics.k8s.io in member2""#]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_autoscalers_of_a_workload_are_found_in_the_control_plane_and_in_members() {
    let fleet = Fleet::build(Plan { clusters: 1, ..Plan::new() }).await.unwrap();
    fleet.settle().await.unwrap();
    let control = fleet.control();
    for definition in fhpa::api::crd::all().unwrap() {
        let _: Result<_, _> = control.create(definition).await;
    }
    let listening = control.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let desk = WebhookState::new(&listening.kubeconfig("karmada"));
    let object = |api_version: &str, kind: &str, name: &str, annotations: Value| {
        json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
    };
    let plain = |name: &str, annotations: Value| object("autoscaling/v2", "HorizontalPodAutoscaler", name, annotations);
    let fhpa = object("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "web", json!({}));
    control.create(&fhpa).await.unwrap();
    let member = fleet.member("member1").unwrap();
    member.create(&plain("web", json!({"fhpa.karmada.io/write-id": "1"}))).await.unwrap();
    let state = async || of(&found(&desk).await.2, "other autoscalers").clone();
    assert_eq!(state().await["state"], "ok", "fhpa's own HPA is none");
    control.create(&plain("above", json!({}))).await.unwrap();
    member.create(&plain("below", json!({}))).await.unwrap();
    let told = state().await;
    assert_eq!(told["state"], "fail", "{told}");
    let seen = "HorizontalPodAutoscaler default/above, HorizontalPodAutoscaler default/below in member1";
    assert_eq!(told["seen"], seen);
}
