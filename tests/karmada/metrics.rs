//! The APIs `metrics.k8s.io` and `external.metrics.k8s.io` of a member, from the data of its kubelets. I/O: serves on the
//! loopback interface.

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

const EXTERNAL: &str = "external.metrics.k8s.io";
const VERSION: &str = "v1beta1";

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
        ["apis", group @ ("metrics.k8s.io" | EXTERNAL)] => {
            let version = json!({"groupVersion": format!("{group}/{VERSION}"), "version": VERSION});
            let group = json!({"kind": "APIGroup", "apiVersion": "v1", "name": group,
                "versions": [version], "preferredVersion": version});
            (200, group)
        }
        ["apis", group @ ("metrics.k8s.io" | EXTERNAL), VERSION] => {
            let resources = if group == EXTERNAL {
                json!([])
            } else {
                json!([{"name": "pods", "singularName": "",
                "namespaced": true, "kind": "PodMetrics", "verbs": ["get", "list"]}])
            };
            let list = json!({"kind": "APIResourceList", "apiVersion": "v1",
                "groupVersion": format!("{group}/{VERSION}"), "resources": resources});
            (200, list)
        }
        ["apis", EXTERNAL, VERSION, "namespaces", _, metric] => {
            let item = |value: u32| {
                json!({"metricName": metric, "metricLabels": {}, "value": value.to_string(),
                "timestamp": fhpa::runtime::clock::wall().to_string()})
            };
            let items: Vec<Value> = pods.external(metric).map(item).into_iter().collect();
            let list = json!({"kind": "ExternalMetricValueList", "apiVersion": format!("{EXTERNAL}/{VERSION}"),
                "metadata": {}, "items": items});
            (200, list)
        }
        ["apis", "metrics.k8s.io", VERSION, "namespaces", namespace, "pods"] => {
            match pods.metrics(namespace, app(uri).as_deref()) {
                Some(items) => {
                    let list = json!({"kind": "PodMetricsList", "apiVersion": format!("metrics.k8s.io/{VERSION}"),
                        "metadata": {}, "items": items});
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
