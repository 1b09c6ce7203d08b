//! Two processes that share their certificate: the Secret is deleted during a stream of applies, and none fails. On a
//! real kube-apiserver where one is present, with the permissions of the chart; else on the embedded one.

use std::sync::Arc;

use fhpa::runtime::clock;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::tls::shared::form::ids;
use fhpa::runtime::tls::shared::{Access, SecretPoller, Store};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, DeleteParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::bed::within;
use crate::chart::engine;
use crate::controller::process::Replica;
use crate::stream::flow::Flow;
use crate::stream::service::{SPACE, Service};
use crate::webhook::client::{H2, connector, tls};

const REGISTERED: &str = "fhpa.karmada.io/registered-cas";
const SECRET: &str = "karmada-system/fhpa-certificate";
/// Applies on a real kube-apiserver, and on the embedded one.
const APPLIES: [usize; 2] = [3_000, 600];

/// Two replicas that share their certificate.
struct Stage {
    service: Service,
    replicas: [Replica; 2],
}

fn object<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// The way to the Secret: as the account of the chart with the chart's rights, where there is a Helm engine.
async fn host(service: &Service, shows: &str) -> String {
    let administrator = service.desk.file("kubeconfig");
    let host = service.desk.file("host");
    let chart = if service.is_real() { engine::case("default", shows) } else { None };
    let Some(rendered) = chart else {
        std::fs::copy(administrator, &host).unwrap();
        return host.display().to_string();
    };
    let mut account: Value = serde_json::from_str(&std::fs::read_to_string(administrator).unwrap()).unwrap();
    account["users"][0]["user"]["as"] = json!("system:serviceaccount:karmada-system:fhpa");
    std::fs::write(&host, account.to_string()).unwrap();
    let (store, _) = Store::open(Access::by(Some(host.clone())), SECRET.parse().unwrap()).await.unwrap();
    let mut poller = SecretPoller::new(store, &["localhost".to_owned()], Arc::new(Metrics::new()));
    let refused = poller.poll(clock::wall()).await.unwrap_err().to_string();
    assert!(refused.contains("allow it the verb \"get\" on \"secrets\""), "{refused}");
    let roles: Api<Role> = Api::namespaced(service.client.clone(), "karmada-system");
    let bindings: Api<RoleBinding> = Api::namespaced(service.client.clone(), "karmada-system");
    roles.create(&PostParams::default(), &object(rendered.one("Role"))).await.unwrap();
    bindings.create(&PostParams::default(), &object(rendered.one("RoleBinding"))).await.unwrap();
    host.display().to_string()
}

impl Stage {
    /// Starts the replicas, which make the Secret, and runs the installation, which waits for it.
    async fn new(shows: &str) -> Self {
        let service = Service::new(shows).await;
        let (host, url) = (host(&service, shows).await, service.balancer.url());
        let secret = ["--cert-secret", SECRET, "--cert-kubeconfig", &host, "--tls-san", "fhpa.karmada-system.svc"];
        let serve = [&secret[..], &["--cert-refresh-interval", "500ms", "--webhook-url", &url]].concat();
        let install = ["--url", &url, "--ca-secret", SECRET, "--cert-kubeconfig", &host];
        let ((), one, two) =
            tokio::join!(service.install(&install), service.replica("one", &serve), service.replica("two", &serve));
        Self { service, replicas: [one, two] }
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.service.client.clone(), "karmada-system")
    }

    /// The CAs of the Secret, and those that are noted as registered.
    async fn shared(&self) -> Option<(Vec<u8>, String)> {
        let secret = self.secrets().get_opt("fhpa-certificate").await.unwrap()?;
        let noted = secret.metadata.annotations.unwrap_or_default().remove(REGISTERED).unwrap_or_default();
        Some((secret.data.unwrap_or_default().remove("ca.crt").unwrap().0, noted))
    }

    /// The CAs that the API server trusts.
    async fn registered(&self) -> String {
        let configurations: Api<MutatingWebhookConfiguration> = Api::all(self.service.client.clone());
        let configuration = configurations.get("fhpa").await.unwrap();
        let bundle = configuration.webhooks.unwrap()[0].client_config.ca_bundle.clone().unwrap();
        String::from_utf8(bundle.0).unwrap()
    }

    /// Whether a new connection to each process is trusted by whoever trusts `bundle`.
    async fn trusted(&self, bundle: &str) -> Result<(), String> {
        let connector = connector(bundle, H2, None);
        for replica in &self.replicas {
            tls(replica.webhook.unwrap(), &connector).await.map_err(|error| error.to_string())?;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_secret_is_a_rotation_under_which_no_apply_fails() {
    let stage = Stage::new("the rotation of the shared certificate; it runs on the embedded API server").await;
    let mut before = within(stage.settles(1)).await;
    let flow = Flow::start(&stage.service.client, SPACE).await;
    for cas in [2, 3] {
        let after = flow
            .during(&format!("the Secret is deleted; {cas} CAs are trusted then"), async {
                stage.secrets().delete("fhpa-certificate", &DeleteParams::default()).await.unwrap();
                within(stage.settles(cas)).await
            })
            .await;
        assert!(ids(&after).unwrap().is_superset(&ids(&before).unwrap()));
        assert_eq!(stage.registered().await.as_bytes(), after);
        before = after;
    }
    let [real, embedded] = APPLIES;
    flow.end(if stage.service.is_real() { real } else { embedded }).await;
    let Stage { service, replicas } = stage;
    for replica in replicas {
        service.end(replica).await;
    }
}
