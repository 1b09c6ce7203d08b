//! A new certificate while reviews are in flight, as the kubelet delivers it: by moving the link `..data`.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use fhpa::run::process::{AdminPort, Options};
use fhpa::runtime::tls::Source;
use futures::{StreamExt as _, stream};
use tokio::sync::watch;

use super::client::{Body, H1, H2, Sender, connector, request, review, streamed, tls};
use super::drain::probe;
use super::tls::{Ca, Running, start};
use super::volume;

/// Puts a pair into the directory.
fn publish(directory: &Path, version: &str, (certificate, key): &(String, String)) {
    volume::publish(directory, version, &[("tls.crt", certificate), ("tls.key", key)]);
}

async fn serve(directory: &Path) -> Running {
    let mut options = Options::loopback();
    options.webhook().certificate.source = Source::Directory(directory.to_owned()).into();
    options.webhook().certificate.poll = Duration::from_millis(5);
    options.webhook().reviews = 2000;
    options.admin = AdminPort::At(([127, 0, 0, 1], 0).into());
    start(options).await
}

/// Returns when new connections are served by a certificate of `ca`.
async fn served_by(server: &Running, ca: &Ca) {
    let connector = connector(&ca.pem(), H1, None);
    while tls(server.address, &connector).await.is_err() {}
}

/// Returns when the counter line stands in the metrics.
async fn counted(server: &Running, line: &str) {
    while !server.metrics.text().lines().any(|l| l == line) {
        tokio::task::yield_now().await;
    }
}

/// A body of which the second half waits for the gate.
fn halved(uid: &str, gate: watch::Receiver<bool>) -> Body {
    let body = Bytes::from(review(uid));
    let (first, second) = (body.slice(..body.len() / 2), body.slice(body.len() / 2..));
    let second = async move {
        let mut gate = gate;
        gate.wait_for(|open| *open).await.unwrap();
        second
    };
    streamed(stream::iter([first]).chain(stream::once(second)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_reviews_in_flight_outlive_a_new_certificate() {
    let (old, new) = (Ca::new(), Ca::new());
    let directory = tempfile::tempdir().unwrap();
    publish(directory.path(), "1", &old.server(|_| {}));
    let server = serve(directory.path()).await;
    let both = connector(&(old.pem() + &new.pem()), H2, None);
    let (open, gate) = watch::channel(false);
    let mut in_flight = tokio::task::JoinSet::new();
    for connection in 0..5 {
        let sender = Sender::connect(server.address, &both).await.unwrap();
        let Sender::H2(sender) = sender else { panic!("no HTTP/2") };
        for stream in 0..200 {
            let (mut sender, gate) = (Sender::H2(sender.clone()), gate.clone());
            in_flight.spawn(async move {
                let uid = format!("{connection}-{stream}");
                let answer = sender.send(request("/validate-federatedhpa", halved(&uid, gate))).await.unwrap();
                answer.admits(&uid)
            });
        }
    }
    counted(&server, "fhpa_reviews_in_flight 1000").await;
    // Others come and go all the while, each over a connection of its own.
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (stopped, counter, address) = (stop.clone(), done.clone(), server.address);
    let passers = tokio::spawn(async move {
        while !stopped.load(Ordering::Relaxed) {
            let mut sender = Sender::connect(address, &both).await.unwrap();
            assert!(sender.review("p").await.unwrap().admits("p"));
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    publish(directory.path(), "2", &new.server(|_| {}));
    served_by(&server, &new).await;
    let before = done.load(Ordering::Relaxed);
    while done.load(Ordering::Relaxed) < before + 3 {
        tokio::task::yield_now().await;
    }
    stop.store(true, Ordering::Relaxed);
    passers.await.unwrap();
    open.send(true).unwrap();
    let admitted = in_flight.join_all().await;
    assert_eq!((admitted.len(), admitted.iter().filter(|ok| **ok).count()), (1000, 1000));
    assert!(server.metrics.text().contains("fhpa_certificate_reloads_total{result=\"ok\"} 1"));
}

#[tokio::test]
async fn a_broken_pair_keeps_the_old_one_until_a_good_one_comes() {
    let (old, new) = (Ca::new(), Ca::new());
    let directory = tempfile::tempdir().unwrap();
    publish(directory.path(), "good", &old.server(|_| {}));
    let server = serve(directory.path()).await;
    let expired = new.server(|params| params.not_after = rcgen::date_time_ymd(2001, 1, 1));
    let (certificate, key) = new.server(|_| {});
    let broken = [
        ("mismatch", (certificate.clone(), new.server(|_| {}).1)),
        ("no certificate", ("nothing".to_owned(), key.clone())),
        ("no key", (certificate.clone(), String::new())),
        ("expired", expired),
    ];
    for (number, (what, pair)) in broken.iter().enumerate() {
        publish(directory.path(), what, pair);
        counted(&server, &format!("fhpa_certificate_reloads_total{{result=\"failed\"}} {}", number + 1)).await;
        let mut sender = Sender::connect(server.address, &connector(&old.pem(), H1, None)).await.unwrap();
        assert!(sender.review(what).await.unwrap().admits(what));
    }
    publish(directory.path(), "good again", &(certificate, key));
    served_by(&server, &new).await;
}

#[tokio::test]
async fn a_directory_that_vanishes_is_counted_once_and_does_no_harm() {
    let ca = Ca::new();
    let directory = tempfile::tempdir().unwrap();
    publish(directory.path(), "1", &ca.server(|_| {}));
    let server = serve(directory.path()).await;
    fs::remove_file(directory.path().join("..data")).unwrap();
    counted(&server, "fhpa_certificate_reloads_total{result=\"failed\"} 1").await;
    served_by(&server, &ca).await;
    publish(directory.path(), "2", &ca.server(|_| {}));
    counted(&server, "fhpa_certificate_reloads_total{result=\"ok\"} 1").await;
    assert!(server.metrics.text().contains("fhpa_certificate_reloads_total{result=\"failed\"} 1"));
}

#[tokio::test]
async fn a_certificate_that_is_not_valid_now_is_not_ready() {
    let ca = Ca::new();
    let directory = tempfile::tempdir().unwrap();
    publish(directory.path(), "old", &ca.server(|params| params.not_after = rcgen::date_time_ymd(2001, 1, 1)));
    let server = serve(directory.path()).await;
    let admin = server.admin.unwrap();
    assert_eq!(
        probe(admin, "/readyz").await,
        (503, "not ready: the certificate is not valid at this time\n".to_owned())
    );
    publish(directory.path(), "new", &ca.server(|_| {}));
    while probe(admin, "/readyz").await.0 != 200 {}
}
