//! A real Karmada with member clusters on loopback. I/O: processes, files, sockets.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::assets::Assets;
use crate::both::{CORES, within};
use crate::etcd::Etcd;
use crate::manifests::{documents, yaml_files};
use crate::member::{Member, manager};
use crate::plane::{Plane, Ports};
use crate::rig::program::{self, Program, flags, free_ports, home};

/// Controllers of Karmada's own control plane.
const CONTROLLERS: &str = "namespace-controller,garbage-collector-controller,serviceaccount-token-controller,\
    clusterrole-aggregation-controller,certificatesigningrequest-signing-controller";
/// Longest time until something of the lab itself is there, in seconds.
const PATIENCE: u64 = 120;

/// A Karmada, and its members by their order.
pub struct Lab {
    pub assets: Assets,
    pub karmada: Plane,
    pub members: Vec<Member>,
    webhook: u16,
    manager: Option<Program>,
    scheduler: Option<Program>,
    /// karmada-agent of members that pull.
    agents: Vec<(String, Program)>,
    /// Components of Karmada but karmada-apiserver, karmada-controller-manager and karmada-scheduler.
    components: Vec<Program>,
    /// Of karmada-apiserver and karmada-aggregated-apiserver.
    pub etcd: Etcd,
    of_members: Etcd,
    pub directory: TempDir,
}

impl Lab {
    /// Starts everything but fhpa.
    pub async fn start(assets: Assets, names: &[&str]) -> Self {
        let directory = tempfile::Builder::new().prefix("fhpa-karmada").tempdir().unwrap();
        let at = directory.path();
        let [apiserver, aggregated, webhook] = free_ports();
        let etcd = Etcd::start(&assets, at, "etcd");
        let of_members = Etcd::start(&assets, at, "members-etcd");
        let ports = Ports { apiserver, aggregated };
        let starts = names.iter().map(|name| {
            let [apiserver, aggregated] = free_ports();
            Member::start(&assets, at, name, &of_members.url, Ports { apiserver, aggregated }, (1, CORES))
        });
        let (karmada, members) = tokio::join!(
            Plane::start(&assets, at, "karmada", &etcd.url, ports, "10.96.0.0/16"),
            futures::future::join_all(starts),
        );
        karmada.is_ready().await;
        let mut lab = Self {
            assets,
            karmada,
            members,
            webhook,
            manager: None,
            scheduler: None,
            agents: Vec::new(),
            components: Vec::new(),
            etcd,
            of_members,
            directory,
        };
        lab.federate().await;
        lab
    }

    async fn federate(&mut self) {
        let karmada = &self.karmada;
        for name in ["karmada-system", "karmada-cluster", "prod"] {
            karmada.namespace(name).await;
        }
        for definition in self.definitions() {
            karmada.apply("customresourcedefinitions", &definition).await;
        }
        self.established().await;
        self.control().await;
        self.schedule(true);
        self.manage(true);
        self.join();
        for member in &self.members {
            self.cluster_is(member.name(), "True").await;
        }
    }

    /// Starts the components of Karmada anew, but karmada-controller-manager and karmada-scheduler.
    async fn control(&mut self) {
        self.components.clear();
        let control = self.karmada.program("kube-controller-manager", &manager(&self.karmada, CONTROLLERS));
        let aggregated = self.aggregated(&self.etcd.url).await;
        let webhook = self.admission().await;
        self.components = vec![control, aggregated, webhook];
    }

    /// Starts karmada-scheduler, or ends it.
    pub fn schedule(&mut self, runs: bool) {
        self.scheduler = None;
        if runs {
            self.schedule_with("Failover=true,WorkloadAffinity=true", &[]);
        }
    }

