//! The HPA algorithm compared with the decisions of kube-controller-manager, and its laws.

pub mod agreement;
mod laws;
mod several;
mod tables;
pub mod vectors;
