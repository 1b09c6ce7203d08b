//! No admission request is lost: a constant stream of applies while replicas restart and certificates are replaced,
//! through the API server, a balancer and real processes. On a real kube-apiserver where one is present, else on the
//! embedded one.

mod balancer;
pub mod flow;
pub mod service;

use std::path::PathBuf;

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use kube::Api;
use kube::runtime::wait::await_condition;

use self::flow::Flow;
use self::service::{SPACE, Service};
use crate::bed::within;
use crate::controller::process::Replica;
use crate::webhook::tls::Ca;
use crate::webhook::volume;

/// Applies of a stream on a real kube-apiserver; they cost about two minutes of computing, most of it the API server's.
const APPLIES: usize = 10_000;
/// On the embedded one, which is not built for speed here.
const FEWER: usize = 1_500;

/// A replica, and the volume that its pod has mounted.
struct Pod {
    replica: Replica,
    volume: PathBuf,
}

impl Pod {
    /// Starts one whose certificates come from files.
    async fn start(service: &Service, name: &str, pair: &(String, String), authorities: &str) -> Self {
        let volume = service.desk.file(name);
        std::fs::create_dir(&volume).unwrap();
        let files = [("tls.crt", &*pair.0), ("tls.key", &*pair.1), ("ca.crt", authorities)];
        volume::publish(&volume, "first", &files);
        let directory = volume.display().to_string();
        let (ca, url) = (format!("{directory}/ca.crt"), service.balancer.url());
        let files = ["--cert-dir", &directory, "--webhook-url", &url, "--webhook-ca-file", &ca];
        Self { replica: service.replica(name, &files).await, volume }
    }

    /// The kubelet brings other files.
    fn mount(&self, version: &str, (certificate, key): &(String, String), authorities: &str) {
        let files = [("tls.crt", &**certificate), ("tls.key", &**key), ("ca.crt", authorities)];
        volume::publish(&self.volume, version, &files);
    }

    /// Waits until so many new certificates were taken in since the start.
    async fn reloaded(&self, times: usize) {
        self.replica.counts(&format!("fhpa_certificate_reloads_total{{result=\"ok\"}} {times}")).await;
    }
}

/// Certificate and key for the address of the balancer.
fn pair(ca: &Ca) -> (String, String) {
    let loopback = rcgen::SanType::IpAddress(std::net::Ipv4Addr::LOCALHOST.into());
    ca.server(|params| params.subject_alt_names.push(loopback))
}

/// Waits until the API server is told to trust just these.
async fn registered(service: &Service, authorities: &str) {
    let wanted = authorities.as_bytes();
    let mutating = |found: Option<&MutatingWebhookConfiguration>| {
        let webhooks = found.and_then(|found| found.webhooks.as_deref()).unwrap_or_default();
        webhooks.iter().all(|one| one.client_config.ca_bundle.as_ref().is_some_and(|bundle| bundle.0 == wanted))
    };
    let validating = |found: Option<&ValidatingWebhookConfiguration>| {
        let webhooks = found.and_then(|found| found.webhooks.as_deref()).unwrap_or_default();
        webhooks.iter().all(|one| one.client_config.ca_bundle.as_ref().is_some_and(|bundle| bundle.0 == wanted))
    };
    within(await_condition(Api::all(service.client.clone()), "fhpa", mutating)).await.unwrap();
    within(await_condition(Api::all(service.client.clone()), "fhpa", validating)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_apply_fails_while_replicas_are_restarted_and_certificates_and_ca_exchanged() {
    let service = Service::new("a stream of 10,000 applies; it runs on the embedded API server, with fewer").await;
    let old = Ca::new();
    let ca = service.desk.file("old.crt");
    std::fs::write(&ca, old.pem()).unwrap();
    service.install(&["--url", &service.balancer.url(), "--ca-file", ca.to_str().unwrap()]).await;
    let first = pair(&old);
    let mut pods = vec![
        Pod::start(&service, "one", &first, &old.pem()).await,
        Pod::start(&service, "two", &first, &old.pem()).await,
    ];
    let flow = Flow::start(&service.client, SPACE).await;
    flow.reaches(100).await;

    for name in ["three", "four"] {
        replace(&service, &flow, &mut pods, name, (&first, &old.pem())).await;
    }

    flow.during("a new certificate of the same CA", async {
        let second = pair(&old);
        pods.iter().for_each(|pod| pod.mount("second", &second, &old.pem()));
        for pod in &pods {
            pod.reloaded(1).await;
        }
    })
    .await;
    let renewed = renewal(&service, &flow, &pods, &old).await;
    let (ca, last) = rotation(&service, &flow, &pods, renewed).await;
    let applies = if service.is_real() { APPLIES } else { FEWER };
    // No part of the stream is left in peace.
    for number in 5.. {
        if flow.done() >= applies {
            break;
        }
        replace(&service, &flow, &mut pods, &format!("number {number}"), (&last, &ca)).await;
    }
    flow.end(applies).await;
    let (given, refused) = service.balancer.connections();
    eprintln!("{given} connections of the API server");
    assert_eq!(refused, 0, "there was always a replica");
    for pod in pods {
        service.end(pod.replica).await;
    }
}

/// As the chart's Deployment: one more than needed comes first, then an old one goes.
async fn replace(
    service: &Service,
    flow: &Flow,
    pods: &mut Vec<Pod>,
    name: &str,
    (pair, authorities): (&(String, String), &str),
) {
    let restart = async {
        pods.push(Pod::start(service, name, pair, authorities).await);
        service.end(pods.remove(0).replica).await;
    };
    flow.during(&format!("a replica is replaced by {name}"), restart).await;
}

/// cert-manager renews a CA with its key: the CA and a certificate of it come at once, to one pod after the other.
/// Returns both.
async fn renewal(service: &Service, flow: &Flow, pods: &[Pod], old: &Ca) -> (Ca, (String, String)) {
    let renewed = old.renewed();
    let pair = pair(&renewed);
    flow.during("a CA that is renewed with its key, and a certificate of it", async {
        for pod in pods {
            pod.mount("renewed", &pair, &renewed.pem());
            pod.reloaded(2).await;
        }
        registered(service, &renewed.pem()).await;
    })
    .await;
    (renewed, pair)
}

/// A CA with another key follows the one that is served by: for a while both are trusted. Returns it, and what is
/// served then.
async fn rotation(
    service: &Service,
    flow: &Flow,
    pods: &[Pod],
    (old, served): (Ca, (String, String)),
) -> (String, (String, String)) {
    let new = Ca::new();
    let next = pair(&new);
    let both = [old.pem(), new.pem()].concat();
    flow.during("the next CA is trusted, too", async {
        pods.iter().for_each(|pod| pod.mount("both", &served, &both));
        registered(service, &both).await;
    })
    .await;
    flow.during("a certificate of the next CA", async {
        pods.iter().for_each(|pod| pod.mount("next", &next, &both));
        for pod in pods {
            pod.reloaded(3).await;
        }
    })
    .await;
    flow.during("the old CA is trusted no more", async {
        pods.iter().for_each(|pod| pod.mount("new", &next, &new.pem()));
        registered(service, &new.pem()).await;
    })
    .await;
    (new.pem(), next)
}
