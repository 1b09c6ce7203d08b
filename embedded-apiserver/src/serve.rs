//! The server as a tower service, and on a loopback socket.

use std::{
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::net::TcpListener;

use super::{ApiServer, BODY_LIMIT, Incoming, reply::Reply, status::StatusError};

/// A server that answers requests in the process: pass it to `kube::Client::new`.
#[derive(Debug, Clone)]
pub struct Service {
    server: ApiServer,
}

impl Service {
    /// The service of a server.
    pub fn new(server: ApiServer) -> Self {
        Self { server }
    }
}

impl<B> tower::Service<Request<B>> for Service
where
    B: axum::body::HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.server.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            Ok(match Limited::new(body, BODY_LIMIT).collect().await {
                Ok(body) => server.answer(Incoming { head, body: body.to_bytes() }).await,
                Err(error) => unreadable(&*error),
            })
        })
    }
}

fn unreadable(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Response<Body> {
    let failure = if error.is::<LengthLimitError>() {
        StatusError::plain(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {BODY_LIMIT}"))
    } else {
        StatusError::bad_request(error.to_string())
    };
    let mut response = Response::new(Reply::from(failure.clone()).body);
    *response.status_mut() = http::StatusCode::from_u16(failure.code).unwrap_or_default();
    response
}

/// A listening server; it stops when this is dropped.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Listening {
    /// The address of the socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A kubeconfig for `kubectl`, with one context of this name.
    pub fn kubeconfig(&self, name: &str) -> String {
        kubeconfig(&[(name, &self.url())])
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A kubeconfig with one context for each (name, URL); the first is current.
pub fn kubeconfig(contexts: &[(&str, &str)]) -> String {
    let list = |item: &dyn Fn(&str, &str) -> String| -> String {
        contexts.iter().map(|(name, url)| item(name, url)).collect::<Vec<_>>().concat()
    };
    let clusters = list(&|name, url| format!("- name: {name}\n  cluster: {{server: \"{url}\"}}\n"));
    let entries = list(&|name, _| format!("- name: {name}\n  context: {{cluster: {name}, user: playground}}\n"));
    let current = contexts.first().map(|(name, _)| *name).unwrap_or_default();
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n{clusters}contexts:\n{entries}current-context: {current}\nusers:\n- name: playground\n  user: {{}}\n"
    )
}

impl ApiServer {
    /// Listens on an address, which should be a loopback address: there is no authentication.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn listen(&self, address: SocketAddr) -> std::io::Result<Listening> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let service = Service::new(self.clone());
        let task = tokio::spawn(accept(listener, service));
        Ok(Listening { address, task })
    }
}

async fn accept(listener: TcpListener, service: Service) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // Otherwise a small response may wait for the client's delayed acknowledgement.
                    let _: std::io::Result<()> = stream.set_nodelay(true);
                    let service = hyper_util::service::TowerToHyperService::new(service.clone());
                    connections.spawn(async move {
                        let server = auto::Builder::new(TokioExecutor::new());
                        // An aborted connection is not a failure of the server.
                        let _: Result<(), _> = server.serve_connection(TokioIo::new(stream), service).await;
                    });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}
