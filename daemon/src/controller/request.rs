//! One request to the API server, with a time limit and a classified failure. I/O: the client.

use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt as _, Limited};
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::failure::{Asked, Failure, WriteError};
use super::json_list::Items;
use crate::runtime::control_plane::Streamed;
use crate::runtime::leader::Leader;

/// Time limit of a response; that of a write also ends when another process may lead.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Sends a write if this process still leads, and reads the response.
///
/// # Errors
/// When it no longer leads, or as [`send`].
pub async fn write<T: DeserializeOwned>(
    client: &Client,
    leader: &Leader,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    asked: Asked<'_>,
) -> Result<T, WriteError> {
    let patience = leader.room()?.min(PATIENCE);
    Ok(send_within(patience, client, request, asked).await?)
}

/// Sends `request` and reads the response.
///
/// # Errors
/// When the API server rejects it, or no valid response arrives in time.
pub async fn send<T: DeserializeOwned>(
    client: &Client,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    asked: Asked<'_>,
) -> Result<T, Failure> {
    send_within(PATIENCE, client, request, asked).await
}

/// Most bytes of an error response.
const ERROR: usize = 1 << 16;

/// Sends `request`, and reads a list whose items go to `each` as they arrive.
///
/// # Errors
/// As [`send`]; some items may have been read.
pub async fn send_list<T: DeserializeOwned>(
    client: &Client,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    asked: Asked<'_>,
    each: impl FnMut(T),
) -> Result<(), Failure> {
    let request = request.map_err(|error| Failure::of(&kube::Error::BuildRequest(error), asked))?;
    match timeout(PATIENCE, list(client, request, each)).await {
        Ok(read) => read.map_err(|error| Failure::of(&error, asked)),
        Err(_) => Err(Failure::timed_out(asked, PATIENCE)),
    }
}

async fn list<T: DeserializeOwned>(
    client: &Client,
    mut request: Request<Vec<u8>>,
    mut each: impl FnMut(T),
) -> Result<(), kube::Error> {
    request.extensions_mut().insert(Streamed);
    let (head, mut body) = client.send(request.map(Body::from)).await?.into_parts();
    if !head.status.is_success() {
        let text = Limited::new(body, ERROR).collect().await.map_err(kube::Error::Service)?.to_bytes();
        let status = serde_json::from_slice(&text).unwrap_or_else(|_| {
            Status::failure(String::from_utf8_lossy(&text).trim(), "Unknown").with_code(head.status.as_u16())
        });
        return Err(kube::Error::Api(Box::new(status)));
    }
    let mut items = Items::default();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            items.feed(&data, &mut each).map_err(kube::Error::SerdeError)?;
        }
    }
    items.end().map_err(kube::Error::SerdeError)
}

/// As [`send`], with another time limit.
///
/// # Errors
/// As [`send`].
pub async fn send_within<T: DeserializeOwned>(
    patience: Duration,
    client: &Client,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    asked: Asked<'_>,
) -> Result<T, Failure> {
    let request = request.map_err(|error| Failure::of(&kube::Error::BuildRequest(error), asked))?;
    match timeout(patience, client.request(request)).await {
        Ok(answer) => answer.map_err(|error| Failure::of(&error, asked)),
        Err(_) => Err(Failure::timed_out(asked, patience)),
    }
}
