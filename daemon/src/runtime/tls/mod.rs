//! The serving certificate: its source, and its replacement while connections arrive.

mod client;
mod directory;
mod issue;
mod reload;
mod self_signed;
pub mod shared;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};

use crate::runtime::certificate;

pub use client::ClientAuth;
pub use reload::CertificateReloader;
pub use self_signed::SelfSigned;

/// Why there is no certificate to serve.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A file is far larger than any certificate or key.
    #[error("{}: larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Bytes allowed.
        limit: u64,
    },
    /// The text contains no certificate.
    #[error("tls.crt: {0}")]
    BadCertificate(String),
    /// The text contains no private key.
    #[error("tls.key: {0}")]
    BadKey(String),
    /// The certificate and the key do not belong together, or cannot be served.
    #[error("tls.crt and tls.key cannot be served together: {0}")]
    BadPair(rustls::Error),
    /// A CA file cannot be used.
    #[error("{}: {what}", path.display())]
    BadAuthority {
        /// The file.
        path: PathBuf,
        /// The error in the file.
        what: String,
    },
    /// The client CA cannot be used.
    #[error("client CA: {0}")]
    BadClientCa(String),
    /// The new certificate is not valid now, and the current one is.
    #[error("the new certificate is valid from {not_before} to {not_after} only")]
    NotValidNow {
        /// Start of its validity.
        not_before: Timestamp,
        /// End of its validity.
        not_after: Timestamp,
    },
    /// A certificate could not be issued.
    #[error("a self-signed certificate cannot be made: {0}")]
    SelfSigned(#[from] rcgen::Error),
    /// The Secret that holds the certificate of all replicas cannot be used.
    #[error(transparent)]
    Shared(#[from] shared::StoreError),
}

/// Oldest protocol version that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MinVersion {
    /// TLS 1.2 and 1.3.
    #[default]
    #[value(name = "1.2")]
    Tls12,
    /// TLS 1.3 only.
    #[value(name = "1.3")]
    Tls13,
}

impl MinVersion {
    const fn versions(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            Self::Tls12 => rustls::ALL_VERSIONS,
            Self::Tls13 => TLS13_ONLY,
        }
    }
}

static TLS13_ONLY: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// Source of certificate and key.
#[derive(Debug)]
pub enum Source {
    /// `tls.crt` and `tls.key` in a directory, such as a mounted Secret.
    Directory(PathBuf),
    /// Made in memory.
    SelfSigned(Box<SelfSigned>),
    /// Shared by all replicas; checked by [`shared::SecretPoller`].
    Shared(shared::Latest),
}

/// A certificate chain and its key, as PEM text.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Pair {
    /// The leaf first.
    pub certificates: Vec<u8>,
    /// The leaf's key.
    pub key: Vec<u8>,
}

/// PEM of the CAs in a file, for distribution to clients.
///
/// # Errors
/// The file cannot be read, is too large, or holds no certificate.
pub fn authorities(path: &Path) -> Result<Vec<u8>, Error> {
    let pem = directory::file(path)?;
    let mut count = 0_usize;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        certificate.map_err(|error| Error::BadAuthority { path: path.to_owned(), what: error.to_string() })?;
        count = count.saturating_add(1);
    }
    if count == 0 {
        return Err(Error::BadAuthority { path: path.to_owned(), what: "no certificate found".to_owned() });
    }
    Ok(pem)
}

/// TLS configuration of new connections.
#[derive(Debug)]
pub struct Served {
    /// For the TLS acceptor.
    pub config: Arc<ServerConfig>,
    /// Start of the leaf's validity.
    pub not_before: Timestamp,
    /// End of the leaf's validity.
    pub not_after: Timestamp,
}

impl Served {
    /// Whether the leaf is valid at `now`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.not_before <= now && now < self.not_after
    }

    fn new(pair: &Pair, client: Option<&client::Loaded>, min_version: MinVersion) -> Result<Self, Error> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pair.certificates)
            .collect::<Result<_, _>>()
            .map_err(|error| Error::BadCertificate(error.to_string()))?;
        let leaf = chain.first().ok_or_else(|| Error::BadCertificate("no certificate found".to_owned()))?;
        let (not_before, not_after) = validity(leaf)?;
        let key = PrivateKeyDer::from_pem_slice(&pair.key).map_err(|error| Error::BadKey(error.to_string()))?;
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(min_version.versions())
            .map_err(Error::BadPair)?;
        let builder = match client {
            Some(client) => builder.with_client_cert_verifier(client.verifier()?),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(Error::BadPair)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), not_before, not_after })
    }
}

/// The configuration of new connections; replaced as a whole.
pub type Current = Arc<ArcSwap<Served>>;

/// The only cryptography provider in the process.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn validity(leaf: &CertificateDer<'_>) -> Result<(Timestamp, Timestamp), Error> {
    certificate::validity(leaf).map_err(Error::BadCertificate)
}
