//! A real etcd and kube-apiserver on loopback, for the tests that need one. I/O: processes, files, sockets.
//!
//! ```ignore
//! let Some(plane) = ControlPlane::shared("what this test shows") else { return };
//! let client = plane.client().await;                  // a client lives in the runtime of its test
//! let namespace = plane.namespace("crd-verdicts");    // one per test: all tests share the plane
//! let answer = plane.kubectl(&["apply", "-f", "-"], &manifest);
//! ```
//!
//! The programs are looked for in `KUBEBUILDER_ASSETS` (default `/usr/local/kubebuilder/bin`); without them a test
//! says so and passes. They run under a shell that reads a pipe of ours: when this process goes, however it goes,
//! the pipe closes, the shell kills its program and removes its files.

use std::ffi::OsString;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};

/// How long the API server may take until it is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How often kubectl is asked whether the CRDs are served.
const ATTEMPTS: usize = 200;

/// `$1`: directory of the program, removed at the end; the rest: the program and its arguments.
const GUARD: &str = r#"home=$1; shift
"$@" >"$home/log" 2>&1 </dev/null & program=$!
cat >/dev/null
exec 2>/dev/null
kill -9 $program; wait $program
rm -rf "$home"; rmdir "$(dirname "$home")""#;

/// A running control plane. Dropped, it stops.
pub struct ControlPlane {
    directory: PathBuf,
    assets: PathBuf,
    _etcd: Guarded,
    _apiserver: Guarded,
}

/// A program that lives no longer than this value or this process.
struct Guarded {
    shell: Child,
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
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
        eprintln!(
            "ran without kube-apiserver: {shows} (set KUBEBUILDER_ASSETS to a directory with etcd and kube-apiserver)"
        );
    }

    /// Starts a plane and waits until it is ready.
    fn start(assets: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("fhpa-plane").tempdir().unwrap().keep();
        let etcd_home = home(&directory, "etcd");
        let server_home = home(&directory, "apiserver");
        let [client_port, peer_port, secure_port] = free_ports();
        let etcd_url = format!("http://127.0.0.1:{client_port}");
        let etcd = guarded(&etcd_home, &assets.join("etcd"), &etcd_arguments(&etcd_home, &etcd_url, peer_port));
        certificates(&server_home, secure_port);
        let arguments = apiserver_arguments(&server_home, &etcd_url, secure_port);
        let apiserver = guarded(&server_home, &assets.join("kube-apiserver"), &arguments);
        let plane = Self { directory, assets: assets.to_owned(), _etcd: etcd, _apiserver: apiserver };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            if tokio::time::timeout(READY_WITHIN, plane.ready()).await.is_err() {
                let log = std::fs::read_to_string(server_home.join("log")).unwrap_or_default();
                let tail: Vec<&str> = log.lines().rev().take(20).collect();
                panic!(
                    "kube-apiserver was not ready in {READY_WITHIN:?}; its last lines, newest first:\n{}",
                    tail.join("\n")
                );
            }
        });
        plane
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
        let mut kubeconfig: serde_json::Value = serde_json::from_str(&text).unwrap();
        kubeconfig["users"][0]["user"]["as"] = user.into();
        kubeconfig.to_string()
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

fn home(directory: &Path, name: &str) -> PathBuf {
    let home = directory.join(name);
    std::fs::create_dir(&home).unwrap();
    home
}

/// Ports that were free a moment ago; all are held while they are chosen, so that they differ.
fn free_ports() -> [u16; 3] {
    let held = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

fn guarded(home: &Path, program: &Path, arguments: &[OsString]) -> Guarded {
    let shell = Command::new("sh")
        // Memory that is not looked for so often: a third less work.
        .env("GOGC", "400")
        .args(["-c", GUARD, "guard"])
        .arg(home)
        .arg(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    Guarded { shell }
}

/// `--name=value` for each pair.
fn flags<const N: usize>(pairs: [(&str, OsString); N]) -> Vec<OsString> {
    let flag = |(name, value): (&str, OsString)| {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value);
        flag
    };
    pairs.map(flag).into()
}

fn etcd_arguments(home: &Path, url: &str, peer_port: u16) -> Vec<OsString> {
    let peer = format!("http://127.0.0.1:{peer_port}");
    flags([
        ("data-dir", home.join("data").into()),
        ("listen-client-urls", url.into()),
        ("advertise-client-urls", url.into()),
        ("listen-peer-urls", peer.clone().into()),
        ("initial-advertise-peer-urls", peer.clone().into()),
        ("initial-cluster", format!("default={peer}").into()),
    ])
}

fn apiserver_arguments(home: &Path, etcd: &str, port: u16) -> Vec<OsString> {
    flags([
        ("etcd-servers", etcd.into()),
        ("bind-address", "127.0.0.1".into()),
        ("advertise-address", "127.0.0.1".into()),
        ("secure-port", port.to_string().into()),
        ("cert-dir", home.into()),
        ("tls-cert-file", home.join("server.crt").into()),
        ("tls-private-key-file", home.join("server.key").into()),
        ("client-ca-file", home.join("ca.crt").into()),
        ("service-account-issuer", "https://kubernetes.default.svc".into()),
        ("service-account-key-file", home.join("account.pub").into()),
        ("service-account-signing-key-file", home.join("account.key").into()),
        ("service-cluster-ip-range", "10.0.0.0/24".into()),
        ("authorization-mode", "RBAC".into()),
        ("disable-admission-plugins", "ServiceAccount".into()),
        ("endpoint-reconciler-type", "none".into()),
    ])
}

/// Writes the certificates of the API server and the kubeconfig of an administrator.
fn certificates(home: &Path, port: u16) {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "fhpa test authority");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();

    let mut server = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    server.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
    let server_key = KeyPair::generate().unwrap();
    let server = server.signed_by(&server_key, &authority).unwrap();

    let mut admin = CertificateParams::default();
    admin.distinguished_name.push(DnType::CommonName, "admin");
    admin.distinguished_name.push(DnType::OrganizationName, "system:masters");
    admin.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
    let admin_key = KeyPair::generate().unwrap();
    let admin = admin.signed_by(&admin_key, &authority).unwrap();

    let account_key = KeyPair::generate().unwrap();
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": home.join("ca.crt")}}],
        "users": [{"name": "admin", "user": {
            "client-certificate": home.join("admin.crt"), "client-key": home.join("admin.key")}}],
    });
    for (name, text) in [
        ("ca.crt", authority.pem()),
        ("server.crt", server.pem()),
        ("server.key", server_key.serialize_pem()),
        ("account.key", account_key.serialize_pem()),
        ("account.pub", account_key.public_key_pem()),
        ("admin.crt", admin.pem()),
        ("admin.key", admin_key.serialize_pem()),
        ("kubeconfig", kubeconfig.to_string()),
    ] {
        std::fs::write(home.join(name), text).unwrap();
    }
}
