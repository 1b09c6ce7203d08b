//! The commands with a controller, as processes with an embedded control plane on a socket.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::Which;
use embedded_apiserver::serve::Listening;
use embedded_apiserver::status::StatusError;
use fhpa::api;
use fhpa::playground::karmada;
use fhpa::runtime::clock;
use futures::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;
use kube::api::{Patch, PatchParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::bed::objects::deployment;
use crate::bed::within;
use crate::cluster::control_plane::ControlPlane;
use crate::webhook::client::{H2, Sender, connector};
use crate::webhook::drain::probe;

/// Short times, so that a test need not be long.
const LEASE: SignedDuration = SignedDuration::from_secs(2);
const TIMINGS: [&str; 6] = ["--lease-duration", "2s", "--renew-deadline", "1200ms", "--retry-period", "200ms"];

/// A control plane that listens.
struct Plane {
    server: ApiServer,
    _listening: Listening,
    directory: tempfile::TempDir,
}

impl Plane {
    async fn new(namespaces: &[&str]) -> Self {
        let server = ApiServer::builder().build();
        for definition in api::crd::all().unwrap() {
            server.create(definition).await.unwrap();
        }
        for definition in karmada::definitions().unwrap() {
            server.create(definition).await.unwrap();
        }
        let plane = Self {
            _listening: server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap(),
            directory: tempfile::tempdir().unwrap(),
            server,
        };
        for name in namespaces {
            plane.namespace(name).await;
        }
        std::fs::write(plane.kubeconfig(), plane._listening.kubeconfig("karmada")).unwrap();
        plane
    }

    async fn namespace(&self, name: &str) {
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.server.create(&space).await.unwrap();
    }

    fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.server.client(), "karmada-system")
    }

    /// The Lease as it is, and as each write leaves it until `last` holds it.
    async fn terms(&self, last: &'static str) -> impl Future<Output = Vec<LeaseSpec>> + use<> {
        let now = self.leases().get("fhpa").await.unwrap();
        let version = now.metadata.resource_version.unwrap();
        let events = self.leases().watch(&WatchParams::default(), &version).await.unwrap();
        async move {
            let mut events = Box::pin(events);
            let mut seen = vec![now.spec.unwrap()];
            while seen.last().is_some_and(|spec| spec.holder_identity.as_deref() != Some(last)) {
                match events.next().await.unwrap().unwrap() {
                    WatchEvent::Modified(lease) => seen.push(lease.spec.unwrap()),
                    event => panic!("{event:?}"),
                }
            }
            seen
        }
    }

    /// Waits until the Lease has this holder.
    async fn held_by(&self, holder: &str) -> Lease {
        let leases = self.leases();
        let is_holder = |lease: Option<&Lease>| {
            let spec = lease.and_then(|lease| lease.spec.as_ref());
            spec.and_then(|spec| spec.holder_identity.as_deref()) == Some(holder)
        };
        within(await_condition(leases, "fhpa", is_holder)).await.unwrap().unwrap()
    }
}

/// One process.
pub struct Replica {
    pub child: Child,
    log: watch::Receiver<Vec<Value>>,
    /// Where probes and metrics are.
    pub admin: SocketAddr,
    /// Where reviews are answered.
    pub webhook: Option<SocketAddr>,
    ca: PathBuf,
}

fn fhpa(command: &str, arguments: &[&str]) -> Command {
    let mut fhpa = Command::new(env!("CARGO_BIN_EXE_fhpa"));
    fhpa.arg(command).args(arguments).env_remove("KUBECONFIG").stderr(Stdio::piped()).kill_on_drop(true);
    fhpa
}

impl Replica {
    /// Starts `fhpa run`.
    async fn run(plane: &Plane, identity: &str, drain: &str) -> Self {
        let ca = plane.directory.path().join(format!("{identity}.crt"));
        let serve = ["--self-signed", "--listen", "127.0.0.1:0", "--shutdown-delay", drain, "--ca-output"];
        let more = [&serve[..], &[ca.to_str().unwrap()]].concat();
        Self::start("run", &plane.kubeconfig(), identity, &more, ca.clone()).await
    }

    /// Starts `fhpa controller`.
    async fn controller(plane: &Plane, identity: &str) -> Self {
        Self::start("controller", &plane.kubeconfig(), identity, &[], PathBuf::new()).await
    }

