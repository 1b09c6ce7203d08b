//! The client of one watch, which tells its requests from those of other readers of the same collection. No I/O.

use std::sync::atomic::{AtomicU64, Ordering};

use http::Request;
use kube::Client;
use kube::client::Body;
use tower::service_fn;

/// Extension of the requests of one watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WatchId(u64);

/// A client for the lists and watches of one watch. When the API server changes or is restored, the watch continues only
/// from a list of its own: that of another reader says nothing about the version from which this one would continue.
#[must_use]
pub fn for_one_watch(client: &Client) -> Client {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (inner, id) = (client.clone(), WatchId(NEXT.fetch_add(1, Ordering::Relaxed)));
    let marked = service_fn(move |mut request: Request<Body>| {
        request.extensions_mut().insert(id);
        let inner = inner.clone();
        async move { inner.send(request).await }
    });
    Client::new(marked, client.default_namespace().to_owned())
}
