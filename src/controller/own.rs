//! Objects of fhpa's kinds: their paths, and writes of their status. Talks to the API server.

use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

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

    /// Applies `status` as `manager`, provided that the object is unchanged. Returns the stored object.
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
        let body = json!({
            "apiVersion": api_version(),
            "kind": self.kind,
            "metadata": {
                "name": &*self.key.name,
                "namespace": &*self.key.namespace,
                "uid": self.uid,
                "resourceVersion": self.version,
            },
            "status": status,
        });
        let parameters = PatchParams::apply(manager).force();
        let request = self.requests().patch_subresource("status", &self.key.name, &parameters, &Patch::Apply(&body));
        self.patch(client, leader, Some("status"), request).await
    }
}
