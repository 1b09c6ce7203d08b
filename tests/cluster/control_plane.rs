//! A real etcd and kube-apiserver on loopback, for the tests that need one. I/O: processes, files, sockets.
//!
//! ```ignore
//! let Some(plane) = ControlPlane::shared("what this test shows") else { return };
//! let client = plane.client().await;                  // a client lives in the runtime of its test
//! let namespace = plane.namespace("crd-verdicts");    // one per test: all tests share the plane
//! let answer = plane.kubectl(&["apply", "-f", "-"], &manifest);
//! ```
//!
//! The programs must be in `KUBEBUILDER_ASSETS` (default `/usr/local/kubebuilder/bin`); without them a test reports
//! this and passes.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::rig::absent;
use crate::rig::authority::{self, Authority};
use crate::rig::program::{self, Program, free_ports, home};

/// How long the API server may take until it is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How often kubectl is asked whether the CRDs are served.
const ATTEMPTS: usize = 200;

/// A running control plane. Dropped, it stops.
pub struct ControlPlane {
    directory: PathBuf,
    assets: PathBuf,
    etcd_url: String,
    ports: Ports,
    /// etcd and kube-apiserver; those that were killed stay here, as their files go with them.
    programs: Vec<Program>,
}

#[derive(Clone, Copy)]
struct Ports {
    client: u16,
    peer: u16,
    secure: u16,
}

