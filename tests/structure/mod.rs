//! The tree as a whole: arrows and circles between the modules, the purity of the core, what decisions read, banned
//! dependencies, and the agreement of documents and source.

mod boundary;
mod circles;
mod conditions;
mod dependencies;
pub mod documents;
mod image;
mod imports;
mod logs;
mod notices;
pub mod placements;
mod situations;
pub mod sources;
