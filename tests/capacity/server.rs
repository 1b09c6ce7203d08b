//! Test estimators: small gRPC servers over HTTP/2, plaintext or with TLS, that decode the messages with their own
//! definitions.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const SERVICE: &str = "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator";

/// A question as servers before Karmada 1.18 know it.
#[derive(Clone, PartialEq, Message)]
pub struct Older {
    #[prost(string, optional, tag = "1")]
    pub cluster: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub requirements: Option<OlderRequirements>,
}

#[derive(Clone, PartialEq, Message)]
pub struct OlderRequirements {
    #[prost(message, optional, tag = "1")]
    pub node_claim: Option<OlderClaim>,
    #[prost(map = "string, message", tag = "2")]
    pub request: HashMap<String, Quantity>,
    #[prost(string, optional, tag = "3")]
    pub namespace: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub priority_class: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct OlderClaim {
    #[prost(message, optional, tag = "1")]
    pub affinity: Option<Affinity>,
    #[prost(map = "string, string", tag = "2")]
    pub selector: HashMap<String, String>,
    #[prost(message, repeated, tag = "3")]
    pub tolerations: Vec<Toleration>,
}

/// A question as servers from Karmada 1.19 on know it.
#[derive(Clone, PartialEq, Message)]
pub struct Newer {
    #[prost(string, tag = "1")]
    pub cluster: String,
    #[prost(message, optional, tag = "2")]
    pub requirements: Option<NewerRequirements>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NewerRequirements {
    #[prost(message, optional, tag = "1")]
    pub node_claim: Option<NewerClaim>,
    #[prost(string, tag = "3")]
    pub namespace: String,
    #[prost(string, tag = "4")]
    pub priority_class: String,
    #[prost(map = "string, bytes", tag = "5")]
    pub request: HashMap<String, Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NewerClaim {
    #[prost(map = "string, string", tag = "2")]
    pub selector: HashMap<String, String>,
    #[prost(bytes = "vec", tag = "4")]
    pub affinity: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub tolerations: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Quantity {
    #[prost(string, optional, tag = "1")]
    pub text: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Affinity {
    #[prost(message, repeated, tag = "1")]
    pub terms: Vec<Term>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Term {
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<Rule>,
    #[prost(message, repeated, tag = "2")]
    pub fields: Vec<Rule>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Rule {
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub operator: Option<String>,
    #[prost(string, repeated, tag = "3")]
    pub values: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Toleration {
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub operator: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub value: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub effect: Option<String>,
    #[prost(int64, optional, tag = "5")]
    pub seconds: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Unschedulable {
    #[prost(string, tag = "1")]
    pub cluster: String,
    #[prost(message, optional, tag = "2")]
    pub resource: Option<Reference>,
    #[prost(int64, tag = "3")]
    pub threshold: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Reference {
    #[prost(string, tag = "1")]
    pub api_version: String,
    #[prost(string, tag = "2")]
    pub kind: String,
    #[prost(string, tag = "3")]
    pub namespace: String,
    #[prost(string, tag = "4")]
    pub name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(int32, tag = "1")]
    number: i32,
}

/// What a server does with a question.
pub enum Answer {
    Number(i32),
    Error(u16, &'static str),
    Never,
}

type Answers = dyn Fn(&str, Bytes) -> Answer + Send + Sync;

/// A server, until it is dropped.
pub struct Server {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
    open: Arc<Mutex<Vec<tokio::task::JoinHandle<()>>>>,
}

impl Server {
    /// The name of a cluster that leads here by the address `127.0.0.1:{cluster}`.
    pub fn port(&self) -> String {
        self.address.port().to_string()
    }

    /// Cuts all connections; new ones are accepted.
    pub fn cut(&self) {
        self.open.lock().unwrap().drain(..).for_each(|connection| connection.abort());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

pub async fn serve(
    tls: Option<TlsAcceptor>,
    answers: impl Fn(&str, Bytes) -> Answer + Send + Sync + 'static,
) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answers: Arc<Answers> = Arc::new(answers);
    let (connections, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (count, keep) = (Arc::clone(&connections), Arc::clone(&open));
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, answers, count) = (tls.clone(), Arc::clone(&answers), Arc::clone(&count));
            let connection = tokio::spawn(async move {
                let service = service_fn(move |request| answer(request, Arc::clone(&answers)));
                let server = http2::Builder::new(TokioExecutor::new());
                let _ended = match tls {
                    Some(tls) => {
                        let Ok(stream) = tls.accept(stream).await else { return };
                        count.fetch_add(1, Ordering::SeqCst);
                        server.serve_connection(TokioIo::new(stream), service).await
                    }
                    None => {
                        count.fetch_add(1, Ordering::SeqCst);
                        server.serve_connection(TokioIo::new(stream), service).await
                    }
                };
            });
            keep.lock().unwrap().push(connection);
        }
    });
    Server { address, connections, task, open }
}

type Body = http_body_util::combinators::BoxBody<Bytes, Infallible>;

async fn answer(request: Request<Incoming>, answers: Arc<Answers>) -> Result<Response<Body>, Infallible> {
    let method = request.uri().path().strip_prefix(SERVICE).unwrap_or_default().trim_start_matches('/').to_owned();
    assert_eq!(request.headers()["content-type"], "application/grpc");
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let mut frames: Vec<Result<Frame<Bytes>, Infallible>> = Vec::new();
    let mut trailers = HeaderMap::new();
    match answers(&method, body.slice(5..)) {
        Answer::Never => tokio::time::sleep(Duration::from_secs(3_600)).await,
        Answer::Error(code, text) => {
            trailers.insert("grpc-status", HeaderValue::from(code));
            trailers.insert("grpc-message", HeaderValue::from_static(text));
        }
        Answer::Number(number) => {
            let message = Number { number }.encode_to_vec();
            let mut framed = BytesMut::new();
            framed.put_u8(0);
            framed.put_u32(u32::try_from(message.len()).unwrap());
            framed.put_slice(&message);
            frames.push(Ok(Frame::data(framed.freeze())));
            trailers.insert("grpc-status", HeaderValue::from_static("0"));
        }
    }
    frames.push(Ok(Frame::trailers(trailers)));
    let body = StreamBody::new(futures::stream::iter(frames)).boxed();
    Ok(Response::builder().header("content-type", "application/grpc").body(body).unwrap())
}
