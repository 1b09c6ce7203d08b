//! What users write and read: wire types, schemas and CEL rules. No I/O, no decisions.

mod cel;
pub mod crd;
pub mod cron_federated_hpa;
pub mod federated_hpa;
pub mod hpa;
pub mod hpa_status;
pub mod lenient;
pub mod quantity;
pub mod replica_requirements;
pub mod resource_binding;
pub mod structural;

pub use cron_federated_hpa::CronFederatedHPA;
pub use federated_hpa::FederatedHPA;

/// API group of both kinds.
pub const GROUP: &str = "autoscaling.karmada.io";
/// Version of both kinds.
pub const VERSION: &str = "v1alpha1";
