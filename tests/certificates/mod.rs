//! The certificate that replicas share: what is due, and its Secret.

mod content;
mod rotation;
mod secret;
mod whole_life;

use std::collections::BTreeSet;

use fhpa::runtime::tls::Pair;
use fhpa::runtime::tls::shared::content::canonical;
use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;

/// The name by which the API server asks.
pub const NAME: &str = "fhpa.karmada-system.svc";

/// Names as an operator gives them.
pub fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| canonical(name)).collect()
}

pub fn noon() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

/// The CAs in a bundle, each as PEM.
pub fn authorities(bundle: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bundle.to_vec()).unwrap();
    text.split_inclusive("-----END CERTIFICATE-----\n").map(str::to_owned).collect()
}

/// Whether a client that trusts `bundle` accepts the leaf for `name`, or why not.
pub fn accepts(bundle: &[u8], pair: &Pair, name: &str, now: Timestamp) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle) {
        roots.add(authority.unwrap())?;
    }
    let leaf = CertificateDer::from_pem_slice(&pair.certificates).unwrap();
    let leaf = ParsedCertificate::try_from(&leaf)?;
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now.as_second().try_into().unwrap()));
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    verify_server_cert_signed_by_trust_anchor(&leaf, &roots, &[], now, algorithms.all)?;
    verify_server_name(&leaf, &ServerName::try_from(name.to_owned()).unwrap())
}
