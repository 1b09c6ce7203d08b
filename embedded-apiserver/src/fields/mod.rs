//! Field ownership and server-side apply, with the semantics of Kubernetes' structured merge. No I/O; the time is
//! passed in.

mod apply;
pub(crate) mod compare;
pub(crate) mod element;
mod kinds;
mod last_applied;
mod managed;
mod merge;
mod ownership;
mod set;
mod update;

pub use self::apply::{Apply, ApplyError, Conflict, apply};
pub use self::kinds::ListKinds;
pub use self::update::track_update;
