//! Reviews per second over TLS on the loopback and the processor time of each, beside a server of the same libraries that
//! reads the body and gives one constant answer. Both run in this process, one after the other in each cell, with the
//! clients on threads of their own.
//!
//! `FHPA_BENCH_SECONDS` (default 2) is the time of one measurement; each is taken three times and the median shown.
//! Processor time is that of the servers' threads, as Linux counts it, and 0 on other systems.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    unreachable_pub
)]

mod corpus;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use fhpa::run::process::{Options, Server};
use fhpa::runtime::clock;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

const CONSTANT: &[u8] = br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"7f0b3d9a-50a7-4c5f-9a57-9f1f2c3d4e5f","allowed":true}}"#;

/// Answers every request with [`CONSTANT`].
async fn constant(listener: TcpListener, acceptor: TlsAcceptor) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(async |request: http::Request<hyper::body::Incoming>| {
                let body = request.into_body().collect().await.map(|body| body.to_bytes().len());
                std::hint::black_box(body.unwrap_or(0));
                let answer = http::Response::builder().header("content-type", "application/json");
                Ok::<_, Infallible>(answer.body(Full::new(Bytes::from_static(CONSTANT))).unwrap())
            });
            let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

enum Sender {
    H1(http1::SendRequest<Full<Bytes>>),
    H2(http2::SendRequest<Full<Bytes>>),
}

impl Sender {
    async fn connect(address: SocketAddr, connector: &TlsConnector) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
        let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let stream = TokioIo::new(stream);
        if h2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
            tokio::spawn(connection);
            Self::H2(sender)
        } else {
            let (sender, connection) = http1::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            Self::H1(sender)
        }
    }

    async fn send(&mut self, path: &str, body: &Bytes) {
        let request = http::Request::post(format!("https://localhost{path}"))
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(body.clone()))
            .unwrap();
        let response = match self {
            Self::H1(sender) => {
                sender.ready().await.unwrap();
                sender.send_request(request).await.unwrap()
            }
            Self::H2(sender) => {
                sender.ready().await.unwrap();
                sender.send_request(request).await.unwrap()
            }
        };
        assert_eq!(response.status(), 200);
        response.into_body().collect().await.unwrap();
    }
}

/// Requests per second with so many in flight, and microseconds of the servers' processor time for each. HTTP/1.1: a
/// connection each; HTTP/2: one connection for all.
async fn measure(
    address: SocketAddr,
    connector: &TlsConnector,
    in_flight: usize,
    path: &'static str,
    body: &Bytes,
) -> (f64, f64) {
    let stop = Arc::new(AtomicBool::new(false));
    let first = Sender::connect(address, connector).await;
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..in_flight {
        let mut sender = match &first {
            Sender::H1(_) => Sender::connect(address, connector).await,
            Sender::H2(sender) => Sender::H2(sender.clone()),
        };
        sender.send(path, body).await;
        let (stop, body) = (stop.clone(), body.clone());
        workers.spawn(async move {
            let mut count = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                sender.send(path, &body).await;
                count += 1;
            }
            count
        });
    }
    let (started, used) = (clock::monotonic(), processor_time());
    tokio::time::sleep(seconds()).await;
    stop.store(true, Ordering::Relaxed);
    let count = workers.join_all().await.into_iter().sum::<u64>() as f64;
    (count / started.elapsed().as_secs_f64(), (processor_time() - used) / count)
}

/// Name of the servers' threads.
const SERVERS: &str = "servers";

/// Microseconds that the servers' threads have run.
fn processor_time() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_thread = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let nanoseconds: f64 = times.split_whitespace().next()?.parse().ok()?;
        (name.trim() == SERVERS).then_some(nanoseconds / 1000.0)
    };
    tasks.filter_map(of_thread).sum()
}

fn seconds() -> Duration {
    let seconds = std::env::var("FHPA_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2.0);
    Duration::from_secs_f64(seconds)
}

/// The medians of what was measured.
fn median(values: [(f64, f64); 3]) -> (f64, f64) {
    let middle = |mut values: [f64; 3]| {
        values.sort_by(f64::total_cmp);
        values[1]
    };
    (middle(values.map(|(rate, _)| rate)), middle(values.map(|(_, time)| time)))
}

fn runtime(threads: usize, name: &str) -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(threads).thread_name(name).enable_all().build().unwrap()
}

fn main() {
    let servers = runtime(2, SERVERS);
    let clients = runtime(1, "clients");
    let (address, floor, ca) = servers.block_on(async {
        let mut options = Options::loopback();
        options.webhook().reviews = 1024;
        let server = Server::bind(options).await.unwrap();
        let (address, ca, config) =
            (server.local_addr(), server.ca_pem().unwrap(), server.tls().unwrap().load().config.clone());
        tokio::spawn(server.run());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let floor = listener.local_addr().unwrap();
        tokio::spawn(constant(listener, TlsAcceptor::from(config)));
        (address, floor, ca)
    });
    println!(
        "{:<28} {:<8} {:>9} {:>12} {:>12} {:>7} {:>12} {:>12} {:>7}",
        "", "protocol", "in flight", "constant/s", "fhpa/s", "ratio", "constant us", "fhpa us", "ratio"
    );
    for case in corpus::cases() {
        let (path, body) = (case.endpoint.path(), Bytes::from(case.body));
        for (protocol, alpn) in [("HTTP/1.1", b"http/1.1".as_slice()), ("HTTP/2", b"h2")] {
            let connector = connector(&ca, alpn);
            for in_flight in [1, 8, 64] {
                let (mut constants, mut ours) = ([(0.0, 0.0); 3], [(0.0, 0.0); 3]);
                for round in 0..3 {
                    constants[round] = clients.block_on(measure(floor, &connector, in_flight, path, &body));
                    ours[round] = clients.block_on(measure(address, &connector, in_flight, path, &body));
                }
                let ((constant, floor_us), (ours, our_us)) = (median(constants), median(ours));
                println!(
                    "{:<28} {protocol:<8} {in_flight:>9} {constant:>12.0} {ours:>12.0} {:>7.2} {floor_us:>12.1} {our_us:>12.1} {:>7.2}",
                    case.name,
                    ours / constant,
                    our_us / floor_us
                );
            }
        }
    }
}

fn connector(ca: &str, alpn: &[u8]) -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
    let mut config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    TlsConnector::from(Arc::new(config))
}
