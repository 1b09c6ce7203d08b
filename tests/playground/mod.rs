//! The embedded control plane.

mod machinery;
