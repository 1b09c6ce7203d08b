//! Takes the Lease from whoever holds it, for a work that nobody else may meet, and keeps others off for a while afterwards.
//! Talks to the API server.
//!
//! It is safe for the reason that an election is: whoever loses the Lease stops acting before its time is over, and that time is
//! waited for.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, PostParams};

use super::clock;
use super::leader::{is_conflict, record};

/// Holder of a Lease that nobody is to take: the installation it belongs to is taken back.
pub const PARKED: &str = "fhpa-uninstall";
/// How long others are kept off beyond the time that the last holder had.
const MARGIN: Duration = Duration::from_secs(30);
/// How often a write that met another one is tried.
const TRIES: usize = 20;

/// How the Lease was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seized {
    /// Who held it.
    pub from: Option<String>,
    /// How long that one may still act.
    pub wait: Duration,
}

/// Writes `identity` into the Lease. Who takes part in the election under that name then leads; before, `wait` has to pass.
///
/// # Errors
/// When the API server refuses or is not reached.
pub async fn seize(api: &Api<Lease>, name: &str, identity: &str) -> Result<Seized, kube::Error> {
    let mut seized = Seized::default();
    change(api, name, |lease| {
        let before = record(lease);
        seized = if before.holder.is_empty() || before.holder == PARKED || before.holder == identity {
            Seized::default()
        } else {
            Seized { from: Some(before.holder), wait: before.lease }
        };
        hold(lease, identity, before.lease.saturating_add(MARGIN));
        true
    })
    .await?;
    Ok(seized)
}

/// Keeps everybody off the Lease for `time`.
///
/// # Errors
/// As [`seize`].
pub async fn park(api: &Api<Lease>, name: &str, time: Duration) -> Result<(), kube::Error> {
    let hold = |lease: &mut Lease| {
        hold(lease, PARKED, time);
        true
    };
    change(api, name, hold).await
}

/// Frees a Lease that was parked; says whether it was.
///
/// # Errors
/// As [`seize`].
pub async fn unpark(api: &Api<Lease>, name: &str) -> Result<bool, kube::Error> {
    let mut parked = false;
    change(api, name, |lease| {
        parked = record(lease).holder == PARKED;
        if parked {
            hold(lease, "", Duration::from_secs(1));
        }
        parked
    })
    .await?;
    Ok(parked)
}

fn hold(lease: &mut Lease, holder: &str, time: Duration) {
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    spec.holder_identity = Some(holder.to_owned());
    spec.lease_duration_seconds = i32::try_from(time.as_secs()).ok().map(|seconds| seconds.max(1));
    spec.renew_time = Some(MicroTime(clock::wall()));
}

/// Reads the Lease, changes it and writes it back, until nobody comes between. One that does not exist is let be; so is one
/// that `edit` does not want written.
async fn change(api: &Api<Lease>, name: &str, mut edit: impl FnMut(&mut Lease) -> bool) -> Result<(), kube::Error> {
    for left in (0..TRIES).rev() {
        let Some(mut lease) = api.get_opt(name).await? else { return Ok(()) };
        if !edit(&mut lease) {
            return Ok(());
        }
        match api.replace(name, &PostParams::default(), &lease).await {
            Err(error) if is_conflict(&error) && left > 0 => {}
            written => return written.map(|_| ()),
        }
    }
    Ok(())
}
