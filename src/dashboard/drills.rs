//! The losses of `fhpa drill`, computed when the user asks and kept with their age. Talks to the API server by the
//! command line.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use parking_lot::RwLock;
use tokio::sync::Mutex;

use super::preview::{Drilled, Preview};

/// Longest drill, until its last loss begins.
const PATIENCE: Duration = Duration::from_mins(1);
/// Most objects of a loss.
pub(super) const OBJECTS: usize = 100;

/// The last result.
#[derive(Clone, Debug)]
pub(super) struct LastDrill {
    /// When it ended.
    pub(super) at: Timestamp,
    /// What would not run, or why that is not known.
    pub(super) drilled: Result<Drilled, String>,
}

/// The drills of one control plane.
#[derive(Default)]
pub(super) struct Drills {
    last: RwLock<Option<Arc<LastDrill>>>,
    /// Held while one is computed.
    running: Mutex<()>,
}

impl Drills {
    /// The last result; `None`: there is none yet.
    pub(super) fn last(&self) -> Option<Arc<LastDrill>> {
        self.last.read().clone()
    }

    /// Drills; while a drill runs already, waits for this.
    pub(super) async fn run(&self, client: &Client, by: &Arc<dyn Preview>, now: impl Fn() -> Timestamp) {
        let before = self.last().map(|last| last.at);
        let _running = self.running.lock().await;
        if self.last().map(|last| last.at) != before {
            return;
        }
        let (client, by) = (client.clone(), Arc::clone(by));
        let computed = tokio::task::spawn_blocking(move || by.drill(&client, OBJECTS, PATIENCE)).await;
        let drilled = computed.unwrap_or_else(|_| Err("the drill failed".to_owned()));
        *self.last.write() = Some(Arc::new(LastDrill { at: now(), drilled }));
    }
}
