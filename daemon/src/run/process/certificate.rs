//! The certificate that all replicas share, as a part of a process.

use std::sync::Arc;
use std::time::Duration;

use super::options::{Certificate, CertificateOrigin, SharedSecret};
use super::tasks::Tasks;
use crate::runtime::metrics::Metrics;
use crate::runtime::tls::shared::{Latest, SecretPoller, Store};
use crate::runtime::tls::{CertificateReloader, Error, Source};
use crate::runtime::{clock, control_plane};

/// A certificate to serve, and its reloader.
pub(super) struct ReloadedCertificate {
    pub(super) reloader: CertificateReloader,
    /// What all replicas share, if they do.
    pub(super) shared: Option<Latest>,
    poller: Option<(SecretPoller, Option<control_plane::KubeconfigReloader>)>,
    poll: Duration,
}

impl ReloadedCertificate {
    /// Loads the first certificate; where it is shared, creates it if no replica has yet.
    pub(super) async fn load(certificate: Certificate, metrics: &Arc<Metrics>) -> Result<Self, Error> {
        let Certificate { source, client, min_version, ca_output, poll } = certificate;
        let (source, shared, poller) = match source {
            CertificateOrigin::Given(source) => (source, None, None),
            CertificateOrigin::Secret(SharedSecret { secret, access, names, patience }) => {
                let (store, client_reloader) = Store::open(access, secret).await?;
                let mut poller = SecretPoller::new(store, &names, Arc::clone(metrics));
                let latest = poller.begin(patience, clock::wall).await?;
                (Source::Shared(latest.clone()), Some(latest), Some((poller, client_reloader)))
            }
        };
        let reloader =
            CertificateReloader::load(source, client, min_version, ca_output, Arc::clone(metrics), clock::wall())?;
        Ok(Self { reloader, shared, poller, poll })
    }

    /// Keeps it current from now on.
    pub(super) fn start(self, tasks: &mut Tasks) {
        let Self { reloader, shared: _, poller, poll } = self;
        if let Some((poller, client_reloader)) = poller {
            tasks.spawn("the look at the shared certificate", poller.run(poll, clock::wall));
            if let Some(client_reloader) = client_reloader {
                tasks
                    .spawn("the kubeconfig reload of the shared certificate", client_reloader.run(control_plane::POLL));
            }
        }
        tasks.spawn("the certificate reload", reloader.run(poll, clock::wall));
    }
}
