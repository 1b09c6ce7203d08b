//! The guard over the installation as a part of a process: the location of the webhook comes from arguments, and its CA
//! from a file or from the certificate that replicas share. Reads files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;
use tracing::{info, warn};

use super::options::{Error, GuardOptions, Registration};
use crate::admission::registration::Location;
use crate::install::guard::{self, Guard};
use crate::runtime::leader::Leader;
use crate::runtime::metrics::Metrics;
use crate::runtime::tls::shared::Latest;
use crate::runtime::{clock, control_plane, tls};

/// A guard, and the source of the webhook's location.
pub(super) struct GuardTask {
    guard: Guard,
    registration: Option<(Authority, watch::Sender<Location>)>,
}

/// Source of the webhook's CA.
enum Authority {
    File(PathBuf),
    Shared(Latest),
}

impl Authority {
    fn bundle(&self) -> Result<Vec<u8>, Error> {
        match self {
            Self::File(file) => tls::authorities(file).map_err(Error::Authority),
            Self::Shared(latest) => Ok(latest.borrow().bundle()),
        }
    }
}

impl GuardTask {
    /// Reads the CA for the first time, and builds the guard.
    pub(super) fn new(
        options: GuardOptions,
        client: &Client,
        shared: Option<&Latest>,
        identity: &str,
        metrics: &Metrics,
    ) -> Result<Self, Error> {
        let GuardOptions { manage_karmada, guard_definitions, registration } = options;
        let registration = match registration {
            Some(Registration { base_url, ca_file }) => {
                let authority = match (ca_file, shared) {
                    (Some(file), _) => Authority::File(file),
                    (None, Some(latest)) => Authority::Shared(latest.clone()),
                    (None, None) => return Err(Error::NoAuthority),
                };
                let location = Location { base_url, ca_bundle: authority.bundle()? };
                Some((authority, watch::Sender::new(location)))
            }
            None => None,
        };
        let guard = Guard::new(guard::Options {
            client: client.clone(),
            manage_karmada,
            definitions_guarded: guard_definitions,
            location: registration.as_ref().map(|(_, locations)| locations.subscribe()),
            clock: Arc::new(clock::wall),
            metrics: metrics.guard(),
            counted: metrics.controller(),
            identity: identity.to_owned(),
        })?;
        Ok(Self { guard, registration })
    }

    /// Guards while this process leads, until `stop` is true.
    pub(super) async fn run(self, leadership: watch::Receiver<Option<Leader>>, stop: watch::Receiver<bool>) {
        let Self { guard, registration } = self;
        let follows = async {
            match registration {
                None => std::future::pending().await,
                Some((Authority::File(file), locations)) => follow_file(&file, &locations).await,
                Some((Authority::Shared(latest), locations)) => follow_shared(latest, &locations).await,
            }
        };
        tokio::select! {
            () = guard.run(leadership, stop) => {}
            () = follows => {}
        }
    }
}

/// Publishes a CA; returns whether it changed.
fn publish_ca(locations: &watch::Sender<Location>, ca_bundle: Vec<u8>) -> bool {
    locations.send_if_modified(|current| {
        let new = current.ca_bundle != ca_bundle;
        current.ca_bundle = ca_bundle;
        new
    })
}

/// Checks for a new CA by content, without end. The last valid one stays.
async fn follow_file(file: &Path, locations: &watch::Sender<Location>) {
    let mut complained = None;
    loop {
        tokio::time::sleep(control_plane::POLL).await;
        match tls::authorities(file) {
            Ok(ca_bundle) => {
                complained = None;
                if publish_ca(locations, ca_bundle) {
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

/// Publishes each change of the shared CAs, without end.
async fn follow_shared(mut latest: Latest, locations: &watch::Sender<Location>) {
    while latest.changed().await.is_ok() {
        let ca_bundle = latest.borrow_and_update().bundle();
        if publish_ca(locations, ca_bundle) {
            info!("the CAs of the shared certificate have changed; the leader registers them");
        }
    }
    std::future::pending::<()>().await;
}
