//! Wire <-> core. No I/O.

pub mod capacity;
mod cron_federated_hpa;
pub mod cron_status;
pub mod decode;
pub mod definition;
pub mod did_you_mean;
mod federated_hpa;
pub mod fleet;
pub mod instant;
pub mod mean;
pub mod memory;
pub mod nodes;
pub mod own;
pub mod pods;
pub mod request;
mod scaler;
pub mod scaling;
pub mod usage;
mod workload;
mod wrong_types;

pub use cron_federated_hpa::known_cron_federated_hpa;
pub use decode::{DecodeError, Decoded, decode};
pub use federated_hpa::{known_federated_hpa, mode, taken_over, target};
pub use scaler::Scaler;
pub use workload::workload;
