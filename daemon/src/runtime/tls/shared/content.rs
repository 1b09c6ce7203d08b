//! CA and leaf as a Secret stores them, and what is due: what is stored, what this process remembers, and the time ->
//! the content to write. No I/O.
//!
//! A client that trusts the stored CAs accepts the served leaf. A new CA signs only a day after it was made, so that
//! `caBundle` has it by then, unless nothing else can be served.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use rcgen::{Issuer, KeyPair, PublicKeyData as _};
use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::ParsedCertificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

use crate::runtime::tls::issue::{self, SHARED_LEAF_LIFE, SKEW, after, days, renewal};
use crate::runtime::tls::{Error, MinVersion, Pair, Served, provider, validity};

/// Most bytes of one entry; a CA has about 600.
const LIMIT: usize = 64 << 10;
/// Most names in a leaf.
const NAMES: usize = 100;
/// Time in which a new CA is registered before it signs.
const REGISTRATION: SignedDuration = days(1);
/// A leaf that ends within this time is renewed even by a CA that may not be registered yet.
const LAST: SignedDuration = days(7);

const LEAF: &str = "tls.crt";
const LEAF_KEY: &str = "tls.key";
const AUTHORITIES: &str = "ca.crt";
const SIGNING_KEYS: &str = "ca.key";

/// Why the content of a Secret cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{entry}: {what}")]
pub struct Broken {
    entry: &'static str,
    what: String,
}

/// CA and leaf that all replicas share. Never print its keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Content {
    authorities: Vec<Authority>,
    pair: Option<Pair>,
}

/// Start and end of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Validity {
    begin: Timestamp,
    end: Timestamp,
}

/// A trusted CA; the key of one that signs is known.
#[derive(Clone, PartialEq, Eq)]
struct Authority {
    validity: Validity,
    der: CertificateDer<'static>,
    key: Option<String>,
}

/// A leaf that one of the CAs signed.
struct Leaf<'a> {
    signer: &'a Authority,
    validity: Validity,
    names: BTreeSet<String>,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content").field("authorities", &self.authorities.len()).finish_non_exhaustive()
    }
}

