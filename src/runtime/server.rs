//! The listener: accepts connections within limits, secures them, and sees them end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures::FutureExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, warn};

use super::connection::{self, Protocol};
use super::lifecycle::{Lifecycle, Phase};
use super::metrics::{HandshakeFailure, Metrics};
use super::tls;

/// Bounds on all connections together and on their beginning.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections open at a time; one more is closed at once.
    pub connections: usize,
    /// Time for the TLS handshake.
    pub handshake: Duration,
    /// Bounds on each connection.
    pub connection: connection::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1024, handshake: Duration::from_secs(5), connection: connection::Limits::default() }
    }
}

/// How bytes travel.
pub enum Security {
    /// As they are.
    Plain,
    /// Over TLS, with the certificate that is current when a connection begins.
    Tls(tls::Current),
}

/// A bound socket, ready to accept.
pub struct Listener {
    socket: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    security: Security,
    connections: connection::Server,
    slots: Arc<Semaphore>,
    limits: Limits,
    lifecycle: Arc<Lifecycle>,
    metrics: Arc<Metrics>,
}

/// Pauses after failures to accept: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));
/// Connections that are taken from the backlog of the socket before it is closed.
const BACKLOG: usize = 1024;

impl Listener {
    /// Binds a socket.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn bind(
        address: SocketAddr,
        security: Security,
        router: Router,
        limits: Limits,
        lifecycle: Arc<Lifecycle>,
        metrics: Arc<Metrics>,
    ) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let connections = connection::Server::new(router, limits.connection, Arc::clone(&lifecycle));
        let slots = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        Ok(Self { socket, shared: Arc::new(Shared { security, connections, slots, limits, lifecycle, metrics }) })
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
        let mut pause = PAUSES.0;
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.shared.lifecycle.reached(Phase::Stopping) => break,
                accepted = self.socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    pause = PAUSES.0;
                    self.shared.admit(stream);
                }
                Err(error) => {
                    self.shared.metrics.accept_errors.inc();
                    warn!(%error, "a connection cannot be accepted");
                    // Out of file descriptors, for one, does not pass at once.
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(PAUSES.1);
                }
            }
        }
        self.finish().await;
    }

    /// Takes what already waits in the backlog, closes the socket and waits for all connections.
    async fn finish(self) {
        for _ in 0..BACKLOG {
            let Some(Ok((stream, _))) = self.socket.accept().now_or_never() else { break };
            self.shared.admit(stream);
        }
        drop(self.socket);
        let all = u32::try_from(self.shared.limits.connections.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let _ = self.shared.slots.acquire_many(all).await;
    }
}

impl Shared {
    fn admit(self: &Arc<Self>, stream: TcpStream) {
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            self.metrics.connections_refused.inc();
            return;
        };
        self.metrics.connections_accepted.inc();
        self.metrics.connections.inc();
        let open = Open { shared: Arc::clone(self), _slot: slot };
        tokio::spawn(async move { open.serve(stream).await });
    }

    /// The handshake, within its time and, while stopping, only a moment longer.
    async fn secure(&self, current: &tls::Current, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let acceptor = TlsAcceptor::from(Arc::clone(&current.load().config));
        let stopped = async {
            self.lifecycle.reached(Phase::Stopping).await;
            tokio::time::sleep(self.limits.connection.last_call).await;
        };
        let shaken = tokio::select! {
            biased;
            shaken = tokio::time::timeout(self.limits.handshake, acceptor.accept(stream)) => shaken,
            () = stopped => return None,
        };
        let reason = match shaken {
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

/// One open connection; its place is free again when this is dropped.
struct Open {
    shared: Arc<Shared>,
    _slot: OwnedSemaphorePermit,
}

impl Open {
    async fn serve(self, stream: TcpStream) {
        // Answers are small and written whole; without it the system may hold them back.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "TCP_NODELAY cannot be set");
        }
        match &self.shared.security {
            Security::Plain => self.shared.connections.serve(stream, Protocol::Http1).await,
            Security::Tls(current) => {
                let Some(stream) = self.shared.secure(current, stream).await else { return };
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let protocol = if http2 { Protocol::Http2 } else { Protocol::Http1 };
                self.shared.connections.serve(stream, protocol).await;
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.metrics.connections.dec();
    }
}
