//! The network between Karmada and a member, which can be cut while the member goes on. I/O: sockets.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// After an error of the listener.
const PAUSE: Duration = Duration::from_millis(50);

/// Carries every connection to one port of this machine, while it is up.
pub struct Link {
    pub port: u16,
    up: watch::Sender<bool>,
}

impl Link {
    /// A link to this port, from one that is free.
    pub async fn start(to: u16) -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), to).await
    }

    /// A link from this address.
    pub async fn at(from: SocketAddr, to: u16) -> Self {
        let listener = TcpListener::bind(from).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (up, state) = watch::channel(true);
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((near, _)) => _ = tokio::spawn(carry(near, to, state.clone())),
                    // Such as a process that has too many files open for a moment.
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        });
        Self { port, up }
    }

    /// Ends every connection, and lets none through.
    pub fn cut(&self) {
        self.up.send_replace(false);
    }

    /// Lets connections through again.
    pub fn mend(&self) {
        self.up.send_replace(true);
    }
}

async fn carry(mut near: TcpStream, to: u16, mut up: watch::Receiver<bool>) {
    if !*up.borrow() {
        return;
    }
    let Ok(mut far) = TcpStream::connect(("127.0.0.1", to)).await else { return };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    tokio::select! {
        _ = copy_bidirectional(&mut near, &mut far) => {}
        _ = up.wait_for(|up| !up) => {}
    }
}
