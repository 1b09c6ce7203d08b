//! Tests of the webhook: by its router, over TLS, and as a process.

pub mod client;
pub mod drain;
mod envelope;
mod limits;
mod process;
mod reload;
mod router;
mod smoke;
mod tls;
mod watch;
