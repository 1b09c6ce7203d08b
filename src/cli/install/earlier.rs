//! What an earlier installation or uninstallation left, and this installation takes away: the reserved Lease, a policy
//! that is no longer wanted. Talks to the API server.

use std::io::Write;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};

use super::name;
use crate::install::manifests::{self, Settings};
use crate::install::remove::{Removed, withdraw};
use crate::runtime::leader::handover;

/// Frees a Lease that an uninstallation had reserved, and says so.
pub(super) async fn free(client: &Client, settings: &Settings, (lease, dry_run): (&str, bool), out: &mut impl Write) {
    if dry_run {
        return;
    }
    let leases: Api<Lease> = Api::namespaced(client.clone(), &settings.lease_namespace);
    if let Ok(true) = handover::unpark(&leases, lease).await {
        // A reader that exits early has seen enough.
        let _ = writeln!(out, "Lease {lease}  freed: an uninstallation had reserved it");
    }
}

/// Deletes the policy that guards the definitions, where it is no longer wanted; returns how many objects of it stay.
pub(super) async fn withdraw_policy(client: &Client, dry_run: bool, out: &mut impl Write) -> usize {
    let mut failed = 0_usize;
    for manifest in manifests::policy().unwrap_or_default() {
        let line = match withdraw(client, &manifest, dry_run).await {
            Ok(Removed::Absent) => continue,
            Ok(_) if dry_run => "would be deleted: --guard-definitions=false".to_owned(),
            Ok(_) => "deleted: --guard-definitions=false".to_owned(),
            Err(failure) => {
                failed = failed.saturating_add(1);
                format!("failed: {failure}")
            }
        };
        let _ = writeln!(out, "{}  {line}", name(&manifest));
    }
    failed
}
