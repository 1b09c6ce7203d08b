//! Lists that are read page by page. Talks to an API server; reads only.

use kube::Client;
use kube::api::{ListParams, ObjectMeta, PartialObjectMeta};
use kube::core::Request;
use kube::core::metadata::ListMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::failure::{Asked, Failure};
use super::request::send;
use crate::decision::json::null_as_default;

/// Objects of a page.
pub const PAGE: u32 = 500;

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Page<T> {
    #[serde(default)]
    metadata: ListMeta,
    /// Null in an empty list of metadata.
    #[serde(default, deserialize_with = "null_as_default")]
    items: Vec<T>,
}

type Built = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

/// Reads all objects at `path`. Each goes to `each` when its page has arrived, so that no more than a page is held.
///
/// # Errors
/// When the API server rejects a request or is unreachable; some objects may have been read.
pub async fn pages<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    parameters: ListParams,
    asked: Asked<'_>,
    each: impl FnMut(T),
) -> Result<(), Failure> {
    read(client, parameters, |parameters| Request::new(path).list(parameters), asked, each).await
}

/// As [`pages`], of the metadata alone.
///
/// # Errors
/// As [`pages`].
pub async fn metadata_pages(
    client: &Client,
    path: &str,
    parameters: ListParams,
    asked: Asked<'_>,
    mut each: impl FnMut(ObjectMeta),
) -> Result<(), Failure> {
    let request = |parameters: &ListParams| Request::new(path).list_metadata(parameters);
    read(client, parameters, request, asked, |object: PartialObjectMeta| each(object.metadata)).await
}

async fn read<T: DeserializeOwned>(
    client: &Client,
    parameters: ListParams,
    request: impl Fn(&ListParams) -> Built,
    asked: Asked<'_>,
    mut each: impl FnMut(T),
) -> Result<(), Failure> {
    let mut parameters = parameters.limit(PAGE);
    loop {
        let page: Page<T> = send(client, request(&parameters), asked).await?;
        page.items.into_iter().for_each(&mut each);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(()),
        }
    }
}
