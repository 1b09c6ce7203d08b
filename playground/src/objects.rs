//! The objects of one API server, read and written as plain JSON through a kube client. Client required.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Method, Request};
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::json::{items, name, namespace, text, truth};
use embedded_apiserver::ApiServer;

/// Most objects of one kind in a pass.
const LIST_LIMIT: usize = 100_000;

/// The objects of one API server.
pub struct Objects {
    client: Client,
    inside: Option<ApiServer>,
    kinds: Mutex<BTreeMap<(String, String), Kind>>,
}

/// Resource of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// `deployments`.
    pub plural: String,
    /// Whether it is namespaced.
    pub namespaced: bool,
}

/// Result of a write.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// The stored object.
    Done(Value),
    /// Another write came first, or the object was created or deleted meanwhile: retry.
    Raced,
    /// The API server rejected it.
    Refused(String),
}

impl Written {
    /// The stored object, if the write succeeded.
    #[must_use]
    pub fn done(self) -> Option<Value> {
        match self {
            Self::Done(object) => Some(object),
            Self::Raced | Self::Refused(_) => None,
        }
    }
}

impl Kind {
    /// A kind whose plural only adds an `s`.
    #[must_use]
    pub fn regular(api_version: &str, kind: &str, namespaced: bool) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
            namespaced,
        }
    }

    /// The path of the objects, or of the one named `name`.
    #[must_use]
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let root = if self.api_version.contains('/') { "apis" } else { "api" };
        let mut path = format!("/{root}/{}", self.api_version);
        if self.namespaced && !namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        if !name.is_empty() {
            path.push('/');
            path.push_str(name);
        }
        path
    }
}

/// The resource of a kind that a server in this process serves.
fn within(server: &ApiServer, api_version: &str, kind: &str) -> Option<Kind> {
    let catalog = server.catalog();
    let found = catalog.find_kind(api_version, kind)?;
    found.versions.iter().find(|version| found.api_version(&version.name) == api_version)?;
    Some(Kind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: found.plural.clone(),
        namespaced: found.namespaced,
    })
}

