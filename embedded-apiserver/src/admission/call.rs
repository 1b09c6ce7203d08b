//! One call to a webhook: a POST over TLS on a connection of its own. I/O.

use std::error::Error;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::CertificateError::{
    Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext, UnknownIssuer,
};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::hook::{Hook, Target};

/// Most bytes of a response.
const MOST: usize = 3 * 1024 * 1024;

/// Sends a review and returns the response. Errors are worded as in kube-apiserver.
pub(super) async fn review(hook: &Hook, review: &Value) -> Result<Value, String> {
    let (url, trust) = match &hook.target {
        Target::Url(url, trust) => (url, trust),
        Target::Unreachable(why) => return Err(why.clone()),
    };
    let joint = if url.contains('?') { '&' } else { '?' };
    let full = format!("{url}{joint}timeout={}s", hook.timeout.as_secs());
    let posted = |why: String| format!("Post {full:?}: {why}");
    let body = Bytes::from(review.to_string());
    let answered = timeout(hook.timeout, post(&full, trust, body)).await;
    let (status, answer) = answered.map_err(|_| posted("context deadline exceeded".to_owned()))?.map_err(posted)?;
    read(status, &answer)
}

fn read(status: StatusCode, body: &[u8]) -> Result<Value, String> {
    let decoded: Result<Value, _> = serde_json::from_slice(body);
    if status.is_success() {
        return decoded.map_err(|error| format!("couldn't get version/kind; json parse error: {error}"));
    }
    let said = decoded.ok().filter(|value| value.get("kind").and_then(Value::as_str) == Some("Status"));
    if let Some(message) = said.as_ref().and_then(|status| status.get("message")).and_then(Value::as_str) {
        return Err(message.to_owned());
    }
    let text: String = String::from_utf8_lossy(body).chars().take(2048).collect();
    Err(match status {
        StatusCode::NOT_FOUND => "the server could not find the requested resource".to_owned(),
        StatusCode::BAD_REQUEST => "the server rejected our request for an unknown reason".to_owned(),
        StatusCode::METHOD_NOT_ALLOWED => "the server does not allow this method on the requested resource".to_owned(),
        StatusCode::UNPROCESSABLE_ENTITY => "the server rejected our request due to an error in our request".to_owned(),
        StatusCode::SERVICE_UNAVAILABLE => "the server is currently unable to handle the request".to_owned(),
        StatusCode::TOO_MANY_REQUESTS => {
            "the server has received too many requests and has asked us to try again later".to_owned()
        }
        code if code.is_server_error() => {
            format!("an error on the server ({:?}) has prevented the request from succeeding", text.trim())
        }
        code => {
            format!("the server responded with the status code {} but did not return more information", code.as_u16())
        }
    })
}

async fn post(url: &str, trust: &Arc<ClientConfig>, body: Bytes) -> Result<(StatusCode, Vec<u8>), String> {
    let uri: Uri = url.parse().map_err(|error| format!("invalid URL: {error}"))?;
    if uri.scheme_str() != Some("https") {
        return Err("unsupported protocol scheme: webhooks are called over https".to_owned());
    }
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(443);
    let tcp = TcpStream::connect((host.as_str(), port)).await.map_err(|error| dial(&host, port, &error))?;
    let name = ServerName::try_from(host.clone()).map_err(|error| format!("tls: {error}"))?;
    let tls =
        TlsConnector::from(Arc::clone(trust)).connect(name, tcp).await.map_err(|error| handshake(&host, &error))?;
    let said = |error: &dyn Error| error.to_string();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(tls)).await.map_err(|error| said(&error))?;
    let driver = tokio::spawn(connection);
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::post(path)
        .header(header::HOST, authority)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, */*")
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(body))
        .map_err(|error| said(&error))?;
    let response = sender.send_request(request).await.map_err(|_| "EOF".to_owned())?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MOST).collect().await;
    let body = body.map_err(|error| format!("reading the answer: {error}"))?.to_bytes();
    driver.abort();
    Ok((status, body.to_vec()))
}

fn dial(host: &str, port: u16, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("dial tcp {host}:{port}: connect: connection refused"),
        io::ErrorKind::TimedOut => format!("dial tcp {host}:{port}: i/o timeout"),
        _ if error.raw_os_error().is_none() => format!("dial tcp: lookup {host}: no such host"),
        _ => format!("dial tcp {host}:{port}: {error}"),
    }
}

/// A failed handshake in the words of Go's TLS.
fn handshake(host: &str, error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(why)) = inner else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
            _ => format!("tls: {error}"),
        };
    };
    let why = match why {
        UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        NotValidForName => format!("certificate is not valid for {host}"),
        NotValidForNameContext { presented, .. } if presented.is_empty() => {
            "certificate is not valid for any names".to_owned()
        }
        NotValidForNameContext { presented, .. } => {
            format!("certificate is valid for {}, not {host}", presented.join(", "))
        }
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}
