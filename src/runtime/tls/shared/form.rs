//! CA and leaf as a Secret stores them: PEM <-> state of the rules; applies the steps of the rules. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use jiff::Timestamp;
use rcgen::{Issuer, KeyPair, PublicKeyData as _};
use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

use super::life::{AUTHORITIES, Authority, Id, Leaf, Life, SharedCertificate, Step, next};
use crate::runtime::tls::issue::{self, SHARED_LEAF_LIFE};
use crate::runtime::tls::{Error, MinVersion, Pair, Served, provider, validity};

/// Most bytes of one entry; eight CAs have a tenth of it.
const LIMIT: usize = 64 << 10;
/// Most steps in a row; there are never more than three.
const STEPS: usize = 6;

/// Key of the leaf in the Secret.
pub(super) const LEAF: &str = "tls.crt";
/// Key of the leaf's private key.
pub(super) const LEAF_KEY: &str = "tls.key";
/// Key of the trusted CAs.
pub(super) const AUTHORITIES_KEY: &str = "ca.crt";
/// Key of the private keys of CAs that may sign, the newest first.
pub(super) const SIGNING_KEYS: &str = "ca.key";

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
    authorities: Vec<Trusted>,
    pair: Option<Pair>,
    registered: BTreeSet<Id>,
}

/// A CA of the bundle.
#[derive(Clone, PartialEq, Eq)]
struct Trusted {
    id: Id,
    life: Life,
    der: CertificateDer<'static>,
    pem: String,
    key: Option<String>,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authorities: Vec<&str> = self.authorities.iter().map(|authority| &*authority.id).collect();
        let shown = &mut f.debug_struct("Content");
        shown.field("authorities", &authorities).field("registered", &self.registered).finish_non_exhaustive()
    }
}

