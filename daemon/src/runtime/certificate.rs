//! The validity of certificates. No I/O.

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// End of the validity of the first certificate of a PEM text, if there is one.
#[must_use]
pub fn expiry(pem: &[u8]) -> Option<Timestamp> {
    let leaf = CertificateDer::pem_slice_iter(pem).next()?.ok()?;
    validity(&leaf).ok().map(|(_, not_after)| not_after)
}

/// Start and end of the validity of a certificate.
///
/// # Errors
/// Says why it cannot be read.
pub fn validity(leaf: &CertificateDer<'_>) -> Result<(Timestamp, Timestamp), String> {
    let (_, leaf) = x509_parser::parse_x509_certificate(leaf).map_err(|error| error.to_string())?;
    let at =
        |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).map_err(|error| error.to_string());
    Ok((at(leaf.validity().not_before)?, at(leaf.validity().not_after)?))
}
