//! A request: path -> resource -> handler -> response. No sockets.

use axum::body::Body;
use http::{HeaderValue, Response, header};

use super::{
    ApiServer, Incoming, discovery,
    faults::ObservedRequest,
    handlers::{self, Call},
    reply::Reply,
    request::{Options, Path},
    status::StatusError,
};

impl ApiServer {
    /// Answers one request.
    pub async fn answer(&self, request: Incoming) -> Response<Body> {
        let path = Path::parse(request.head.uri.path());
        let seen = seen(&request, path.as_ref());
        let agent = header_text(&request, header::USER_AGENT).to_owned();
        let (nth, met) = self.faults().meet(seen.clone(), &agent).await;
        let outcome = match met {
            Ok(()) => self.route(request, path).await,
            Err(failure) => Err(failure),
        };
        self.faults().done(&seen, nth.as_ref()).await;
        match outcome {
            Ok(Routed::Reply(reply)) => reply.into_response(),
            Ok(Routed::Response(response)) => response,
            Err(failure) => {
                let retry = failure.retry_after();
                let mut response = Reply::from(failure).into_response();
                if let Some(seconds) = retry {
                    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
                }
                response
            }
        }
    }

    async fn route(&self, request: Incoming, path: Option<Path>) -> Result<Routed, StatusError> {
        let Some(path) = path else {
            // Such a server answers for its own versions, too.
            let place = request.head.uri.path();
            let of_group = place.strip_prefix("/apis/").and_then(|rest| rest.split_once('/'));
            if let Some(api) = of_group.and_then(|(group, _)| self.aggregated(group)) {
                return api(place).await.map(|value| Routed::Reply(Reply::value(200, value)));
            }
            let accept = header_text(&request, header::ACCEPT);
            let reply = discovery::answer(self, place, accept);
            return Ok(Routed::Reply(reply.unwrap_or_else(|| Reply::text(404, "404 page not found\n"))));
        };
        if let Some(api) = self.aggregated(&path.group) {
            if request.head.method != http::Method::GET {
                return Err(StatusError::method_not_allowed());
            }
            return api(request.head.uri.path()).await.map(|value| Routed::Reply(Reply::value(200, value)));
        }
        let catalog = self.catalog();
        let found = catalog.find(&path.group, &path.resource);
        let Some((resource, version)) =
            found.and_then(|found| Some((found.clone(), found.version(&path.version)?.clone())))
        else {
            let known = catalog.iter().any(|one| one.group == path.group && one.version(&path.version).is_some());
            let custom = catalog.iter().any(|one| one.group == path.group && one.behaviour.custom);
            if known && !custom {
                return Err(StatusError::no_such_resource());
            }
            return Ok(Routed::Reply(Reply::text(404, "404 page not found\n")));
        };
        if path.subresource == "proxy" {
            return self.forward(request, &path, &resource.qualified()).await.map(Routed::Response);
        }
        let call = Call {
            server: self.clone(),
            options: Options::parse(request.head.uri.query().unwrap_or_default()),
            content_type: media_type(header_text(&request, header::CONTENT_TYPE)),
            accept: header_text(&request, header::ACCEPT).to_owned(),
            agent: header_text(&request, header::USER_AGENT).to_owned(),
            body: request.body.clone(),
            resource,
            version,
            path,
        };
        handlers::handle(&request.head.method, call).await.map(Routed::Reply)
    }

    /// Forwards a request to the server of `<name>/proxy/<rest>`.
    async fn forward(&self, request: Incoming, path: &Path, qualified: &str) -> Result<Response<Body>, StatusError> {
        let target = self.proxy(qualified).ok_or_else(StatusError::no_such_resource)?;
        let server = target(&path.name).await.ok_or_else(|| {
            StatusError::plain(503, "ServiceUnavailable", format!("cluster {} is not reachable", path.name))
        })?;
        let query = request.head.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut request = request;
        request.head.uri = format!("/{}{query}", path.rest).parse().map_err(StatusError::internal)?;
        Ok(Box::pin(server.answer(request)).await)
    }
}

enum Routed {
    Reply(Reply),
    Response(Response<Body>),
}

fn header_text(request: &Incoming, name: header::HeaderName) -> &str {
    request.head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The media type without its parameters.
fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn seen(request: &Incoming, path: Option<&Path>) -> ObservedRequest {
    let Some(path) = path else {
        let resource = request.head.uri.path().to_owned();
        return ObservedRequest { verb: "get".into(), resource, ..ObservedRequest::default() };
    };
    let watches = || Options::parse(request.head.uri.query().unwrap_or_default()).flag("watch");
    let verb = match (request.head.method.as_str(), path.name.is_empty()) {
        ("GET", true) => {
            if watches() {
                "watch"
            } else {
                "list"
            }
        }
        ("GET", false) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => "other",
    };
    let resource = if path.subresource.is_empty() {
        path.resource.clone()
    } else {
        format!("{}/{}", path.resource, path.subresource)
    };
    ObservedRequest { verb: verb.into(), resource, namespace: path.namespace.clone(), name: path.name.clone() }
}
