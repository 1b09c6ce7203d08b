//! What answers in place of karmada-apiserver, and kubeconfigs that lead nowhere: one sentence of what it is and what to
//! do, and one exit code.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};

use super::command::Outcome;
use crate::rig::authority::{Authority, Pair};

/// A certificate of X.509 version 1, as `openssl x509 -req` issues it without an extension.
const VERSION_1: &str = "\
-----BEGIN CERTIFICATE-----
MIIBBTCBrQIBATAKBggqhkjOPQQDAjANMQswCQYDVQQDDAJjYTAgFw0yNjExMjcy
MjEzMTFaGA8yMTI2MTEwMzIyMTMxMVowEDEOMAwGA1UEAwwFYWRtaW4wWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAARYaD2r0KDaXj+IK2SgAMDzwJLgGXM6Ri6b/JBN
Yg2vwxOg1GGNKhC/IMZGcEczL5pZcv1B0YBso0BWX9pOygO4MAoGCCqGSM49BAMC
A0cAMEQCIB9V3MA8kBc7+T8hrznzndWestoUCGO5V3YReIW1EX9+AiBVcGm0tNxM
89M1M4dKoMNtv+/i6fqMEyttwjX9wpX+yQ==
-----END CERTIFICATE-----
";

/// Its key.
const KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgS62rqvnBYpDTOaqs
rZxFSljqMVmCCStE7Yx1e1IhbmChRANCAARYaD2r0KDaXj+IK2SgAMDzwJLgGXM6
Ri6b/JBNYg2vwxOg1GGNKhC/IMZGcEczL5pZcv1B0YBso0BWX9pOygO4
-----END PRIVATE KEY-----
";

/// Answers every request with `response`.
fn answering(response: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(response.as_bytes());
        }
    });
    port
}

fn kubeconfig(home: &Path, cluster: &Value, user: &Value) -> PathBuf {
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": cluster}], "users": [{"name": "a", "user": user}]});
    let file = home.join("config");
    std::fs::write(&file, config.to_string()).unwrap();
    file
}

fn run(arguments: &[&str], kubeconfig: &str) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
    command.args(arguments).env("KUBECONFIG", kubeconfig).env_remove("HOME");
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Outcome { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// What every command that reads a control plane says, beside its exit code.
fn told_by_all(kubeconfig: &Path) -> Vec<(String, i32, String)> {
    let file = kubeconfig.to_str().unwrap();
    let commands: [&[&str]; 7] = [
        &["status", "-A"],
        &["status", "web"],
        &["plan", "shop/web", "--kubeconfig", file],
        &["doctor"],
        &["install", "--only-roles", "--user", "fhpa"],
        &["uninstall", "--yes"],
        &["recover", "--yes"],
    ];
    let told = |arguments: &[&str]| {
        let outcome = run(arguments, file);
        (arguments.join(" ").replace(file, "FILE"), outcome.code, outcome.stdout + &outcome.stderr)
    };
    commands.map(told).into_iter().collect()
}

#[test]
fn what_answers_in_place_of_karmada_apiserver_is_told_in_a_sentence_with_one_exit_code_by_all_commands() {
    let home = tempfile::tempdir().unwrap();
    let dead = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: 13\r\nconnection: close\r\n\r\n<html></html>";
    let denied = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let busy = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let other = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]";
    let text = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
    for (port, words) in [
        (dead, &["Connection refused"][..]),
        (answering(page), &["answers with an HTML page (200 OK), as a proxy or a login page does"]),
        (answering(denied), &["it gives no reason (code 403)", "the API server answers 403 Forbidden"]),
        (answering(busy), &["it gives no reason (code 429)", "the API server answers 429 Too Many Requests"]),
        (answering(other), &["answers with an object of another form", "its /version has no gitVersion"]),
        (answering(text), &["no JSON, so it is no Kubernetes API server", "its /version has no gitVersion"]),
    ] {
        let config = kubeconfig(home.path(), &json!({"server": format!("http://127.0.0.1:{port}")}), &json!({}));
        for (command, code, said) in told_by_all(&config) {
            assert_eq!(code, 1, "{command}: {said}");
            assert!(words.iter().any(|words| said.contains(words)), "{words:?}: {command}: {said}");
            assert!(said.contains("does the kubeconfig lead there?"), "{command}: {said}");
        }
    }
}

