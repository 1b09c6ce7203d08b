//! Keeps the installation as it is to be while this process leads: what a Karmada upgrade restores, or anybody changes,
//! is put back within moments; another writer that does not give in is reported and met with pauses
//! (docs/design.md#living-with-karmada). Talks to the API server.

mod reconcile;
mod sight;

use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;

use self::reconcile::{Dependencies, GuardWorker};
pub use self::sight::Sight;
use super::manifests::{self, ManifestError};
use crate::admission::registration::Location;
use crate::controller::engine::Engine;
use crate::controller::events::{Events, Poster};
use crate::runtime::clock::WallClock;
use crate::runtime::leader::Leader;
use crate::runtime::metrics::{ControllerMetrics, GuardMetrics};

/// What a guard works with.
pub struct Options {
    /// Speaks to karmada-apiserver.
    pub client: Client,
    /// Whether objects that Karmada has too are put back; otherwise they are only reported.
    pub manage_karmada: bool,
    /// Whether the webhook is asked about changes of the definitions, too.
    pub definitions_guarded: bool,
    /// Where the webhook is, as it is known now; none: its registration is not our work.
    pub location: Option<watch::Receiver<Location>>,
    /// Is told the CAs of the registration, as PEM, once they stand in it.
    pub registered: watch::Sender<Option<Vec<u8>>>,
    /// The time of day.
    pub clock: WallClock,
    /// The counters of the guard.
    pub metrics: Arc<GuardMetrics>,
    /// The counters of Events.
    pub counted: Arc<ControllerMetrics>,
    /// Names this process in Events.
    pub identity: String,
}

/// A guard that does not act yet.
pub struct Guard {
    client: Client,
    sight: Arc<Sight>,
    location: Option<watch::Receiver<Location>>,
    definitions_guarded: bool,
    engine: Engine<GuardWorker>,
    poster: Poster,
}

impl Guard {
    /// Puts the parts together.
    ///
    /// # Errors
    /// When the objects cannot be made.
    pub fn new(options: Options) -> Result<Self, ManifestError> {
        let Options {
            client,
            manage_karmada,
            definitions_guarded,
            location,
            registered,
            clock,
            metrics,
            counted,
            identity,
        } = options;
        let mut wanted = manifests::shared()?;
        if let Some(location) = &location {
            wanted.extend(manifests::registration(&location.borrow(), definitions_guarded)?);
        }
        let sight = Arc::new(Sight::new(wanted));
        let (events, poster) = Events::new(client.clone(), &identity, counted);
        let worker = GuardWorker::new(Dependencies {
            client: client.clone(),
            sight: Arc::clone(&sight),
            manage_karmada,
            registered,
            events,
            clock: Arc::clone(&clock),
            metrics,
        });
        let engine = Engine::new(Arc::new(worker), clock, 1);
        Ok(Self { client, sight, location, definitions_guarded, engine, poster })
    }

    /// Looks always, and puts back while this process leads, until `stop` is told.
    pub async fn run(self, leadership: watch::Receiver<Option<Leader>>, stop: watch::Receiver<bool>) {
        let Self { client, sight, location, definitions_guarded, engine, poster } = self;
        let works = async { tokio::join!(engine.run(leadership, stop.clone()), poster.run(stop)) };
        let looks = async { tokio::join!(sight.watch(&client), follow(&sight, location, definitions_guarded)) };
        tokio::select! {
            _ = works => {}
            _ = looks => {}
        }
    }
}

/// Takes in where the webhook is, whenever that changes.
async fn follow(sight: &Sight, location: Option<watch::Receiver<Location>>, definitions_guarded: bool) {
    if let Some(mut location) = location {
        while location.changed().await.is_ok() {
            if let Ok(registration) = manifests::registration(&location.borrow_and_update(), definitions_guarded) {
                sight.want(registration);
            }
        }
    }
    std::future::pending::<()>().await;
}
