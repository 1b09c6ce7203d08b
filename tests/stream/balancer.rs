//! A load balancer in the role of a Service: new connections go round-robin to replicas whose `/readyz` answers;
//! existing ones stay. I/O: sockets on the loopback interface.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::bed::within;
use crate::webhook::drain::try_probe;

/// So late a Service's endpoints may be.
const LATE: Duration = Duration::from_secs(1);

/// A replica behind the balancer.
#[derive(Clone, Copy)]
struct Backend {
    webhook: SocketAddr,
    admin: SocketAddr,
    ready: bool,
}

#[derive(Default)]
struct Known {
    backends: Vec<Backend>,
    /// Connections that were given away.
    given: usize,
    /// Connections for which there was no replica.
    refused: usize,
}

/// It balances until it is dropped.
pub struct Balancer {
    address: SocketAddr,
    known: Arc<Mutex<Known>>,
    looked: watch::Sender<usize>,
    tasks: JoinSet<()>,
}

impl Balancer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (known, looked) = (Arc::<Mutex<Known>>::default(), watch::Sender::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&known)));
        tasks.spawn(look(Arc::clone(&known), looked.clone()));
        Self { address, known, looked, tasks }
    }

    /// Where the API server finds the webhook.
    pub fn url(&self) -> String {
        format!("https://{}/", self.address)
    }

    /// Adds a replica, and waits until connections go there.
    pub async fn add(&self, webhook: SocketAddr, admin: SocketAddr) {
        self.known.lock().unwrap().backends.push(Backend { webhook, admin, ready: false });
        let mut looked = self.looked.subscribe();
        let ready = |known: &Mutex<Known>| {
            known.lock().unwrap().backends.iter().any(|backend| backend.admin == admin && backend.ready)
        };
        within(looked.wait_for(|_| ready(&self.known))).await.unwrap();
    }

    /// Forgets a replica.
    pub fn remove(&self, admin: SocketAddr) {
        self.known.lock().unwrap().backends.retain(|backend| backend.admin != admin);
    }

    /// Connections that were given to replicas, and those for which there was none.
    pub fn connections(&self) -> (usize, usize) {
        let known = self.known.lock().unwrap();
        (known.given, known.refused)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.tasks.abort_all();
    }
}

async fn accept(listener: TcpListener, known: Arc<Mutex<Known>>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((mut client, _)) = listener.accept().await else { continue };
        let next = {
            let mut known = known.lock().unwrap();
            let ready: Vec<SocketAddr> =
                known.backends.iter().filter(|backend| backend.ready).map(|backend| backend.webhook).collect();
            let next = ready.get(known.given % ready.len().max(1)).copied();
            *(if next.is_some() { &mut known.given } else { &mut known.refused }) += 1;
            next
        };
        let Some(backend) = next else { continue };
        connections.spawn(async move {
            if let Ok(mut server) = TcpStream::connect(backend).await {
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn look(known: Arc<Mutex<Known>>, looked: watch::Sender<usize>) {
    let mut looks = tokio::time::interval(LATE);
    loop {
        looks.tick().await;
        let backends = known.lock().unwrap().backends.clone();
        for Backend { admin, .. } in backends {
            let ready = try_probe(admin, "/readyz").await.is_ok_and(|(status, _)| status == 200);
            let mut known = known.lock().unwrap();
            let found = known.backends.iter_mut().find(|backend| backend.admin == admin);
            found.into_iter().for_each(|backend| backend.ready = ready);
        }
        looked.send_modify(|looks| *looks += 1);
    }
}
