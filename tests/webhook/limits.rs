//! Slow, demanding and broken clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fhpa::run::process::{AdminPort, Options};
use futures::{StreamExt as _, stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::client::{Body, H1, H2, Sender, connector, full, request, review, streamed, tls};
use super::tls::{start, start_with};

/// Long enough that only the limit under test ends a connection.
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(50);

fn patient() -> Options {
    let mut options = Options::loopback();
    options.webhook().limits.handshake = LONG;
    options.webhook().limits.connection.header = LONG;
    options.webhook().limits.connection.idle = LONG;
    options.webhook().limits.connection.scarce = LONG;
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
    options.webhook().limits.connection.header = SHORT;
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
    options.webhook().limits.connection.header = SHORT;
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
    options.webhook().limits.connection.header = SHORT;
    options.webhook().limits.connection.idle = SHORT;
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
async fn bodies_of_one_peer_that_do_not_arrive_do_not_keep_another_from_being_served() {
    for (start_of_body, all, large) in [(1, 8, 8), (65 << 10, 64, 8)] {
        let mut options = patient();
        options.webhook().reviews = all;
        options.webhook().bodies.large_bodies = large;
        let server = start(options).await;
        let stream = from("127.0.0.1", server.address).await;
        let Sender::H2(sender) = Sender::over(stream, &connector(&server.ca, H2, None)).await.unwrap() else {
            panic!("HTTP/2 is agreed");
        };
        let stalled = || {
            let mut sender = Sender::H2(sender.clone());
            let body = endless(vec![b'{'; start_of_body]);
            tokio::spawn(async move { sender.send(request("/validate-federatedhpa", body)).await.map(|a| a.status()) })
        };
        // The peer gets three quarters of the places, and then an answer that says so.
        let mut held: Vec<_> = (0..large).map(|_| stalled()).collect();
        let mut refused = 0;
        while refused < large / 4 {
            let (status, _, rest) = futures::future::select_all(held).await;
            assert_eq!(status.unwrap().unwrap().as_u16(), 429);
            (refused, held) = (refused + 1, rest);
        }
        let stream = from("127.0.0.2", server.address).await;
        let mut other = Sender::over(stream, &connector(&server.ca, H1, None)).await.unwrap();
        let mut padded = review("u");
        padded.resize(padded.len() + start_of_body, b' ');
        assert!(other.send(request("/validate-federatedhpa", full(padded))).await.unwrap().admits("u"));
        held.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

#[tokio::test]
async fn a_connection_too_many_is_closed_at_once() {
    let mut options = patient();
    options.webhook().limits.connections = 1;
    let server = start(options).await;
    let connector = connector(&server.ca, H1, None);
    let mut first = Sender::connect(server.address, &connector).await.unwrap();
    assert!(tls(server.address, &connector).await.is_err());
    assert!(first.review("u").await.unwrap().admits("u"));
    assert!(server.metrics.text().contains("fhpa_connections_total{result=\"refused\"} 1"));
    drop(first);
    while tls(server.address, &connector).await.is_err() {}
}

/// A TCP connection to `server` from an address of this machine of its own.
async fn from(peer: &str, server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(peer.parse().unwrap(), 0)).unwrap();
    socket.connect(server).await.unwrap()
}

/// Connections that have a place; the others are closed at once.
async fn accepted(mut all: Vec<TcpStream>, count: usize) -> Vec<TcpStream> {
    let mut closed = 0;
    while all.len() > count {
        all.retain(|stream| !matches!(stream.try_read(&mut [0]), Ok(0)));
        tokio::task::yield_now().await;
        closed += 1;
        assert!(closed < 10_000_000, "{} connections are kept, not {count}", all.len());
    }
    all
}

/// Slots of the listeners of these tests.
const SLOTS: usize = 128;

#[tokio::test]
async fn idle_connections_of_one_peer_do_not_keep_another_from_being_served() {
    let mut options = patient();
    options.webhook().limits.connections = SLOTS;
    let server = start(options).await;
    let mut idle = Vec::new();
    for _ in 0..SLOTS {
        idle.push(from("127.0.0.1", server.address).await);
    }
    let idle = accepted(idle, SLOTS / 4 * 3).await;
    let stream = from("127.0.0.2", server.address).await;
    let mut sender = Sender::over(stream, &connector(&server.ca, H2, None)).await.unwrap();
    assert!(sender.review("u").await.unwrap().admits("u"));
    drop(idle);
}

#[tokio::test]
async fn an_idle_http2_connection_makes_place_when_places_are_scarce() {
    let mut options = patient();
    options.webhook().limits.connections = 4;
    options.webhook().limits.connection.header = Duration::from_secs(5);
    options.webhook().limits.connection.scarce = SHORT;
    let server = start(options).await;
    let connector = connector(&server.ca, H2, None);
    let mut all = Vec::new();
    for _ in 0..3 {
        let mut sender = Sender::connect(server.address, &connector).await.unwrap();
        assert!(sender.review("u").await.unwrap().admits("u"));
        all.push(sender);
    }
    // Closed by the server, with nothing in flight. With its place free the others may stay.
    while !all.iter().any(Sender::is_closed) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn probes_are_answered_when_every_place_of_their_port_is_taken() {
    let mut options = patient();
    options.admin = AdminPort::At(([127, 0, 0, 1], 0).into());
    let server = start(options).await;
    let admin = server.admin.unwrap();
    let mut idle = Vec::new();
    for peer in ["127.0.0.3", "127.0.0.4"] {
        for _ in 0..64 {
            let mut stream = from(peer, admin).await;
            let _ = stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
            idle.push(stream);
        }
    }
    let idle = accepted(idle, 64).await;
    for (path, code) in [("/livez", "200"), ("/readyz", "200"), ("/metrics", "404")] {
        let mut stream = from("127.0.0.2", admin).await;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        // The connection ends with its answer.
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{path}: {answer}");
    }
    drop(idle);
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
