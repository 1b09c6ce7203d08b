//! One CA and one leaf for all replicas, in a Secret of the host cluster: `content` decides what is due and makes it,
//! `store` reads and writes the Secret. This module checks the Secret periodically. Talks to the API server.
//!
//! cert-manager does the same where it is installed. No crate keeps one CA for several processes in a Secret and
//! renews the leaf while they serve; `rcgen` and `x509-parser` create and read the certificates.

mod access;
pub mod content;
mod store;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{info, warn};

pub use self::access::Access;
use self::content::{Content, Found, canonical};
pub use self::store::{SecretName, Store, StoreError};
use super::Error;
use crate::runtime::control_plane;
use crate::runtime::metrics::Metrics;

/// Most attempts of one check, when others write at the same time.
const TRIES: usize = 8;
/// Longest pause between two attempts at the start.
const PAUSE: Duration = Duration::from_secs(5);

/// The current content; always with a valid leaf.
pub type Latest = watch::Receiver<Arc<Content>>;

/// Checks the Secret, and writes what is due.
pub struct SecretPoller {
    store: Store,
    wanted: BTreeSet<String>,
    memory: Option<Arc<Content>>,
    sender: Option<watch::Sender<Arc<Content>>>,
    /// Last logged failure, while it lasts.
    complained: Option<String>,
    metrics: Arc<Metrics>,
}

impl SecretPoller {
    /// For a leaf with these names.
    #[must_use]
    pub fn new(store: Store, names: &[String], metrics: Arc<Metrics>) -> Self {
        let wanted = names.iter().map(|name| canonical(name)).collect();
        Self { store, wanted, memory: None, sender: None, complained: None, metrics }
    }

    /// Checks once: reads, creates what is missing, renews what is due.
    ///
    /// # Errors
    /// The Secret cannot be read or written, was not created by fhpa, or a certificate cannot be issued.
    pub async fn poll(&mut self, now: Timestamp) -> Result<Arc<Content>, Error> {
        for _ in 0..TRIES {
            let read = self.store.read().await?;
            self.inspect(&read.found);
            let Some(due) = read.found.due(self.memory.as_deref(), &self.wanted, now)? else {
                let Found::Held(content) = read.found else { continue };
                return Ok(self.learn(content));
            };
            if self.store.write(read, &due).await? {
                info!(secret = %self.store.secret(), "the shared certificate was written");
                return Ok(self.learn(due));
            }
        }
        Err(StoreError::Contested(self.store.secret().clone()).into())
    }

    /// Logs content that cannot be served.
    fn inspect(&self, found: &Found) {
        let what = match found {
            Found::Broken(what) => what.to_string(),
            Found::Held(content) if content.pair().is_none() => {
                "tls.crt and tls.key are no pair that one of the CAs signed".to_owned()
            }
            Found::Absent | Found::Held(_) => return,
        };
        self.metrics.certificate_secret_failed();
        warn!(secret = %self.store.secret(), what, "the shared certificate is invalid and is created again");
    }

    fn learn(&mut self, content: Content) -> Arc<Content> {
        let content = Arc::new(content);
        if let Some(ends) = content.authority_ends() {
            self.metrics.authority_expires(ends);
        }
        self.memory = Some(Arc::clone(&content));
        if let Some(sender) = &self.sender {
            sender.send_if_modified(|current| {
                let new = **current != *content;
                current.clone_from(&content);
                new
            });
        }
        content
    }

    /// Checks until there is a certificate to serve, for at most `patience`.
    ///
    /// # Errors
    /// The last error of [`Self::poll`].
    pub async fn begin(&mut self, patience: Duration, now: fn() -> Timestamp) -> Result<Latest, Error> {
        let mut last = None;
        let tried = timeout(patience, async {
            let mut pause = Duration::from_millis(500);
            loop {
                match self.poll(now()).await {
                    Ok(content) => return content,
                    Err(error) => self.complain(last.insert(error)),
                }
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).min(PAUSE);
            }
        });
        let Ok(content) = tried.await else {
            return Err(last.unwrap_or_else(|| StoreError::Silent(self.store.secret().clone()).into()));
        };
        let (sender, latest) = watch::channel(content);
        self.sender = Some(sender);
        Ok(latest)
    }

    /// Checks at each `interval`, without end. The last content stays when a check fails.
    pub async fn run(mut self, interval: Duration, now: fn() -> Timestamp) {
        loop {
            tokio::time::sleep(interval).await;
            match self.poll(now()).await {
                Ok(_) => {
                    if self.complained.take().is_some() {
                        info!(secret = %self.store.secret(), "the shared certificate can be updated again");
                    }
                }
                Err(error) => self.complain(&error),
            }
        }
    }

    fn complain(&mut self, error: &Error) {
        self.metrics.certificate_secret_failed();
        let message = error.to_string();
        if self.complained.as_ref() != Some(&message) {
            warn!(error = message, "the shared certificate cannot be updated; using the last one, if there is one");
        }
        self.complained = Some(message);
    }
}

impl Store {
    /// Opens a Secret through `access`, with its reloader.
    ///
    /// # Errors
    /// There is no such access.
    pub async fn open(
        access: Access,
        secret: SecretName,
    ) -> Result<(Self, Option<control_plane::KubeconfigReloader>), Error> {
        match access.client().await {
            Ok((client, reloader)) => Ok((Self::new(client, secret), reloader)),
            Err(said) => Err(StoreError::NoAccess { secret, said }.into()),
        }
    }

    /// The content, once it exists; `None` when it does not within `patience`.
    ///
    /// # Errors
    /// The Secret cannot be read, or was not created by fhpa.
    pub async fn wait(&self, patience: Duration) -> Result<Option<Content>, Error> {
        let mut last = None;
        let waited = timeout(patience, async {
            loop {
                last = match self.read().await.map(|read| read.found) {
                    Ok(Found::Held(content)) if content.pair().is_some() => return Ok(content),
                    Ok(_) => None,
                    Err(error @ StoreError::Foreign { .. }) => return Err(error),
                    Err(error) => Some(error),
                };
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        match (waited.await, last) {
            (Ok(found), _) => Ok(Some(found?)),
            (Err(_), Some(error)) => Err(error.into()),
            (Err(_), None) => Ok(None),
        }
    }
}