/// A server of TLS with this pair, that answers nothing.
fn tls(pair: &Pair) -> u16 {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let _ = connection.complete_io(&mut stream.unwrap());
        }
    });
    port
}

#[test]
fn a_certificate_that_is_not_accepted_is_told_in_words() {
    let home = tempfile::tempdir().unwrap();
    let (own, other) = (Authority::new("own"), Authority::new("other"));
    let server = own.server("apiserver", &["127.0.0.1"]);
    let elsewhere = own.server("apiserver", &["karmada.example"]);
    let as_ca = Pair { certificate: other.pem(), key: other.key_pem() };
    for (pair, words) in [
        (&server, "its certificate is not signed by the certificate authority of the kubeconfig"),
        (&elsewhere, "its certificate is for other names than the address in the kubeconfig"),
        (&as_ca, "it shows the certificate of another certificate authority than that of the kubeconfig"),
    ] {
        let authority = home.path().join("ca.crt");
        let wrong = words.contains("not signed");
        std::fs::write(&authority, if wrong { other.pem() } else { own.pem() }).unwrap();
        let server = format!("https://127.0.0.1:{}", tls(pair));
        let config =
            kubeconfig(home.path(), &json!({"server": server, "certificate-authority": authority}), &json!({}));
        let outcome = run(&["status", "-A"], config.to_str().unwrap());
        assert!(outcome.code == 1 && outcome.stderr.contains(words), "{words}: {}", outcome.stderr);
    }
}

#[test]
fn a_client_certificate_that_cannot_be_used_is_told_in_words() {
    let home = tempfile::tempdir().unwrap();
    let pair = Authority::new("own").client("admin", None);
    let version = "fhpa status: kubeconfig: the client certificate is of X.509 version 1, which is not supported; issue it \
                   again as version 3: `openssl x509 -req` does with an extension (-extfile)\n";
    for (certificate, key, said) in [
        (VERSION_1, KEY, version),
        (&*pair.certificate, KEY, "fhpa status: kubeconfig: the client key is not that of the client certificate\n"),
    ] {
        let (certificate_file, key_file) = (home.path().join("crt"), home.path().join("key"));
        std::fs::write(&certificate_file, certificate).unwrap();
        std::fs::write(&key_file, key).unwrap();
        let user = json!({"client-certificate": certificate_file, "client-key": key_file});
        let config = kubeconfig(home.path(), &json!({"server": "https://127.0.0.1:1"}), &user);
        let outcome = run(&["status", "-A"], config.to_str().unwrap());
        assert_eq!((outcome.code, &*outcome.stderr), (2, said));
    }
}

#[test]
fn files_of_a_list_that_are_missing_are_skipped_as_kubectl_does() {
    let home = tempfile::tempdir().unwrap();
    let config = kubeconfig(home.path(), &json!({"server": "http://127.0.0.1:1"}), &json!({}));
    let (config, missing) = (config.to_str().unwrap(), "/nowhere/config");
    for list in [format!("{missing}:{config}"), format!("{config}:{missing}")] {
        let outcome = run(&["status", "-A"], &list);
        assert!(outcome.code == 1 && outcome.stderr.contains("Connection refused"), "{}", outcome.stderr);
    }
    for list in [missing.to_owned(), format!("{missing}:{missing}")] {
        let outcome = run(&["status", "-A"], &list);
        assert!(outcome.code == 2 && outcome.stderr.contains(missing), "{}", outcome.stderr);
    }
}
