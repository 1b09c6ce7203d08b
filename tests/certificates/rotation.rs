//! Two processes that share their certificate, on the embedded API server and on a real one: the Secret is deleted under a
//! stream of requests, and none fails.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fhpa::playground::apiserver::ApiServer;
use fhpa::playground::karmada;
use fhpa::runtime::clock;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::tls::shared::form::ids;
use fhpa::runtime::tls::shared::{Access, Looker, Store};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::bed::within;
use crate::chart::engine;
use crate::cli::command::fhpa;
use crate::cluster::control_plane::ControlPlane;
use crate::controller::process::Replica;
use crate::webhook::client::{H2, connector, tls};

const REGISTERED: &str = "fhpa.karmada.io/registered-cas";

/// A control plane that is Karmada's and the host's at once, and two processes.
struct Stage {
    client: kube::Client,
    replicas: [Replica; 2],
    _home: tempfile::TempDir,
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn replica(home: &Path, name: &str, port: u16, url: &str) -> Replica {
    let (kubeconfig, host) = (home.join("kubeconfig"), home.join("host"));
    let (listen, shown) = (format!("127.0.0.1:{port}"), host.display().to_string());
    let more = ["--listen", &*listen, "--cert-secret", "karmada-system/fhpa-certificate", "--cert-kubeconfig", &*shown];
    let certificate = ["--tls-san", "fhpa.karmada-system.svc", "--cert-poll-seconds", "0.2", "--webhook-url", url];
    Replica::start("run", &kubeconfig, name, &[&more[..], &certificate].concat(), PathBuf::new()).await
}

impl Stage {
    /// Starts the processes, which make the Secret, and runs the hook of the installation, which waits for it.
    async fn new(client: kube::Client, kubeconfig: &str, host: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("kubeconfig"), kubeconfig).unwrap();
        std::fs::write(home.path().join("host"), host).unwrap();
        let ports = [free_port(), free_port()];
        let url = format!("https://localhost:{}/", ports[0]);
        let hook = {
            let file = |name: &str| home.path().join(name).display().to_string();
            let arguments = ["install", "--kubeconfig", &file("kubeconfig"), "--url", &url].map(str::to_owned);
            let secret = ["--ca-secret", "karmada-system/fhpa-certificate", "--cert-kubeconfig", &file("host")]
                .map(str::to_owned);
            let arguments = [&arguments[..], &secret].concat();
            tokio::task::spawn_blocking(move || fhpa(&arguments.iter().map(String::as_str).collect::<Vec<_>>()))
        };
        let (one, two) =
            tokio::join!(replica(home.path(), "one", ports[0], &url), replica(home.path(), "two", ports[1], &url));
        let hook = hook.await.unwrap();
        assert_eq!(hook.code, 0, "{}{}", hook.stdout, hook.stderr);
        assert!(
            hook.stderr.contains("The CA comes from the Secret karmada-system/fhpa-certificate"),
            "{}",
            hook.stderr
        );
        one.is_ready().await;
        two.is_ready().await;
        Self { client, replicas: [one, two], _home: home }
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), "karmada-system")
    }

    /// The CAs of the Secret, and those that are noted as registered.
    async fn shared(&self) -> Option<(Vec<u8>, String)> {
        let secret = self.secrets().get_opt("fhpa-certificate").await.unwrap()?;
        let noted = secret.metadata.annotations.unwrap_or_default().remove(REGISTERED).unwrap_or_default();
        Some((secret.data.unwrap_or_default().remove("ca.crt").unwrap().0, noted))
    }

    /// The CAs that the API server trusts.
    async fn registered(&self) -> String {
        let configurations: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        let configuration = configurations.get("fhpa").await.unwrap();
        let bundle = configuration.webhooks.unwrap()[0].client_config.ca_bundle.clone().unwrap();
        String::from_utf8(bundle.0).unwrap()
    }

    /// Whether a new connection to each process is trusted by whoever trusts `bundle`.
    async fn trusted(&self, bundle: &str) -> Result<(), String> {
        let connector = connector(bundle, H2, None);
        for replica in &self.replicas {
            tls(replica.webhook_address(), &connector).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// New connections to each process, by whoever trusts what is registered.
    async fn connects(&self) {
        loop {
            let bundle = self.registered().await;
            let Err(error) = self.trusted(&bundle).await else { return };
            // Only what is registered now counts.
            assert_ne!(bundle, self.registered().await, "{error}");
        }
    }

    /// Connects until the registered CAs are noted and the newest one signs what both serve.
    async fn settles(&self, cas: usize) -> Vec<u8> {
        loop {
            self.connects().await;
            let Some((bundle, noted)) = self.shared().await else { continue };
            let all: Vec<String> = ids(&bundle).unwrap().into_iter().collect();
            let newest = String::from_utf8(bundle.clone()).unwrap();
            let newest = newest.split_inclusive("-----END CERTIFICATE-----\n").next().unwrap();
            if all.len() == cas && noted == all.join(",") && self.trusted(newest).await.is_ok() {
                return bundle;
            }
        }
    }
}

/// Writes that the webhook has to admit, one after the other, until `stop` is told; returns how many. None may fail.
async fn stream(client: kube::Client, name: String, stop: watch::Receiver<bool>, sent: Arc<AtomicUsize>) {
    let kind = ApiResource::erase::<fhpa::api::FederatedHPA>(&());
    let hpas: Api<DynamicObject> = Api::namespaced_with(client, "prod", &kind);
    let mut number = 0;
    while !*stop.borrow() {
        number += 1;
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
        let object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name}, "spec": {"minReplicas": 1, "maxReplicas": 2 + number % 50, "scaleTargetRef": target,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 60}}}]}});
        let applied = hpas.patch(&name, &PatchParams::apply("stream").force(), &Patch::Apply(&object)).await;
        applied.unwrap_or_else(|error| panic!("write {number} of {name}: {error}"));
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

