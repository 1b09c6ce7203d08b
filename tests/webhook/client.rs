//! A client that connects like kube-apiserver: TLS with ALPN, connections reused until the server asks to close them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http::{Request, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub const H1: &[u8] = b"http/1.1";
pub const H2: &[u8] = b"h2";

pub type Body = BoxBody<Bytes, Infallible>;

/// Trusts the certificates in `ca`, speaks `alpn`, and shows `identity` (certificate and key) when there is one.
pub fn connector(ca: &str, alpn: &[u8], identity: Option<(&str, &str)>) -> TlsConnector {
    connector_of(ca, alpn, identity, rustls::ALL_VERSIONS)
}

pub fn connector_of(
    ca: &str,
    alpn: &[u8],
    identity: Option<(&str, &str)>,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        Some((chain, key)) => {
            let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).map(Result::unwrap).collect();
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![alpn.to_vec()];
    TlsConnector::from(Arc::new(config))
}

pub async fn tls(address: SocketAddr, connector: &TlsConnector) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    connector.connect(ServerName::try_from("localhost").unwrap(), stream).await
}

/// A connection of either protocol.
pub enum Sender {
    H1(http1::SendRequest<Body>),
    H2(http2::SendRequest<Body>),
}

impl Sender {
    pub async fn connect(address: SocketAddr, connector: &TlsConnector) -> io::Result<Self> {
        Self::new(tls(address, connector).await?).await
    }

    async fn new(stream: TlsStream<TcpStream>) -> io::Result<Self> {
        let h2 = stream.get_ref().1.alpn_protocol() == Some(H2);
        let stream = TokioIo::new(stream);
        Ok(if h2 {
            let (sender, connection) =
                http2::handshake(TokioExecutor::new(), stream).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            Self::H2(sender)
        } else {
            let (sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            Self::H1(sender)
        })
    }

    /// Whether the connection can carry another request.
    pub async fn ready(&mut self) -> bool {
        match self {
            Self::H1(sender) => sender.ready().await.is_ok(),
            Self::H2(sender) => sender.ready().await.is_ok(),
        }
    }

    pub async fn send(&mut self, request: Request<Body>) -> hyper::Result<Answer> {
        let response = match self {
            Self::H1(sender) => sender.send_request(request).await?,
            Self::H2(sender) => sender.send_request(request).await?,
        };
        let (head, body) = response.into_parts();
        Ok(Answer { head, body: body.collect().await?.to_bytes() })
    }

    pub async fn review(&mut self, uid: &str) -> hyper::Result<Answer> {
        self.send(request("/validate-federatedhpa", full(review(uid)))).await
    }
}

pub struct Answer {
    pub head: http::response::Parts,
    pub body: Bytes,
}

impl Answer {
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// `response` of the AdmissionReview.
    pub fn response(&self) -> Value {
        let mut review: Value = serde_json::from_slice(&self.body).unwrap();
        review["response"].take()
    }

    pub fn admits(&self, uid: &str) -> bool {
        self.status() == 200 && self.response() == json!({"uid": uid, "allowed": true})
    }
}

pub fn full(body: impl Into<Bytes>) -> Body {
    BodyExt::boxed(Full::new(body.into()))
}

/// A body that comes in pieces.
pub fn streamed(pieces: impl Stream<Item = Bytes> + Send + Sync + 'static) -> Body {
    BodyExt::boxed(StreamBody::new(pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)))))
}

pub fn request(path: &str, body: Body) -> Request<Body> {
    Request::post(format!("https://localhost{path}"))
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(body)
        .unwrap()
}

/// A review of a good FederatedHPA.
pub fn review(uid: &str) -> Vec<u8> {
    let object = json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 10, "mode": "Distributed",
            "metrics": [{"type": "Resource", "resource":
                {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}]
        }
    });
    serde_json::to_vec(&json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": uid, "operation": "CREATE", "name": "web", "namespace": "prod", "dryRun": false,
            "kind": {"group": "autoscaling.karmada.io", "version": "v1alpha1", "kind": "FederatedHPA"},
            "userInfo": {"username": "admin", "groups": ["system:authenticated"]},
            "object": object, "oldObject": null
        }
    }))
    .unwrap()
}
