//! The other objects of the control plane, kept current by watches: an index for the cross-object rules, and further
//! event handlers.

mod definitions;
mod index;
mod indexing;
mod kinds;
mod retries;
mod scalers;
mod source;

pub use definitions::{Definitions, Served};
pub use index::Index;
pub use kinds::{KeptKinds, KindReader};
pub use scalers::{ScalerReader, Scalers};
pub use source::{EventHandler, Intakes, MANAGED_BY, OURS, Readers, Watches};