impl Content {
    /// Reads the entries of a Secret.
    ///
    /// # Errors
    /// An entry is too large, or the CAs cannot be read. A leaf that cannot be served is left out instead.
    pub fn read(entries: &BTreeMap<String, Vec<u8>>) -> Result<Self, Broken> {
        let entry = |entry: &'static str| {
            let bytes = entries.get(entry).map(Vec::as_slice).unwrap_or_default();
            if bytes.len() > LIMIT {
                return Err(Broken { entry, what: format!("larger than {LIMIT} bytes") });
            }
            Ok(bytes)
        };
        let pair = Pair { certificates: entry(LEAF)?.to_vec(), key: entry(LEAF_KEY)?.to_vec() };
        let keys = private_keys(entry(SIGNING_KEYS)?);
        let broken = |what: String| Broken { entry: AUTHORITIES, what };
        let mut authorities = Vec::new();
        for der in CertificateDer::pem_slice_iter(entry(AUTHORITIES)?) {
            let der = der.map_err(|error| broken(error.to_string()))?;
            authorities.push(Authority::read(der, &keys).map_err(broken)?);
        }
        if authorities.is_empty() {
            return Err(broken("no certificate found".to_owned()));
        }
        let mut content = Self { authorities, pair: None };
        content.adopt(Some(pair));
        Ok(content)
    }

    /// The entries of the Secret.
    #[must_use]
    pub fn entries(&self) -> BTreeMap<String, Vec<u8>> {
        let keys: String = self.authorities.iter().filter_map(|authority| authority.key.as_deref()).collect();
        let (leaf, key) = self.pair.clone().map(|pair| (pair.certificates, pair.key)).unwrap_or_default();
        let entries = [(LEAF, leaf), (LEAF_KEY, key), (AUTHORITIES, self.bundle()), (SIGNING_KEYS, keys.into_bytes())];
        entries.map(|(name, bytes)| (name.to_owned(), bytes)).into()
    }

    /// The leaf and its key.
    #[must_use]
    pub const fn pair(&self) -> Option<&Pair> {
        self.pair.as_ref()
    }

    /// PEM of the trusted CAs, those made here before older ones.
    #[must_use]
    pub fn bundle(&self) -> Vec<u8> {
        self.authorities.iter().map(Authority::pem).collect::<String>().into_bytes()
    }

    /// The end of the first CA.
    #[must_use]
    pub fn authority_ends(&self) -> Option<Timestamp> {
        self.authorities.first().map(|authority| authority.validity.end)
    }

    /// Takes a pair that can be served and that one of the CAs signed.
    fn adopt(&mut self, pair: Option<Pair>) {
        self.pair = pair;
        if self.leaf().is_none() {
            self.pair = None;
        }
    }

    fn leaf(&self) -> Option<Leaf<'_>> {
        let pair = self.pair.as_ref()?;
        Served::new(pair, None, MinVersion::Tls12).ok()?;
        let der = CertificateDer::from_pem_slice(&pair.certificates).ok()?;
        let (begin, end) = validity(&der).ok()?;
        let signer = self.authorities.iter().find(|authority| authority.signed(&der, begin))?;
        let (_, leaf) = x509_parser::parse_x509_certificate(&der).ok()?;
        Some(Leaf { signer, validity: Validity { begin, end }, names: names_in(&leaf) })
    }

    /// Keeps what is served and trusted when the Secret was replaced by one that has none of the CAs of `memory`.
    fn joined(mut self, memory: &Self) -> Self {
        let known = |authority: &Authority| self.authorities.iter().any(|own| own.der == authority.der);
        if !memory.authorities.iter().any(known)
            && let Some(leaf) = memory.leaf()
        {
            self.authorities.push(leaf.signer.clone());
            self.pair.clone_from(&memory.pair);
        }
        self
    }

    /// Makes a CA where none can sign any more, and a leaf where that is due.
    fn settled(mut self, memory: Option<&Self>, wanted: &BTreeSet<String>, now: Timestamp) -> Result<Self, Error> {
        if !self.authorities.iter().any(|authority| authority.can_sign(now)) {
            self.authorities.retain(|authority| now < authority.validity.end);
            self.authorities.insert(0, Authority::made(now)?);
        }
        if self.pair.is_none() && !self.authorities.iter().any(|authority| authority.is_settled(now)) {
            // A leaf of the new CA would be accepted by nobody yet.
            self.adopt(memory.and_then(|memory| memory.pair.clone()));
        }
        if let Some(pair) = self.renewed(wanted, now)? {
            self.pair = Some(pair);
        }
        Ok(self)
    }

    /// A new leaf, if one is due.
    fn renewed(&self, wanted: &BTreeSet<String>, now: Timestamp) -> Result<Option<Pair>, Error> {
        let leaf = self.leaf();
        let usable = leaf.as_ref().filter(|leaf| leaf.validity.contains(now));
        let due = usable.is_none_or(|leaf| renewal(leaf.validity.begin, leaf.validity.end) <= now);
        if !due && usable.is_some_and(|leaf| wanted.is_subset(&leaf.names)) {
            return Ok(None);
        }
        let can_sign = || self.authorities.iter().filter(|authority| authority.can_sign(now));
        let is_trusted = |authority: &&Authority| {
            authority.is_settled(now) || usable.is_some_and(|leaf| leaf.signer.der == authority.der)
        };
        let urgent = usable.is_none_or(|leaf| leaf.validity.end <= after(now, LAST));
        let signer = can_sign().find(is_trusted).or_else(|| can_sign().next().filter(|_| urgent));
        let Some((signer, key)) = signer.and_then(|signer| Some((signer, signer.key.as_deref()?))) else {
            return Ok(None);
        };
        let mut names = wanted.clone();
        if !due && let Some(leaf) = usable {
            // During a rollout replicas want different names: a leaf for one must keep the names of another.
            names.extend(leaf.names.iter().cloned());
            if names.len() > NAMES {
                names.clone_from(wanted);
            }
        }
        let issuer = Issuer::from_ca_cert_pem(&signer.pem(), KeyPair::from_pem(key)?)?;
        issue::leaf(&issuer, &names, now, SHARED_LEAF_LIFE).map(Some)
    }
}

