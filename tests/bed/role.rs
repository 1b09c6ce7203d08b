//! A client with only the permissions of an installation's roles, for servers without authentication. Requests through
//! the cluster proxy need the permissions in members, too.

use std::pin::Pin;
use std::task::{Context, Poll};

use fhpa::install::permissions::{PERMISSIONS, Permission, PermissionScope};
use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::json;
use tower::{BoxError, Service};

/// How the processes name themselves to servers.
pub const AGENT: &str = "fhpa";

/// One right: where, a verb, a resource.
pub type Right = (PermissionScope, &'static str, &'static str);

/// All roles of an installation, less one right, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Role {
    pub without: Option<Right>,
}

impl Role {
    fn gives(self, row: &Permission, verb: &str, resource: &str) -> bool {
        // The resources of the metrics APIs are metrics.
        let resource = if row.resources == ["*"] { "*" } else { resource };
        row.resources.contains(&resource)
            && row.verbs.contains(&verb)
            && self.without.is_none_or(|without| without != (row.place, verb, resource))
    }
}

/// A client that may do what the processes may.
pub fn limited(client: kube::Client, role: Role) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    kube::Client::new(Gate { client, role }, namespace)
}

#[derive(Clone)]
struct Gate {
    client: kube::Client,
    role: Role,
}

/// What a request asks for, as roles name it.
struct Asked {
    /// In a member cluster.
    member: bool,
    group: String,
    resource: String,
    verb: &'static str,
    namespace: String,
    name: String,
}

impl Asked {
    /// What a request asks for, here and in a member cluster. Nothing for discovery, which everybody may read.
    fn all_of(request: &Request<Body>) -> Vec<Self> {
        let mut path = request.uri().path();
        let mut all: Vec<Self> = Self::of(request, path, false).into_iter().collect();
        if let Some((_, rest)) = path.split_once("/proxy/") {
            path = rest;
            all.extend(Self::of(request, path, true));
        }
        all
    }

    fn of(request: &Request<Body>, path: &str, member: bool) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match *parts.first()? {
            "api" => (String::new(), parts.get(2..)?),
            "apis" => (parts.get(1)?.to_string(), parts.get(3..)?),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (namespace.to_string(), rest),
            rest => (String::new(), rest),
        };
        let query = request.uri().query().unwrap_or_default();
        let watches = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
        let selected = query.split('&').find_map(|pair| pair.strip_prefix("fieldSelector=metadata.name%3D"));
        let name = rest.get(1).copied().or(selected).unwrap_or_default().to_owned();
        let resource = [Some(*rest.first()?), rest.get(2).copied()].into_iter().flatten().collect::<Vec<_>>().join("/");
        let verb = match *request.method() {
            // Of a request with a name, one to a member too, the API server sees no watch.
            Method::GET if watches && rest.len() == 1 => "watch",
            Method::GET if rest.len() == 1 => "list",
            Method::GET => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "unknown",
        };
        Some(Self { member, group, resource, verb, namespace, name })
    }

    /// Whether a row of the table allows it.
    fn is_allowed(&self, role: Role) -> bool {
        let allows = |row: &Permission| {
            let here = match row.place {
                PermissionScope::ControlPlane => !self.member,
                PermissionScope::LeaseNamespace => !self.member && self.namespace == "karmada-system",
                PermissionScope::Members => self.member,
            };
            here && row.group == self.group
                && role.gives(row, self.verb, &self.resource)
                && (row.names.is_empty() || row.names.contains(&&*self.name))
        };
        // A kind of the users' own, as `--scale-kind` allows it.
        let named = [("apps", "replicasets"), ("", "replicationcontrollers")];
        let resource = self.resource.split('/').next().unwrap_or_default();
        let own = named.contains(&(&*self.group, resource))
            || PERMISSIONS.iter().all(|row| row.group != self.group) && !self.group.is_empty();
        PERMISSIONS.iter().any(allows) || (own && matches!(self.verb, "get" | "patch"))
    }

    fn refusal(&self) -> Response<Body> {
        let Self { group, resource, verb, namespace, name, .. } = self;
        let message = format!(
            "{resource}.{group} {name:?} is forbidden: User \"fhpa\" cannot {verb} resource {resource:?} in API group {group:?} \
             in the namespace {namespace:?}"
        );
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": message});
        Response::builder().status(StatusCode::FORBIDDEN).body(Body::from(status.to_string().into_bytes())).unwrap()
    }
}

impl Gate {
    async fn send(self, mut request: Request<Body>) -> Result<Response<Body>, BoxError> {
        request.headers_mut().insert(http::header::USER_AGENT, http::HeaderValue::from_static(AGENT));
        let all = Asked::all_of(&request);
        if let Some(refused) = all.iter().find(|asked| !asked.is_allowed(self.role)) {
            return Ok(refused.refusal());
        }
        for asked in all.into_iter().filter(|asked| asked.verb == "patch") {
            let create = Asked { verb: "create", ..asked };
            // An apply that makes an object needs the right to create it, too.
            if !create.is_allowed(self.role) && is_apply(&request) && !self.exists(request.uri().path()).await? {
                return Ok(create.refusal());
            }
        }
        Ok(self.client.send(request).await?)
    }

    async fn exists(&self, path: &str) -> Result<bool, BoxError> {
        let request = Request::get(path).body(Body::empty())?;
        Ok(self.client.send(request).await?.status() != StatusCode::NOT_FOUND)
    }
}

fn is_apply(request: &Request<Body>) -> bool {
    let kind = request.headers().get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/apply-patch"))
}

impl Service<Request<Body>> for Gate {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}
