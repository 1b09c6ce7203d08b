//! The control plane that a command reads, by the kubeconfig that the user's other tools use.

use std::path::PathBuf;

use kube::Client;

use crate::runtime::control_plane::{self, NO_ORIGIN, Origin};

/// Which control plane is read.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Control plane")]
pub(super) struct ConnectionArgs {
    /// Kubeconfig of karmada-apiserver. Default: the variable KUBECONFIG, or else ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl ConnectionArgs {
    /// A client of the control plane. Unlike the processes such a command only reads, so that the usual kubeconfig will
    /// do.
    pub(super) async fn connect(self) -> Result<Client, String> {
        let variable = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".kube/config"));
        let usual = || home().filter(|file| variable.is_none() && file.exists());
        let origin =
            Origin::find(self.kubeconfig.or_else(usual), variable.as_deref(), self.context).ok_or(NO_ORIGIN)?;
        control_plane::connect_once(origin).await.map_err(|error| error.to_string())
    }
}
