//! The files in `certs/`: the sample pair can be served, and the manifests are those of the chart.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use super::package::said;
use super::{engine, path, text};
use crate::rig::absent;
use crate::webhook::client::{H2, Sender, connector};

/// Runs the script; none, and a word on it, without openssl.
fn throwaway(directory: &Path, names: &[&str], shows: &str) -> Option<Result<String, String>> {
    if said(with("openssl", &["version"])).is_err() {
        absent::without("openssl", shows, "put it on PATH");
        return None;
    }
    let mut script = with("sh", &[]);
    script.arg(path("certs/throwaway.sh")).arg(directory).args(names);
    Some(said(script))
}

fn with(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

#[tokio::test]
async fn the_throw_away_pair_is_served_and_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let pair = directory.path().join("pair");
    let names = ["fhpa.karmada-system.svc", "10.1.2.3", "fd00::5"];
    let Some(made) = throwaway(&pair, &names, "the throw-away pair") else { return };
    made.unwrap();
    let read = |name: &str| std::fs::read_to_string(pair.join(name)).unwrap();
    let (_, pem) = x509_parser::pem::parse_x509_pem(read("tls.crt").as_bytes()).unwrap();
    let (_, leaf) = X509Certificate::from_der(&pem.contents).unwrap();
    let known = leaf.subject_alternative_name().unwrap().unwrap().value.general_names.clone();
    assert_eq!(known.len(), 3 + names.len());
    assert!(known.contains(&GeneralName::DNSName("fhpa.karmada-system.svc")), "{known:?}");
    assert!(known.contains(&GeneralName::IPAddress(&[10, 1, 2, 3])), "{known:?}");

    let mut webhook = tokio::process::Command::new(env!("CARGO_BIN_EXE_fhpa"));
    webhook.args([
        "webhook",
        "--offline",
        "--listen",
        "127.0.0.1:0",
        "--health-probe-bind-address",
        "0",
        "--log-format",
        "json",
    ]);
    let mut webhook = webhook.arg("--cert-dir").arg(&pair).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut log = BufReader::new(webhook.stderr.take().unwrap()).lines();
    let address = loop {
        let line: Value = serde_json::from_str(&log.next_line().await.unwrap().expect("it serves")).unwrap();
        if line["message"] == "serving" {
            break line["listen"].as_str().unwrap().parse().unwrap();
        }
    };
    let mut sender = Sender::connect(address, &connector(&read("ca.crt"), H2, None)).await.unwrap();
    assert!(sender.review("u-1").await.unwrap().admits("u-1"));
}

#[test]
fn a_pair_that_is_there_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tls.key"), "precious").unwrap();
    let Some(made) = throwaway(directory.path(), &[], "a pair that is there already") else { return };
    assert!(made.unwrap_err().contains("tls.key is there already"));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    let made = throwaway(Path::new(""), &[], "a directory without a name").unwrap();
    assert!(made.unwrap_err().contains("usage:"));
}

#[test]
fn the_manifests_for_cert_manager_are_those_of_the_chart() {
    let Some(ordered) = engine::case("a certificate by cert-manager", "the manifests in certs/") else { return };
    let written = engine::objects([text("certs/cert-manager.yaml").as_str()]);
    let made = ordered.objects.iter().filter(|object| object["apiVersion"] == "cert-manager.io/v1").cloned();
    let made: Vec<Value> = made
        .map(|mut object| {
            object["metadata"].as_object_mut().unwrap().remove("labels");
            object
        })
        .collect();
    assert_eq!(written, made);
}
