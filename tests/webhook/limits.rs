//! Slow, demanding and broken clients.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fhpa::run::process::{AdminPort, Options};
use futures::{StreamExt as _, stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::client::{Body, H1, H2, Sender, connector, full, request, streamed, tls};
use super::tls::{start, start_with};

/// Long enough that only the limit under test ends a connection.
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(50);
/// Long enough for a handshake on a busy machine.
const HANDSHAKE: Duration = Duration::from_secs(1);

fn patient() -> Options {
    let mut options = Options::loopback();
    options.webhook().limits.first_request = LONG;
    options.webhook().limits.idle = LONG;
    options.webhook().bodies.timeout = LONG;
    options
}

/// A body that begins and never ends.
fn endless(start: Vec<u8>) -> Body {
    streamed(stream::iter([Bytes::from(start)]).chain(stream::pending()))
}

#[tokio::test]
async fn a_connection_that_never_asks_is_closed() {
    let mut options = patient();
    options.webhook().limits.first_request = HANDSHAKE;
    let server = start(options).await;
    for alpn in [H1, H2] {
        let mut stream = tls(server.address, &connector(&server.ca, alpn, None)).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    }
}

#[tokio::test]
async fn a_head_that_trickles_is_cut_off_on_every_request() {
    let mut options = patient();
    options.webhook().limits.first_request = HANDSHAKE;
    options.webhook().limits.idle = SHORT;
    let server = start(options).await;
    let connector = connector(&server.ca, H1, None);
    let mut stream = tls(server.address, &connector).await.unwrap();
    stream.write_all(b"POST /validate-federatedhpa HTTP/1.1\r\nHost: ").await.unwrap();
    let _ = stream.read_to_end(&mut Vec::new()).await;
    // The same on a connection that was used before.
    let mut stream = tls(server.address, &connector).await.unwrap();
    stream.write_all(b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = [0; 512];
    assert!(stream.read(&mut answer).await.unwrap() > 0);
    stream.write_all(b"GET /none HTTP/1.1\r\nHost: ").await.unwrap();
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_only_after_its_time() {
    let mut options = patient();
    options.webhook().limits.first_request = HANDSHAKE;
    options.webhook().limits.idle = SHORT;
    let server = start(options).await;
    let mut sender = Sender::connect(server.address, &connector(&server.ca, H1, None)).await.unwrap();
    assert!(sender.review("u").await.unwrap().admits("u"));
    let Sender::H1(mut sender) = sender else { panic!("no HTTP/1.1") };
    // Closed by the server, with nothing in flight.
    while sender.ready().await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_body_that_does_not_end_is_refused() {
    let mut options = patient();
    options.webhook().bodies.timeout = SHORT;
    let server = start(options).await;
    for alpn in [H1, H2] {
        let mut sender = Sender::connect(server.address, &connector(&server.ca, alpn, None)).await.unwrap();
        let half = br#"{"request":{"uid":"u-1","object":{"#.to_vec();
        let answer = sender.send(request("/validate-federatedhpa", endless(half))).await.unwrap();
        assert_eq!(answer.status(), 408);
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_read_to_its_end_and_refused() {
    let mut options = patient();
    options.webhook().bodies.body = 100_000;
    options.webhook().bodies.discard = 400_000;
    let server = start(options).await;
    for alpn in [H1, H2] {
        let connector = connector(&server.ca, alpn, None);
        let mut sender = Sender::connect(server.address, &connector).await.unwrap();
        let padded = format!(r#"{{"pad":"{}"}}"#, "x".repeat(200_000));
        let answer = sender.send(request("/mutate-federatedhpa", full(padded))).await.unwrap();
        assert_eq!(answer.status(), 413);
        assert!(sender.review("u").await.unwrap().admits("u"), "the connection goes on");
        // Far beyond the limit nothing more is read.
        let mut sender = Sender::connect(server.address, &connector).await.unwrap();
        let answer = sender.send(request("/mutate-federatedhpa", endless(vec![b' '; 500_000]))).await.unwrap();
        assert_eq!(answer.status(), 413);
    }
}

#[tokio::test]
async fn a_review_too_many_is_told_to_come_again() {
    let mut options = patient();
    options.webhook().reviews = 1;
    let server = start(options).await;
    let mut held = Sender::connect(server.address, &connector(&server.ca, H1, None)).await.unwrap();
    let held =
        tokio::spawn(async move { held.send(request("/validate-federatedhpa", endless(vec![b'{']))).await.is_ok() });
    while !server.metrics.text().contains("fhpa_reviews_in_flight 1") {
        tokio::task::yield_now().await;
    }
    let mut other = Sender::connect(server.address, &connector(&server.ca, H2, None)).await.unwrap();
    let answer = other.review("u").await.unwrap();
    assert_eq!((answer.status().as_u16(), &answer.head.headers["retry-after"]), (429, &"1".parse().unwrap()));
    held.abort();
    let _ = held.await;
    while !other.review("u").await.unwrap().admits("u") {}
}

#[tokio::test]
async fn a_connection_too_many_is_closed_at_once() {
    let mut options = patient();
    options.webhook().limits.connections = 1;
    let server = start(options).await;
    let connector = connector(&server.ca, H1, None);
    let mut first = Sender::connect(server.address, &connector).await.unwrap();
    assert!(first.review("u").await.unwrap().admits("u"));
    assert!(tls(server.address, &connector).await.is_err());
    assert!(first.review("u").await.unwrap().admits("u"));
    assert!(server.metrics.text().contains("fhpa_connections_total{result=\"refused\"} 1"));
    drop(first);
    while tls(server.address, &connector).await.is_err() {}
}

#[tokio::test]
async fn the_oldest_silent_connections_give_way() {
    let mut options = patient();
    options.webhook().limits.connections = 3;
    let server = start(options).await;
    let connectors = [H1, H2].map(|alpn| connector(&server.ca, alpn, None));
    let mut served = Sender::connect(server.address, &connectors[0]).await.unwrap();
    assert!(served.review("u").await.unwrap().admits("u"));
    // Without a handshake, and without a request.
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let mut shaken = tls(server.address, &connectors[0]).await.unwrap();
    for connector in &connectors {
        let mut sender = Sender::connect(server.address, connector).await.unwrap();
        assert!(sender.review("u").await.unwrap().admits("u"));
        assert!(served.review("u").await.unwrap().admits("u"), "who sent a request stays");
    }
    assert_eq!(silent.read(&mut [0; 16]).await.unwrap_or(0), 0);
    assert_eq!(shaken.read(&mut [0; 16]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_large_body_too_many_is_told_to_come_again() {
    let mut options = patient();
    options.webhook().bodies.large_bodies = 1;
    let server = start(options).await;
    let Sender::H2(sender) = Sender::connect(server.address, &connector(&server.ca, H2, None)).await.unwrap() else {
        panic!("HTTP/2 is agreed");
    };
    let stalled = || {
        let mut sender = Sender::H2(sender.clone());
        let body = endless(vec![b'{'; 65 << 10]);
        Box::pin(async move { sender.send(request("/validate-federatedhpa", body)).await.map(|a| a.status()) })
    };
    let (status, held) = futures::future::select(stalled(), stalled()).await.factor_first();
    assert_eq!(status.unwrap(), 429);
    assert!(Sender::H2(sender.clone()).review("small").await.unwrap().admits("small"));
    drop(held);
}

#[tokio::test]
async fn probes_are_answered_when_every_place_of_the_webhook_is_taken() {
    let mut options = patient();
    options.webhook().limits.connections = 1;
    options.admin = AdminPort::At(([127, 0, 0, 1], 0).into());
    let server = start(options).await;
    let connector = connector(&server.ca, H1, None);
    let mut held = Sender::connect(server.address, &connector).await.unwrap();
    assert!(held.review("u").await.unwrap().admits("u"));
    assert!(tls(server.address, &connector).await.is_err());
    for path in ["/livez", "/readyz", "/metrics"] {
        let mut stream = TcpStream::connect(server.admin.unwrap()).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        // The connection ends with its answer, so that nobody keeps it.
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    drop(held);
}

#[tokio::test]
async fn a_panic_costs_one_review_and_not_the_connection() {
    let judge = Arc::new(|_, request: &fhpa::admission::envelope::Request, _| {
        assert!(request.uid != "bad", "boom");
        fhpa::admission::verdict::Verdict::allowed()
    });
    let server = start_with(patient(), judge).await;
    for alpn in [H1, H2] {
        let mut sender = Sender::connect(server.address, &connector(&server.ca, alpn, None)).await.unwrap();
        assert!(sender.review("good").await.unwrap().admits("good"));
        assert_eq!(sender.review("bad").await.unwrap().response()["status"]["code"], 500);
        assert!(sender.review("good").await.unwrap().admits("good"));
    }
    assert!(server.metrics.text().contains("fhpa_webhook_panics_total 2"));
}
