//! One Kubernetes control plane: Karmada's, or a member's. I/O: processes, files, sockets.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::assets::Assets;
use crate::audit;
use crate::both::apply;
use crate::rig::authority::{self, Authority};
use crate::rig::program::{self, Program, home};

/// Longest time until a server answers.
const READY_WITHIN: Duration = Duration::from_secs(90);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Where the servers of one control plane are.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub apiserver: u16,
    /// Of a second server: aggregated APIs.
    pub aggregated: u16,
}

/// A control plane whose API server runs.
pub struct Plane {
    pub name: String,
    pub client: Client,
    pub authority: Authority,
    pub ports: Ports,
    assets: Assets,
    home: PathBuf,
    etcd: String,
    extra: Vec<OsString>,
    apiserver: Option<Program>,
}

impl Plane {
    /// Starts an API server, which keeps its objects under a prefix of its own in etcd.
    pub async fn start(assets: &Assets, directory: &Path, name: &str, etcd: &str, ports: Ports, cidr: &str) -> Self {
        let home = home(directory, &format!("{name}-apiserver"));
        let authority = Authority::new(&format!("{name} authority"));
        authority::write(&home, ports.apiserver, &authority);
        front_proxy(&home);
        let text = std::fs::read_to_string(home.join("kubeconfig")).unwrap();
        let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let mut plane = Self {
            name: name.to_owned(),
            client: Client::try_from(config).unwrap(),
            authority,
            ports,
            assets: assets.clone(),
            extra: extra(&home, name, cidr),
            home,
            etcd: etcd.to_owned(),
            apiserver: None,
        };
        plane.serve();
        plane
    }

    /// Starts the API server, unless it runs.
    pub fn serve(&mut self) {
        if self.apiserver.is_some() {
            return;
        }
        let mut arguments = program::kube_apiserver(&self.home, &self.etcd, self.ports.apiserver);
        arguments.extend(self.extra.iter().cloned());
        // The guard removes what is in the directory of a program: files of the plane live beside it.
        let running = home(self.home.parent().unwrap(), &format!("{}-apiserver-process", self.name));
        self.apiserver = Some(Program::start(&running, &self.assets.program("kube-apiserver"), &arguments));
    }

    /// Ends the API server as a crash does.
    pub fn kill(&mut self) {
        self.apiserver = None;
    }

    /// Sends the API server a signal: `STOP`, and it hangs; `CONT`.
    pub fn signal(&self, name: &str) {
        self.apiserver.as_ref().expect("the API server runs").signal(name);
    }

    /// The API server, if it runs.
    pub fn server(&self) -> Option<&Program> {
        self.apiserver.as_ref()
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.home.join("kubeconfig")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Starts another program of this plane.
    pub fn program(&self, program: &str, arguments: &[OsString]) -> Program {
        let home = home(self.home.parent().unwrap(), &format!("{}-{program}", self.name));
        Program::start(&home, &self.assets.program(program), arguments)
    }

    pub async fn is_ready(&self) {
        let answers = async {
            loop {
                let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
                if self.client.request_text(request).await.is_ok_and(|text| text == "ok") {
                    return;
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(READY_WITHIN, answers).await.is_err() {
            let tail = self.apiserver.as_ref().map(|server| server.tail(20)).unwrap_or_default();
            panic!("the API server of {} is not ready; its last lines, newest first:\n{tail}", self.name);
        }
    }

    /// Objects of a kind that need not be known to discovery yet.
    pub fn api(&self, api_version: &str, kind: &str, plural: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = resource(api_version, kind, plural);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    /// Applies an object as the one who owns every field of it; tries again while the server cannot take it yet.
    pub async fn apply(&self, plural: &str, object: &Value) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let resource = resource(&text(&object["apiVersion"]), &text(&object["kind"]), plural);
        apply(self.client.clone(), &resource, object).await;
    }

    pub async fn namespace(&self, name: &str) {
        self.apply("namespaces", &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    }

    /// Registers an API that a server on loopback answers.
    pub async fn aggregate(&self, group: &str, version: &str, namespace: &str, service: &str, port: u16) {
        self.apply(
            "services",
            &json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": service, "namespace": namespace},
                "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port, "protocol": "TCP"}]}}),
        )
        .await;
        self.apply(
            "apiservices",
            &json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                "metadata": {"name": format!("{version}.{group}")},
                "spec": {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100,
                    "insecureSkipTLSVerify": true,
                    "service": {"name": service, "namespace": namespace, "port": port}}}),
        )
        .await;
    }
}

/// A kind as a client names it.
pub fn resource(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// Certificates by which the API server is known to servers of aggregated APIs.
fn front_proxy(home: &Path) {
    let authority = Authority::new("front proxy authority");
    let client = authority.client("front-proxy-client", None);
    for (name, text) in [
        ("front-proxy-ca.crt", authority.pem()),
        ("front-proxy.crt", client.certificate),
        ("front-proxy.key", client.key),
    ] {
        std::fs::write(home.join(name), text).unwrap();
    }
}

fn extra(home: &Path, name: &str, cidr: &str) -> Vec<OsString> {
    let mut flags = program::flags([
        ("etcd-prefix", format!("/{name}").into()),
        ("service-cluster-ip-range", cidr.into()),
        // Nodes are made by the suite and are always well.
        ("disable-admission-plugins", "StorageObjectInUseProtection,ServiceAccount,TaintNodesByCondition".into()),
        ("enable-bootstrap-token-auth", "true".into()),
        ("allow-privileged", "true".into()),
        ("shutdown-delay-duration", "0s".into()),
        ("proxy-client-cert-file", home.join("front-proxy.crt").into()),
        ("proxy-client-key-file", home.join("front-proxy.key").into()),
        ("requestheader-client-ca-file", home.join("front-proxy-ca.crt").into()),
        ("requestheader-allowed-names", "front-proxy-client".into()),
        ("requestheader-extra-headers-prefix", "X-Remote-Extra-".into()),
        ("requestheader-group-headers", "X-Remote-Group".into()),
        ("requestheader-username-headers", "X-Remote-User".into()),
    ]);
    flags.push("--advertise-address=192.0.2.1".into());
    flags.extend(audit::flags(home));
    flags
}
