//! The command itself, as a process.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use super::client::{H1, H2, Sender, connector, full, request};
use super::drain::probe;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
    command.arg("webhook").args(arguments).env_remove("KUBECONFIG").stderr(Stdio::piped()).kill_on_drop(true);
    command
}

struct Webhook {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
    address: SocketAddr,
    admin: SocketAddr,
    ca: String,
}

impl Webhook {
    async fn start(directory: &Path, more: &[&str]) -> Self {
        let ca = directory.join("ca.crt");
        let fixed =
            ["--offline", "--self-signed", "--listen", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"];
        let mut child = command(&fixed).arg("--ca-output").arg(&ca).args(more).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        loop {
            let line: Value = serde_json::from_str(&log.next_line().await.unwrap().unwrap()).unwrap();
            if line["message"] == "serving" {
                let address = |key: &str| line[key].as_str().unwrap().parse().unwrap();
                let ca = std::fs::read_to_string(ca).unwrap();
                return Self { child, log, address: address("listen"), admin: address("admin"), ca };
            }
        }
    }

    async fn signal(&self, name: &str) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().await.unwrap().success());
    }

    async fn code(mut self) -> i32 {
        while self.log.next_line().await.unwrap().is_some() {}
        self.child.wait().await.unwrap().code().unwrap()
    }
}

/// Sends reviews until no connection can be made any more, as kube-apiserver does: a connection is used again until the
/// server asks to leave. Every request that was sent must be answered.
async fn load(address: SocketAddr, ca: String, alpn: &'static [u8], ending: Arc<AtomicBool>, sent: Arc<AtomicUsize>) {
    let connector = connector(&ca, alpn, None);
    loop {
        let mut sender = match Sender::connect(address, &connector).await {
            Ok(sender) => sender,
            Err(error) => {
                assert!(ending.load(Ordering::SeqCst), "cannot connect to a server that was not asked to end: {error}");
                return;
            }
        };
        while sender.ready().await {
            match sender.review("u").await {
                Ok(answer) => assert!(answer.admits("u")),
                // Not sent: the server asked to leave in the meantime.
                Err(error) if error.is_canceled() || goes_away(&error) => break,
                Err(error) => panic!("a review was lost: {error:?}"),
            }
            sent.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Whether the client refused to open a stream after GOAWAY; such a request was never sent.
fn goes_away(error: &hyper::Error) -> bool {
    let text = format!("{error:?}");
    text.contains("GoAway") && text.contains("NO_ERROR")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_review_is_lost_when_the_process_is_ended_under_load() {
    let directory = tempfile::tempdir().unwrap();
    let webhook = Webhook::start(directory.path(), &["--shutdown-delay", "600ms"]).await;
    let (ending, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..16 {
        let alpn = if client % 2 == 0 { H1 } else { H2 };
        clients.spawn(load(webhook.address, webhook.ca.clone(), alpn, ending.clone(), sent.clone()));
    }
    while sent.load(Ordering::SeqCst) < 500 {
        tokio::task::yield_now().await;
    }
    ending.store(true, Ordering::SeqCst);
    webhook.signal("TERM").await;
    let at_signal = sent.load(Ordering::SeqCst);
    clients.join_all().await;
    assert!(sent.load(Ordering::SeqCst) > at_signal);
    assert_eq!(webhook.code().await, 0);
}

#[tokio::test]
async fn the_second_signal_ends_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let webhook = Webhook::start(directory.path(), &["--shutdown-delay", "1h"]).await;
    webhook.signal("TERM").await;
    while probe(webhook.admin, "/readyz").await.0 == 200 {}
    webhook.signal("INT").await;
    assert_eq!(webhook.code().await, 1);
}

#[tokio::test]
async fn metrics_and_logs_speak_of_a_review_without_its_body() {
    let directory = tempfile::tempdir().unwrap();
    let mut webhook = Webhook::start(directory.path(), &["--log-level", "debug"]).await;
    let mut sender = Sender::connect(webhook.address, &connector(&webhook.ca, H2, None)).await.unwrap();
    assert!(sender.review("u-1").await.unwrap().admits("u-1"));
    let line = loop {
        let text = webhook.log.next_line().await.unwrap().unwrap();
        let line: Value = serde_json::from_str(&text).unwrap();
        if line["message"] == "reviewed" {
            assert!(!text.contains("averageUtilization"));
            break line;
        }
    };
    assert_eq!(
        (&line["uid"], &line["object"], &line["verdict"]),
        (&"u-1".into(), &"prod/web".into(), &"allowed".into())
    );
    let body =
        br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-2","dryRun":"secret"}}"#;
    let answer = sender.send(request("/validate-federatedhpa", full(body.to_vec()))).await.unwrap();
    assert!(answer.response()["status"]["message"].as_str().unwrap().contains("request.dryRun: invalid type"));
    let text = loop {
        let text = webhook.log.next_line().await.unwrap().unwrap();
        if text.contains("\"reviewed\"") {
            break text;
        }
    };
    assert!(text.contains("u-2") && text.contains("request.dryRun") && !text.contains("secret"), "{text}");
    let (status, metrics) = probe(webhook.admin, "/metrics").await;
    assert_eq!(status, 200);
    let series = r#"fhpa_reviews_total{kind="FederatedHPA",action="validate",operation="CREATE",verdict="allowed"} 1"#;
    assert!(metrics.contains(series), "{metrics}");
    assert_eq!(probe(webhook.admin, "/livez").await, (200, "ok\n".to_owned()));
}

#[tokio::test]
async fn what_prevents_a_start_is_said_in_words() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().to_str().unwrap();
    let offline = ["--offline", "--self-signed", "--listen", "127.0.0.1:0"];
    let cases: [(&[&str], &str); 8] = [
        (&["--offline", "--self-signed", "--listen", &taken], "--listen chooses another address"),
        (
            &["--offline", "--self-signed", "--listen", "127.0.0.1:0", "--health-probe-bind-address", &taken],
            "--health-probe-bind-address chooses",
        ),
        (&["--offline", "--cert-dir", empty], "tls.crt: No such file or directory"),
        (&["--self-signed"], "with --kubeconfig or in the variable KUBECONFIG, or --offline to serve without checks"),
        (&["--offline"], "<--cert-dir <DIRECTORY>|--self-signed|--cert-secret <NAMESPACE/NAME>>"),
        (&["--offline", "--self-signed", "--log-level", "warning"], "[error, warn, info, debug, trace, off]"),
        (&["--offline", "--self-signed", "--log-level", ""], "[error, warn, info, debug, trace, off]"),
        (&["--self-signed", "--kubeconfig", "/nowhere"], "kubeconfig: "),
    ];
    for (arguments, words) in cases {
        let output = command(arguments).output().await.unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
    let output = command(&offline).args(["--log-level", "a=b=c"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
}