impl Content {
    /// Reads the entries of a Secret, and the names of the CAs that are registered.
    ///
    /// # Errors
    /// An entry is too large, or the CAs cannot be read. A leaf that cannot be served is left out instead.
    pub fn read(entries: &BTreeMap<String, Vec<u8>>, registered: BTreeSet<Id>) -> Result<Self, Broken> {
        let entry = |entry: &'static str| {
            let bytes = entries.get(entry).map(Vec::as_slice).unwrap_or_default();
            if bytes.len() > LIMIT {
                return Err(Broken { entry, what: format!("larger than {LIMIT} bytes") });
            }
            Ok(bytes)
        };
        let pair = Pair { certificates: entry(LEAF)?.to_vec(), key: entry(LEAF_KEY)?.to_vec() };
        let keys = private_keys(entry(SIGNING_KEYS)?);
        let broken = |what: String| Broken { entry: AUTHORITIES_KEY, what };
        let mut authorities = Vec::new();
        for der in CertificateDer::pem_slice_iter(entry(AUTHORITIES_KEY)?) {
            let der = der.map_err(|error| broken(error.to_string()))?;
            authorities.push(Trusted::read(der, &keys).map_err(broken)?);
        }
        if authorities.is_empty() {
            return Err(broken("no certificate found".to_owned()));
        }
        if authorities.len() > 2 * AUTHORITIES {
            return Err(broken(format!("more than {} certificates", 2 * AUTHORITIES)));
        }
        let mut content = Self { authorities, pair: Some(pair), registered };
        if content.leaf().is_none() {
            content.pair = None;
        }
        Ok(content)
    }

    /// The entries of the Secret.
    #[must_use]
    pub fn entries(&self) -> BTreeMap<String, Vec<u8>> {
        let keys: String = self.authorities.iter().filter_map(|authority| authority.key.as_deref()).collect();
        let (leaf, key) = self.pair.clone().map(|pair| (pair.certificates, pair.key)).unwrap_or_default();
        let entries =
            [(LEAF, leaf), (LEAF_KEY, key), (AUTHORITIES_KEY, self.bundle()), (SIGNING_KEYS, keys.into_bytes())];
        entries.map(|(name, bytes)| (name.to_owned(), bytes)).into()
    }

    /// The leaf and its key.
    #[must_use]
    pub const fn pair(&self) -> Option<&Pair> {
        self.pair.as_ref()
    }

    /// PEM of the trusted CAs, the newest first.
    #[must_use]
    pub fn bundle(&self) -> Vec<u8> {
        self.authorities.iter().map(|authority| &*authority.pem).collect::<String>().into_bytes()
    }

    /// The end of the newest CA.
    #[must_use]
    pub fn authority_ends(&self) -> Option<Timestamp> {
        self.authorities.first().map(|authority| authority.life.end)
    }

    /// The ids of the registered CAs.
    #[must_use]
    pub const fn registered(&self) -> &BTreeSet<Id> {
        &self.registered
    }

    /// The same content, with these CAs registered.
    #[must_use]
    pub fn with_registered(self, registered: BTreeSet<Id>) -> Self {
        Self { registered, ..self }
    }

    /// Its state, for the rules.
    #[must_use]
    pub fn state(&self) -> SharedCertificate {
        let known = |trusted: &Trusted| Authority {
            id: trusted.id.clone(),
            life: trusted.life,
            can_sign: trusted.key.is_some(),
        };
        let authorities = self.authorities.iter().map(known).collect();
        SharedCertificate { authorities, leaf: self.leaf(), registered: self.registered.clone() }
    }

    /// The leaf, if it is valid for serving and signed by one of the CAs.
    fn leaf(&self) -> Option<Leaf> {
        let pair = self.pair.as_ref()?;
        Served::new(pair, None, MinVersion::Tls12).ok()?;
        let der = CertificateDer::from_pem_slice(&pair.certificates).ok()?;
        let (begin, end) = validity(&der).ok()?;
        let life = Life { begin, end };
        let signer = self.authorities.iter().find(|authority| authority.signed(&der, life))?;
        let (_, leaf) = x509_parser::parse_x509_certificate(&der).ok()?;
        Some(Leaf { signer: signer.id.clone(), life, names: names_in(&leaf) })
    }

    /// Applies all steps that are due now; `None` when there are none.
    ///
    /// # Errors
    /// A certificate cannot be issued, for example for an invalid name.
    pub fn settled(&self, wanted: &BTreeSet<String>, now: Timestamp) -> Result<Option<Self>, Error> {
        let mut settled = None;
        for _ in 0..STEPS {
            let current = settled.as_ref().unwrap_or(self);
            let step = next(&current.state(), wanted, now);
            if step == Step::Keep {
                break;
            }
            settled = Some(current.after(step, now)?);
        }
        Ok(settled)
    }

    /// New content after the Secret was lost or damaged: all certificates known to this process stay trusted and served
    /// until a new CA is registered.
    ///
    /// # Errors
    /// As [`Self::settled`].
    pub fn made_anew(&self, wanted: &BTreeSet<String>, now: Timestamp) -> Result<Self, Error> {
        let rolled = self.after(Step::NewAuthority, now)?;
        Ok(rolled.settled(wanted, now)?.unwrap_or(rolled))
    }

    /// Merges the known state into a Secret that another process created anew: known certificates stay trusted and
    /// served until the new CA is registered.
    fn joined(&self, memory: &Self) -> Self {
        let mut joined = self.clone();
        let known = |trusted: &Trusted| self.authorities.iter().any(|own| own.id == trusted.id);
        if memory.authorities.iter().any(known) {
            return joined;
        }
        joined.authorities.extend(memory.authorities.iter().cloned());
        joined.authorities.truncate(AUTHORITIES);
        let registered = self.leaf().is_some_and(|leaf| self.registered.contains(&leaf.signer));
        if !registered && !memory.registered.is_empty() {
            joined.pair.clone_from(&memory.pair);
        }
        joined.registered.extend(memory.registered.iter().cloned());
        joined
    }

    /// Replaces damaged entries with those that this process remembers: keys of CAs, the leaf.
    fn mended(mut self, memory: &Self) -> Self {
        for authority in self.authorities.iter_mut().filter(|authority| authority.key.is_none()) {
            let known = memory.authorities.iter().find(|known| known.id == authority.id);
            authority.key = known.and_then(|known| known.key.clone());
        }
        if self.pair.is_none() {
            self.pair.clone_from(&memory.pair);
            if self.leaf().is_none() {
                self.pair = None;
            }
        }
        self
    }

    fn after(&self, step: Step, now: Timestamp) -> Result<Self, Error> {
        let mut after = self.clone();
        match step {
            Step::Keep => {}
            Step::NewAuthority => {
                let signer = after.leaf().map(|leaf| leaf.signer);
                after.authorities.insert(0, Trusted::made(now)?);
                let spare = |authority: &Trusted| Some(&authority.id) != signer.as_ref();
                while after.authorities.len() > AUTHORITIES
                    && let Some(oldest) = after.authorities.iter().rposition(spare)
                {
                    after.authorities.remove(oldest);
                }
            }
            Step::NewLeaf { signer, names } => {
                let signer = after.authorities.iter().find(|authority| authority.id == signer);
                let (pem, key) =
                    signer.and_then(|signer| Some((&*signer.pem, signer.key.as_deref()?))).unwrap_or_default();
                let issuer = Issuer::from_ca_cert_pem(pem, KeyPair::from_pem(key)?)?;
                after.pair = Some(issue::leaf(&issuer, &names, now, SHARED_LEAF_LIFE)?);
            }
            Step::Prune(kept) => after.authorities.retain(|authority| kept.contains(&authority.id)),
        }
        Ok(after)
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
    /// # Errors
    /// A certificate cannot be issued, for example for an invalid name.
    pub fn due(
        &self,
        memory: Option<&Content>,
        wanted: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<Option<Content>, Error> {
        let Self::Held(found) = self else {
            let known = memory.cloned().unwrap_or_default();
            return known.made_anew(wanted, now).map(Some);
        };
        let kept = memory.map_or_else(|| found.clone(), |memory| found.joined(memory).mended(memory));
        let settled = kept.settled(wanted, now)?.unwrap_or(kept);
        Ok((settled != *found).then_some(settled))
    }
}

impl Trusted {
    fn read(der: CertificateDer<'static>, keys: &[KeyPair]) -> Result<Self, String> {
        let (begin, end) = validity(&der).map_err(|error| error.to_string())?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&der).map_err(|error| error.to_string())?;
        if !parsed.is_ca() {
            return Err("a certificate in it is not one of a CA".to_owned());
        }
        let spki = parsed.public_key().raw;
        let key = keys.iter().find(|key| key.subject_public_key_info() == spki).map(KeyPair::serialize_pem);
        let (id, pem) = (parsed.raw_serial_as_string(), pem_of(&der));
        Ok(Self { id, life: Life { begin, end }, der, pem, key })
    }

    fn made(now: Timestamp) -> Result<Self, Error> {
        let issuer = issue::authority(now)?;
        let key = KeyPair::from_pem(&issuer.key().serialize_pem())?;
        Self::read(issuer.der().clone(), &[key]).map_err(Error::BadCertificate)
    }

    /// Whether a client that trusts this CA trusts the leaf, while both are valid.
    fn signed(&self, leaf: &CertificateDer<'_>, life: Life) -> bool {
        let at = life.begin.max(self.life.begin);
        let Ok(seconds) = u64::try_from(at.as_second()) else { return false };
        let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let mut roots = RootCertStore::empty();
        let Ok(leaf) = ParsedCertificate::try_from(leaf) else { return false };
        let algorithms = provider().signature_verification_algorithms;
        roots.add(self.der.clone()).is_ok()
            && verify_server_cert_signed_by_trust_anchor(&leaf, &roots, &[], at, algorithms.all).is_ok()
    }
}

