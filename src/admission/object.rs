//! An object of a review: its text, and what it was decoded to while the review was read. No I/O.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer};

use super::endpoint::Endpoint;
use crate::convert::{self, DecodeError, decode};
use crate::decision::subject::{CronFederatedHPA, FederatedHPA, ResourceBinding};

/// The new or the stored object of a request.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    text: &'a str,
    decoded: Option<Decoded<'a>>,
}

/// Shared by the copies of an object.
#[derive(Clone, Debug)]
pub(super) enum Decoded<'a> {
    FederatedHPA(Arc<FederatedHPA<'a>>),
    CronFederatedHPA(Arc<CronFederatedHPA<'a>>),
    ResourceBinding(Arc<ResourceBinding<'a>>),
}

/// What a missing object is taken for.
pub(super) static NULL: Object<'static> = Object::new("null");

impl<'a> Object<'a> {
    /// The object with this JSON text.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self { text, decoded: None }
    }

    /// `decoded` must be what `text` means.
    pub(super) const fn known(text: &'a str, decoded: Decoded<'a>) -> Self {
        Self { text, decoded: Some(decoded) }
    }

    /// Its JSON text.
    #[must_use]
    pub const fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn federated_hpa(&self) -> Result<Cow<'_, FederatedHPA<'a>>, DecodeError> {
        match &self.decoded {
            Some(Decoded::FederatedHPA(hpa)) => Ok(Cow::Borrowed(hpa)),
            _ => convert::federated_hpa(self.text).map(Cow::Owned),
        }
    }

    pub(super) fn cron_federated_hpa(&self) -> Result<Cow<'_, CronFederatedHPA<'a>>, DecodeError> {
        match &self.decoded {
            Some(Decoded::CronFederatedHPA(cron)) => Ok(Cow::Borrowed(cron)),
            _ => convert::cron_federated_hpa(self.text).map(Cow::Owned),
        }
    }

    pub(super) fn resource_binding(&self) -> Result<Cow<'_, ResourceBinding<'a>>, DecodeError> {
        match &self.decoded {
            Some(Decoded::ResourceBinding(binding)) => Ok(Cow::Borrowed(binding)),
            _ => convert::resource_binding(self.text).map(Cow::Owned),
        }
    }
}

/// What the objects of a review are decoded to in the pass over the whole review.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    FederatedHPA,
    CronFederatedHPA,
    ResourceBinding,
}

impl Kind {
    /// The kind of a review on that path; `None` where its objects are read in another way.
    pub(super) const fn of(endpoint: Endpoint) -> Option<Self> {
        match endpoint {
            Endpoint::MutateFederatedHPA | Endpoint::ValidateFederatedHPA => Some(Self::FederatedHPA),
            Endpoint::MutateCronFederatedHPA | Endpoint::ValidateCronFederatedHPA => Some(Self::CronFederatedHPA),
            Endpoint::MutateResourceBinding => Some(Self::ResourceBinding),
            Endpoint::MutateDefinition | Endpoint::MutateWorkload => None,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Kind {
    /// `None` for null.
    type Value = Option<Decoded<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        Ok(match self {
            Self::FederatedHPA => decode::within(deserializer)?.map(|hpa| Decoded::FederatedHPA(Arc::new(hpa))),
            Self::CronFederatedHPA => {
                decode::within(deserializer)?.map(|cron| Decoded::CronFederatedHPA(Arc::new(cron)))
            }
            Self::ResourceBinding => decode::within(deserializer)?.map(|one| Decoded::ResourceBinding(Arc::new(one))),
        })
    }
}
