//! Issues certificates: a CA, and leaves that it signs. No I/O.

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, SigningKey,
};

use super::{Error, Pair};

/// Lifetime of a CA.
pub(super) const CA_LIFE: SignedDuration = days(3650);
/// Lifetime of a leaf made in memory.
pub(super) const OWN_LEAF_LIFE: SignedDuration = days(30);
/// Lifetime of a leaf that replicas share.
pub(super) const SHARED_LEAF_LIFE: SignedDuration = days(90);
/// Allowed clock skew: validity begins this long before issue.
pub(super) const SKEW: SignedDuration = days(1);

/// A number of whole days.
pub(super) const fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(days.saturating_mul(24))
}

/// `now` plus `time`.
pub(super) fn after(now: Timestamp, time: SignedDuration) -> Timestamp {
    now.saturating_add(time).unwrap_or(now)
}

/// The time of renewal: after two thirds of the lifetime.
pub(super) fn renewal(begin: Timestamp, end: Timestamp) -> Timestamp {
    end.saturating_sub(end.duration_since(begin) / 3).unwrap_or(end)
}

/// A new CA.
pub(super) fn authority(now: Timestamp) -> Result<CertifiedIssuer<'static, KeyPair>, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = common_name("fhpa-webhook-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut params, now, CA_LIFE);
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

/// A new leaf for DNS names and IP addresses, and its key.
pub(super) fn leaf<'a>(
    issuer: &Issuer<'_, impl SigningKey>,
    names: impl IntoIterator<Item = &'a String>,
    now: Timestamp,
    life: SignedDuration,
) -> Result<Pair, Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = common_name("fhpa-webhook");
    params.subject_alt_names = names.into_iter().map(|name| san(name)).collect::<Result<_, _>>()?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    set_validity(&mut params, now, life);
    let leaf = params.signed_by(&key, issuer)?;
    Ok(Pair { certificates: leaf.pem().into_bytes(), key: key.serialize_pem().into_bytes() })
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

/// From [`SKEW`] before `now`, for `life` from now on.
fn set_validity(params: &mut CertificateParams, now: Timestamp, life: SignedDuration) {
    // The library's time type cannot be named here; it is built from a date and adjusted.
    let set = |at: Timestamp| {
        let at = at.to_zoned(TimeZone::UTC);
        let part = |number: i8| u8::try_from(number).unwrap_or(1);
        let midnight = rcgen::date_time_ymd(i32::from(at.year()), part(at.month()), part(at.day()));
        let exact = midnight.replace_hour(part(at.hour())).and_then(|time| time.replace_minute(part(at.minute())));
        exact.and_then(|time| time.replace_second(part(at.second()))).unwrap_or(midnight)
    };
    params.not_before = set(now.saturating_sub(SKEW).unwrap_or(now));
    params.not_after = set(after(now, life));
}
