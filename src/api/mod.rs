//! What users write and read: wire types, schemas and CEL rules. No I/O, no decisions.

pub mod cron_federated_hpa;
pub mod federated_hpa;
pub mod hpa;
pub mod lenient;
pub mod quantity;

pub use cron_federated_hpa::CronFederatedHPA;
pub use federated_hpa::FederatedHPA;

/// API group of both kinds.
pub const GROUP: &str = "autoscaling.karmada.io";
/// Version of both kinds.
pub const VERSION: &str = "v1alpha1";
