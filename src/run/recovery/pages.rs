//! Lists that are read page by page. Talks to an API server; reads only.

use kube::Client;
use kube::api::ListParams;
use kube::core::Request;
use kube::core::metadata::ListMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::controller::failure::{Asked, Failure};
use crate::controller::request::send;

/// Objects of a page.
const PAGE: u32 = 500;

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Page<T> {
    #[serde(default)]
    metadata: ListMeta,
    items: Vec<T>,
}

/// All objects at `path`, page by page.
pub(super) async fn pages<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    parameters: ListParams,
    asked: Asked<'_>,
) -> Result<Vec<T>, Failure> {
    let mut parameters = parameters.limit(PAGE);
    let mut all = Vec::new();
    loop {
        let page: Page<T> = send(client, Request::new(path).list(&parameters), asked).await?;
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(all),
        }
    }
}