impl ControlPlane {
    /// The plane of this process with our CRDs, started by the first caller; `None` where the programs are absent.
    pub fn shared(shows: &str) -> Option<&'static Self> {
        static PLANE: OnceLock<Option<ControlPlane>> = OnceLock::new();
        let plane = PLANE.get_or_init(|| {
            assets()?;
            let plane = Self::own(shows)?;
            plane.install_crds();
            Some(plane)
        });
        if plane.is_none() {
            Self::say_without(shows);
        }
        plane.as_ref()
    }

    /// The shared plane for what is held to a recording without it: its absence is told only where it is required.
    pub fn beside_a_recording(shows: &str) -> Option<&'static Self> {
        if assets().is_some() || absent::is_required("kube-apiserver") { Self::shared(shows) } else { None }
    }

    /// A plane of the caller's own, without our CRDs; `None` where the programs are absent.
    pub fn own(shows: &str) -> Option<Self> {
        let Some(assets) = assets() else {
            Self::say_without(shows);
            return None;
        };
        // A thread of its own: the caller may be inside a runtime, which cannot block on another one.
        Some(std::thread::spawn(move || Self::start(&assets)).join().expect("the control plane starts"))
    }

    fn say_without(shows: &str) {
        absent::without("kube-apiserver", shows, "set KUBEBUILDER_ASSETS to a directory with etcd and kube-apiserver");
    }

    /// Starts a plane and waits until it is ready.
    fn start(assets: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("fhpa-plane").tempdir().unwrap().keep();
        let server_home = home(&directory, "apiserver");
        let [client, peer, secure] = free_ports();
        authority::write(&server_home, secure, &Authority::new("fhpa test authority"));
        let etcd_url = format!("http://127.0.0.1:{client}");
        let ports = Ports { client, peer, secure };
        let mut plane = Self { directory, assets: assets.to_owned(), etcd_url, ports, programs: Vec::new() };
        plane.run("etcd", "apiserver");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(plane.is_ready());
        plane
    }

    /// Starts both programs, whose files are in these folders; keys and certificates are where they first were.
    fn run(&mut self, etcd: &str, apiserver: &str) {
        let (etcd_home, server_home) = (home(&self.directory, etcd), home(&self.directory, apiserver));
        let arguments = program::etcd(&etcd_home, &self.etcd_url, self.ports.peer);
        self.programs.push(Program::start(&etcd_home, &self.assets.join("etcd"), &arguments));
        let mut arguments =
            program::kube_apiserver(&self.directory.join("apiserver"), &self.etcd_url, self.ports.secure);
        arguments.push("--service-cluster-ip-range=10.0.0.0/24".into());
        arguments.push("--disable-admission-plugins=ServiceAccount".into());
        self.programs.push(Program::start(&server_home, &self.assets.join("kube-apiserver"), &arguments));
    }

    /// Kills both programs, and starts them again on what etcd has now, or on a backup. Returns the folder of what etcd
    /// had in this moment: a backup.
    pub async fn restart(&mut self, backup: Option<&Path>) -> PathBuf {
        let number = self.programs.len() / 2;
        for program in self.programs.iter().skip(2 * (number - 1)) {
            program.signal("KILL");
        }
        // Until a killed program has ended it holds its ports: the next one would end at once.
        let free = tokio::time::timeout(READY_WITHIN, self.ports_are_free()).await;
        free.expect("programs that were killed end");
        let folder = |number: usize| if number == 1 { "etcd".to_owned() } else { format!("etcd-{number}") };
        let last = self.directory.join(folder(number)).join("data");
        let next = home(&self.directory, &folder(number + 1)).join("data");
        let copied = Command::new("cp").arg("-r").arg(backup.unwrap_or(&last)).arg(&next).status().unwrap();
        assert!(copied.success());
        self.run(&folder(number + 1), &format!("apiserver-{}", number + 1));
        self.is_ready().await;
        last
    }

    async fn ports_are_free(&self) {
        let mut turn = tokio::time::interval(Duration::from_millis(10));
        for port in [self.ports.client, self.ports.peer, self.ports.secure] {
            while TcpListener::bind(("127.0.0.1", port)).is_err() {
                turn.tick().await;
            }
        }
    }

    async fn is_ready(&self) {
        if tokio::time::timeout(READY_WITHIN, self.ready()).await.is_err() {
            let tail = self.programs.last().map(|apiserver| apiserver.tail(20)).unwrap_or_default();
            panic!("kube-apiserver was not ready in {READY_WITHIN:?}; its last lines, newest first:\n{tail}");
        }
    }

    /// Applies our CRDs and waits until both are served.
    pub fn install_crds(&self) {
        for (_, text) in fhpa::api::crd::files().unwrap() {
            self.apply(&text);
        }
        self.established();
    }

    /// Applies the CRDs of Karmada's kinds that the controller watches.
    pub fn install_karmada(&self) {
        for definition in fhpa::playground::karmada::definitions().unwrap() {
            self.apply(&definition.to_string());
        }
        self.established();
    }

    /// Waits until all kinds are served. (`kubectl wait` fails while a CRD has no condition at all.)
    pub fn established(&self) {
        let established = "-o=jsonpath={.items[*].status.conditions[?(@.type=='Established')].status}";
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            said = self.kubectl(&["get", "crds", established], "").1;
            let words: Vec<&str> = said.split(' ').collect();
            if words.len() >= 2 && words.iter().all(|word| *word == "True") {
                return;
            }
        }
        panic!("the CRDs are not served: {said}");
    }

    async fn ready(&self) {
        let client = self.client().await;
        let mut turn = tokio::time::interval(Duration::from_millis(100));
        loop {
            turn.tick().await;
            let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
            if client.request_text(request).await.is_ok_and(|text| text == "ok") {
                return;
            }
        }
    }

    /// Kubeconfig of an administrator, for kubectl and for programs under test.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("apiserver/kubeconfig")
    }

    /// Kubeconfig of a user who may do what roles give, and nothing else.
    pub fn kubeconfig_of(&self, user: &str) -> String {
        let text = std::fs::read_to_string(self.kubeconfig()).unwrap();
        authority::impersonating(&text, user)
    }

    /// A client with all rights, bound to the runtime that asks.
    pub async fn client(&self) -> kube::Client {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        kube::Client::try_from(config).unwrap()
    }

    /// Runs kubectl with `input` as its standard input; returns whether it succeeded and all it printed.
    pub fn kubectl(&self, arguments: &[&str], input: &str) -> (bool, String) {
        let beside = self.assets.join("kubectl");
        let program = if beside.exists() { beside } else { PathBuf::from("kubectl") };
        let mut child = Command::new(program)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .arg("--cache-dir")
            .arg(self.directory.join("apiserver/kubectl-cache"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl is beside kube-apiserver or on PATH");
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.success(), text)
    }

    /// Applies a manifest on the server's side, as the one who owns every field of it.
    pub fn apply(&self, manifest: &str) {
        let (applied, said) = self.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], manifest);
        assert!(applied, "{said}");
    }

    /// Makes the namespace `name` and returns it.
    pub fn namespace<'a>(&self, name: &'a str) -> &'a str {
        let (made, said) = self.kubectl(&["create", "namespace", name], "");
        assert!(made, "{said}");
        name
    }
}

/// The directory of the programs, when all are there.
fn assets() -> Option<PathBuf> {
    let directory = std::env::var_os("KUBEBUILDER_ASSETS").unwrap_or_else(|| "/usr/local/kubebuilder/bin".into());
    let directory = PathBuf::from(directory);
    ["etcd", "kube-apiserver"].iter().all(|program| directory.join(program).exists()).then_some(directory)
}
