//! The tree as a whole: arrows between the modules, the purity of the core, what may not come in, and
//! that documents and source hold together.

mod boundary;
mod dependencies;
pub mod documents;
mod notices;
pub mod sources;
