//! The objects of users and of Karmada: wire types, schemas and CEL rules. No I/O, no decisions.

#![warn(unused_crate_dependencies)]

mod cel;
pub mod cluster;
pub mod crd;
pub mod cron_federated_hpa;
pub mod customization;
pub mod event;
pub mod federated_hpa;
pub mod hpa;
pub mod hpa_status;
mod karmada;
pub mod metrics;
pub mod pod;
pub mod propagation_policy;
pub mod quantity;
pub mod replica_requirements;
pub mod resource_binding;
pub mod scale;
pub mod scaler;
pub mod scheduling;
mod selector;
pub mod served;
pub mod work;

pub use cluster::Cluster;
pub use cron_federated_hpa::CronFederatedHPA;
pub use customization::ResourceInterpreterCustomization;
pub use federated_hpa::FederatedHPA;
pub use resource_binding::ResourceBinding;
pub use work::Work;