    /// Starts karmada-scheduler anew, with these features and more arguments.
    pub fn schedule_with(&mut self, features: &str, more: &[&str]) {
        self.scheduler = None;
        let mut arguments = flags([
            ("kubeconfig", self.karmada.kubeconfig().into()),
            ("leader-elect", "false".into()),
            ("metrics-bind-address", "0".into()),
            ("health-probe-bind-address", "0".into()),
            ("feature-gates", features.into()),
        ]);
        arguments.extend(more.iter().map(Into::into));
        self.scheduler = Some(self.karmada.program("karmada-scheduler", &arguments));
    }

    /// Ends everything.
    pub fn end(&mut self) {
        (self.manager, self.scheduler) = (None, None);
        self.agents.clear();
        self.components.clear();
        self.members.iter_mut().for_each(Member::kill);
        self.kill();
        self.of_members.kill();
    }

    /// etcd and karmada-apiserver die together: connections are refused.
    pub fn kill(&mut self) {
        self.karmada.kill();
        self.etcd.kill();
    }

    /// They are back, with what they had.
    pub async fn heal(&mut self) {
        self.etcd.serve();
        self.karmada.serve();
        self.karmada.is_ready().await;
    }

    /// The control plane goes back to a snapshot of [`Etcd::snapshot`]. karmada-controller-manager and karmada-scheduler
    /// are ended, and not started again.
    pub async fn restore(&mut self, snapshot: &Path) {
        self.manager = None;
        self.scheduler = None;
        self.components.clear();
        self.kill();
        self.etcd.restore(snapshot);
        self.heal().await;
        self.control().await;
    }

    /// Starts karmada-controller-manager, or ends it.
    pub fn manage(&mut self, runs: bool) {
        self.manager = None;
        if runs {
            self.manage_with("*,-federatedHorizontalPodAutoscaler,-cronFederatedHorizontalPodAutoscaler", &[]);
        }
    }

    /// Starts karmada-controller-manager anew, with these controllers and more arguments.
    pub fn manage_with(&mut self, controllers: &str, more: &[&str]) {
        self.manager = None;
        let mut arguments = flags([
            ("kubeconfig", self.karmada.kubeconfig().into()),
            ("leader-elect", "false".into()),
            ("controllers", controllers.into()),
            ("metrics-bind-address", "0".into()),
            ("health-probe-bind-address", "0".into()),
            ("cluster-status-update-frequency", "2s".into()),
            ("cluster-failure-threshold", "5s".into()),
            ("cluster-success-threshold", "5s".into()),
            ("cluster-monitor-period", "2s".into()),
            ("cluster-monitor-grace-period", "15s".into()),
            ("feature-gates", "Failover=true,FederatedQuotaEnforcement=true,WorkloadAffinity=true".into()),
            ("enable-no-execute-taint-eviction", "true".into()),
        ]);
        arguments.extend(more.iter().map(Into::into));
        self.manager = Some(self.karmada.program("karmada-controller-manager", &arguments));
    }

    /// karmada-controller-manager, if it runs.
    pub fn manager(&self) -> Option<&Program> {
        self.manager.as_ref()
    }

