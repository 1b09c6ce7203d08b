//! The certificate that all replicas share, as a part of a process.

use std::sync::Arc;
use std::time::Duration;

use super::options::{Certificate, CertificateOrigin, SharedSecret};
use super::tasks::Tasks;
use crate::runtime::metrics::Metrics;
use crate::runtime::tls::shared::{Latest, Looker, Store};
use crate::runtime::tls::{Error, Keeper, Source};
use crate::runtime::{clock, control_plane};

/// Parts of the shared certificate that other tasks need.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) latest: Latest,
}

/// A certificate to serve, and its keeper.
pub(super) struct Kept {
    pub(super) keeper: Keeper,
    pub(super) shared: Option<Shared>,
    looker: Option<(Looker, Option<control_plane::Keeper>)>,
    poll: Duration,
}

impl Kept {
    /// Loads the first certificate; where it is shared, creates it if no replica has yet.
    pub(super) async fn load(certificate: Certificate, metrics: &Arc<Metrics>) -> Result<Self, Error> {
        let Certificate { source, client, min_version, ca_output, poll } = certificate;
        let (source, shared, looker) = match source {
            CertificateOrigin::Given(source) => (source, None, None),
            CertificateOrigin::Secret(SharedSecret { secret, access, names, patience }) => {
                let (store, client_keeper) = Store::open(access, secret).await?;
                let mut looker = Looker::new(store.clone(), &names, Arc::clone(metrics));
                let latest = looker.begin(patience, clock::wall).await?;
                let shared = Shared { store, latest: latest.clone() };
                (Source::Shared(latest), Some(shared), Some((looker, client_keeper)))
            }
        };
        let keeper = Keeper::load(source, client, min_version, ca_output, Arc::clone(metrics), clock::wall())?;
        Ok(Self { keeper, shared, looker, poll })
    }

    /// Keeps it current from now on.
    pub(super) fn start(self, tasks: &mut Tasks) {
        let Self { keeper, shared: _, looker, poll } = self;
        if let Some((looker, client_keeper)) = looker {
            tasks.spawn("the look at the shared certificate", looker.run(poll, clock::wall));
            if let Some(client_keeper) = client_keeper {
                tasks.spawn("the kubeconfig reload of the shared certificate", client_keeper.run(control_plane::POLL));
            }
        }
        tasks.spawn("the certificate reload", keeper.run(poll, clock::wall));
    }
}