/// State of the Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It does not exist.
    Absent,
    /// A Secret of fhpa that cannot be used.
    Broken(Broken),
    /// Valid content.
    Held(Content),
}

impl Found {
    /// The content to write now, by a process that remembers what it last read; `None`: no write.
    ///
    /// A lost or damaged Secret is written again from memory.
    ///
    /// # Errors
    /// A certificate cannot be issued, for example for an invalid name.
    pub fn due(
        &self,
        memory: Option<&Content>,
        wanted: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<Option<Content>, Error> {
        let kept = match (self, memory) {
            (Self::Held(found), Some(memory)) => found.clone().joined(memory),
            (Self::Held(found), None) => found.clone(),
            (_, memory) => memory.cloned().unwrap_or_default(),
        };
        let settled = kept.settled(memory, wanted, now)?;
        Ok((!matches!(self, Self::Held(found) if *found == settled)).then_some(settled))
    }
}

impl Validity {
    fn contains(self, now: Timestamp) -> bool {
        self.begin <= now && now < self.end
    }
}

impl Authority {
    fn read(der: CertificateDer<'static>, keys: &[KeyPair]) -> Result<Self, String> {
        let (begin, end) = validity(&der).map_err(|error| error.to_string())?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&der).map_err(|error| error.to_string())?;
        if !parsed.is_ca() {
            return Err("a certificate in it is not one of a CA".to_owned());
        }
        let spki = parsed.public_key().raw;
        let key = keys.iter().find(|key| key.subject_public_key_info() == spki).map(KeyPair::serialize_pem);
        Ok(Self { validity: Validity { begin, end }, der, key })
    }

    fn made(now: Timestamp) -> Result<Self, Error> {
        let issuer = issue::authority(now)?;
        let key = KeyPair::from_pem(&issuer.key().serialize_pem())?;
        Self::read(issuer.der().clone(), &[key]).map_err(Error::BadCertificate)
    }

    fn pem(&self) -> String {
        let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        pem::encode_config(&pem::Pem::new("CERTIFICATE", self.der.to_vec()), config)
    }

    /// Whether it can sign a leaf that ends before it does.
    fn can_sign(&self, now: Timestamp) -> bool {
        self.key.is_some() && self.validity.contains(now) && after(now, SHARED_LEAF_LIFE) <= self.validity.end
    }

    /// Whether it can sign, and clients have had the time to trust it.
    fn is_settled(&self, now: Timestamp) -> bool {
        self.can_sign(now) && after(after(self.validity.begin, SKEW), REGISTRATION) <= now
    }

    /// Whether a client that trusts this CA trusts the leaf, while both are valid.
    fn signed(&self, leaf: &CertificateDer<'_>, begin: Timestamp) -> bool {
        let Ok(seconds) = u64::try_from(begin.max(self.validity.begin).as_second()) else { return false };
        let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let mut roots = RootCertStore::empty();
        let Ok(leaf) = ParsedCertificate::try_from(leaf) else { return false };
        let algorithms = provider().signature_verification_algorithms;
        roots.add(self.der.clone()).is_ok()
            && verify_server_cert_signed_by_trust_anchor(&leaf, &roots, &[], at, algorithms.all).is_ok()
    }
}

/// The name as in certificates: addresses in canonical form, DNS names in lower case.
#[must_use]
pub fn canonical(name: &str) -> String {
    name.parse::<IpAddr>().map_or_else(|_| name.to_ascii_lowercase(), |address| address.to_string())
}

/// The private keys in PEM text; invalid ones are left out, and their CAs sign nothing.
fn private_keys(pem: &[u8]) -> Vec<KeyPair> {
    let ders = PrivateKeyDer::pem_slice_iter(pem).filter_map(Result::ok);
    ders.filter_map(|der| KeyPair::try_from(&der).ok()).collect()
}

fn names_in(leaf: &X509Certificate<'_>) -> BTreeSet<String> {
    let alternative = leaf.subject_alternative_name().ok().flatten();
    let names = alternative.iter().flat_map(|extension| &extension.value.general_names);
    let text = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some(canonical(name)),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    };
    names.filter_map(text).collect()
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}
