//! Two processes that share their certificate: the Secret is deleted, made anew and changed by hand during a stream of
//! applies, and none fails. On a real kube-apiserver where one is present, with the permissions of the chart; else on
//! the embedded one.

use std::sync::Arc;

use fhpa::runtime::clock;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::tls::shared::content::Found;
use fhpa::runtime::tls::shared::{Access, SecretPoller, Store};
use jiff::SignedDuration;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{authorities, names};
use crate::bed::within;
use crate::chart::engine;
use crate::controller::process::Replica;
use crate::stream::flow::Flow;
use crate::stream::service::{SPACE, Service};
use crate::webhook::client::{H2, connector, tls};

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

    /// The CAs of the Secret.
    async fn shared(&self) -> Option<Vec<u8>> {
        let secret = self.secrets().get_opt("fhpa-certificate").await.unwrap()?;
        Some(secret.data.unwrap_or_default().remove("ca.crt")?.0)
    }

    async fn patch(&self, patch: &Value) {
        let params = PatchParams::default();
        self.secrets().patch("fhpa-certificate", &params, &Patch::Merge(patch)).await.unwrap();
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

    /// Connects until so many CAs are shared and registered, and whoever trusts the one with this index connects.
    async fn settles(&self, cas: usize, signer: usize) -> Vec<u8> {
        loop {
            self.connects().await;
            let Some(bundle) = self.shared().await else { continue };
            let all = authorities(&bundle);
            if all.len() == cas
                && self.registered().await.as_bytes() == bundle
                && self.trusted(&all[signer]).await.is_ok()
            {
                return bundle;
            }
        }
    }

    /// Another process makes the Secret anew: with a CA that is two days old.
    async fn made_anew(&self) {
        self.secrets().delete("fhpa-certificate", &DeleteParams::default()).await.unwrap();
        let then = clock::wall() - SignedDuration::from_hours(48);
        let anew = Found::Absent.due(None, &names(&["localhost"]), then).unwrap().unwrap();
        let data = anew.entries().into_iter().map(|(entry, bytes)| (entry, ByteString(bytes))).collect();
        let metadata = json!({"name": "fhpa-certificate", "labels": {"app.kubernetes.io/managed-by": "fhpa"}});
        let secret = Secret {
            data: Some(data),
            type_: Some("kubernetes.io/tls".into()),
            ..object(&json!({"metadata": metadata}))
        };
        match self.secrets().create(&PostParams::default(), &secret).await {
            Ok(_) => {}
            // A replica was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                self.secrets()
                    .patch("fhpa-certificate", &PatchParams::default(), &Patch::Merge(&json!({"data": secret.data})))
                    .await
                    .unwrap();
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_apply_fails_while_the_secret_is_deleted_or_made_anew_and_the_ca_is_rotated() {
    let stage = Stage::new("the rotation of the shared certificate; it runs on the embedded API server").await;
    let before = within(stage.settles(1, 0)).await;
    let flow = Flow::start(&stage.service.client, SPACE).await;
    flow.during("the Secret is deleted", async {
        stage.secrets().delete("fhpa-certificate", &DeleteParams::default()).await.unwrap();
        assert_eq!(within(stage.settles(1, 0)).await, before);
    })
    .await;
    flow.during("the Secret is made anew by another process", async {
        stage.made_anew().await;
        assert!(within(stage.settles(2, 1)).await.ends_with(&before));
    })
    .await;
    flow.during("the pair is taken away", async {
        stage.patch(&json!({"data": {"tls.crt": ""}})).await;
        within(stage.settles(2, 0)).await;
    })
    .await;
    flow.during("the old CA is taken out", async {
        let new = authorities(&stage.shared().await.unwrap()).remove(0);
        stage.patch(&json!({"data": {"ca.crt": ByteString(new.into_bytes())}})).await;
        within(stage.settles(1, 0)).await;
    })
    .await;
    flow.during("the key of the CA is taken away", async {
        stage.patch(&json!({"data": {"ca.key": ""}})).await;
        within(stage.settles(2, 1)).await;
    })
    .await;
    let [real, embedded] = APPLIES;
    flow.end(if stage.service.is_real() { real } else { embedded }).await;
    let Stage { service, replicas } = stage;
    for replica in replicas {
        service.end(replica).await;
    }
}
