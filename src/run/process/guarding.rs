//! The guard over the installation as a part of a process: where the webhook is comes from arguments and a file. Reads files.

use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;
use tracing::{info, warn};

use super::options::{Error, GuardOptions, Registration};
use crate::admission::registration::Location;
use crate::install::guard::{self, Guard};
use crate::runtime::leader::Leader;
use crate::runtime::metrics::Metrics;
use crate::runtime::{clock, control_plane, tls};

/// A guard, and what tells it where the webhook is.
pub(super) struct Guarding {
    guard: Guard,
    registration: Option<(Registration, watch::Sender<Location>)>,
}

impl Registration {
    fn location(&self) -> Result<Location, tls::Error> {
        let ca_bundle = tls::authorities(&self.ca_file)?;
        Ok(Location { base_url: self.base_url.clone(), ca_bundle })
    }
}

impl Guarding {
    /// Reads the CA for the first time, and puts the guard together.
    pub(super) fn new(
        options: GuardOptions,
        client: &Client,
        identity: &str,
        metrics: &Metrics,
    ) -> Result<Self, Error> {
        let GuardOptions { manage_karmada, registration } = options;
        let registration = match registration {
            Some(registration) => {
                let location = registration.location().map_err(Error::Authority)?;
                Some((registration, watch::Sender::new(location)))
            }
            None => None,
        };
        let guard = Guard::new(guard::Options {
            client: client.clone(),
            manage_karmada,
            location: registration.as_ref().map(|(_, told)| told.subscribe()),
            clock: Arc::new(clock::wall),
            metrics: metrics.guard(),
            counted: metrics.controller(),
            identity: identity.to_owned(),
        })?;
        Ok(Self { guard, registration })
    }

    /// Guards while this process leads, until `stop` is told.
    pub(super) async fn run(self, leadership: watch::Receiver<Option<Leader>>, stop: watch::Receiver<bool>) {
        let Self { guard, registration } = self;
        tokio::select! {
            () = guard.run(leadership, stop) => {}
            () = follow(registration) => {}
        }
    }
}

/// Looks for a new CA by content, for ever. The last good one stays.
async fn follow(registration: Option<(Registration, watch::Sender<Location>)>) {
    let Some((registration, told)) = registration else { return std::future::pending().await };
    let mut complained = None;
    loop {
        tokio::time::sleep(control_plane::POLL).await;
        match registration.location() {
            Ok(location) => {
                complained = None;
                let new = told.send_if_modified(|current| {
                    let new = *current != location;
                    *current = location;
                    new
                });
                if new {
                    info!("the CA of the webhook has changed and is registered");
                }
            }
            Err(error) => {
                let error = error.to_string();
                if complained.as_ref() != Some(&error) {
                    warn!(error, "the CA of the webhook cannot be read; the last good one stays registered");
                }
                complained = Some(error);
            }
        }
    }
}
