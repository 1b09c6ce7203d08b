//! The listener: accepts connections up to a limit, performs the TLS handshake, serves HTTP within time limits, and
//! ends connections without losing a request
//! (docs/decisions/0015-one-client-of-the-accept-loop.md).

mod silent;

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use futures::FutureExt as _;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower::Service as _;
use tracing::{debug, warn};

use self::silent::Silent;
use super::lifecycle::{Lifecycle, Phase};
use super::metrics::{HandshakeFailure, Metrics};
use super::tls;

/// Limits on connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most open connections. For a further one the oldest without a request gives way; where all have sent one, it is
    /// closed at once.
    pub connections: usize,
    /// Time from the begin of a connection to the head of its first request, the TLS handshake included.
    pub first_request: Duration,
    /// Time from one request to the head of the next on an HTTP/1.1 connection. Longer than the 90 seconds after which
    /// kube-apiserver itself closes, so that it never writes to a connection closed here.
    pub idle: Duration,
    /// Ends each connection with its first response, and after this time at the latest: one client cannot keep it.
    pub once: Option<Duration>,
    /// While stopping: time in which an idle connection may still send a request that is in flight.
    pub last_call: Duration,
    /// Most requests in progress on one HTTP/2 connection.
    pub streams: u32,
    /// Most bytes of the head of a request.
    pub head_bytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            first_request: Duration::from_secs(5),
            idle: Duration::from_secs(150),
            once: None,
            last_call: Duration::from_millis(500),
            streams: 250,
            head_bytes: 16 << 10,
        }
    }
}

/// Interval of HTTP/2 pings, and the time limit for their answer.
const PING: (Duration, Duration) = (Duration::from_mins(1), Duration::from_secs(20));
/// Most bytes an HTTP/2 client may send ahead: on one stream, and on the connection.
const WINDOWS: (u32, u32) = (256 << 10, 512 << 10);
/// Pauses after accept errors: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));
/// Connections that are accepted from the backlog of the socket before it is closed.
const BACKLOG: usize = 1024;

/// Answers requests.
pub trait Answering: Clone + Send + Sync + 'static {
    /// The body of an answer.
    type Body: hyper::body::Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Answers one request.
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<Self::Body>> + Send + 'static;
}

impl Answering for Router {
    type Body = Body;

    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send + 'static {
        let answer = self.clone().call(request.map(Body::new));
        async move { answer.await.unwrap_or_else(|never| match never {}) }
    }
}

/// Transport security.
pub enum Security {
    /// Plain text.
    Plain,
    /// TLS, with the certificate that is current when a connection begins.
    Tls(tls::Current),
}

/// A bound socket, ready to accept.
pub struct Listener<A> {
    socket: TcpListener,
    shared: Arc<Shared<A>>,
}

struct Shared<A> {
    answering: A,
    security: Security,
    http1: Builder<TokioExecutor>,
    http2: Builder<TokioExecutor>,
    limits: Limits,
    free: Arc<Semaphore>,
    silent: Silent,
    lifecycle: Arc<Lifecycle>,
    metrics: Arc<Metrics>,
}

impl<A: Answering> Listener<A> {
    /// Binds a socket.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn bind(
        address: SocketAddr,
        security: Security,
        answering: A,
        limits: Limits,
        lifecycle: Arc<Lifecycle>,
        metrics: Arc<Metrics>,
    ) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        Ok(Self::on(socket, security, answering, limits, lifecycle, metrics))
    }

    /// Accepts on a bound socket: where answers depend on its address.
    pub fn on(
        socket: TcpListener,
        security: Security,
        answering: A,
        limits: Limits,
        lifecycle: Arc<Lifecycle>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let (http1, http2) = builders(&limits);
        let free = Arc::new(Semaphore::new(limits.connections));
        let silent = Silent::new(limits.connections);
        let shared = Shared { answering, security, http1, http2, limits, free, silent, lifecycle, metrics };
        Self { socket, shared: Arc::new(shared) }
    }

    /// The address that was bound.
    ///
    /// # Errors
    /// The system does not know it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts until the lifecycle stops, then returns when every connection has ended.
    pub async fn run(self) {
        // HTTP/2 connections that are open when the process begins to part, and all others.
        let (early, others) = (GracefulShutdown::new(), GracefulShutdown::new());
        self.accept_until(Phase::Parting, Some(&early), &others).await;
        let stops = async {
            self.accept_until(Phase::Stopping, None, &others).await;
            for _ in 0..BACKLOG {
                let Some(Ok((stream, _))) = self.socket.accept().now_or_never() else { break };
                self.admit(stream, None, &others);
            }
            drop(self.socket);
            sleep(self.shared.limits.last_call).await;
            others.shutdown().await;
        };
        tokio::join!(early.shutdown(), stops);
    }

    async fn accept_until(&self, phase: Phase, early: Option<&GracefulShutdown>, others: &GracefulShutdown) {
        let mut pause = PAUSES.0;
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.shared.lifecycle.reached(phase) => return,
                accepted = self.socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    pause = PAUSES.0;
                    self.admit(stream, early, others);
                }
                Err(error) => {
                    self.shared.metrics.accept_errors.inc();
                    warn!(%error, "a connection cannot be accepted");
                    // Running out of file descriptors, for example, does not pass at once.
                    sleep(pause).await;
                    pause = pause.saturating_mul(2).min(PAUSES.1);
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream, early: Option<&GracefulShutdown>, others: &GracefulShutdown) {
        let shared = Arc::clone(&self.shared);
        let place = Arc::clone(&shared.free).try_acquire_owned().ok();
        if place.is_none() {
            if !shared.silent.displace() {
                shared.metrics.connections_refused.inc();
                return;
            }
            shared.metrics.connections_displaced.inc();
        }
        shared.metrics.connections_accepted.inc();
        shared.metrics.connections.inc();
        let ends = Ends {
            early: early.map(GracefulShutdown::watcher),
            others: others.watcher(),
            displaced: shared.silent.enter(),
        };
        let open = Open { shared };
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = open.shared.lifecycle.reached(Phase::Aborted) => {}
                () = open.shared.serve(stream, place, ends) => {}
            }
        });
    }
}

