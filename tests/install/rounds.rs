//! An object with several kinds of errors is refused once, with all of them: those of the schema and those that only
//! the webhook finds.

use fhpa::run::process::{Options, Server};

use super::stand::Stand;
use crate::cluster::admission::wrong;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_the_schema_and_of_the_webhook_come_in_one_answer() {
    let stand = Stand::new().await;
    let webhook = Server::bind(Options::loopback()).await.unwrap();
    let (port, ca, handle) = (webhook.local_addr().port(), webhook.ca_pem().unwrap(), webhook.handle());
    let serving = tokio::spawn(webhook.run());
    std::fs::write(stand.desk.file("webhook.crt"), ca).unwrap();
    let file = stand.desk.file("webhook.crt").display().to_string();
    let url = format!("https://localhost:{port}/");
    let installed = stand.desk.fhpa("install", &["--user", "fhpa", "--url", &url, "--ca-file", &file]).await;
    assert_eq!(installed.code, 0, "{}", installed.stdout);
    for (plural, object, paths) in wrong() {
        let answer = stand
            .bed
            .post(&stand.bed.path("autoscaling.karmada.io/v1alpha1", plural).replace("default", "prod"), &object)
            .await;
        assert_eq!(answer.code, 422, "{answer:?}");
        let message = answer.body["message"].as_str().unwrap();
        for path in paths {
            assert!(message.contains(path), "no {path}: {message}");
        }
    }
    handle.shut_down();
    serving.await.unwrap();
}
