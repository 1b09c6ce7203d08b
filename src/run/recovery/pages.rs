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

/// Reads all objects at `path`. Each goes to `each` when its page has arrived, so that no more than a page is held.
pub(super) async fn pages<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    parameters: ListParams,
    asked: Asked<'_>,
    mut each: impl FnMut(T),
) -> Result<(), Failure> {
    let mut parameters = parameters.limit(PAGE);
    loop {
        let page: Page<T> = send(client, Request::new(path).list(&parameters), asked).await?;
        page.items.into_iter().for_each(&mut each);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(()),
        }
    }
}
