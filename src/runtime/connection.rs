//! One connection from its first byte to its last: time limits, requests, shutdown.
//!
//! hyper's time limit for the head of a request also closes idle connections, and it has no limit for these alone
//! (hyperium/hyper#1628). Heads need seconds and kube-apiserver keeps a connection for minutes, so both are timed here.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower::Service as _;

use super::lifecycle::{Lifecycle, Phase};
use super::slots::Slots;

/// Bounds on one connection.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time for the head of a request to arrive, from its first byte or, for the first one, from the start.
    pub header: Duration,
    /// Time without a request after which an HTTP/1.1 connection is closed (at most twice as long). Longer than the
    /// 90 seconds after which kube-apiserver itself closes, so that it never writes to a connection closed here.
    pub idle: Duration,
    /// Time without a request after which an HTTP/2 connection is asked to end while few slots are free, even if it
    /// answers pings; while many are free it is kept.
    pub scarce: Duration,
    /// While stopping: time in which an idle HTTP/1.1 connection may still send a request that is in flight.
    pub last_call: Duration,
    /// Most requests in progress on one HTTP/2 connection.
    pub streams: u32,
    /// Most bytes of the head of a request.
    pub head_bytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(5),
            idle: Duration::from_secs(150),
            scarce: Duration::from_secs(30),
            last_call: Duration::from_millis(500),
            streams: 250,
            head_bytes: 16 << 10,
        }
    }
}

/// Protocol of a connection, as agreed in the TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1
    Http1,
    /// HTTP/2
    Http2,
}

/// Answers requests.
pub trait Answering: Clone + Send + Sync + 'static {
    /// The body of an answer.
    type Body: hyper::body::Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Answers one request of `peer`.
    fn answer(
        &self,
        peer: IpAddr,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Self::Body>> + Send + 'static;
}

impl Answering for Router {
    type Body = Body;

    fn answer(&self, _: IpAddr, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send + 'static {
        let answer = self.clone().call(request.map(Body::new));
        async move { answer.await.unwrap_or_else(|never| match never {}) }
    }
}

/// Serves connections; all requests are answered by one `A`.
pub struct Server<A> {
    answering: A,
    http1: Builder<TokioExecutor>,
    http2: Builder<TokioExecutor>,
    limits: Limits,
    lifecycle: Arc<Lifecycle>,
    slots: Arc<Slots>,
    /// Whether a connection ends with its first response.
    once: bool,
}

/// Interval of HTTP/2 pings, and the time limit for their answer.
const PING: (Duration, Duration) = (Duration::from_mins(1), Duration::from_secs(20));

/// Most bytes an HTTP/2 client may send ahead: on one stream, and on the connection.
const WINDOWS: (u32, u32) = (256 << 10, 512 << 10);

impl<A: Answering> Server<A> {
    /// Serves with `answering` until `lifecycle` ends it. Its connections take `slots`.
    #[must_use]
    pub fn new(answering: A, limits: Limits, lifecycle: Arc<Lifecycle>, slots: Arc<Slots>) -> Self {
        let head_bytes = usize::try_from(limits.head_bytes).unwrap_or(usize::MAX);
        let mut http1 = Builder::new(TokioExecutor::new()).http1_only();
        // hyper's own time limit on heads also ends idle connections; `drive` tells them apart.
        http1.http1().header_read_timeout(None).max_buf_size(head_bytes.max(8192));
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
        Self { answering, http1, http2, limits, lifecycle, slots, once: false }
    }

    /// Serves one request on each connection; for HTTP/1.1.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.http1.http1().keep_alive(false);
        self.once = true;
        self
    }

    /// Serves one connection of `peer` to its end.
    pub async fn serve<S>(&self, stream: S, peer: IpAddr, protocol: Protocol)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = Arc::new(RequestActivity::default());
        let service = service_fn(|request: Request<Incoming>| {
            let under_way = UnderWay::begin(&activity);
            let (lifecycle, once) = (Arc::clone(&self.lifecycle), self.once);
            let http1 = request.version() < Version::HTTP_2;
            let answer = self.answering.answer(peer, request);
            async move {
                let mut response = answer.await;
                if http1 && (once || lifecycle.parting()) {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                drop(under_way);
                Ok::<_, Infallible>(response)
            }
        });
        let builder = if protocol == Protocol::Http2 { &self.http2 } else { &self.http1 };
        let connection =
            pin!(builder.serve_connection(TokioIo::new(Paced { stream, activity: Arc::clone(&activity) }), service));
        self.drive(connection, protocol, &activity).await;
    }

    /// Polls the connection, and ends it when it is too slow or when the process shuts down.
    async fn drive<C>(&self, mut connection: Pin<&mut C>, protocol: Protocol, activity: &RequestActivity)
    where
        C: GracefulConnection,
    {
        let mut phases = self.lifecycle.subscribe();
        phases.mark_changed();
        let mut timer = pin!(tokio::time::sleep(self.limits.header));
        let mut waits_for = Wait::FirstHead;
        loop {
            tokio::select! {
                biased;
                // Errors are the client's: broken connections and protocol errors. There is no one to report them to.
                _ = connection.as_mut() => return,
                changed = phases.changed() => {
                    let phase = if changed.is_ok() { *phases.borrow_and_update() } else { Phase::Aborted };
                    match (phase, protocol) {
                        (Phase::Serving, _) | (Phase::Parting, Protocol::Http1) => {}
                        // GOAWAY loses nothing: streams in progress are answered.
                        (Phase::Parting, Protocol::Http2) if activity.seen() == 0 => {}
                        (Phase::Parting | Phase::Stopping, Protocol::Http2) => connection.as_mut().graceful_shutdown(),
                        (Phase::Stopping, Protocol::Http1) => {
                            timer.set(tokio::time::sleep(self.limits.last_call));
                            waits_for = Wait::LastCall;
                        }
                        (Phase::Aborted, _) => return,
                    }
                }
                () = timer.as_mut() => match waits_for.over(activity, protocol, self.slots.are_scarce()) {
                    Over::GoOn(next) => {
                        timer.set(tokio::time::sleep(next.time(&self.limits, protocol)));
                        waits_for = next;
                    }
                    Over::Part => {
                        connection.as_mut().graceful_shutdown();
                        timer.set(tokio::time::sleep(Wait::LastAnswer.time(&self.limits, protocol)));
                        waits_for = Wait::LastAnswer;
                    }
                    Over::Close => return,
                },
                () = poll_fn(|_| activity.head_began(protocol, waits_for)) => {
                    timer.set(tokio::time::sleep(self.limits.header));
                    waits_for = Wait::Head(activity.seen());
                }
            }
        }
    }
}

