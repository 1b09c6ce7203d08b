//! The shell: sockets, files, signals, clocks, metrics, TLS.

pub mod admin;
pub mod certificate;
pub mod clock;
pub mod control_plane;
pub mod identity;
pub mod leader;
pub mod lifecycle;
pub mod logging;
pub mod metrics;
pub mod reload;
pub mod server;
pub mod settings;
pub mod tls;
pub mod watch;
pub mod zones;
