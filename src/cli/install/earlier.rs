//! What an earlier uninstallation left, and this installation takes away: the reserved Lease. Talks to the API server.

use std::io::Write;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};

use crate::install::manifests::Settings;
use crate::runtime::lease_handover;

/// Frees a Lease that an uninstallation had reserved, and says so.
pub(super) async fn free(client: &Client, settings: &Settings, (lease, dry_run): (&str, bool), out: &mut impl Write) {
    if dry_run {
        return;
    }
    let leases: Api<Lease> = Api::namespaced(client.clone(), &settings.lease_namespace);
    if let Ok(true) = lease_handover::unpark(&leases, lease).await {
        // A reader that exits early has seen enough.
        let _ = writeln!(out, "Lease {lease}  freed: an uninstallation had reserved it");
    }
}
