//! Keeps the installation in its desired state while this process leads: drift by a Karmada upgrade, or by any other
//! writer, is corrected within moments; a writer that does not stop is reported and corrected with pauses
//! (docs/operations.md#upgrades-of-karmada). Talks to the API server.

mod managed_objects;
mod reconcile;

use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;

pub use self::managed_objects::ManagedObjects;
use self::reconcile::{Dependencies, GuardWorker};
use super::manifests::{self, ManifestError};
use crate::admission::registration::Location;
use crate::controller::engine::Engine;
use crate::controller::events::{Events, Poster};
use crate::runtime::clock::WallClock;
use crate::runtime::leader::Leader;
use crate::runtime::metrics::{ControllerMetrics, GuardMetrics};

/// Options of a guard.
pub struct Options {
    /// Client of karmada-apiserver.
    pub client: Client,
    /// Whether to correct objects that also belong to Karmada; otherwise drift is only reported.
    pub manage_karmada: bool,
    /// Whether the webhook also reviews changes of the CRDs.
    pub definitions_guarded: bool,
    /// Current location of the webhook; `None`: the registration is managed elsewhere.
    pub location: Option<watch::Receiver<Location>>,
    /// The time of day.
    pub clock: WallClock,
    /// The metrics of the guard.
    pub metrics: Arc<GuardMetrics>,
    /// The metrics of Events.
    pub counted: Arc<ControllerMetrics>,
    /// Name of this process in Events.
    pub identity: String,
}

/// A guard before it runs.
pub struct Guard {
    client: Client,
    managed: Arc<ManagedObjects>,
    location: Option<watch::Receiver<Location>>,
    definitions_guarded: bool,
    engine: Engine<GuardWorker>,
    poster: Poster,
    gauges: Arc<GuardMetrics>,
}

impl Guard {
    /// Builds the guard.
    ///
    /// # Errors
    /// When the objects cannot be built.
    pub fn new(options: Options) -> Result<Self, ManifestError> {
        let Options { client, manage_karmada, definitions_guarded, location, clock, metrics, counted, identity } =
            options;
        let mut wanted = manifests::shared()?;
        if let Some(location) = &location {
            wanted.extend(manifests::registration(&location.borrow(), definitions_guarded)?);
        }
        let managed = Arc::new(ManagedObjects::new(wanted));
        let gauges = Arc::clone(&metrics);
        let (events, poster) = Events::new(client.clone(), &identity, Arc::<ControllerMetrics>::clone(&counted));
        let worker = GuardWorker::new(Dependencies {
            client: client.clone(),
            managed: Arc::clone(&managed),
            manage_karmada,
            events,
            clock: Arc::clone(&clock),
            metrics,
            counted,
        });
        let engine = Engine::new(Arc::new(worker), clock, 1);
        Ok(Self { client, managed, location, definitions_guarded, engine, poster, gauges })
    }

    /// Always observes, and corrects drift while this process leads, until `stop` is true.
    pub async fn run(self, leadership: watch::Receiver<Option<Leader>>, stop: watch::Receiver<bool>) {
        let Self { client, managed, location, definitions_guarded, engine, poster, gauges } = self;
        let withdraws = withdraw(leadership.clone(), &gauges);
        let works = async { tokio::join!(engine.run(leadership, stop.clone()), poster.run(stop)) };
        let looks = async { tokio::join!(managed.watch(&client), follow(&managed, location, definitions_guarded)) };
        tokio::select! {
            _ = works => {}
            _ = looks => {}
            () = withdraws => {}
        }
    }
}

/// Withdraws the gauges of a leader whenever this process is none. Without end.
async fn withdraw(mut leadership: watch::Receiver<Option<Leader>>, gauges: &GuardMetrics) {
    loop {
        if leadership.borrow_and_update().is_none() {
            gauges.withdraw();
        }
        if leadership.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Updates the desired state whenever the location of the webhook changes.
async fn follow(managed: &ManagedObjects, location: Option<watch::Receiver<Location>>, definitions_guarded: bool) {
    if let Some(mut location) = location {
        while location.changed().await.is_ok() {
            if let Ok(registration) = manifests::registration(&location.borrow_and_update(), definitions_guarded) {
                managed.set_desired(registration);
            }
        }
    }
    std::future::pending::<()>().await;
}
