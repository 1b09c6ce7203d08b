//! Arguments about karmada-scheduler-estimators -> settings.

use std::path::PathBuf;
use std::time::Duration;

use crate::controller::query_cache::Times;
use crate::estimator::grpc;
use crate::estimator::grpc::{Grpc, TlsFiles};
use crate::reconcile::federated_hpa::observe::capacity::{Estimators, Rooms};

pub use crate::estimator::grpc::{Address, Settings};

/// Longest wait of an interactive command for the answers of all estimators.
const PATIENCE: Duration = Duration::from_secs(4);

/// Free capacity with estimators for an interactive command, which waits a little longer for better data.
#[must_use]
pub fn patient(settings: Settings) -> Rooms {
    let times = Times { patience: PATIENCE, ..Times::default() };
    Rooms::new(Some(Estimators::new(Box::new(Grpc::new(settings)), times)))
}

/// How karmada-scheduler-estimators are asked.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Estimators")]
pub struct EstimatorArgs {
    /// Whether karmada-scheduler-estimators are asked how many replicas fit. `auto`: where a cluster has one; `off`: only
    /// the resources in the status of Cluster objects count. Default: `auto`; for `fhpa plan` `off`.
    #[arg(long, value_enum, value_name = "WHEN")]
    estimators: Option<When>,
    /// Where the estimator of a cluster is.
    #[arg(long, default_value_t = Address::default(), value_name = "HOST:PORT")]
    estimator_address: Address,
    /// File with the CA that signs the certificates of estimators; if unset, connections are plaintext.
    #[arg(long, value_name = "FILE")]
    estimator_ca: Option<PathBuf>,
    /// File with the client certificate for estimators.
    #[arg(long, value_name = "FILE", requires_all = ["estimator_key", "estimator_ca"])]
    estimator_cert: Option<PathBuf>,
    /// File with the key of that certificate.
    #[arg(long, value_name = "FILE", requires = "estimator_cert")]
    estimator_key: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum When {
    Auto,
    Off,
}

impl EstimatorArgs {
    /// Where the estimator of a cluster is.
    pub fn address(&self) -> Address {
        self.estimator_address.clone()
    }

    /// Settings of the estimators; `None`: they are not queried. `usual` is the default.
    pub fn settings(self, usual: bool) -> Option<grpc::Settings> {
        let Self { estimators, estimator_address: address, estimator_ca, estimator_cert, estimator_key } = self;
        let identity = estimator_cert.zip(estimator_key);
        let tls = estimator_ca.map(|ca| TlsFiles { ca, identity });
        let asks = estimators.map_or(usual, |when| when == When::Auto);
        asks.then(|| grpc::Settings { address, tls, ..grpc::Settings::default() })
    }
}
