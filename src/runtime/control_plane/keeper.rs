//! Keeps the client current: polls the kubeconfig by content. The last good client stays when a new content is broken.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::kubeconfig::{Content, Origin};
use super::{Current, Error, Listed};
use crate::decision::excerpt::{ERROR, excerpt};
use crate::runtime::metrics::RequestMetrics;

/// What a look at the kubeconfig brought.
#[derive(Debug)]
pub enum Polled {
    /// Nothing new.
    Unchanged,
    /// Requests go by the new content from now on.
    Exchanged,
    /// There is something new that cannot be used; the last good client stays.
    Kept(Error),
}

/// Keeps one client current.
pub struct Keeper {
    origin: Origin,
    /// What was last looked at, good or bad.
    seen: Content,
    current: Current,
    metrics: Arc<RequestMetrics>,
}

impl Keeper {
    pub(super) fn new(origin: Origin, seen: Content, current: Current, metrics: Arc<RequestMetrics>) -> Self {
        Self { origin, seen, current, metrics }
    }

    /// Looks for a new content at each `interval`, for ever.
    pub async fn run(mut self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            match self.poll().await {
                Polled::Unchanged => {}
                Polled::Exchanged => info!("the kubeconfig has changed and is used"),
                Polled::Kept(error) => {
                    let error = error.to_string();
                    let error = excerpt(&error, ERROR);
                    warn!(error, "the kubeconfig has changed and cannot be used; going on by the last good one");
                }
            }
        }
    }

    /// Looks once. What was found broken is not reported again until it changes.
    pub async fn poll(&mut self) -> Polled {
        let content = self.origin.content();
        if content == self.seen {
            return Polled::Unchanged;
        }
        // Read before it is loaded: what changes in between is seen by the next look.
        self.seen = content;
        match self.origin.load().await {
            Ok(mut server) => {
                self.metrics.reloads_ok.inc();
                let before = Arc::clone(&self.current.borrow());
                server.listed = if server.url == before.url { before.listed.clone() } else { Some(Listed::default()) };
                self.current.send_replace(Arc::new(server));
                Polled::Exchanged
            }
            Err(error) => {
                self.metrics.reloads_failed.inc();
                Polled::Kept(error)
            }
        }
    }
}
