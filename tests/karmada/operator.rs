//! An installation of fhpa: installed once, two replicas behind one address. I/O: processes, sockets.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use kube::api::Api;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::lab::{Lab, documents, until};
use crate::rig::authority;
use crate::rig::program::{Program, free_ports, home};

/// User of the processes, who has what the roles give.
const USER: &str = "fhpa";
const REPLICAS: [&str; 2] = ["one", "two"];

/// An installation.
pub struct Fhpa {
    replicas: Vec<(&'static str, Program)>,
    home: PathBuf,
    /// Addresses of the webhooks behind the one that is registered.
    ports: [u16; 2],
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

    fn install(&self, lab: &Lab, more: &[&str]) {
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
        let output = command(lab, name, more);
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
        arguments.extend(["--estimators".into(), "off".into(), "--shutdown-delay".into(), "0".into()]);
        arguments.extend(self.arguments.iter().cloned());
        let running = home(&self.home, name);
        let program = Program::start(&running, env!("CARGO_BIN_EXE_fhpa").as_ref(), &arguments);
        self.replicas.push((name, program));
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
