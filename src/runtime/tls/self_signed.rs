//! A CA and a leaf made in memory, for trials and for installations without a certificate issuer.

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SanType,
};

use super::{Error, Pair};

/// Days a CA lives.
const CA_DAYS: i64 = 3650;
/// Days a leaf lives.
const LEAF_DAYS: i64 = 30;

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

    /// The certificate of the CA, once there is one.
    pub fn ca_pem(&self) -> Option<String> {
        self.ca.as_ref().map(|ca| ca.issuer.pem())
    }

    /// A new leaf, valid at `now`; a new CA too when the present one would not outlive it.
    pub(super) fn issue(&mut self, now: Timestamp) -> Result<Pair, Error> {
        let leaf_end = after_days(now, LEAF_DAYS);
        let ca = match self.ca.take() {
            Some(ca) if ca.not_after > leaf_end => ca,
            _ => new_ca(now)?,
        };
        let ca = self.ca.insert(ca);
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = common_name("fhpa-webhook");
        params.subject_alt_names = self.names.iter().map(|name| san(name)).collect::<Result<_, _>>()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        set_validity(&mut params, after_days(now, -1), leaf_end);
        let leaf = params.signed_by(&key, &*ca.issuer)?;
        Ok(Pair { certificates: leaf.pem().into_bytes(), key: key.serialize_pem().into_bytes() })
    }
}

fn new_ca(now: Timestamp) -> Result<Ca, Error> {
    let not_after = after_days(now, CA_DAYS);
    let mut params = CertificateParams::default();
    params.distinguished_name = common_name("fhpa-webhook-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut params, after_days(now, -1), not_after);
    Ok(Ca { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)?, not_after })
}

fn common_name(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn san(name: &str) -> Result<SanType, Error> {
    Ok(match name.parse::<IpAddr>() {
        Ok(address) => SanType::IpAddress(address),
        Err(_) => SanType::DnsName(name.try_into()?),
    })
}

fn after_days(now: Timestamp, days: i64) -> Timestamp {
    let hours = days.saturating_mul(24);
    now.saturating_add(SignedDuration::from_hours(hours)).unwrap_or(now)
}

/// Sets dates by whole days: finer ones are of no use here. The end therefore comes up to a day early.
fn set_validity(params: &mut CertificateParams, from: Timestamp, until: Timestamp) {
    let date = |at: Timestamp| {
        let date = at.to_zoned(TimeZone::UTC).date();
        let part = |number: i8| u8::try_from(number).unwrap_or(1);
        rcgen::date_time_ymd(i32::from(date.year()), part(date.month()), part(date.day()))
    };
    params.not_before = date(from);
    params.not_after = date(until);
}
