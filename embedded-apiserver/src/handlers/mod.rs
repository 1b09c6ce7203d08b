//! One file per verb, the admission and deletion that they share, and their common parts: the call, reading bodies,
//! selecting the form of responses. No sockets.

pub mod create;
pub mod delete;
pub mod garbage;
pub mod gate;
pub mod get;
pub mod shape;
pub mod subresources;
pub mod update;
pub mod view;
pub mod watch;

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::{
    ApiServer, object,
    reply::{JSON, Reply},
    request::{Options, Path},
    resources::{Resource, Version},
    status::{StatusDetails, StatusError},
    store::Key,
    wire::{self, WireError},
};

/// Kubernetes' protobuf.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// One request about objects of one kind.
#[derive(Debug, Clone)]
pub struct Call {
    /// The server.
    pub server: ApiServer,
    /// The kind.
    pub resource: Arc<Resource>,
    /// The requested version.
    pub version: Arc<Version>,
    /// Path.
    pub path: Path,
    /// Query.
    pub options: Options,
    /// Media type of the body, without parameters.
    pub content_type: String,
    /// `Accept`.
    pub accept: String,
    /// `User-Agent`.
    pub agent: String,
    /// Body.
    pub body: Bytes,
}

impl Call {
    /// A call from within the process that creates an object.
    ///
    /// # Errors
    /// When the version is not served.
    pub fn inside(
        server: &ApiServer,
        resource: &Arc<Resource>,
        version: &str,
        object: &Value,
    ) -> Result<Self, StatusError> {
        let version = resource.version(version).cloned().ok_or_else(StatusError::no_such_resource)?;
        let path = Path {
            group: resource.group.clone(),
            version: version.name.clone(),
            resource: resource.plural.clone(),
            namespace: object::namespace(object).to_owned(),
            ..Path::default()
        };
        Ok(Self {
            server: server.clone(),
            resource: resource.clone(),
            version,
            path,
            options: Options::default(),
            content_type: JSON.to_owned(),
            accept: String::new(),
            agent: "embedded-apiserver".to_owned(),
            body: serde_json::to_vec(object).unwrap_or_default().into(),
        })
    }

    /// Subject of errors: the resource and a name.
    pub fn subject(&self, name: &str) -> StatusDetails {
        StatusDetails::new(&self.resource.group, &self.resource.plural, name)
    }

    /// Subject of `Invalid`: the kind and a name.
    pub fn kind_subject(&self, name: &str) -> StatusDetails {
        StatusDetails::new(&self.resource.group, &self.resource.kind, name)
    }

    /// The key of an object of this kind.
    pub fn key(&self, namespace: &str, name: &str) -> Key {
        Key::new(&self.resource.bucket, namespace, name)
    }

    /// The key of the object in the path.
    pub fn path_key(&self) -> Key {
        self.key(&self.path.namespace, &self.path.name)
    }

    /// `apiVersion` of the requested version.
    pub fn api_version(&self) -> String {
        self.resource.api_version(&self.version.name)
    }

    /// The field manager: `fieldManager`, or the program's name.
    pub fn manager(&self) -> String {
        match self.options.get("fieldManager") {
            "" => self.agent.split('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned(),
            named => named.to_owned(),
        }
    }

    /// The body as a value.
    ///
    /// # Errors
    /// 415 for an unsupported media type, 400 for a body that does not parse.
    pub fn parsed_body(&self) -> Result<Value, StatusError> {
        match self.content_type.as_str() {
            "" | JSON => serde_json::from_slice(&self.body).map_err(|error| {
                StatusError::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
            }),
            "application/yaml" => self.yaml_body(),
            PROTOBUF => wire::decode(&self.body).map_err(|error| match error {
                WireError::Malformed => StatusError::bad_request(error.to_string()),
                WireError::Unknown(_) => StatusError::unsupported_media_type(&[JSON, "application/yaml"]),
            }),
            _ => Err(StatusError::unsupported_media_type(&[JSON, "application/yaml", PROTOBUF])),
        }
    }

    /// The body as YAML, which includes JSON.
    ///
    /// # Errors
    /// 400 for a body that does not parse.
    pub fn yaml_body(&self) -> Result<Value, StatusError> {
        if let Ok(value) = serde_json::from_slice(&self.body) {
            return Ok(value);
        }
        let text = std::str::from_utf8(&self.body).map_err(|error| StatusError::bad_request(error.to_string()))?;
        serde_saphyr::from_str(text)
            .map_err(|error| StatusError::bad_request(format!("error converting YAML to JSON: {error}")))
    }
}

/// Dispatches a call to its verb.
///
/// # Errors
/// Those of the verb; 405 for a verb that the kind does not support.
pub async fn handle(method: &Method, call: Call) -> Result<Reply, StatusError> {
    let path = &call.path;
    if call.resource.behaviour.review {
        return if method == Method::POST { review(&call) } else { Err(StatusError::method_not_allowed()) };
    }
    let misplaced = !call.resource.namespaced && !path.namespace.is_empty();
    if misplaced || !knows_subresource(&call) {
        return Err(StatusError::no_such_resource());
    }
    let single = !path.name.is_empty();
    let pathless = single && call.resource.namespaced && path.namespace.is_empty();
    if pathless {
        return Err(StatusError::no_such_resource());
    }
    match (method.as_str(), single, path.subresource.as_str()) {
        ("GET", true, "scale") => subresources::get_scale(&call),
        ("GET", true, _) => get::get(&call),
        ("GET", false, _) if call.options.flag("watch") => watch::watch(&call),
        ("GET", false, _) => get::list(&call),
        ("POST", false, _) => create::create(&call).await,
        ("PUT" | "PATCH", true, "scale") => subresources::set_scale(&call, method).await,
        ("PUT", true, _) => update::update(&call).await,
        ("PATCH", true, _) => update::patch(&call).await,
        ("DELETE", true, "") => delete::delete(&call).await,
        ("DELETE", false, _) => delete::delete_collection(&call).await,
        _ => Err(StatusError::method_not_allowed()),
    }
}

fn knows_subresource(call: &Call) -> bool {
    match call.path.subresource.as_str() {
        "" => true,
        "status" => call.version.status,
        "scale" => call.version.scale.is_some(),
        "finalize" => call.resource.kind == "Namespace",
        _ => false,
    }
}

/// A review of access: everything is allowed.
fn review(call: &Call) -> Result<Reply, StatusError> {
    let mut review = call.parsed_body()?;
    object::put_at(&mut review, &["status"], json!({"allowed": true}));
    object::put_at(&mut review, &["apiVersion"], call.api_version().into());
    object::put_at(&mut review, &["kind"], call.resource.kind.clone().into());
    Ok(Reply::value(201, review))
}