/// Event that the timer of a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// The first request.
    FirstHead,
    /// The rest of a head that has begun, after this many requests.
    Head(u64),
    /// A request after this many requests.
    Request(u64),
    /// A request that may be in flight while stopping.
    LastCall,
    /// The end of a connection that was asked to end.
    LastAnswer,
}

/// What happens to a connection when its time is over.
enum Over {
    GoOn(Wait),
    Part,
    Close,
}

impl Wait {
    fn time(self, limits: &Limits, protocol: Protocol) -> Duration {
        match self {
            Self::Request(_) | Self::LastAnswer if protocol == Protocol::Http2 => limits.scarce,
            Self::FirstHead | Self::Head(_) => limits.header,
            Self::Request(_) | Self::LastAnswer => limits.idle,
            Self::LastCall => limits.last_call,
        }
    }

    fn over(self, activity: &RequestActivity, protocol: Protocol, scarce: bool) -> Over {
        let seen = activity.seen();
        match self {
            Self::FirstHead if seen == 0 => Over::Close,
            Self::Head(before) if before == seen && activity.waiting_for_head() => Over::Close,
            // HTTP/2 has its own keep-alive; an idle connection that answers is kept while slots are free.
            Self::Request(before) if before == seen && activity.idle() && (scarce || protocol == Protocol::Http1) => {
                Over::Part
            }
            Self::LastCall => Over::Part,
            Self::FirstHead | Self::Head(_) | Self::Request(_) => Over::GoOn(Self::Request(seen)),
            Self::LastAnswer => Over::Close,
        }
    }
}

/// State of the requests on one connection.
#[derive(Debug, Default)]
struct RequestActivity {
    seen: AtomicU64,
    answered: AtomicU64,
    /// Part of a head has arrived.
    head: AtomicBool,
}

impl RequestActivity {
    fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    fn idle(&self) -> bool {
        self.seen() == self.answered.load(Ordering::Relaxed)
    }

    fn waiting_for_head(&self) -> bool {
        self.head.load(Ordering::Relaxed)
    }

    /// Records that bytes arrived.
    fn bytes(&self) {
        if self.idle() {
            self.head.store(true, Ordering::Relaxed);
        }
    }

    /// Ready once when a head has begun, did not end in the same read, and has no timer yet.
    fn head_began(&self, protocol: Protocol, waits_for: Wait) -> Poll<()> {
        let timed = matches!(waits_for, Wait::FirstHead | Wait::LastCall | Wait::LastAnswer)
            || waits_for == Wait::Head(self.seen());
        if protocol == Protocol::Http1 && !timed && self.waiting_for_head() { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// A request from its head to its response.
struct UnderWay(Arc<RequestActivity>);

impl UnderWay {
    fn begin(activity: &Arc<RequestActivity>) -> Self {
        activity.seen.fetch_add(1, Ordering::Relaxed);
        activity.head.store(false, Ordering::Relaxed);
        Self(Arc::clone(activity))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// A stream that records when bytes arrive.
struct Paced<S> {
    stream: S,
    activity: Arc<RequestActivity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.activity.bytes();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_http2_connection_is_asked_to_end_only_while_places_are_scarce() {
        let activity = Arc::new(RequestActivity::default());
        drop(UnderWay::begin(&activity));
        let over = |scarce| Wait::Request(1).over(&activity, Protocol::Http2, scarce);
        assert!(matches!((over(true), over(false)), (Over::Part, Over::GoOn(_))));
        assert!(matches!(Wait::Request(1).over(&activity, Protocol::Http1, false), Over::Part));
        // A request in progress is not idle, and one that arrived counts as activity.
        let _under_way = UnderWay::begin(&activity);
        assert!(matches!(Wait::Request(2).over(&activity, Protocol::Http2, true), Over::GoOn(_)));
        assert!(matches!(Wait::Request(1).over(&activity, Protocol::Http2, true), Over::GoOn(_)));
    }
}
