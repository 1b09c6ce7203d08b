//! An installation of fhpa: installed once, two replicas behind one address. I/O: processes, sockets.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use base64::Engine as _;
use kube::api::Api;
use kube::config::Kubeconfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::lab::{Lab, until};
use crate::manifests::documents;
use crate::rig::authority::{self, Authority};
use crate::rig::program::{Program, free_ports, home};

/// User of the processes, who has what the roles give.
pub const USER: &str = "fhpa";
/// An external metric that is summed over the members.
pub const JOBS: &str = "jobs";
const REPLICAS: [&str; 2] = ["one", "two"];

/// An installation.
pub struct Fhpa {
    replicas: Vec<(&'static str, Program)>,
    home: PathBuf,
    /// Addresses of the webhooks behind the one that is registered.
    pub ports: [u16; 2],
    /// What `fhpa install` registers.
    url: String,
    relay: JoinHandle<()>,
    arguments: Vec<OsString>,
}

impl Drop for Fhpa {
    fn drop(&mut self) {
        self.relay.abort();
    }
}

impl Fhpa {
    /// Installs, and starts both replicas with more arguments.
    pub async fn start(lab: &Lab, more: &[&str]) -> Self {
        let home = home(lab.directory.path(), "fhpa");
        let pair = lab.karmada.authority.server("fhpa", &["127.0.0.1", "localhost"]);
        for (name, text) in
            [("tls.crt", pair.certificate), ("tls.key", pair.key), ("ca.crt", lab.karmada.authority.pem())]
        {
            std::fs::write(home.join(name), text).unwrap();
        }
        let admin = std::fs::read_to_string(lab.karmada.kubeconfig()).unwrap();
        std::fs::write(home.join("kubeconfig"), authority::impersonating(&admin, USER)).unwrap();
        let [port, one, two] = free_ports();
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let fhpa = Self {
            replicas: Vec::new(),
            relay: tokio::spawn(relay(listener, [one, two])),
            arguments: more.iter().map(OsString::from).collect(),
            ports: [one, two],
            url: format!("https://127.0.0.1:{port}/"),
            home,
        };
        let mut fhpa = fhpa;
        fhpa.allow(lab, &[]).await;
        // Replicas answer before they are registered, as their readiness has it in a pod.
        for name in REPLICAS {
            fhpa.run(name);
        }
        fhpa.install(lab, &[]);
        fhpa.leads(lab).await;
        fhpa
    }

    /// Installs again, so that more kinds are scaled: the arguments of `--scale-kind`.
    pub async fn allows(&self, lab: &Lab, kinds: &[String]) {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("--scale-kind={kind}")).collect();
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        self.allow(lab, &kinds).await;
        self.install(lab, &kinds);
    }

    /// Installs again.
    pub fn install(&self, lab: &Lab, more: &[&str]) {
        let ca = self.home.join("ca.crt").display().to_string();
        let arguments = ["--user", USER, "--url", &self.url, "--ca-file", &ca];
        self.does(lab, "install", &[&arguments, more].concat());
    }

