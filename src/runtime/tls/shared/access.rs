//! The way to the cluster where the processes run: by a pod's service account, or by a kubeconfig. Reads files.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use kube::{Client, Config};

use crate::runtime::control_plane::{self, Bounds, Keeper, Origin};
use crate::runtime::metrics::Metrics;

/// Which way.
#[derive(Clone)]
pub enum Access {
    /// By the service account of this pod.
    OwnCluster,
    /// By this kubeconfig, which may change under way.
    Kubeconfig(PathBuf),
    /// By this client.
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
    /// By `kubeconfig`; without one, by the service account.
    #[must_use]
    pub fn by(kubeconfig: Option<PathBuf>) -> Self {
        kubeconfig.map_or(Self::OwnCluster, Self::Kubeconfig)
    }

    /// The client, with an end to each request, and who keeps it current.
    ///
    /// # Errors
    /// This is no pod, it has no token, or the kubeconfig cannot be used; the text says what to do.
    pub async fn client(self) -> Result<(Client, Option<Keeper>), String> {
        // These requests are not counted among those to karmada-apiserver.
        let (bounds, uncounted) = (Bounds::default(), Arc::new(Metrics::new()).requests());
        let client = match self {
            Self::Kubeconfig(file) => {
                let shown = file.display().to_string();
                let Some(origin) = Origin::find(Some(file), None, None) else {
                    return Err(format!("{shown}: no file"));
                };
                let connected = control_plane::connect(origin, bounds, uncounted).await;
                return connected
                    .map(|(client, keeper)| (client, Some(keeper)))
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
