//! The tree as a whole: arrows between the modules, the purity of the core, what may not come in.

mod boundary;
mod dependencies;
pub mod sources;