fn builders(limits: &Limits) -> (Builder<TokioExecutor>, Builder<TokioExecutor>) {
    let head_bytes = usize::try_from(limits.head_bytes).unwrap_or(usize::MAX);
    let mut http1 = Builder::new(TokioExecutor::new()).http1_only();
    http1
        .http1()
        .timer(TokioTimer::new())
        // hyper counts from the last response, so this is the time limit for idle connections, too.
        .header_read_timeout(limits.idle)
        .keep_alive(limits.once.is_none())
        .max_buf_size(head_bytes.max(8192));
    let mut http2 = Builder::new(TokioExecutor::new()).http2_only();
    http2
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1)
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.head_bytes)
        .initial_stream_window_size(WINDOWS.0)
        .initial_connection_window_size(WINDOWS.1)
        .max_send_buf_size(64 << 10);
    (http1, http2)
}

/// What asks a connection to end.
struct Ends {
    /// As soon as the process parts; for HTTP/2, whose GOAWAY loses nothing.
    early: Option<Watcher>,
    /// When it stops.
    others: Watcher,
    /// While it has sent no request: when another needs its place.
    displaced: Arc<Notify>,
}

/// One open connection.
struct Open<A> {
    shared: Arc<Shared<A>>,
}

impl<A> Drop for Open<A> {
    fn drop(&mut self) {
        self.shared.metrics.connections.dec();
    }
}

impl<A: Answering> Shared<A> {
    /// `place`: of its own; without one it waits for that of a connection that gives way, no longer than for its request.
    async fn serve(&self, stream: TcpStream, place: Option<OwnedSemaphorePermit>, ends: Ends) {
        // Responses are small and written whole; without this the system may delay them.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "TCP_NODELAY cannot be set");
        }
        let Ends { early, others, displaced } = ends;
        let first = Notify::new();
        let serve = async {
            let _place = match place {
                Some(place) => Ok(place),
                None => Arc::clone(&self.free).acquire_owned().await,
            };
            match &self.security {
                Security::Plain => self.http(stream, &self.http1, others, &first).await,
                Security::Tls(current) => {
                    let Some(stream) = self.secure(current, stream).await else { return };
                    let early = early.filter(|_| !self.lifecycle.parting());
                    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                        self.http(stream, &self.http2, early.unwrap_or(others), &first).await;
                    } else {
                        drop(early);
                        self.http(stream, &self.http1, others, &first).await;
                    }
                }
            }
        };
        let silent = async {
            tokio::select! {
                biased;
                () = first.notified() => {
                    drop(displaced);
                    std::future::pending::<()>().await;
                }
                () = sleep(self.limits.first_request) => {}
                () = displaced.notified() => {}
                () = self.last_call() => {}
            }
        };
        let serve = async {
            tokio::select! {
                biased;
                () = serve => {}
                () = silent => {}
            }
        };
        match self.limits.once {
            Some(limit) => {
                let _ = timeout(limit, serve).await;
            }
            None => serve.await,
        }
    }

    /// Serves requests until the connection ends or is asked to end, and notes the `first`.
    async fn http<S>(&self, stream: S, builder: &Builder<TokioExecutor>, end: Watcher, first: &Notify)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(|request: Request<Incoming>| {
            first.notify_one();
            let lifecycle = Arc::clone(&self.lifecycle);
            let http1 = request.version() < Version::HTTP_2;
            let answer = self.answering.answer(request);
            async move {
                let mut response = answer.await;
                if http1 && lifecycle.parting() {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        });
        // Errors are the client's: broken connections and protocol errors. There is no one to report them to.
        let _ = end.watch(builder.serve_connection(TokioIo::new(stream), service)).await;
    }

    /// Returns a moment after the process has stopped.
    async fn last_call(&self) {
        self.lifecycle.reached(Phase::Stopping).await;
        sleep(self.limits.last_call).await;
    }

    /// The handshake, within the time of the first request.
    async fn secure(&self, current: &tls::Current, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let acceptor = TlsAcceptor::from(Arc::clone(&current.load().config));
        let reason = match timeout(self.limits.first_request, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(error)) => {
                debug!(%error, "a TLS handshake failed");
                reason(&error)
            }
            Err(_) => HandshakeFailure::Timeout,
        };
        self.metrics.handshake_failed(reason);
        None
    }
}

fn reason(error: &io::Error) -> HandshakeFailure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            HandshakeFailure::ClientCertificate
        }
        Some(_) => HandshakeFailure::Protocol,
        None => HandshakeFailure::Disconnected,
    }
}
