//! Results of a pass of a reconcile, and when the next one follows. No I/O.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::cache::View;
use super::cache::entry::Binding;
use crate::controller::failure::Failure;

/// An existing FederatedHPA reaches the cache within this time.
pub(super) const UNSEEN: Duration = Duration::from_secs(5);
/// A missing object is looked up again after this time, if no event reports it.
pub(super) const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(60);

/// Result of one pass of a reconcile.
pub(crate) enum Progress {
    /// It wrote: run the next pass at once.
    Wrote,
    /// Nothing is left to do now; reconcile again at this time, if no event happens.
    Settled(Option<Timestamp>),
    /// All is done but what failed; as [`Progress::Settled`], or when the failure is retried.
    Failed(Failure, Option<Timestamp>),
}

/// What became of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// It was written.
    Written,
    /// The stored one is equal.
    Unchanged,
    /// Nothing depends on it, and it is written then.
    Later(Timestamp),
}

/// The binding, unless it is being deleted.
pub(super) fn bound(view: &View) -> Option<&Binding> {
    view.binding.as_deref().filter(|binding| binding.object.metadata.deletion_timestamp.is_none())
}
