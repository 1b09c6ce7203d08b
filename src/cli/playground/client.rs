//! Sends a command to a running playground, and prints its response. Sockets.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use super::control::HEADER;
use super::directory::Directory;
use super::{Error, Word};

/// Longest wait for a response.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Sends a command to the playground whose files are in `directory`.
pub(super) async fn run(word: &Word, directory: &Directory) -> Result<(), Error> {
    let nobody = || Error::NotRunning(directory.path().to_owned());
    let address = directory.control().ok_or_else(nobody)?;
    let (method, path, body) = match word {
        Word::Load { workload, cpu, namespace } => {
            ("POST", "/load".to_owned(), json!({"namespace": namespace, "workload": workload, "cpu": cpu}))
        }
        Word::Fail { cluster } => ("POST", format!("/clusters/{cluster}/fail"), json!({})),
        Word::Recover { cluster } => ("POST", format!("/clusters/{cluster}/recover"), json!({})),
        Word::Nodes { cluster, by } => ("POST", format!("/clusters/{cluster}/nodes"), json!({"by": by})),
        Word::Status => ("GET", "/status".to_owned(), Value::Null),
    };
    let (well, sentence) = ask(address, method, &path, &body).await.map_err(|error| match error {
        Error::Answer(_) if std::net::TcpStream::connect(address).is_err() => nobody(),
        other => other,
    })?;
    if !well {
        return Err(Error::Refused(sentence));
    }
    anstream::println!("{sentence}");
    Ok(())
}

/// Whether the command succeeded, and the message of the playground.
pub(super) async fn ask(address: SocketAddr, method: &str, path: &str, body: &Value) -> Result<(bool, String), Error> {
    let asked = tokio::time::timeout(PATIENCE, send(address, method, path, body));
    let late = |_| Error::Answer("it took too long".to_owned());
    asked.await.map_err(late)?.map_err(|error| Error::Answer(error.to_string()))
}

async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<(bool, String), Box<dyn std::error::Error + Send + Sync>> {
    let stream = tokio::net::TcpStream::connect(address).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::builder().method(method).uri(path).header("host", address.to_string()).header(HEADER, "1");
    let request = request.body(Full::new(Bytes::from(body.to_string())))?;
    let response = sender.send_request(request).await?;
    let well = response.status().is_success();
    let text = response.into_body().collect().await?.to_bytes();
    Ok((well, String::from_utf8_lossy(&text).into_owned()))
}