impl Objects {
    /// The objects of the server of `client`.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, inside: None, kinds: Mutex::default() }
    }

    /// The objects of a server in this process. Reads go directly to its store, which is not affected by injected
    /// faults and costs a tenth of a request; writes are requests.
    #[must_use]
    pub fn inside(server: &ApiServer) -> Self {
        Self { client: server.client(), inside: Some(server.clone()), kinds: Mutex::default() }
    }

    /// The client itself.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// The resource of `kind`; `None` when the API server does not serve the kind. One that is not in this process is
    /// asked once.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn kind(&self, api_version: &str, kind: &str) -> Result<Option<Kind>, kube::Error> {
        if let Some(server) = &self.inside {
            return Ok(within(server, api_version, kind));
        }
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.kinds.lock().get(&key) {
            return Ok(Some(known.clone()));
        }
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let Some(list) = self.read(&format!("/{root}/{api_version}")).await? else { return Ok(None) };
        let served = items(&list, "/resources").iter();
        let mut served = served.filter(|entry| text(entry, "/kind") == kind && !text(entry, "/name").contains('/'));
        let found = served.next().map(|entry| Kind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: text(entry, "/name").to_owned(),
            namespaced: truth(entry, "/namespaced"),
        });
        if let Some(found) = &found {
            self.kinds.lock().insert(key, found.clone());
        }
        Ok(found)
    }

    /// The listed ones of the kinds that the server in this process serves, by their group and version, as Karmada
    /// collects them of a member.
    pub fn api_enablements(&self, listed: impl Fn(&str) -> bool) -> Vec<Value> {
        let catalog = self.inside.as_ref().map(ApiServer::catalog);
        let mut groups: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for resource in catalog.iter().flat_map(|catalog| catalog.iter()).filter(|resource| listed(&resource.kind)) {
            for version in &resource.versions {
                let served = json!({"name": resource.plural, "kind": resource.kind});
                groups.entry(resource.api_version(&version.name)).or_default().push(served);
            }
        }
        let entry = |(group_version, resources)| json!({"groupVersion": group_version, "resources": resources});
        groups.into_iter().map(entry).collect()
    }

    /// All objects of a kind in `namespace`, or everywhere when it is empty, in order of namespace and name.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn list(&self, kind: &Kind, namespace: &str) -> Result<Vec<Value>, kube::Error> {
        Ok(self.all(kind, namespace).await?.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    /// As [`Self::list`]; those of a server in this process are shared with its store.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn all(&self, kind: &Kind, namespace: &str) -> Result<Vec<Arc<Value>>, kube::Error> {
        if let Some(server) = &self.inside {
            return Ok(server.stored(&kind.api_version, &kind.plural, namespace));
        }
        let Some(mut list) = self.read(&kind.path(namespace, "")).await? else { return Ok(Vec::new()) };
        let Some(Value::Array(mut found)) = list.get_mut("items").map(Value::take) else { return Ok(Vec::new()) };
        found.truncate(LIST_LIMIT);
        for object in &mut found {
            if let Some(object) = object.as_object_mut() {
                object.entry("apiVersion").or_insert_with(|| json!(kind.api_version));
                object.entry("kind").or_insert_with(|| json!(kind.kind));
            }
        }
        Ok(found.into_iter().map(Arc::new).collect())
    }

    /// One object.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Result<Option<Value>, kube::Error> {
        Ok(self.one(kind, namespace, name).await?.map(Arc::unwrap_or_clone))
    }

    /// As [`Self::get`]; that of a server in this process is shared with its store.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn one(&self, kind: &Kind, namespace: &str, name: &str) -> Result<Option<Arc<Value>>, kube::Error> {
        if let Some(server) = &self.inside {
            return Ok(server.stored_object(&kind.api_version, &kind.plural, namespace, name));
        }
        Ok(self.read(&kind.path(namespace, name)).await?.map(Arc::new))
    }

    /// Stores a new object.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn create(&self, kind: &Kind, object: &Value) -> Result<Written, kube::Error> {
        self.write(Method::POST, &kind.path(namespace(object), ""), "application/json", object).await
    }

    /// Replaces an object; its `metadata.resourceVersion` must be the stored one.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn replace(&self, kind: &Kind, object: &Value) -> Result<Written, kube::Error> {
        self.write(Method::PUT, &kind.path(namespace(object), name(object)), "application/json", object).await
    }

    /// Merges `patch` into an object, or into its subresource when `sub` names one.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn merge(&self, kind: &Kind, object: &Value, sub: &str, patch: &Value) -> Result<Written, kube::Error> {
        let mut url = kind.path(namespace(object), name(object));
        if !sub.is_empty() {
            url.push('/');
            url.push_str(sub);
        }
        self.write(Method::PATCH, &url, "application/merge-patch+json", patch).await
    }

    /// Sets the whole status of an object, when it differs. Returns whether it wrote.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn set_status(&self, kind: &Kind, object: &Value, status: &Value) -> Result<bool, kube::Error> {
        if object.get("status") == Some(status) {
            return Ok(false);
        }
        let mut whole = object.clone();
        super::json::set(&mut whole, &["status"], status.clone());
        let path = format!("{}/status", kind.path(namespace(object), name(object)));
        let written = self.write(Method::PUT, &path, "application/json", &whole).await?;
        Ok(!matches!(written, Written::Refused(_)))
    }

    /// Deletes an object and its dependents. Pods get their grace period.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn delete(&self, kind: &Kind, object: &Value) -> Result<Written, kube::Error> {
        self.remove(kind, object, &json!({})).await
    }

    /// Deletes an object at once.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn force_delete(&self, kind: &Kind, object: &Value) -> Result<Written, kube::Error> {
        self.remove(kind, object, &json!({"gracePeriodSeconds": 0})).await
    }

    async fn remove(&self, kind: &Kind, object: &Value, more: &Value) -> Result<Written, kube::Error> {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": {"uid": text(object, "/metadata/uid")}});
        for (key, value) in super::json::members(more, "") {
            super::json::set(&mut options, &[key], value.clone());
        }
        self.write(Method::DELETE, &kind.path(namespace(object), name(object)), "application/json", &options).await
    }

    async fn read(&self, path: &str) -> Result<Option<Value>, kube::Error> {
        let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        match self.client.request::<Value>(request).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, method: Method, path: &str, media: &str, body: &Value) -> Result<Written, kube::Error> {
        let text = serde_json::to_vec(body).map_err(kube::Error::SerdeError)?;
        let request = Request::builder().method(method).uri(path).header(http::header::CONTENT_TYPE, media);
        let request = request.body(text).map_err(kube::Error::HttpError)?;
        match self.client.request::<Value>(request).await {
            Ok(object) => Ok(Written::Done(object)),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Written::Raced),
            Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => {
                Ok(Written::Refused(status.message.clone()))
            }
            Err(error) => Err(error),
        }
    }
}
