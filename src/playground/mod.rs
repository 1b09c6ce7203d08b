//! An embedded control plane for trying and testing. Left out of the production image; nothing else knows it.

pub mod apiserver;
