//! Errors of TLS and of what answers in place of an API server, in words. No I/O.

use std::error::Error;
use std::io;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{AlertDescription, CertificateError};

/// How many errors of a chain are looked at.
const DEPTH: usize = 16;

/// What answers is no API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url} answers with an HTML page ({status}), as a proxy or a login page does, not as a Kubernetes API server")]
pub(super) struct Page {
    url: String,
    status: StatusCode,
}

impl Page {
    /// Of a response with this head, if it has one. No API server sends any.
    pub(super) fn of(url: &str, status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let is_page = kind.trim_start().to_ascii_lowercase().starts_with("text/html");
        is_page.then(|| Self { url: url.trim_end_matches('/').to_owned(), status })
    }
}

/// Why TLS with the API server failed; `None` where the error is about something else.
#[must_use]
pub fn of_tls(error: &(dyn Error + 'static)) -> Option<String> {
    let words = match tls(error)? {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "its certificate is not signed by the certificate authority of the kubeconfig".to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet; are the clocks right?".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for other names than the address in the kubeconfig".to_owned()
            }
            // The error of webpki has no type here.
            other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
                "it shows the certificate of another certificate authority than that of the kubeconfig, as its own"
                    .to_owned()
            }
            other if format!("{other:?}").contains("UnsupportedCertVersion") => {
                "its certificate is of X.509 version 1; give it one of version 3".to_owned()
            }
            other => format!("its certificate is not accepted: {other}"),
        },
        rustls::Error::AlertReceived(
            alert @ (AlertDescription::BadCertificate
            | AlertDescription::CertificateRequired
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied),
        ) => format!("it does not accept the client certificate of the kubeconfig ({alert:?})"),
        rustls::Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        _ => return None,
    };
    Some(words)
}

/// Why the pair of a client certificate and its key cannot be used; `None` where the error is about something else.
pub(super) fn of_pair(error: &(dyn Error + 'static), certificate: Option<&[u8]>) -> Option<String> {
    let error = tls(error)?;
    if let Some(version @ 1..3) = certificate.and_then(version) {
        return Some(format!(
            "the client certificate is of X.509 version {version}, which is not supported; issue it again as version 3: \
             `openssl x509 -req` does with an extension (-extfile)"
        ));
    }
    Some(match error {
        rustls::Error::InconsistentKeys(_) => "the client key is not that of the client certificate".to_owned(),
        rustls::Error::InvalidCertificate(error) => format!("the client certificate cannot be read: {error}"),
        error => format!("the client key cannot be used: {error}"),
    })
}

/// The version of the first certificate of a PEM text.
fn version(pem: &[u8]) -> Option<u32> {
    let leaf = CertificateDer::pem_slice_iter(pem).next()?.ok()?;
    let (_, leaf) = x509_parser::parse_x509_certificate(&leaf).ok()?;
    leaf.version().0.checked_add(1)
}

/// The error of rustls in a chain. An error of I/O does not name the one within it as its source.
fn tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    for _ in 0..DEPTH {
        let error = next?;
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        let within = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = within.map(|within| within as &(dyn Error + 'static)).or_else(|| error.source());
    }
    None
}
