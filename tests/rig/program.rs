//! Programs that end with the test that started them. I/O: processes, sockets.
//!
//! They run under a shell that reads a pipe of this process: when the process ends, for any reason, the pipe closes,
//! and the shell kills its program and removes its files.

use std::ffi::{OsStr, OsString};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// `$1`: directory of the program, removed at the end; the rest: the program and its arguments.
const GUARD: &str = r#"home=$1; shift
"$@" >>"$home/log" 2>&1 </dev/null & program=$!
echo $program >"$home/pid"
cat >/dev/null
exec 2>/dev/null
kill -9 $program; wait $program
rm -rf "$home"; rmdir "$(dirname "$home")""#;

/// A program that lives no longer than this value or this process.
pub struct Program {
    shell: Child,
    home: PathBuf,
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

impl Program {
    /// Starts `program`; its files and its log are in `home`, which is removed with it.
    pub fn start(home: &Path, program: &Path, arguments: &[OsString]) -> Self {
        let _ = std::fs::remove_file(home.join("pid"));
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
        Self { shell, home: home.to_owned() }
    }

    /// Sends a signal, as `KILL` or `STOP`, to the program itself; not to its shell.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.pid()]).status().unwrap();
        assert!(sent.success(), "{name} reaches {}", self.home.display());
    }

    /// Its process id.
    pub fn pid(&self) -> String {
        loop {
            match std::fs::read_to_string(self.home.join("pid")) {
                Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
                _ => std::thread::yield_now(),
            }
        }
    }

    /// The last lines of its log, newest first.
    pub fn tail(&self, lines: usize) -> String {
        let log = std::fs::read_to_string(self.home.join("log")).unwrap_or_default();
        log.lines().rev().take(lines).collect::<Vec<_>>().join("\n")
    }
}

/// A directory for a program.
pub fn home(directory: &Path, name: &str) -> PathBuf {
    let home = directory.join(name);
    std::fs::create_dir_all(&home).unwrap();
    home
}

/// Ports that were free a moment ago; all are held while they are chosen, so that they differ.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

/// `--name=value` for each pair.
pub fn flags<const N: usize>(pairs: [(&str, OsString); N]) -> Vec<OsString> {
    pairs.map(|(name, value)| flag(name, &value)).into()
}

/// `--name=value`.
pub fn flag(name: &str, value: &OsStr) -> OsString {
    let mut flag = OsString::from(format!("--{name}="));
    flag.push(value);
    flag
}

/// Arguments of etcd: its data under `home`, clients at `url`.
pub fn etcd(home: &Path, url: &str, peer_port: u16) -> Vec<OsString> {
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

/// Arguments of kube-apiserver: files of [`super::authority::write`] in `home`.
pub fn kube_apiserver(home: &Path, etcd: &str, port: u16) -> Vec<OsString> {
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
        ("authorization-mode", "RBAC".into()),
        ("endpoint-reconciler-type", "none".into()),
    ])
}
