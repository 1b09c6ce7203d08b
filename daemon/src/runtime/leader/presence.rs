//! Whether a controller acts, as the Lease tells it to every candidate, for the reviews of the same process. No I/O
//! except clocks.

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::runtime::clock;

/// Until when somebody leads and is not frozen, by the Lease as it was last read or written.
#[derive(Debug, Default)]
pub struct Presence(Mutex<Option<Instant>>);

impl Presence {
    /// Whether somebody does. Before the Lease is read, nobody is known to.
    #[must_use]
    pub fn acts(&self) -> bool {
        self.0.lock().is_some_and(|until| clock::steady() < until)
    }

    pub(super) fn lasts(&self, until: Option<Instant>) {
        *self.0.lock() = until;
    }
}