    /// Karmada's definitions, as its installation patches them.
    pub fn definitions(&self) -> Vec<Value> {
        let bases = self.assets.manifest("charts/karmada/_crds/bases");
        let mut definitions: Vec<Value> = yaml_files(&bases).iter().flat_map(|text| documents(text)).collect();
        let url = format!("https://127.0.0.1:{}/convert", self.webhook);
        for definition in &mut definitions {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default();
            if matches!(name, "resourcebindings.work.karmada.io" | "clusterresourcebindings.work.karmada.io") {
                definition["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"url": url, "caBundle": self.bundle()}}});
            }
        }
        definitions
    }

    fn bundle(&self) -> String {
        STANDARD.encode(self.karmada.authority.pem())
    }

    async fn established(&self) {
        let api =
            self.karmada.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", None);
        until("Karmada's definitions are served", async || {
            let Ok(list) = api.list(&Default::default()).await else { return false };
            list.items.iter().all(|one| {
                let conditions = one.data["status"]["conditions"].as_array();
                conditions.into_iter().flatten().any(|one| one["type"] == "Established" && one["status"] == "True")
            })
        })
        .await;
    }

    async fn aggregated(&self, etcd: &str) -> Program {
        let karmada = &self.karmada;
        let names = ["localhost", "karmada-aggregated-apiserver.karmada-system.svc"];
        let (certificate, key) = self.server("karmada-aggregated-apiserver", &names);
        let kubeconfig = karmada.kubeconfig();
        let program = karmada.program(
            "karmada-aggregated-apiserver",
            &flags([
                ("kubeconfig", kubeconfig.clone().into()),
                ("authentication-kubeconfig", kubeconfig.clone().into()),
                ("authorization-kubeconfig", kubeconfig.into()),
                ("etcd-servers", etcd.into()),
                ("tls-cert-file", certificate.into()),
                ("tls-private-key-file", key.into()),
                ("bind-address", "127.0.0.1".into()),
                ("secure-port", karmada.ports.aggregated.to_string().into()),
            ]),
        );
        let service = "karmada-aggregated-apiserver";
        karmada.aggregate("cluster.karmada.io", "v1alpha1", "karmada-system", service, karmada.ports.aggregated).await;
        let clusters = karmada.api("cluster.karmada.io/v1alpha1", "Cluster", "clusters", None);
        until("cluster.karmada.io answers", async || clusters.list(&Default::default()).await.is_ok()).await;
        program
    }

    async fn admission(&self) -> Program {
        let directory = home(self.directory.path(), "karmada-webhook-certificate");
        let pair = self.karmada.authority.server("karmada-webhook", &["127.0.0.1", "localhost"]);
        std::fs::write(directory.join("tls.crt"), pair.certificate).unwrap();
        std::fs::write(directory.join("tls.key"), pair.key).unwrap();
        let program = self.karmada.program(
            "karmada-webhook",
            &flags([
                ("kubeconfig", self.karmada.kubeconfig().into()),
                ("bind-address", "127.0.0.1".into()),
                ("secure-port", self.webhook.to_string().into()),
                ("cert-dir", directory.into()),
                ("metrics-bind-address", "0".into()),
                ("health-probe-bind-address", "0".into()),
                ("allow-no-execute-taint-policy", "true".into()),
                ("feature-gates", "FederatedQuotaEnforcement=true".into()),
            ]),
        );
        until("karmada-webhook listens", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", self.webhook)).await.is_ok()
        })
        .await;
        for configuration in self.configurations() {
            let plural = match configuration["kind"].as_str() {
                Some("MutatingWebhookConfiguration") => "mutatingwebhookconfigurations",
                _ => "validatingwebhookconfigurations",
            };
            self.karmada.apply(plural, &configuration).await;
        }
        program
    }

    /// Karmada's webhook configurations, as its installation fills them in.
    pub fn configurations(&self) -> Vec<Value> {
        let text =
            std::fs::read_to_string(self.assets.manifest("artifacts/deploy/webhook-configuration.yaml")).unwrap();
        let here = format!("127.0.0.1:{}", self.webhook);
        let text = text.replace("{{caBundle}}", &self.bundle());
        documents(&text.replace("karmada-webhook.karmada-system.svc:443", &here))
    }

    /// Files with a certificate of Karmada's authority, and its key.
    pub fn server(&self, name: &str, names: &[&str]) -> (std::path::PathBuf, std::path::PathBuf) {
        let pair = self.karmada.authority.server(name, names);
        let file = |ending: &str| self.karmada.file(&format!("{name}.{ending}"));
        std::fs::write(file("crt"), pair.certificate).unwrap();
        std::fs::write(file("key"), pair.key).unwrap();
        (file("crt"), file("key"))
    }

    fn join(&self) {
        for member in &self.members {
            self.joins(member.name());
        }
    }

    /// A member joins, in a region of its own.
    pub fn joins(&self, name: &str) {
        let number = self.members.iter().position(|member| member.name() == name).unwrap();
        self.karmadactl(name, &["join", name, "--cluster-provider=suite", &format!("--cluster-region=region{number}")]);
    }

