//! Which resource serves a kind, and whether it can be scaled: read from the API server once per group and version and
//! cached. I/O: the API server.
//!
//! A missing kind is looked up again at most once a minute, regardless of how many rules need it. Concurrent reconciles
//! share one request and its failure.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{TargetRef, kind_unknown};
use crate::controller::failure::{Asked, Failure, reason};
use crate::controller::request::send;
use crate::decision::api_version::ApiVersion;
use crate::decision::backoff::ErrorClass;
use crate::runtime::clock;

/// How long a response without the kind is used.
const TTL: Duration = Duration::from_mins(1);

/// How long reconciles after a failed read get its failure without a read of their own.
const FAILED: Duration = Duration::from_secs(1);

/// Most group-versions kept. Users name them, so the number must be bounded.
const KEPT: usize = 256;

/// A resource that can be scaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scalable {
    /// `deployments`
    pub plural: Arc<str>,
    /// `deployments/scale`
    pub subresource: Arc<str>,
}

/// Known state of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Scalable(Scalable),
    /// Served, but not scalable: the reason.
    Fixed(&'static str),
}

/// The kinds of one group and version.
#[derive(Debug, Default)]
struct Page {
    kinds: HashMap<String, Kind>,
    read: Option<Instant>,
    /// A resource of this page was not found any more.
    doubted: bool,
    failed: Option<(Instant, Failure)>,
}

type Shared = Arc<tokio::sync::Mutex<Page>>;

/// The resources of the API server that were looked up.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    pages: Mutex<HashMap<String, Shared>>,
}

impl Discovery {
    /// Finds the resource of the target's kind.
    pub(super) async fn find(
        &self,
        client: &Client,
        target: &TargetRef<'_>,
        place: ApiVersion<'_>,
    ) -> Result<Scalable, Failure> {
        let page = self.page(target.api_version);
        let mut page = page.lock().await;
        if let (Some(Kind::Scalable(found)), false) = (page.kinds.get(target.kind), page.doubted) {
            return Ok(found.clone());
        }
        if page.read.is_none_or(|read| clock::steady().saturating_duration_since(read) >= TTL) {
            page.renew(client, target, place).await?;
        }
        match page.kinds.get(target.kind) {
            Some(Kind::Scalable(found)) => Ok(found.clone()),
            Some(Kind::Fixed(why)) => {
                let message = format!("{target} cannot be scaled: {why}; correct spec.scaleTargetRef");
                Err(Failure::new(ErrorClass::Refused, reason::TARGET_NOT_SCALABLE, message))
            }
            None => Err(kind_unknown(target)),
        }
    }

    /// Marks a page as out of date: the path of a known kind was not served.
    pub(super) fn doubt(&self, target: &TargetRef<'_>) {
        // Another holder of the page reads it or has just read it.
        if let Ok(mut page) = self.page(target.api_version).try_lock() {
            page.doubted = true;
        }
    }

    fn page(&self, api_version: &str) -> Shared {
        let mut pages = self.pages.lock();
        if let Some(page) = pages.get(api_version) {
            return page.clone();
        }
        if pages.len() >= KEPT {
            // Pages without kinds are dropped first, then any.
            pages.retain(|_, page| page.try_lock().map_or(true, |page| !page.kinds.is_empty()));
            let any = pages.keys().next().filter(|_| pages.len() >= KEPT).cloned();
            any.and_then(|name| pages.remove(&name));
        }
        pages.entry(api_version.to_owned()).or_default().clone()
    }
}

impl Page {
    async fn renew(&mut self, client: &Client, target: &TargetRef<'_>, place: ApiVersion<'_>) -> Result<(), Failure> {
        if let Some((at, failure)) = &self.failed
            && clock::steady().saturating_duration_since(*at) < FAILED
        {
            return Err(failure.clone());
        }
        let root = if place.group.is_empty() { "api" } else { "apis" };
        let path = format!("/{root}/{}", target.api_version);
        let request = http::Request::get(&path).body(Vec::new()).map_err(kube::core::request::Error::BuildRequest);
        let asked = Asked { verb: "get", group: place.group, resource: &path, object: &path };
        let listed = match send::<APIResourceList>(client, request, asked).await {
            Ok(listed) => listed,
            Err(failure) if failure.class == ErrorClass::Missing => APIResourceList::default(),
            Err(failure) => {
                self.failed = Some((clock::steady(), failure.clone()));
                return Err(failure);
            }
        };
        *self = Self { kinds: kinds(&listed), read: Some(clock::steady()), doubted: false, failed: None };
        Ok(())
    }
}

/// The kinds of a list. Of several resources of one kind a scalable one is used.
fn kinds(listed: &APIResourceList) -> HashMap<String, Kind> {
    let mut kinds = HashMap::new();
    for resource in listed.resources.iter().filter(|resource| !resource.name.contains('/')) {
        let subresource = format!("{}/scale", resource.name);
        let scale = listed.resources.iter().find(|other| other.name == subresource);
        let kind = match scale {
            _ if !resource.namespaced => Kind::Fixed("its kind has no namespace"),
            None => Kind::Fixed("its kind has no scale subresource"),
            Some(scale) if !scale.verbs.iter().any(|verb| verb == "patch") => {
                Kind::Fixed("the scale subresource of its kind cannot be patched")
            }
            Some(_) => {
                Kind::Scalable(Scalable { plural: resource.name.as_str().into(), subresource: subresource.into() })
            }
        };
        let known = kinds.entry(resource.kind.clone()).or_insert_with(|| kind.clone());
        if matches!((&*known, &kind), (Kind::Fixed(_), Kind::Scalable(_))) {
            *known = kind;
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_two_resources_of_one_kind_the_scalable_one_counts() {
        let listed = serde_json::from_value(json!({"resources": [
            {"name": "bs", "kind": "B", "namespaced": true, "verbs": ["get"]},
            {"name": "as", "kind": "B", "namespaced": true, "verbs": ["get"]},
            {"name": "as/scale", "kind": "Scale", "namespaced": true, "verbs": ["get", "patch"]},
            {"name": "cs", "kind": "C", "namespaced": false}, {"name": "cs/scale", "verbs": ["patch"]},
            {"name": "ds", "kind": "D", "namespaced": true}, {"name": "ds/scale", "verbs": ["get"]},
        ]}));
        let kinds = kinds(&listed.unwrap());
        assert_eq!(kinds["B"], Kind::Scalable(Scalable { plural: "as".into(), subresource: "as/scale".into() }));
        assert!(matches!(kinds["C"], Kind::Fixed(why) if why.contains("namespace")));
        assert!(matches!(kinds["D"], Kind::Fixed(why) if why.contains("patched")));
    }
}
