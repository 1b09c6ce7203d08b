//! Keeps the client current: polls the kubeconfig by content. The last valid client stays when new content is invalid.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::kubeconfig::{Content, Origin};
use super::{Current, Error, Listed};
use crate::decision::excerpt::{ERROR, excerpt};
use crate::runtime::metrics::RequestMetrics;

/// Result of a check of the kubeconfig.
#[derive(Debug)]
pub enum Polled {
    /// No change.
    Unchanged,
    /// Requests use the new content from now on.
    Exchanged,
    /// New content is invalid; the last valid client stays.
    Kept(Error),
}

/// Keeps one client current.
pub struct Keeper {
    origin: Origin,
    /// Last checked content, valid or not.
    seen: Content,
    current: Current,
    metrics: Arc<RequestMetrics>,
}

impl Keeper {
    pub(super) fn new(origin: Origin, seen: Content, current: Current, metrics: Arc<RequestMetrics>) -> Self {
        Self { origin, seen, current, metrics }
    }

    /// Checks for new content at each `interval`, without end.
    pub async fn run(mut self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            match self.poll().await {
                Polled::Unchanged => {}
                Polled::Exchanged => info!("the kubeconfig has changed and is used"),
                Polled::Kept(error) => {
                    let error = error.to_string();
                    let error = excerpt(&error, ERROR);
                    warn!(error, "the kubeconfig has changed and cannot be used; keeping the last valid one");
                }
            }
        }
    }

    /// Checks once. Invalid content is not reported again until it changes.
    pub async fn poll(&mut self) -> Polled {
        let content = self.origin.content();
        if content == self.seen {
            return Polled::Unchanged;
        }
        // Read before loading: the next check detects changes in between.
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
