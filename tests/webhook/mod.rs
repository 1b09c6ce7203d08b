//! Tests of the webhook: its router, over TLS, and as a process.

pub mod client;
pub mod drain;
mod envelope;
mod limits;
mod process;
mod reload;
pub mod router;
mod smoke;
pub mod tls;
pub mod volume;
mod watch;
