//! One request to the API server, with an end and a classified failure. I/O: the client.

use std::time::Duration;

use http::Request;
use kube::Client;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::failure::{Asked, Failure};

/// How long an answer may take. A write in flight when the lease is lost ends soon after.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Sends `request` and reads its answer.
///
/// # Errors
/// When the API server refuses, or no answer that can be read comes in time.
pub async fn send<T: DeserializeOwned>(
    client: &Client,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    asked: Asked<'_>,
) -> Result<T, Failure> {
    let request = request.map_err(|error| Failure::of(&kube::Error::BuildRequest(error), asked))?;
    match timeout(PATIENCE, client.request(request)).await {
        Ok(answer) => answer.map_err(|error| Failure::of(&error, asked)),
        Err(_) => Err(Failure::timed_out(asked, PATIENCE)),
    }
}
