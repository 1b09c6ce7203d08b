//! The other objects of the control plane, kept current by watches: an index for the cross-object rules, and further
//! event handlers.

mod definitions;
mod event_handler;
mod index;
mod indexing;
mod kind_index;
mod kind_watch;
mod kinds;
mod readers;
mod retries;
mod scalers;
mod source;
mod watch_error;

pub use definitions::{Definitions, Served};
pub use event_handler::EventHandler;
pub use index::Index;
pub use kinds::{KeptKinds, KindReader, RetentionScript, retention_script};
pub use readers::{Intakes, Readers};
pub use scalers::{ScalerReader, Scalers};
pub use source::{MANAGED_BY, OURS, Watches};
