//! A webhook over TLS on the loopback interface with responses from a test.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Review to HTTP status and answer.
pub type Respond = Arc<dyn Fn(&Value) -> (u16, Value) + Send + Sync>;

/// A webhook that listens, and what it was asked.
pub struct Webhook {
    /// Where it is.
    pub url: String,
    /// PEM of the authority that vouches for it.
    pub ca: String,
    /// The reviews, in order.
    pub seen: Arc<Mutex<Vec<Value>>>,
}

impl Webhook {
    /// One that answers like this.
    pub async fn start(respond: impl Fn(&Value) -> (u16, Value) + Send + Sync + 'static) -> Self {
        let (config, ca) = certificate("127.0.0.1");
        Self::with(config, ca, Arc::new(respond)).await
    }

    /// One with a certificate of its own.
    pub async fn with(config: ServerConfig, ca: String, respond: Respond) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("https://{}/review", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (acceptor, respond, log) = (acceptor.clone(), Arc::clone(&respond), Arc::clone(&log));
                tokio::spawn(async move {
                    let Ok(tls) = acceptor.accept(tcp).await else { return };
                    let service = service_fn(move |request: Request<Incoming>| {
                        let (respond, log) = (Arc::clone(&respond), Arc::clone(&log));
                        async move {
                            let body = request.into_body().collect().await.unwrap().to_bytes();
                            let review: Value = serde_json::from_slice(&body).unwrap();
                            let (code, answer) = respond(&review);
                            log.lock().unwrap().push(review);
                            let body = if let Value::String(text) = answer { text } else { answer.to_string() };
                            let response = Response::builder().status(code).body(Full::new(Bytes::from(body)));
                            Ok::<_, Infallible>(response.unwrap())
                        }
                    });
                    let _ =
                        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(tls), service).await;
                });
            }
        });
        Self { url, ca, seen }
    }

    /// How often it was asked.
    pub fn calls(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// The entry for this webhook in a configuration, with more members.
    pub fn entry(&self, name: &str, more: Value) -> Value {
        let mut entry = entry(name, json!({"url": self.url, "caBundle": STANDARD.encode(&self.ca)}));
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        entry
    }
}

/// A server's certificate for a name, and the PEM of its authority.
pub fn certificate(name: &str) -> (ServerConfig, String) {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(leaf.der().to_vec())],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (config, issuer.pem())
}

/// An entry of a configuration that matches everything.
pub fn entry(name: &str, client: Value) -> Value {
    json!({
        "name": name, "clientConfig": client, "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}],
    })
}

/// An answer that lets the object through.
pub fn allowed(review: &Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
           "response": {"uid": review["request"]["uid"], "allowed": true}})
}

/// An answer that changes the object.
pub fn patched(review: &Value, patch: Value) -> (u16, Value) {
    let mut answer = allowed(review);
    answer["response"]["patchType"] = "JSONPatch".into();
    answer["response"]["patch"] = STANDARD.encode(patch.to_string()).into();
    (200, answer)
}

/// An answer that refuses the object.
pub fn denied(review: &Value, status: Value) -> (u16, Value) {
    let mut answer = allowed(review);
    answer["response"]["allowed"] = false.into();
    answer["response"]["status"] = status;
    (200, answer)
}
