//! Test estimators: small gRPC servers over HTTP/2, plaintext or with TLS.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use fhpa::estimator::messages::MaxAvailableReplicasResponse;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message as _;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const SERVICE: &str = "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator";

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
            // The answer to the other question has the same form.
            let message = MaxAvailableReplicasResponse { max_replicas: number }.encode_to_vec();
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
