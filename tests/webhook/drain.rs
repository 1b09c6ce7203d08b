//! Shutdown: first not ready, then closing connections, and no request in flight is lost.

use std::time::Duration;

use bytes::Bytes;
use fhpa::run::process::{AdminPort, Drain, Ended, Options};
use futures::{StreamExt as _, stream};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::client::{H1, H2, Sender, connector, request, review, streamed};
use super::tls::{Running, start};

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(50);

fn options(keep_serving: Duration, finish: Duration) -> Options {
    let mut options = Options::loopback();
    options.admin = AdminPort::At(([127, 0, 0, 1], 0).into());
    options.webhook().limits.first_request = LONG;
    options.webhook().limits.last_call = SHORT;
    options.drain = Drain { keep_serving, finish };
    options
}

/// Status and text of a path of the port for probes.
pub async fn probe(address: std::net::SocketAddr, path: &str) -> (u16, String) {
    try_probe(address, path).await.unwrap()
}

/// As [`probe`], of a process that may be gone.
pub async fn try_probe(address: std::net::SocketAddr, path: &str) -> std::io::Result<(u16, String)> {
    use tokio::io::AsyncWriteExt as _;
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    status.zip(body).ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
}

/// A review in flight that ends when the sender is used.
async fn held(server: &Running, alpn: &[u8]) -> (oneshot::Sender<()>, tokio::task::JoinHandle<bool>) {
    let mut sender = Sender::connect(server.address, &connector(&server.ca, alpn, None)).await.unwrap();
    let (open, gate) = oneshot::channel();
    let body = Bytes::from(review("held"));
    let (first, second) = (body.slice(..9), body.slice(9..));
    let rest = stream::once(async move {
        gate.await.unwrap();
        second
    });
    let body = streamed(stream::iter([first]).chain(rest));
    let answer = tokio::spawn(async move {
        let answer = sender.send(request("/validate-federatedhpa", body)).await;
        answer.is_ok_and(|answer| answer.admits("held"))
    });
    (open, answer)
}

async fn in_flight(server: &Running, reviews: usize) {
    let line = format!("fhpa_reviews_in_flight {reviews}");
    while !server.metrics.text().lines().any(|l| l == line) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn readiness_falls_first_and_reviews_go_on() {
    let server = start(options(LONG, LONG)).await;
    let admin = server.admin.unwrap();
    assert_eq!(probe(admin, "/readyz").await, (200, "ok\n".to_owned()));
    server.handle.shut_down();
    while probe(admin, "/readyz").await.0 == 200 {}
    assert_eq!(probe(admin, "/readyz").await, (503, "not ready: the process is shutting down\n".to_owned()));
    assert_eq!(probe(admin, "/livez").await.0, 200);
    for alpn in [H1, H2] {
        let mut sender = Sender::connect(server.address, &connector(&server.ca, alpn, None)).await.unwrap();
        assert!(sender.review("u").await.unwrap().admits("u"));
    }
    // The second signal does not wait.
    server.handle.shut_down();
    assert_eq!(server.ended.await.unwrap(), Ended::Aborted);
}

#[tokio::test]
async fn reviews_in_flight_are_answered_and_connections_asked_to_leave() {
    let server = start(options(Duration::ZERO, LONG)).await;
    let (open1, answer1) = held(&server, H1).await;
    let (open2, answer2) = held(&server, H2).await;
    in_flight(&server, 2).await;
    let mut idle = Sender::connect(server.address, &connector(&server.ca, H2, None)).await.unwrap();
    assert!(idle.review("u").await.unwrap().admits("u"));
    server.handle.shut_down();
    // GOAWAY ends the idle connection; the socket is closed to new ones.
    while idle.ready().await {
        tokio::task::yield_now().await;
    }
    while TcpStream::connect(server.address).await.is_ok() {}
    open1.send(()).unwrap();
    open2.send(()).unwrap();
    assert!(answer1.await.unwrap() && answer2.await.unwrap());
    assert_eq!(server.ended.await.unwrap(), Ended::Drained);
}

#[tokio::test]
async fn while_parting_each_answer_closes_its_http1_connection() {
    let server = start(options(SHORT, LONG)).await;
    let connector = connector(&server.ca, H1, None);
    let mut sender = Sender::connect(server.address, &connector).await.unwrap();
    assert!(!sender.review("u").await.unwrap().head.headers.contains_key("connection"));
    server.handle.shut_down();
    let closing = loop {
        let answer = sender.review("u").await.unwrap();
        assert!(answer.admits("u"));
        if let Some(connection) = answer.head.headers.get("connection") {
            break connection.clone();
        }
    };
    assert_eq!(closing, "close");
    assert_eq!(server.ended.await.unwrap(), Ended::Drained);
}

#[tokio::test]
async fn a_half_open_handshake_does_not_hold_the_end() {
    let server = start(options(Duration::ZERO, LONG)).await;
    let mut half_open = TcpStream::connect(server.address).await.unwrap();
    while !server.metrics.text().contains("fhpa_connections_open 1") {
        tokio::task::yield_now().await;
    }
    server.handle.shut_down();
    assert_eq!(server.ended.await.unwrap(), Ended::Drained);
    assert_eq!(half_open.read(&mut [0; 1]).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_review_that_never_ends_is_dropped_when_time_is_over() {
    let server = start(options(Duration::ZERO, SHORT)).await;
    let (_open, answer) = held(&server, H1).await;
    in_flight(&server, 1).await;
    server.handle.shut_down();
    assert_eq!(server.ended.await.unwrap(), Ended::TimedOut);
    assert!(!answer.await.unwrap());
}