    /// A member is taken out of the federation.
    pub fn unjoins(&self, name: &str) {
        // It looks for a context of the member's name unless told otherwise.
        self.karmadactl(name, &["unjoin", name, "--cluster-context=test"]);
    }

    /// A member that is not in the federation is registered by karmada-agent, which pulls its work.
    pub async fn pulls(&mut self, name: &str) {
        let member = &self.member(name).plane;
        let arguments = flags([
            ("kubeconfig", member.kubeconfig().into()),
            ("karmada-kubeconfig", self.karmada.kubeconfig().into()),
            ("cluster-name", name.into()),
            ("cluster-api-endpoint", format!("https://127.0.0.1:{}", member.ports.apiserver).into()),
            ("cluster-provider", "suite".into()),
            ("cluster-region", "far".into()),
            ("cluster-status-update-frequency", "2s".into()),
            ("cluster-failure-threshold", "5s".into()),
            ("cluster-success-threshold", "5s".into()),
            ("controllers", "*,-certRotation,-serviceExport,-endpointsliceCollect".into()),
            ("report-secrets", "None".into()),
            ("leader-elect", "false".into()),
            ("metrics-bind-address", "0".into()),
            ("health-probe-bind-address", "0".into()),
        ]);
        let agent = member.program("karmada-agent", &arguments);
        self.agents.push((name.to_owned(), agent));
        self.cluster_is(name, "True").await;
    }

    /// Ends karmada-agent of a member, and takes the member out of the federation.
    pub async fn pulls_no_more(&mut self, name: &str) {
        let clusters = self.karmada.api("cluster.karmada.io/v1alpha1", "Cluster", "clusters", None);
        clusters.delete(name, &Default::default()).await.unwrap();
        until(&format!("Cluster {name} has gone"), async || {
            clusters.get_opt(name).await.is_ok_and(|one| one.is_none())
        })
        .await;
        self.agents.retain(|(agent, _)| agent != name);
    }

    fn karmadactl(&self, name: &str, arguments: &[&str]) {
        let mut said = String::new();
        let kubeconfig = self.member(name).linked();
        let done = (0..10).any(|_| {
            let output = Command::new(self.assets.program("karmadactl"))
                .args(arguments)
                .arg(format!("--kubeconfig={}", self.karmada.kubeconfig().display()))
                .arg(format!("--cluster-kubeconfig={}", kubeconfig.display()))
                .output()
                .unwrap();
            said = String::from_utf8_lossy(&output.stderr).into_owned();
            output.status.success()
        });
        assert!(done, "karmadactl {arguments:?}: {said}");
    }

    /// Waits until Karmada says this of a member: `True`, `False`.
    pub async fn cluster_is(&self, name: &str, ready: &str) {
        let clusters = self.karmada.api("cluster.karmada.io/v1alpha1", "Cluster", "clusters", None);
        until(&format!("Cluster {name} is Ready={ready}"), async || {
            let Ok(cluster) = clusters.get(name).await else { return false };
            let conditions = cluster.data["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == ready)
        })
        .await;
    }

    pub fn member(&self, name: &str) -> &Member {
        self.members.iter().find(|member| member.name() == name).unwrap()
    }

    pub fn member_mut(&mut self, name: &str) -> &mut Member {
        self.members.iter_mut().find(|member| member.name() == name).unwrap()
    }

    /// Pods of an app that are ready, in all members.
    pub fn ready(&self, app: &str) -> u32 {
        self.members.iter().map(|member| member.pods.ready(app)).sum()
    }

    /// What the kubelets know, by member.
    pub fn pods(&self) -> Vec<Arc<crate::kubelet::Pods>> {
        self.members.iter().map(|member| Arc::clone(&member.pods)).collect()
    }
}

/// Waits until something holds; says what does not.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    within(PATIENCE, what, &mut holds).await;
}
