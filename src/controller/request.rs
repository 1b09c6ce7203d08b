//! One request to the API server, with a time limit and a classified failure. I/O: the client.

use std::time::Duration;

use http::Request;
use kube::Client;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::failure::{Asked, Failure, WriteError};
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

async fn send_within<T: DeserializeOwned>(
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
