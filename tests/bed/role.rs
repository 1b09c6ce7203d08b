//! A client with no more rights than the roles of an installation give, for servers that ask nobody who they are.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use fhpa::install::permissions::{PERMISSIONS, Place};
use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::json;
use tower::{BoxError, Service};

/// Rights that were used: row of the table, verb, resource.
pub type Used = Arc<Mutex<BTreeSet<(usize, String, String)>>>;

/// A client that may do what the processes may.
pub fn limited(client: kube::Client, used: Used) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    kube::Client::new(Gate { client, used }, namespace)
}

#[derive(Clone)]
struct Gate {
    client: kube::Client,
    used: Used,
}

/// What a request asks for, as roles name it.
struct Asked {
    group: String,
    resource: String,
    verb: &'static str,
    namespace: String,
    name: String,
}

impl Asked {
    /// Nothing for discovery, which everybody may read.
    fn of(request: &Request<Body>) -> Option<Self> {
        let parts: Vec<&str> = request.uri().path().split('/').filter(|part| !part.is_empty()).collect();
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
            Method::GET if watches => "watch",
            Method::GET if rest.len() == 1 => "list",
            Method::GET => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "unknown",
        };
        Some(Self { group, resource, verb, namespace, name })
    }

    /// Whether a row of the table allows it; notes that it was used.
    fn is_allowed(&self, used: &Used) -> bool {
        let row = PERMISSIONS.iter().position(|row| {
            let here = match row.place {
                Place::ControlPlane => true,
                Place::LeaseNamespace => self.namespace == "karmada-system",
                Place::Members => false,
            };
            here && row.group == self.group
                && row.resources.contains(&&*self.resource)
                && row.verbs.contains(&self.verb)
                && (row.names.is_empty() || row.names.contains(&&*self.name))
        });
        // A kind of the users' own, as `--scale-kind` allows it.
        let own = PERMISSIONS.iter().all(|row| row.group != self.group) && !self.group.is_empty();
        if own && matches!(self.verb, "get" | "patch") {
            return true;
        }
        let noted = row.map(|row| (row, self.verb.to_owned(), self.resource.clone()));
        noted.is_some_and(|noted| {
            used.lock().unwrap().insert(noted);
            true
        })
    }

    fn refusal(&self) -> Response<Body> {
        let Self { group, resource, verb, namespace, name } = self;
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
    async fn send(self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let Some(asked) = Asked::of(&request) else { return Ok(self.client.send(request).await?) };
        if !asked.is_allowed(&self.used) {
            return Ok(asked.refusal());
        }
        let answer = self.client.send(request).await?;
        // An apply that makes an object needs the right to create it, too.
        if asked.verb == "patch" && answer.status() == StatusCode::CREATED {
            let create = Asked { verb: "create", ..asked };
            if !create.is_allowed(&self.used) {
                return Ok(create.refusal());
            }
        }
        Ok(answer)
    }
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
