//! The API `metrics.k8s.io` of a member, from the data of its kubelets. I/O: serves on the loopback interface.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::kubelet::Pods;
use crate::rig::authority::Pair;

const VERSION: &str = "metrics.k8s.io/v1beta1";

/// Serves until the runtime ends.
pub async fn serve(port: u16, pair: Pair, pods: Arc<Pods>) {
    let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    while let Ok((tcp, _)) = listener.accept().await {
        let (acceptor, pods) = (acceptor.clone(), Arc::clone(&pods));
        tokio::spawn(async move {
            let Ok(tls) = acceptor.accept(tcp).await else { return };
            let service = service_fn(move |request: Request<Incoming>| {
                let (code, body) = answer(request.uri(), &pods);
                let response = Response::builder().status(code).header("content-type", "application/json");
                let response = response.body(Full::new(Bytes::from(body.to_string()))).unwrap();
                async move { Ok::<_, Infallible>(response) }
            });
            let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(tls), service).await;
        });
    }
}

fn answer(uri: &Uri, pods: &Pods) -> (u16, Value) {
    let parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
    match parts[..] {
        ["apis"] => (200, json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})),
        ["apis", "metrics.k8s.io"] => {
            let version = json!({"groupVersion": VERSION, "version": "v1beta1"});
            let group = json!({"kind": "APIGroup", "apiVersion": "v1", "name": "metrics.k8s.io",
                "versions": [version], "preferredVersion": version});
            (200, group)
        }
        ["apis", "metrics.k8s.io", "v1beta1"] => {
            let pods = json!({"name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics",
                "verbs": ["get", "list"]});
            (200, json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": VERSION, "resources": [pods]}))
        }
        ["apis", "metrics.k8s.io", "v1beta1", "namespaces", namespace, "pods"] => {
            match pods.metrics(namespace, app(uri).as_deref()) {
                Some(items) => {
                    let list = json!({"kind": "PodMetricsList", "apiVersion": VERSION, "metadata": {}, "items": items});
                    (200, list)
                }
                None => failure(503, "ServiceUnavailable"),
            }
        }
        _ => failure(404, "NotFound"),
    }
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    (code, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}))
}

/// The app of a label selector `app=NAME`, the only one that is understood.
fn app(uri: &Uri) -> Option<String> {
    let mut parameters = uri.query()?.split('&');
    let selector = parameters.find_map(|parameter| parameter.strip_prefix("labelSelector="))?;
    selector.replace("%3D", "=").strip_prefix("app=").map(str::to_owned)
}
