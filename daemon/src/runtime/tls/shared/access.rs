//! Access to the host cluster: with a pod's service account, or with a kubeconfig. Reads files.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use kube::{Client, Config};

use crate::runtime::control_plane::{self, Bounds, KubeconfigReloader, Origin};
use crate::runtime::metrics::Metrics;

/// Kind of access.
#[derive(Clone)]
pub enum Access {
    /// With the service account of this pod.
    OwnCluster,
    /// With this kubeconfig, which may change at runtime.
    Kubeconfig(PathBuf),
    /// With this client.
    Given(Client),
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnCluster => f.write_str("OwnCluster"),
            Self::Kubeconfig(file) => write!(f, "Kubeconfig({})", file.display()),
            Self::Given(_) => f.write_str("Given"),
        }
    }
}

impl Access {
    /// With `kubeconfig`; without one, with the service account.
    #[must_use]
    pub fn by(kubeconfig: Option<PathBuf>) -> Self {
        kubeconfig.map_or(Self::OwnCluster, Self::Kubeconfig)
    }

    /// The client, with a time limit for each request, and its reloader.
    ///
    /// # Errors
    /// The process does not run in a pod, has no token, or the kubeconfig is invalid; the text says what to do.
    pub async fn client(self) -> Result<(Client, Option<KubeconfigReloader>), String> {
        // These requests are not counted as requests to karmada-apiserver.
        let (bounds, uncounted) = (Bounds::default(), Arc::new(Metrics::new()).requests());
        let client = match self {
            Self::Kubeconfig(file) => {
                let shown = file.display().to_string();
                let Some(origin) = Origin::find(Some(file), None, None) else {
                    return Err(format!("{shown}: no file"));
                };
                let connected = control_plane::connect(origin, bounds, uncounted).await;
                return connected
                    .map(|(client, reloader)| (client, Some(reloader)))
                    .map_err(|error| format!("--cert-kubeconfig {shown}: {error}"));
            }
            Self::OwnCluster => own_cluster()?,
            Self::Given(client) => client,
        };
        Ok((control_plane::bounded(client, bounds, uncounted), None))
    }
}

fn own_cluster() -> Result<Client, String> {
    let made = Config::incluster().map_err(|error| error.to_string());
    let made = made.and_then(|config| Client::try_from(config).map_err(|error| error.to_string()));
    made.map_err(|error| {
        format!(
            "the cluster of this pod cannot be reached ({error}): mount a token of its service account, as the chart does, or give \
             a kubeconfig with --cert-kubeconfig"
        )
    })
}
