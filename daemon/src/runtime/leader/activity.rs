//! Which of several Leases a process renews, by whether they change: the times in a Lease are those of its holder's
//! clock, and after a restore those of a process that may have ended. Talks to the API server.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::sleep;

use super::content::record;
use crate::decision::freeze::FROZEN;
use crate::decision::lease::VERSION;

/// Longest time that a Lease is watched.
const LONGEST: Duration = Duration::from_mins(1);

/// Where a Lease is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseLocation {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A Lease that a process renews.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The Lease.
    pub place: LeaseLocation,
    /// The process.
    pub holder: String,
    /// Whether that process has confirmed a freeze.
    pub frozen: bool,
}

/// Those of `places` that are renewed. Waits for the longest of their lease durations, unless nobody holds one.
///
/// # Errors
/// When the API server rejects a request or is unreachable.
pub async fn renewed(client: &Client, places: &[LeaseLocation]) -> Result<Vec<Renewed>, kube::Error> {
    let mut before = BTreeMap::new();
    for place in places {
        if let Some(lease) = read(client, place).await? {
            let record = record(&lease);
            if !record.holder.is_empty() {
                before.insert(place, record);
            }
        }
    }
    let Some(longest) = before.values().map(|record| record.lease).max() else { return Ok(Vec::new()) };
    sleep(longest.min(LONGEST)).await;
    let mut renewed = Vec::new();
    for (place, before) in before {
        let Some(lease) = read(client, place).await? else { continue };
        let after = record(&lease);
        if after.version != before.version && !after.holder.is_empty() {
            let frozen = lease.metadata.annotations.is_some_and(|all| all.contains_key(FROZEN));
            renewed.push(Renewed { place: place.clone(), holder: after.holder, frozen });
        }
    }
    Ok(renewed)
}

/// The Leases that controllers of fhpa hold, but for `given`: all that the user may list.
///
/// # Errors
/// When the API server is unreachable, or rejects a request otherwise than by the rights of the user.
pub async fn others(client: &Client, given: &LeaseLocation) -> Result<Vec<LeaseLocation>, kube::Error> {
    let parameters = ListParams::default();
    let mut listed = Api::<Lease>::all(client.clone()).list(&parameters).await;
    if listed.as_ref().is_err_and(is_forbidden) {
        listed = Api::<Lease>::namespaced(client.clone(), &given.namespace).list(&parameters).await;
    }
    let leases = match listed {
        Err(error) if is_forbidden(&error) => return Ok(Vec::new()),
        listed => listed?.items,
    };
    let ours = leases.into_iter().filter(|lease| {
        let annotated = lease.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(VERSION));
        annotated && !record(lease).holder.is_empty()
    });
    let place = |lease: Lease| Some(LeaseLocation { namespace: lease.metadata.namespace?, name: lease.metadata.name? });
    Ok(ours.filter_map(place).filter(|place| place != given).collect())
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

async fn read(client: &Client, place: &LeaseLocation) -> Result<Option<Lease>, kube::Error> {
    Api::<Lease>::namespaced(client.clone(), &place.namespace).get_opt(&place.name).await
}
