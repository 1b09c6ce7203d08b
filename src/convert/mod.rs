//! Wire <-> core. No I/O.

#[macro_use]
mod reader;
pub mod capacity;
mod cron_federated_hpa;
pub mod cron_status;
pub mod decode;
pub mod definition;
pub mod did_you_mean;
mod federated_hpa;
pub mod fleet;
mod hpa;
pub mod instant;
pub mod mean;
pub mod memory;
mod metadata;
pub mod nodes;
pub mod own;
pub mod pods;
pub mod request;
mod resource_binding;
mod scalar;
mod scaler;
pub mod scaling;
mod status;
pub mod usage;
mod workload;

pub use cron_federated_hpa::known_cron_federated_hpa;
pub use decode::{DecodeError, cron_federated_hpa, federated_hpa, resource_binding};
pub use federated_hpa::{known_federated_hpa, mode, taken_over, target};
pub use scaler::Scaler;
pub use workload::workload;
