//! The request that webhooks review, and its form in JSON. No I/O.

use serde_json::{Value, json};

/// Operation on the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object.
    Update,
    /// A deleted object.
    Delete,
    /// A connection to a subresource.
    Connect,
}

impl Operation {
    /// The name in rules and reviews.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// Group, version and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// Empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `Deployment`.
    pub kind: String,
}

/// Group, version and resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// Empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `deployments`.
    pub resource: String,
}

/// Input of the webhooks.
#[derive(Clone, Debug)]
pub struct AdmissionRequest {
    /// The operation.
    pub operation: Operation,
    /// The kind in the request.
    pub kind: Kind,
    /// The resource in the request.
    pub resource: Resource,
    /// Empty for the object itself.
    pub subresource: String,
    /// Other versions in which the same object is served. Objects are assumed to differ in `apiVersion` only.
    pub equivalents: Vec<(Resource, Kind)>,
    /// May be empty on a create with `generateName`.
    pub name: String,
    /// Empty for cluster-wide objects; its own name for a namespace.
    pub namespace: String,
    /// Labels of the namespace as stored; `None`: it does not exist.
    pub namespace_labels: Option<Value>,
    /// The new object; absent on a delete.
    pub object: Option<Value>,
    /// The stored object; absent on a create.
    pub old_object: Option<Value>,
    /// `CreateOptions` or similar.
    pub options: Option<Value>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// `username`, `groups`, `uid`, `extra`.
    pub user: Value,
}

/// The version in which the webhook is called.
pub(super) struct Invocation {
    pub(super) resource: Resource,
    pub(super) kind: Kind,
}

fn kind_json(kind: &Kind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}

fn resource_json(resource: &Resource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "resource": resource.resource })
}

/// The object in the version of the call.
pub(super) fn in_version(object: Option<&Value>, kind: &Kind) -> Value {
    let mut object = object.cloned().unwrap_or_default();
    if let Some(members) = object.as_object_mut() {
        let api_version =
            if kind.group.is_empty() { kind.version.clone() } else { format!("{}/{}", kind.group, kind.version) };
        members.insert("apiVersion".to_owned(), api_version.into());
    }
    object
}

/// The `request` of the review.
pub(super) fn request_json(uid: &str, request: &AdmissionRequest, invocation: &Invocation) -> Value {
    let mut out = json!({
        "uid": uid,
        "kind": kind_json(&invocation.kind),
        "resource": resource_json(&invocation.resource),
        "requestKind": kind_json(&request.kind),
        "requestResource": resource_json(&request.resource),
        "operation": request.operation.as_str(),
        "userInfo": request.user,
        "dryRun": request.dry_run,
    });
    if let Some(members) = out.as_object_mut() {
        for (key, text) in [
            ("subResource", &request.subresource),
            ("requestSubResource", &request.subresource),
            ("name", &request.name),
            ("namespace", &request.namespace),
        ] {
            if !text.is_empty() {
                members.insert(key.to_owned(), text.as_str().into());
            }
        }
        members.insert("options".to_owned(), request.options.clone().unwrap_or_default());
    }
    out
}
