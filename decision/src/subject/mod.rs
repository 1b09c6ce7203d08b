//! The objects under review as the rules read them, and as the user wrote them: absent members stay absent. Pure.

pub mod cron_federated_hpa;
pub mod federated_hpa;
pub mod hpa;
pub mod metadata;
pub mod resource_binding;

use std::borrow::Cow;

pub use cron_federated_hpa::{CronFederatedHPA, Rule};
pub use federated_hpa::FederatedHPA;
pub use hpa::TargetRef;
pub use metadata::Metadata;
pub use resource_binding::ResourceBinding;

/// Text of an object: that of one under review, or borrowed from a stored one.
pub type Text<'a> = Cow<'a, str>;
