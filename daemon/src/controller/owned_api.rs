//! Objects of fhpa's kinds: their paths, and writes of their status. Talks to the API server.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use kube::Client;
use kube::api::{Patch, PatchParams, ValidationDirective};
use kube::core::Request;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::events::Reference;
use super::failure::{Asked, WriteError};
use super::key::Key;
use super::request::write;
use crate::decision::api_version::{GROUP, VERSION};
use crate::runtime::leader::Leader;

/// An observed object.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// `FederatedHPA` or `CronFederatedHPA`.
    pub kind: &'static str,
    /// Its namespace and name.
    pub key: &'a Key,
    /// `metadata.uid`
    pub uid: &'a str,
    /// `metadata.resourceVersion`
    pub version: &'a str,
}

/// Group and version of fhpa's kinds.
#[must_use]
pub fn api_version() -> String {
    format!("{GROUP}/{VERSION}")
}

impl Own<'_> {
    fn plural(&self) -> String {
        format!("{}s", self.kind.to_lowercase())
    }

    /// Requests for objects of its kind and namespace.
    #[must_use]
    pub fn requests(&self) -> Request {
        Request::new(format!("/apis/{GROUP}/{VERSION}/namespaces/{}/{}", self.key.namespace, self.plural()))
    }

    /// Reference for Events.
    #[must_use]
    pub fn reference(&self) -> Reference {
        Reference {
            api_version: api_version().into(),
            kind: self.kind.into(),
            namespace: (*self.key.namespace).into(),
            name: (*self.key.name).into(),
            uid: self.uid.into(),
        }
    }

    /// Patches the object, or its `subresource`.
    ///
    /// # Errors
    /// When this process no longer leads, or the API server rejects the request or is unreachable.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        client: &Client,
        leader: &Leader,
        subresource: Option<&str>,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<T, WriteError> {
        let plural = self.plural();
        let resource = subresource.map_or_else(|| plural.clone(), |subresource| format!("{plural}/{subresource}"));
        let object = format!("{} {}", self.kind, self.key);
        write(client, leader, request, Asked { verb: "patch", group: GROUP, resource: &resource, object: &object })
            .await
    }

    /// Writes `status` in place of the stored one, as `manager`, provided that the object is unchanged. Returns the stored
    /// object. Whoever wrote the earlier one: an apply would leave what other managers own, as Karmada's own controllers
    /// do of each object that they ran.
    ///
    /// # Errors
    /// As [`Self::patch`], and when the object changed or is gone.
    pub async fn write_status<T: DeserializeOwned>(
        &self,
        client: &Client,
        leader: &Leader,
        manager: &str,
        status: &(impl Serialize + Sync),
    ) -> Result<T, WriteError> {
        let patch = json!([self.is_unchanged(), {"op": "add", "path": "/status", "value": status}]);
        self.json_patch(client, leader, Some("status"), manager, &patch).await
    }

    /// The operation by which the API server refuses a JSON patch when the object changed.
    #[must_use]
    pub fn is_unchanged(&self) -> Value {
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": self.version})
    }

    /// As [`Self::patch`], with a JSON patch.
    ///
    /// # Errors
    /// As [`Self::patch`].
    pub async fn json_patch<T: DeserializeOwned>(
        &self,
        client: &Client,
        leader: &Leader,
        subresource: Option<&str>,
        manager: &str,
        operations: &Value,
    ) -> Result<T, WriteError> {
        let parameters = PatchParams {
            field_manager: Some(manager.to_owned()),
            // A field that the definition in use lacks is refused, as by an apply, and not dropped.
            field_validation: Some(ValidationDirective::Strict),
            ..PatchParams::default()
        };
        let (requests, patch) = (self.requests(), Patch::Merge(operations));
        let request = match subresource {
            Some(subresource) => requests.patch_subresource(subresource, &self.key.name, &parameters, &patch),
            None => requests.patch(&self.key.name, &parameters, &patch),
        };
        let request = request.map(|mut request| {
            // An array of operations is not a merge patch.
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json-patch+json"));
            request
        });
        self.patch(client, leader, subresource, request).await
    }
}
