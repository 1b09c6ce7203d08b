//! Server-sent events: tell pages that something has changed. They then ask for themselves again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::unfold;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::sleep;

use super::Shared;

/// Shortest time between two messages of one stream.
const PACE: Duration = Duration::from_millis(500);
/// Interval of comments, by which a connection that is gone is noticed.
const ALIVE: Duration = Duration::from_secs(15);
/// How long a page waits before it connects again.
const RETRY: Duration = Duration::from_secs(2);

/// Messages without end; `None` while too many pages are open.
pub(super) fn stream(shared: &Arc<Shared>) -> Option<Sse<impl Stream<Item = Result<Event, Infallible>> + use<>>> {
    let permit = Arc::clone(&shared.streams).try_acquire_owned().ok()?;
    let mut changes = shared.cache.changes();
    // What changed between the page and its stream is told at once.
    changes.mark_changed();
    let events = unfold((changes, permit, Duration::ZERO), next);
    Some(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)))
}

type StreamState = (watch::Receiver<u64>, OwnedSemaphorePermit, Duration);

async fn next((mut changes, permit, pause): StreamState) -> Option<(Result<Event, Infallible>, StreamState)> {
    sleep(pause).await;
    changes.changed().await.ok()?;
    let version = *changes.borrow_and_update();
    let event = Event::default().event("change").data(version.to_string()).retry(RETRY);
    Some((Ok(event), (changes, permit, PACE)))
}
