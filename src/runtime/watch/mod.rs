//! The other objects of the control plane, kept current by watches for the cross-object rules.

mod index;
mod source;

pub use index::Index;
pub use source::run;
