//! The task that empties the queue of events. I/O: the API server.

use std::hash::{BuildHasher as _, RandomState};
use std::iter::repeat_n;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::warn;

use super::post::{End, Post};
use super::series::{Series, Step, WINDOW};
use super::{DRAIN, Dropped, IN_FLIGHT, IN_FLIGHT_BUSY, Observer, Queued, Record};
use crate::runtime::clock::steady;

/// Posts queued events.
pub struct Poster {
    records: mpsc::UnboundedReceiver<Queued>,
    post: Post,
    lately: Lately,
}

impl std::fmt::Debug for Poster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poster").field("waiting", &self.records.len()).finish_non_exhaustive()
    }
}

impl Poster {
    pub(super) fn new(records: mpsc::UnboundedReceiver<Queued>, post: Post) -> Self {
        Self { records, post, lately: Lately::default() }
    }

    /// Posts until `stop` is true or all [`Events`](super::Events) are dropped, and then the queued events for a few
    /// seconds. The lease must be held until this returns, or the rest is dropped.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let Self { mut records, post, mut lately } = self;
        let mut posts = FuturesUnordered::new();
        loop {
            let most = if post.observer.is_busy() { IN_FLIGHT_BUSY } else { IN_FLIGHT };
            let (room, due) = (posts.len() < most, lately.series.next());
            let next = tokio::select! {
                Some(end) = posts.next() => lately.ended(end, &*post.observer),
                queued = records.recv(), if room => match queued {
                    Some(queued) => lately.add(queued),
                    None => break,
                },
                () = until(due), if room => lately.series.pop(),
                _ = stop.wait_for(|stop| *stop) => break,
            };
            posts.extend(next.map(|step| post.send(step, lately.counts())));
        }
        records.close();
        let drained = timeout(DRAIN, async {
            loop {
                while posts.len() < IN_FLIGHT {
                    let next = match records.try_recv() {
                        Ok(queued) => lately.add(queued),
                        Err(_) => match lately.series.pop() {
                            None => break,
                            held => held,
                        },
                    };
                    posts.extend(next.map(|step| post.send(step, lately.counts())));
                }
                let Some(end) = posts.next().await else { break };
                let next = lately.ended(end, &*post.observer);
                posts.extend(next.map(|step| post.send(step, lately.counts())));
            }
        });
        if drained.await.is_err() {
            let lost = lately.open.saturating_add(records.len());
            repeat_n(Dropped::Stopped, lost).for_each(|why| post.observer.dropped(why));
            warn!(lost, "Events were lost because the process stopped");
        }
    }
}

/// Returns at `due`; never without one.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What was told lately.
#[derive(Default)]
struct Lately {
    series: Series<Queued>,
    hasher: RandomState,
    /// The API server has refused to count before this.
    refused_until: Option<Instant>,
    /// Number of records that are in flight or wait for a request.
    open: usize,
}

impl Lately {
    /// Adds a record: the request to send now, if any.
    fn add(&mut self, queued: Queued) -> Option<Step<Queued>> {
        self.open = self.open.saturating_add(1);
        let Record { severity, reason, action, note, at: _, regarding, related } = &queued.record;
        let key = self.hasher.hash_one((severity, reason, action, note, regarding, related));
        self.series.add(key, queued, steady())
    }

    /// Takes in how a request ended: the next one, if any.
    fn ended(&mut self, end: End, observer: &dyn Observer) -> Option<Step<Queued>> {
        let now = steady();
        let records = usize::try_from(end.records).unwrap_or(usize::MAX);
        self.open = self.open.saturating_sub(records);
        repeat_n(end.dropped, records).for_each(|dropped| match dropped {
            None => observer.posted(),
            Some(why) => observer.dropped(why),
        });
        if end.refused {
            self.refused_until = now.checked_add(WINDOW);
        }
        self.series.ended(end.key, end.event, now)
    }

    /// Whether the API server may be asked to count.
    fn counts(&self) -> bool {
        self.refused_until.is_none_or(|until| until <= steady())
    }
}
