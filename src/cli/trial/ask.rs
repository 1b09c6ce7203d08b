//! An object -> AdmissionReviews over TLS -> responses. The client's side of the protocol, in the role of the API
//! server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::super::validate::{Kind, ObjectName};
use crate::admission::endpoint::Endpoint;
use crate::decision::api_version;

/// Longest wait for one response, that of the API server.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Largest response that is read.
const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// Why there is no valid response.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("no connection: {0}")]
    Connect(#[from] std::io::Error),
    #[error("its certificate cannot be used: {0}")]
    Certificate(String),
    #[error("the connection broke: {0}")]
    Http(#[from] hyper::Error),
    #[error("the request cannot be written: {0}")]
    Request(#[from] http::Error),
    #[error("no answer within {} seconds", TIMEOUT.as_secs())]
    Late,
    #[error("it answered {0} instead of 200")]
    Status(StatusCode),
    #[error("its answer is no AdmissionReview: {0}")]
    Answer(String),
}

/// Responses of both endpoints.
pub(super) struct Answers {
    pub(super) mutated: Answer,
    /// Absent when the mutating endpoint rejected the object.
    pub(super) validated: Option<Answer>,
}

/// Response of one endpoint.
pub(super) struct Answer {
    pub(super) path: &'static str,
    pub(super) allowed: bool,
    /// Code and reason of a denial.
    pub(super) status: Option<(u16, String)>,
    /// Each error with its field.
    pub(super) causes: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// The added defaults: JSON pointer and value.
    pub(super) patch: Vec<PatchLine>,
}

/// One operation of a JSON patch.
#[derive(Debug, Deserialize)]
pub(super) struct PatchLine {
    pub(super) path: String,
    #[serde(default)]
    pub(super) value: Value,
}

#[derive(Deserialize)]
struct Review {
    response: Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    uid: String,
    allowed: bool,
    #[serde(default)]
    status: Status,
    #[serde(default)]
    warnings: Vec<String>,
    patch: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    reason: String,
    message: String,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    causes: Vec<Cause>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cause {
    field: String,
    message: String,
}

/// A connection to the webhook.
pub(super) struct Client {
    requests: SendRequest<Full<Bytes>>,
    asked: u32,
}

impl Client {
    /// Connects to `address`, trusting only `ca` (PEM).
    pub(super) async fn connect(address: SocketAddr, ca: &[u8]) -> Result<Self, AskError> {
        let unusable = |error: &dyn std::fmt::Display| AskError::Certificate(error.to_string());
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(ca) {
            roots.add(certificate.map_err(|error| unusable(&error))?).map_err(|error| unusable(&error))?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let tcp = TcpStream::connect(address).await?;
        tcp.set_nodelay(true)?;
        let name = ServerName::from(address.ip());
        let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await?;
        let (requests, connection) = handshake(TokioIo::new(tls)).await?;
        // Requests report its errors, too.
        tokio::spawn(connection);
        Ok(Self { requests, asked: 0 })
    }

    /// Sends `object` to the mutating endpoint, then to the validating one.
    pub(super) async fn ask(&mut self, kind: Kind, name: &ObjectName, object: Value) -> Result<Answers, AskError> {
        let (mutate, validate) = match kind {
            Kind::FederatedHPA => (Endpoint::MutateFederatedHPA, Endpoint::ValidateFederatedHPA),
            Kind::CronFederatedHPA => (Endpoint::MutateCronFederatedHPA, Endpoint::ValidateCronFederatedHPA),
        };
        let (mutated, object) = self.post(mutate, name, object).await?;
        if !mutated.allowed {
            return Ok(Answers { mutated, validated: None });
        }
        let (validated, _) = self.post(validate, name, object).await?;
        Ok(Answers { mutated, validated: Some(validated) })
    }

    /// Sends one review; returns the response, and the object with the patch applied.
    async fn post(
        &mut self,
        endpoint: Endpoint,
        name: &ObjectName,
        mut object: Value,
    ) -> Result<(Answer, Value), AskError> {
        self.asked += 1;
        let uid = format!("00000000-0000-4000-8000-{:012}", self.asked);
        let body = review(&uid, name, &object).to_string();
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}?timeout={}s", endpoint.path(), TIMEOUT.as_secs()))
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Full::new(Bytes::from(body)))?;
        let exchange = async {
            let response = self.requests.send_request(request).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
            let body = body.map_err(|error| AskError::Answer(error.to_string()))?.to_bytes();
            if status == StatusCode::OK { Ok(body) } else { Err(AskError::Status(status)) }
        };
        let body = tokio::time::timeout(TIMEOUT, exchange).await.map_err(|_| AskError::Late)??;
        let answer = answer(endpoint, &uid, &body, &mut object)?;
        Ok((answer, object))
    }
}

/// The review of a new object.
fn review(uid: &str, name: &ObjectName, object: &Value) -> Value {
    let kind = json!({"group": api_version::GROUP, "version": api_version::VERSION, "kind": name.kind});
    let plural = format!("{}s", name.kind.to_lowercase());
    let resource = json!({"group": api_version::GROUP, "version": api_version::VERSION, "resource": plural});
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": name.name,
            "namespace": name.namespace,
            "operation": "CREATE",
            "userInfo": {"username": "fhpa-try", "groups": ["system:authenticated"]},
            "object": object,
            "oldObject": null,
            "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    })
}

/// Reads a response to the review `uid`, and applies its patch.
fn answer(endpoint: Endpoint, uid: &str, body: &[u8], object: &mut Value) -> Result<Answer, AskError> {
    let wrong = |error: &dyn std::fmt::Display| AskError::Answer(error.to_string());
    let Review { response } = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
    if response.uid != uid {
        return Err(wrong(&"it answers another request"));
    }
    let patch = match &response.patch {
        None => Vec::new(),
        Some(encoded) => {
            let json = STANDARD.decode(encoded).map_err(|error| wrong(&error))?;
            let operations: json_patch::Patch = serde_json::from_slice(&json).map_err(|error| wrong(&error))?;
            json_patch::patch(object, &operations).map_err(|error| wrong(&error))?;
            serde_json::from_slice(&json).map_err(|error| wrong(&error))?
        }
    };
    let Status { code, reason, message, details } = response.status;
    let mut causes: Vec<String> = details.causes.into_iter().map(cause).collect();
    if causes.is_empty() && !message.is_empty() {
        causes.push(message);
    }
    let (allowed, warnings) = (response.allowed, response.warnings);
    let status = (!allowed).then_some((code, reason));
    Ok(Answer { path: endpoint.path(), allowed, status, causes, warnings, patch })
}

fn cause(Cause { field, message }: Cause) -> String {
    if field.is_empty() { message } else { format!("{field}: {message}") }
}
