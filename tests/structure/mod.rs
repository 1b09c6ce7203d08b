//! The tree as a whole: arrows and circles between the modules, the purity of the core, banned dependencies, and the
//! agreement of documents and source.

mod boundary;
mod circles;
mod dependencies;
pub mod documents;
mod image;
mod imports;
mod logs;
mod notices;
pub mod placements;
mod situations;
pub mod sources;