/// Ids of the CAs in a bundle.
///
/// # Errors
/// It is not PEM of certificates.
pub fn ids(bundle: &[u8]) -> Result<BTreeSet<Id>, Broken> {
    let broken = |what| Broken { entry: AUTHORITIES_KEY, what };
    let read = |der: Result<CertificateDer<'static>, rustls::pki_types::pem::Error>| {
        let der = der.map_err(|error| broken(error.to_string()))?;
        Trusted::read(der, &[]).map(|trusted| trusted.id).map_err(broken)
    };
    CertificateDer::pem_slice_iter(bundle).map(read).collect()
}

/// The name as in certificates: addresses in canonical form, DNS names in lower case.
#[must_use]
pub fn canonical(name: &str) -> String {
    name.parse::<IpAddr>().map_or_else(|_| name.to_ascii_lowercase(), |address| address.to_string())
}

/// The private keys in PEM text; invalid ones are left out, and their CAs sign nothing.
fn private_keys(pem: &[u8]) -> Vec<KeyPair> {
    let ders = rustls::pki_types::PrivateKeyDer::pem_slice_iter(pem).filter_map(Result::ok);
    ders.filter_map(|der| KeyPair::try_from(&der).ok()).collect()
}

fn pem_of(der: &CertificateDer<'_>) -> String {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new("CERTIFICATE", der.to_vec()), config)
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
