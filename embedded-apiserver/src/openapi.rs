//! OpenAPI v3 documents, sufficient for `kubectl explain`, `apply` and `diff`. No I/O.

mod paths;
mod schemas;

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

/// A served kind.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// `Deployment`.
    pub kind: &'a str,
    /// `deployments`.
    pub resource: &'a str,
    /// Whether it is namespaced.
    pub namespaced: bool,
    /// `status` and `scale`, if it has them.
    pub subresources: &'a [&'a str],
    /// The `openAPIV3Schema` of a custom kind; `None`: the kind is built in.
    pub schema: Option<&'a Value>,
}

/// The document of one group and version. The core group is the empty string.
#[must_use]
pub fn document(group: &str, version: &str, kinds: &[Served<'_>]) -> Value {
    let mut schemas = schemas::Schemas::new(group, version);
    let mut paths = Map::new();
    for served in kinds {
        let name = schemas.add(served);
        paths::add(&mut paths, group, version, served, &name);
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "1.33" },
        "paths": paths,
        "components": { "schemas": schemas.done() },
    })
}

/// Path of the document of a group and version, below `/openapi/v3/`: `api/v1`, `apis/apps/v1`.
#[must_use]
pub fn place(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// The list of documents at `/openapi/v3`, from paths and documents.
pub fn index<'a>(documents: impl IntoIterator<Item = (String, &'a Value)>) -> Value {
    let entry = |(place, document): (String, &Value)| {
        let url = format!("/openapi/v3/{place}?hash={}", fingerprint(document));
        (place, json!({ "serverRelativeURL": url }))
    };
    json!({ "paths": documents.into_iter().map(entry).collect::<Map<_, _>>() })
}

/// A hash of the document, so that clients know when to read it again.
#[must_use]
pub fn fingerprint(document: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    document.to_string().hash(&mut hasher);
    format!("{:016X}", hasher.finish())
}
