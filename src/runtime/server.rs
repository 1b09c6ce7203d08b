//! The listener: accepts connections within limits, performs the TLS handshake, and waits for their end.
//!
//! axum's own server has no TLS and no limit on connections, and `axum-server` waits for handshakes while it drains,
//! so connections are accepted here.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, warn};

use super::connection::{self, Answering, Protocol};
use super::lifecycle::{Lifecycle, Phase};
use super::metrics::{HandshakeFailure, Metrics};
use super::slots::{Slot, Slots};
use super::tls;

/// Limits on all connections together and on their start.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most open connections; a further one is closed at once. The last quarter is reserved for peers that have few.
    pub connections: usize,
    /// Time for the TLS handshake.
    pub handshake: Duration,
    /// Limits on each connection.
    pub connection: connection::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1024, handshake: Duration::from_secs(5), connection: connection::Limits::default() }
    }
}

/// Reserved slots for connections with one short request, when all others are taken: so probes are always answered.
pub struct Reserve<A> {
    /// Answers these requests.
    pub answering: A,
    /// Number of slots.
    pub connections: usize,
    /// Time for the head of the request.
    pub header: Duration,
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
    security: Security,
    connections: connection::Server<A>,
    slots: Arc<Slots>,
    reserve: Option<(connection::Server<A>, Arc<Slots>)>,
    limits: Limits,
    lifecycle: Arc<Lifecycle>,
    metrics: Arc<Metrics>,
}

/// Pauses after accept errors: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));
/// Connections that are accepted from the backlog of the socket before it is closed.
const BACKLOG: usize = 1024;

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
        Ok(Self::on(socket, security, answering, limits, None, lifecycle, metrics))
    }

    /// Accepts on a bound socket: where answers depend on its address, and with reserved slots.
    pub fn on(
        socket: TcpListener,
        security: Security,
        answering: A,
        limits: Limits,
        reserve: Option<Reserve<A>>,
        lifecycle: Arc<Lifecycle>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let slots = Slots::new(limits.connections);
        let connections =
            connection::Server::new(answering, limits.connection, Arc::clone(&lifecycle), Arc::clone(&slots));
        let reserve = reserve.map(|Reserve { answering, connections, header }| {
            let slots = Slots::new(connections);
            let limits = connection::Limits { header, ..limits.connection };
            let server = connection::Server::new(answering, limits, Arc::clone(&lifecycle), Arc::clone(&slots));
            (server.once(), slots)
        });
        let shared = Shared { security, connections, slots, reserve, limits, lifecycle, metrics };
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
        let mut pause = PAUSES.0;
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.shared.lifecycle.reached(Phase::Stopping) => break,
                accepted = self.socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    pause = PAUSES.0;
                    self.shared.admit(stream, peer.ip());
                }
                Err(error) => {
                    self.shared.metrics.accept_errors.inc();
                    warn!(%error, "a connection cannot be accepted");
                    // Running out of file descriptors, for example, does not pass at once.
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(PAUSES.1);
                }
            }
        }
        self.finish().await;
    }

    /// Accepts the backlog, closes the socket and waits for all connections.
    async fn finish(self) {
        for _ in 0..BACKLOG {
            let Some(Ok((stream, peer))) = self.socket.accept().now_or_never() else { break };
            self.shared.admit(stream, peer.ip());
        }
        drop(self.socket);
        self.shared.slots.all_free().await;
        if let Some((_, slots)) = &self.shared.reserve {
            slots.all_free().await;
        }
    }
}

impl<A: Answering> Shared<A> {
    fn admit(self: &Arc<Self>, stream: TcpStream, peer: IpAddr) {
        let reserved = || self.reserve.as_ref().and_then(|(_, slots)| slots.take(peer)).map(|slot| (slot, true));
        let Some((slot, reserved)) = self.slots.take(peer).map(|slot| (slot, false)).or_else(reserved) else {
            self.metrics.connections_refused.inc();
            return;
        };
        self.metrics.connections_accepted.inc();
        self.metrics.connections.inc();
        let open = Open { shared: Arc::clone(self), reserved, _slot: slot };
        tokio::spawn(async move { open.serve(stream, peer).await });
    }

    /// The handshake, within its time limit and, while stopping, only a moment longer.
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

/// One open connection; frees its slot when dropped.
struct Open<A> {
    shared: Arc<Shared<A>>,
    reserved: bool,
    _slot: Slot,
}

impl<A: Answering> Open<A> {
    async fn serve(self, stream: TcpStream, peer: IpAddr) {
        // Responses are small and written whole; without this the system may delay them.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "TCP_NODELAY cannot be set");
        }
        let server = match &self.shared.reserve {
            Some((server, _)) if self.reserved => server,
            _ => &self.shared.connections,
        };
        match &self.shared.security {
            Security::Plain => server.serve(stream, peer, Protocol::Http1).await,
            Security::Tls(current) => {
                let Some(stream) = self.shared.secure(current, stream).await else { return };
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let protocol = if http2 { Protocol::Http2 } else { Protocol::Http1 };
                server.serve(stream, peer, protocol).await;
            }
        }
    }
}

impl<A> Drop for Open<A> {
    fn drop(&mut self) {
        self.shared.metrics.connections.dec();
    }
}