/// Rotates twice under a stream of writes; returns how many there were.
async fn rotated(stage: Stage) -> usize {
    let mut before = within(stage.settles(1)).await;
    let (stop, stopped) = watch::channel(false);
    let sent = Arc::new(AtomicUsize::new(0));
    let streams =
        (0..4).map(|number| stream(stage.client.clone(), format!("web-{number}"), stopped.clone(), Arc::clone(&sent)));
    let streams: Vec<_> = streams.map(tokio::spawn).collect();
    for cas in [2, 3] {
        stage.secrets().delete("fhpa-certificate", &DeleteParams::default()).await.unwrap();
        let after = within(stage.settles(cas)).await;
        assert!(ids(&after).unwrap().is_superset(&ids(&before).unwrap()));
        assert_eq!(stage.registered().await.as_bytes(), after);
        // Old connections end at last, and new ones are made.
        let enough = sent.load(Ordering::Relaxed) + 40;
        within(async {
            while sent.load(Ordering::Relaxed) < enough {
                stage.connects().await;
            }
        })
        .await;
        before = after;
    }
    stop.send_replace(true);
    for stream in streams {
        stream.await.unwrap();
    }
    sent.load(Ordering::Relaxed)
}

/// The account of the chart, with the rights of the chart; none where there is no Helm engine.
fn account(plane: &ControlPlane, kubeconfig: &str, shows: &str) -> Option<(String, [String; 2])> {
    let rendered = engine::case("default", shows)?;
    let mut host: Value = serde_json::from_str(kubeconfig).unwrap();
    host["users"][0]["user"]["as"] = json!("system:serviceaccount:karmada-system:fhpa");
    plane.kubectl(&["create", "serviceaccount", "-n", "karmada-system", "fhpa"], "");
    Some((host.to_string(), ["Role", "RoleBinding"].map(|kind| rendered.one(kind).to_string())))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_secret_is_a_rotation_under_which_no_request_fails() {
    let server = ApiServer::builder().build();
    for definition in karmada::definitions().unwrap() {
        server.create(&definition).await.unwrap();
    }
    for name in ["karmada-system", "prod"] {
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        server.create(&space).await.unwrap();
    }
    let listening = server.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let kubeconfig = listening.kubeconfig("karmada");
    let stage = Stage::new(server.client(), &kubeconfig, &kubeconfig).await;
    assert!(rotated(stage).await >= 80);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_api_server_sees_no_failure_either_and_the_rights_of_the_chart_are_enough() {
    let shows = "the rotation of the shared certificate under a stream of writes";
    let Some(plane) = ControlPlane::own(shows) else { return };
    plane.install_karmada();
    plane.namespace("karmada-system");
    plane.namespace("prod");
    let kubeconfig = std::fs::read_to_string(plane.kubeconfig()).unwrap();
    let mut host = kubeconfig.clone();
    if let Some((limited, rights)) = account(&plane, &kubeconfig, shows) {
        host = limited;
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("host");
        std::fs::write(&file, &host).unwrap();
        let secret = "karmada-system/fhpa-certificate".parse().unwrap();
        let (store, _) = Store::open(Access::by(Some(file)), secret).await.unwrap();
        let mut looker = Looker::new(store, &["localhost".to_owned()], Arc::new(Metrics::new()));
        let refused = looker.look(clock::wall()).await.unwrap_err().to_string();
        assert!(refused.contains("allow it the verb \"get\" on \"secrets\""), "{refused}");
        rights.iter().for_each(|object| plane.apply(object));
    }
    let stage = Stage::new(plane.client().await, &kubeconfig, &host).await;
    let writes = rotated(stage).await;
    eprintln!("{writes} writes while the CA was rotated twice, none failed");
}