    pub async fn start(command: &str, kubeconfig: &Path, identity: &str, more: &[&str], ca: PathBuf) -> Self {
        let debug = ["--log-level", "debug"];
        Self::spawn(command, kubeconfig, identity, &[&debug[..], &TIMINGS, more].concat(), ca).await
    }

    /// As an operator starts it: times and log as they are by default.
    pub async fn spawn(command: &str, kubeconfig: &Path, identity: &str, more: &[&str], ca: PathBuf) -> Self {
        Self::spawn_as(command, kubeconfig, &[&["--identity", identity], more].concat(), ca).await
    }

    /// Starts `fhpa webhook`, which has no identity.
    pub async fn webhook(kubeconfig: &Path, ca: PathBuf) -> Self {
        let serve = ["--self-signed", "--listen", "127.0.0.1:0", "--ca-output", ca.to_str().unwrap()];
        Self::spawn_as("webhook", kubeconfig, &serve, ca.clone()).await
    }

    async fn spawn_as(command: &str, kubeconfig: &Path, more: &[&str], ca: PathBuf) -> Self {
        let fixed = ["--kubeconfig", kubeconfig.to_str().unwrap(), "--health-probe-bind-address", "127.0.0.1:0"];
        let mut child = fhpa(command, &[&fixed[..], more].concat()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (said, mut log) = watch::channel(Vec::new());
        tokio::spawn(async move {
            while let Some(line) = lines.next_line().await.unwrap() {
                said.send_modify(|all: &mut Vec<Value>| all.push(serde_json::from_str(&line).unwrap()));
            }
        });
        let serving = said_in(&mut log, "serving").await;
        let address = |key: &str| serving[key].as_str().map(|address| address.parse().unwrap());
        Self { child, log, admin: address("admin").unwrap(), webhook: address("listen"), ca }
    }

    /// Waits for a line of the log whose message begins like this.
    pub async fn says(&mut self, words: &str) -> Value {
        said_in(&mut self.log, words).await
    }

    fn said(&self, words: &str) -> usize {
        self.log.borrow().iter().filter(|line| begins(line, words)).count()
    }

    pub async fn is_ready(&self) {
        within(async { while probe(self.admin, "/readyz").await != (200, "ok\n".to_owned()) {} }).await;
    }

    /// Waits until the metrics have this line.
    pub async fn counts(&self, line: &str) {
        within(async { while !probe(self.admin, "/metrics").await.1.lines().any(|l| l == line) {} }).await;
    }

    /// What it counts.
    pub async fn metrics(&self) -> String {
        probe(self.admin, "/metrics").await.1
    }

    pub async fn signal(&self, name: &str) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().await.unwrap().success());
    }

    pub async fn ends(&mut self) -> Option<i32> {
        within(self.child.wait()).await.unwrap().code()
    }
}

fn begins(line: &Value, words: &str) -> bool {
    line["message"].as_str().is_some_and(|message| message.starts_with(words))
}

async fn said_in(log: &mut watch::Receiver<Vec<Value>>, words: &str) -> Value {
    let said = within(log.wait_for(|all| all.iter().any(|line| begins(line, words)))).await.expect("it says so");
    said.iter().find(|line| begins(line, words)).unwrap().clone()
}

async fn admits(address: SocketAddr, ca: &Path) -> bool {
    let ca = std::fs::read_to_string(ca).unwrap();
    let mut sender = Sender::connect(address, &connector(&ca, H2, None)).await.unwrap();
    sender.review("u").await.unwrap().admits("u")
}

