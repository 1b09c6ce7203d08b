//! A CA and a leaf made in memory, for tests and for installations without a certificate issuer.

use jiff::Timestamp;
use rcgen::{CertifiedIssuer, KeyPair};

use super::issue::{self, CA_LIFE, OWN_LEAF_LIFE, after};
use super::{Error, Pair};

/// Makes certificates for fixed names.
#[derive(Debug)]
pub struct SelfSigned {
    names: Vec<String>,
    ca: Option<Ca>,
}

#[derive(Debug)]
struct Ca {
    issuer: CertifiedIssuer<'static, KeyPair>,
    not_after: Timestamp,
}

impl SelfSigned {
    /// For DNS names and IP addresses.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        Self { names, ca: None }
    }

    /// The certificate of the CA, once it exists.
    pub fn ca_pem(&self) -> Option<String> {
        self.ca.as_ref().map(|ca| ca.issuer.pem())
    }

    /// A new leaf, valid at `now`; also a new CA when the current one would expire before the leaf.
    pub(super) fn issue(&mut self, now: Timestamp) -> Result<Pair, Error> {
        let ca = match self.ca.take() {
            Some(ca) if ca.not_after > after(now, OWN_LEAF_LIFE) => ca,
            _ => Ca { issuer: issue::authority(now)?, not_after: after(now, CA_LIFE) },
        };
        let ca = self.ca.insert(ca);
        issue::leaf(&ca.issuer, &self.names, now, OWN_LEAF_LIFE)
    }
}
