//! Checks the webhook's certificate as the API server does. Talks to the webhook, over TLS.

use std::io;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::{CheckState, Context, Finding, PATIENCE};
use crate::admission::registration::Location;

const CHECK: &str = "certificate";
/// A certificate that ends within this time should have been renewed.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Whether the API server trusts the webhook's certificate, for the host name that it uses.
pub(super) async fn certificate(context: &Context, location: &Location) -> Finding {
    let Some((host, port)) = host(&location.base_url) else {
        return Finding::fail(
            CHECK,
            format!("{:?} is no URL of a webhook", location.base_url),
            "run `fhpa install --url ...`",
        );
    };
    let roots = match roots(&location.ca_bundle) {
        Ok(roots) => roots,
        Err(what) => return Finding::fail(CHECK, format!("the caBundle: {what}"), "run `fhpa install --ca-file FILE`"),
    };
    let stream = match timeout(PATIENCE, TcpStream::connect((host.as_str(), port))).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            let to_do =
                "names of the host cluster are known there only: run this command in a pod, or trust the probe below";
            return Finding::new(
                CHECK,
                CheckState::Skipped,
                format!("{host}:{port} is not reached from here: {error}"),
                to_do,
            );
        }
        Err(_) => {
            return Finding::new(
                CHECK,
                CheckState::Skipped,
                format!("{host}:{port} does not answer"),
                "run this command in a pod",
            );
        }
    };
    match timeout(PATIENCE, shake(host.clone(), roots, stream)).await {
        Err(_) => {
            Finding::fail(CHECK, format!("{host}:{port} does not speak TLS in time"), "is this the port of --listen?")
        }
        Ok(Err(error)) => Finding::fail(
            CHECK,
            error.to_string(),
            "the certificate must be signed by a CA of the caBundle (--ca-file) and contain the host name of the URL (--url)",
        ),
        Ok(Ok(until)) => end(until, context.now),
    }
}

fn end(until: Option<Timestamp>, now: Timestamp) -> Finding {
    let Some(until) = until else { return Finding::ok(CHECK, "trusted") };
    let seen = format!("trusted, for the name of the URL, until {until}");
    if until.duration_since(now) < SOON {
        return Finding::new(CHECK, CheckState::Warn, seen, "renew it: it ends within a week");
    }
    Finding::ok(CHECK, seen)
}

/// Host without brackets, and port.
fn host(base_url: &str) -> Option<(String, u16)> {
    let uri: http::Uri = base_url.parse().ok()?;
    let host = uri.host().filter(|host| !host.is_empty())?;
    Some((host.trim_matches(['[', ']']).to_owned(), uri.port_u16().unwrap_or(443)))
}

fn roots(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("no certificate in it".to_owned()) } else { Ok(roots) }
}

/// The end of the certificate's validity.
async fn shake(host: String, roots: RootCertStore, stream: TcpStream) -> io::Result<Option<Timestamp>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let leaf = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let parsed = leaf.and_then(|leaf| x509_parser::parse_x509_certificate(leaf).ok());
    Ok(parsed.and_then(|(_, leaf)| Timestamp::from_second(leaf.validity().not_after.timestamp()).ok()))
}
