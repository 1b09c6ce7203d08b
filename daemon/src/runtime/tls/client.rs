//! The check of the client's certificate: signed by the given CA and, when names are given, for one of them.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};

use super::{Error, directory, provider};

/// Clients that may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAuth {
    /// File with the CA certificates of clients.
    pub ca_file: PathBuf,
    /// Common names of clients; empty: any name.
    pub common_names: Vec<String>,
}

impl ClientAuth {
    /// Reads the CA file.
    pub(super) fn load(&self) -> Result<Loaded, Error> {
        Ok(Loaded { ca: directory::file(&self.ca_file)?, common_names: self.common_names.clone() })
    }
}

/// [`ClientAuth`] with the content of its file.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Loaded {
    ca: Vec<u8>,
    common_names: Vec<String>,
}

impl Loaded {
    pub(super) fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        let bad = |what: String| Error::BadClientCa(what);
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&self.ca) {
            let certificate = certificate.map_err(|error| bad(error.to_string()))?;
            roots.add(certificate).map_err(|error| bad(error.to_string()))?;
        }
        let chain = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .map_err(|error| bad(error.to_string()))?;
        if self.common_names.is_empty() {
            return Ok(chain);
        }
        Ok(Arc::new(Named { chain, common_names: self.common_names.clone() }))
    }
}

/// Checks the chain, then the common name.
#[derive(Debug)]
struct Named {
    chain: Arc<dyn ClientCertVerifier>,
    common_names: Vec<String>,
}

impl ClientCertVerifier for Named {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verified = self.chain.verify_client_cert(end_entity, intermediates, now)?;
        let (_, leaf) = x509_parser::parse_x509_certificate(end_entity)
            .map_err(|_| rustls::Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let named = leaf
            .subject()
            .iter_common_name()
            .filter_map(|name| name.as_str().ok())
            .any(|name| self.common_names.iter().any(|wanted| wanted == name));
        if named {
            Ok(verified)
        } else {
            Err(rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}
