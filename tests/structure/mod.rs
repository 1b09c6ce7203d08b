//! The tree as a whole: arrows between the modules, the purity of the core, banned dependencies, and the agreement of
//! documents and source.

mod boundary;
mod dependencies;
pub mod documents;
mod logs;
mod notices;
mod placements;
pub mod sources;
