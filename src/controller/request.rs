//! One request to the API server, with an end and a classified failure. I/O: the client.

use std::time::Duration;

use http::Request;
use kube::Client;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::failure::{Asked, Failure, WriteError};
use crate::runtime::leader::Leader;

/// How long an answer may take; that of a write no longer than until somebody else may lead.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Sends a write, if this process leads still, and reads its answer.
///
/// # Errors
/// When it leads no more, or as [`send`].
pub async fn write<T: DeserializeOwned>(
    client: &Client,
    leader: &Leader,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    asked: Asked<'_>,
) -> Result<T, WriteError> {
    let patience = leader.room()?.min(PATIENCE);
    Ok(send_within(patience, client, request, asked).await?)
}

/// Sends `request` and reads its answer.
///
/// # Errors
/// When the API server refuses, or no answer that can be read comes in time.
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
