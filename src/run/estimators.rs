//! Arguments about karmada-scheduler-estimators -> settings.

use std::path::PathBuf;

use crate::reconcile::distributed::capacity::grpc::{self, Address, TlsFiles};

/// How karmada-scheduler-estimators are asked.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Estimators")]
pub(super) struct EstimatorArgs {
    /// Whether the karmada-scheduler-estimator of a cluster is asked how many replicas fit. `auto`: where there is one; `off`:
    /// what a Cluster says of its resources is all there is.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    estimators: When,
    /// Where the estimator of a cluster is.
    #[arg(long, default_value_t = Address::default(), value_name = "HOST:PORT")]
    estimator_address: Address,
    /// File with the CA that signs the certificates of estimators; without it they are talked to without TLS.
    #[arg(long, value_name = "FILE")]
    estimator_ca: Option<PathBuf>,
    /// File with the certificate that is shown to estimators.
    #[arg(long, value_name = "FILE", requires_all = ["estimator_key", "estimator_ca"])]
    estimator_cert: Option<PathBuf>,
    /// File with the key of that certificate.
    #[arg(long, value_name = "FILE", requires = "estimator_cert")]
    estimator_key: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum When {
    Auto,
    Off,
}

impl EstimatorArgs {
    /// How they are asked; none: they are not.
    pub(super) fn settings(self) -> Option<grpc::Settings> {
        let Self { estimators, estimator_address: address, estimator_ca, estimator_cert, estimator_key } = self;
        let identity = estimator_cert.zip(estimator_key);
        let tls = estimator_ca.map(|ca| TlsFiles { ca, identity });
        match estimators {
            When::Auto => Some(grpc::Settings { address, tls, ..grpc::Settings::default() }),
            When::Off => None,
        }
    }
}