    /// Gives the user its rights: first what members need, and the roles of the control plane.
    async fn allow(&self, lab: &Lab, more: &[&str]) {
        self.does(lab, "install", &[&["--user", USER], more].concat());
        let output = command(lab, "install", &[&["--user", USER, "--member-rbac", "--output", "-"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for member in &lab.members {
            for object in documents(&String::from_utf8_lossy(&output.stdout)) {
                let kind = object["kind"].as_str().unwrap().to_lowercase();
                member.plane.apply(&format!("{kind}s"), &object).await;
            }
        }
    }

    /// Runs a command as the administrator, which succeeds.
    pub fn does(&self, lab: &Lab, name: &str, more: &[&str]) -> String {
        Self::succeeds(command(lab, name, more), name, more)
    }

    /// Runs a command with the credentials of the pods, which succeeds.
    pub fn does_itself(&self, name: &str, more: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
        command.arg(name).arg("--kubeconfig").arg(self.home.join("kubeconfig")).args(more);
        Self::succeeds(command.output().unwrap(), name, more)
    }

    fn succeeds(output: Output, name: &str, more: &[&str]) -> String {
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "fhpa {name} {more:?}: {text}");
        text
    }

    /// Starts a replica.
    pub fn run(&mut self, name: &'static str) {
        let at = REPLICAS.iter().position(|replica| *replica == name).unwrap();
        let file = |name: &str| self.home.join(name).into_os_string();
        let mut arguments: Vec<OsString> = vec!["run".into(), "--kubeconfig".into(), file("kubeconfig")];
        arguments.extend(["--cert-dir".into(), self.home.clone().into_os_string()]);
        arguments.extend(["--listen".into(), format!("127.0.0.1:{}", self.ports[at]).into()]);
        arguments.extend(["--identity".into(), name.into(), "--health-probe-bind-address".into(), "0".into()]);
        arguments.extend(["--shutdown-delay".into(), "0".into()]);
        if !self.arguments.iter().any(|argument| argument == "--estimators") {
            arguments.extend(["--estimators".into(), "off".into()]);
        }
        arguments.extend(["--external-metrics-sum".into(), JOBS.into()]);
        arguments.extend(self.arguments.iter().cloned());
        let running = home(&self.home, name);
        let program = Program::start(&running, env!("CARGO_BIN_EXE_fhpa").as_ref(), &arguments);
        self.replicas.push((name, program));
    }

    /// Arguments by which the leader keeps the webhook registered.
    pub fn registration(&self) -> Vec<OsString> {
        let ca = self.home.join("ca.crt").into_os_string();
        vec!["--webhook-url".into(), self.url.clone().into(), "--webhook-ca-file".into(), ca]
    }

    /// Exchanges a file that the replicas read, at once.
    pub fn place(&self, name: &str, text: &str) {
        let new = self.home.join(format!("{name}.new"));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.home.join(name)).unwrap();
    }

    /// Exchanges the kubeconfig for one with a client certificate of this authority; returns it.
    pub fn credentials(&self, lab: &Lab, authority: &Authority) -> Kubeconfig {
        let text = std::fs::read_to_string(lab.karmada.kubeconfig()).unwrap();
        let mut kubeconfig: serde_json::Value = serde_json::from_str(&text).unwrap();
        let pair = authority.client(USER, None);
        let data = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
        kubeconfig["users"][0]["user"] = serde_json::json!({
            "client-certificate-data": data(pair.certificate), "client-key-data": data(pair.key)});
        self.place("kubeconfig", &kubeconfig.to_string());
        Kubeconfig::from_yaml(&kubeconfig.to_string()).unwrap()
    }

    /// Exchanges the serving certificate for one of this authority.
    pub fn serves(&self, authority: &Authority) {
        let pair = authority.server("fhpa", &["127.0.0.1", "localhost"]);
        self.place("tls.crt", &pair.certificate);
        self.place("tls.key", &pair.key);
    }

    /// How often the replicas said something.
    pub fn says(&self, text: &str) -> usize {
        self.programs().map(|program| program.tail(usize::MAX).matches(text).count()).sum()
    }

    /// Whether every replica said something.
    pub fn say(&self, text: &str) -> bool {
        self.programs().all(|program| program.tail(usize::MAX).contains(text))
    }

    /// All replicas die, and others begin with these arguments.
    pub fn begin(&mut self, more: &[OsString]) {
        self.kill_all();
        self.arguments = more.to_vec();
        for name in REPLICAS {
            self.run(name);
        }
    }

    /// A replica dies at once.
    pub fn kill(&mut self, name: &str) {
        self.replicas.retain(|(replica, _)| *replica != name);
    }

    /// All replicas die.
    pub fn kill_all(&mut self) {
        self.replicas.clear();
    }

    /// Waits for a leader that renewed its Lease after now, and names it.
    pub async fn leads(&self, lab: &Lab) -> &'static str {
        let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
            Api::namespaced(lab.karmada.client.clone(), "karmada-system");
        let running: Vec<&'static str> = self.replicas.iter().map(|(name, _)| *name).collect();
        let from = fhpa::runtime::clock::wall();
        let mut leader = None;
        until("a replica leads", async || {
            let Ok(lease) = leases.get("fhpa").await else { return false };
            let spec = lease.spec.unwrap_or_default();
            let renewed = spec.renew_time.is_some_and(|time| time.0 >= from);
            leader = running.iter().find(|name| spec.holder_identity.as_deref() == Some(**name)).copied();
            renewed && leader.is_some()
        })
        .await;
        leader.unwrap()
    }

    /// The processes.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        self.replicas.iter().map(|(_, program)| program)
    }

    /// Last lines of the log of each replica.
    pub fn tail(&self, lines: usize) -> String {
        self.replicas.iter().map(|(name, program)| format!("-- {name}\n{}\n", program.tail(lines))).collect()
    }
}

/// Runs the binary as the administrator.
pub fn command(lab: &Lab, name: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
    command.arg(name).arg("--kubeconfig").arg(lab.karmada.kubeconfig()).args(more);
    command.output().unwrap()
}

/// Takes connections to the first of two ports that answers.
async fn relay(listener: TcpListener, ports: [u16; 2]) {
    while let Ok((mut from, _)) = listener.accept().await {
        tokio::spawn(async move {
            for port in ports {
                let connected = TcpStream::connect(("127.0.0.1", port));
                if let Ok(Ok(mut to)) = tokio::time::timeout(Duration::from_secs(2), connected).await {
                    let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                    return;
                }
            }
        });
    }
}