#[tokio::test]
async fn one_replica_leads_and_the_other_serves_and_takes_over_at_once_when_it_ends() {
    let plane = Plane::new(&["karmada-system"]).await;
    let mut one = Replica::run(&plane, "one", "0").await;
    plane.held_by("one").await;
    one.is_ready().await;
    one.counts("fhpa_leader 1").await;
    one.counts(r#"fhpa_api_requests_total{verb="create",code="201"} 1"#).await;
    let two = Replica::run(&plane, "two", "0").await;
    two.is_ready().await;
    two.counts("fhpa_leader 0").await;
    for replica in [&one, &two] {
        assert!(admits(replica.webhook.unwrap(), &replica.ca).await, "each replica serves the webhook");
    }

    let terms = plane.terms("two").await;
    one.signal("TERM").await;
    assert_eq!(one.ends().await, Some(0));
    one.says("released the Lease").await;
    let terms = within(terms).await;
    let holders: Vec<_> = terms.iter().map(|spec| spec.holder_identity.as_deref().unwrap()).collect();
    assert!(holders.ends_with(&["", "two"]), "it did not wait for the lease to run out: {holders:?}");
    assert_eq!(terms.last().unwrap().lease_transitions, Some(1));
    two.counts("fhpa_leader 1").await;
    two.counts("fhpa_leader_transitions_total 1").await;
}

#[tokio::test]
async fn the_next_one_leads_while_the_webhook_of_the_last_one_still_serves() {
    let plane = Plane::new(&["karmada-system"]).await;
    let mut one = Replica::run(&plane, "one", "1h").await;
    plane.held_by("one").await;
    let _two = Replica::controller(&plane, "two").await;
    one.signal("TERM").await;
    plane.held_by("two").await;
    assert_eq!(probe(one.admin, "/readyz").await, (503, "not ready: the process is shutting down\n".to_owned()));
    one.counts("fhpa_leader 0").await;
    assert!(admits(one.webhook.unwrap(), &one.ca).await);
    one.signal("INT").await;
    assert_eq!(one.ends().await, Some(1), "the second signal does not wait");
}

#[tokio::test]
async fn a_leader_that_is_killed_is_followed_after_its_lease() {
    let plane = Plane::new(&["karmada-system"]).await;
    let mut one = Replica::controller(&plane, "one").await;
    plane.held_by("one").await;
    let two = Replica::controller(&plane, "two").await;
    two.is_ready().await;
    let terms = plane.terms("two").await;
    one.child.start_kill().unwrap();
    assert_eq!(one.ends().await, None);
    let terms = within(terms).await;
    let [.., last, next] = &terms[..] else { panic!("{terms:?}") };
    assert_eq!((last.holder_identity.as_deref(), next.holder_identity.as_deref()), (Some("one"), Some("two")));
    let (renewed, acquired) = (last.renew_time.as_ref().unwrap().0, next.acquire_time.as_ref().unwrap().0);
    assert!(acquired.duration_since(renewed) >= LEASE, "the lease was respected: {renewed}, {acquired}");
}

#[tokio::test]
async fn a_run_that_was_missed_while_nobody_was_there_is_made_up() {
    let plane = Plane::new(&["karmada-system", "prod"]).await;
    plane.server.create(&deployment("web", 2)).await.unwrap();
    // Due one or two minutes ago, in a schedule that comes once a day.
    let due = clock::wall() - SignedDuration::from_secs(90);
    let due = Timestamp::from_second(due.as_second() / 60 * 60).unwrap();
    let schedule = due.strftime("%M %H * * *").to_string();
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": "shop", "namespace": "prod"},
        "spec": {"scaleTargetRef": target, "rules": [
            {"name": "up", "schedule": schedule, "timeZone": "UTC", "targetReplicas": 5, "maxDelaySeconds": 3600}]}});
    plane.server.create(&object).await.unwrap();
    let status = json!({"status": {"executionHistories": [{"ruleName": "up", "nextExecutionTime": due.to_string()}]}});
    let crons = Api::<DynamicObject>::namespaced_with(
        plane.server.client(),
        "prod",
        &ApiResource::erase::<api::CronFederatedHPA>(&()),
    );
    crons.patch_status("shop", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();

    let one = Replica::controller(&plane, "one").await;
    let scaled = |web: Option<&Deployment>| web.and_then(|web| web.spec.as_ref()?.replicas) == Some(5);
    let deployments: Api<Deployment> = Api::namespaced(plane.server.client(), "prod");
    within(await_condition(deployments, "web", scaled)).await.unwrap();
    one.counts(r#"fhpa_cron_executions_total{result="executed"} 1"#).await;
    one.counts("fhpa_cron_late_runs_total 1").await;
    one.counts("fhpa_cron_rules 1").await;
}

#[tokio::test]
async fn a_lease_that_cannot_be_held_is_said_once_with_what_to_do_and_tried_again() {
    let plane = Plane::new(&[]).await;
    let mut one = Replica::controller(&plane, "one").await;
    let line = one.says("failed to acquire or read the Lease").await;
    let (message, error) = (line["message"].as_str().unwrap(), line["error"].as_str().unwrap());
    assert!(message.contains("the namespace does not exist: create it"), "{message}");
    assert!(message.contains("--lease-namespace") && error.contains("karmada-system"), "{message} {error}");
    one.is_ready().await;
    one.says("the Lease is still unreachable").await;
    let leases = Which { resource: "leases".into(), ..Which::default() };
    let denied = "leases.coordination.k8s.io \"fhpa\" is forbidden: User \"fhpa\" cannot get resource \"leases\"";
    plane.server.faults().fail(leases, 1_000_000, StatusError::plain(403, "Forbidden", denied));
    let mut words = "failed to acquire or read the Lease; retrying; the user of the kubeconfig".to_owned();
    words.push_str(" needs the verbs get, create and update on leases");
    one.says(&words).await;
    plane.namespace("karmada-system").await;
    plane.server.faults().heal();
    one.says("the Lease is reachable again").await;
    plane.held_by("one").await;
    assert_eq!(one.said("failed to acquire or read the Lease"), 2);
}

#[tokio::test]
async fn a_lease_that_is_forbidden_for_a_moment_is_no_missing_right() {
    let plane = Plane::new(&["karmada-system"]).await;
    let mut one = Replica::controller(&plane, "one").await;
    plane.held_by("one").await;
    let leases = Which { resource: "leases".into(), ..Which::default() };
    let denied = "leases.coordination.k8s.io \"fhpa\" is forbidden: User \"fhpa\" cannot update resource \"leases\"";
    plane.server.faults().fail(leases, 1, StatusError::plain(403, "Forbidden", denied));
    let line = one.says("the Lease is forbidden for the moment").await;
    assert_eq!(line["level"], "INFO", "{line}");
    one.says("the Lease is reachable again").await;
    plane.held_by("one").await;
    assert_eq!(one.said("failed to acquire or read the Lease"), 0);
}

#[tokio::test]
async fn a_lease_is_asked_for_held_and_released_on_a_real_api_server() {
    let Some(plane) = ControlPlane::own("the Lease of a process") else { return };
    plane.install_crds();
    plane.install_karmada();
    let namespace = ["--lease-namespace", "lease-of-a-process"];
    let mut one = Replica::start("controller", &plane.kubeconfig(), "one", &namespace, PathBuf::new()).await;
    one.says("failed to acquire or read the Lease; retrying; the namespace does not exist").await;
    plane.namespace(namespace[1]);
    one.counts("fhpa_leader 1").await;
    one.is_ready().await;

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    std::fs::write(&file, plane.kubeconfig_of("nobody")).unwrap();
    let mut denied = Replica::start("controller", &file, "two", &namespace, PathBuf::new()).await;
    let line = denied.says("failed to acquire or read the Lease; retrying; the user of the kubeconfig").await;
    assert!(line["error"].as_str().unwrap().contains("User \"nobody\" cannot get resource \"leases\""), "{line}");

    one.signal("TERM").await;
    assert_eq!(one.ends().await, Some(0));
    one.says("released the Lease").await;
    let leases: Api<Lease> = Api::namespaced(plane.client().await, namespace[1]);
    let spec = leases.get("fhpa").await.unwrap().spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some(""), Some(1)));
}

#[tokio::test]
async fn what_prevents_a_start_is_said_with_the_flag() {
    let plane = Plane::new(&[]).await;
    let kubeconfig = plane.kubeconfig();
    let there = ["--kubeconfig", kubeconfig.to_str().unwrap()];
    let cases: [(&[&str], &str); 5] = [
        (&[], "give the kubeconfig of karmada-apiserver with --kubeconfig or in the variable KUBECONFIG"),
        (&["--renew-deadline", "15s"], "--renew-deadline 15s"),
        (&["--retry-period", "0"], "the retry period must be greater than 0"),
        (&["--identity", " "], "--identity"),
        (&["--offline"], "unexpected argument '--offline'"),
    ];
    for (arguments, words) in cases {
        let with: &[&str] = if arguments.is_empty() { &[] } else { &there };
        let output = fhpa("controller", &[with, arguments].concat()).output().await.unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}
