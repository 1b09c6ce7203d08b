//! Takes the Lease from its holder, for work that must not overlap with another leader, and reserves it from the first
//! write on: a caller that is killed leaves it reserved. Talks to the API server.
//!
//! It is as safe as an election: a holder that loses the Lease stops acting before its time is over, and the caller
//! waits for that time.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};

use super::content::{annotate, record};
use super::is_conflict;
use crate::decision::lease::{RESERVED, Timings, VERSION};
use crate::runtime::clock;

/// Holder of a reserved Lease, which no process may take: its installation was removed.
pub const PARKED: &str = "fhpa-uninstall";
/// Number of attempts of a write with conflicts.
const TRIES: usize = 20;

/// Result of taking the Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acquired {
    /// Previous holder.
    pub from: Option<String>,
    /// How long it may still act.
    pub wait: Duration,
}

/// Why the Lease was not taken.
#[derive(Debug, thiserror::Error)]
pub enum AcquireError {
    /// Its holder may act for longer than the caller has time; nothing was written.
    #[error("its holder {holder} may still act for {} s, and there are {} s in all", wait.as_secs(), patience.as_secs())]
    Longer {
        /// The holder.
        holder: String,
        /// How long it may act.
        wait: Duration,
        /// How long the caller can wait.
        patience: Duration,
    },
    /// The API server rejects the request or is unreachable.
    #[error(transparent)]
    Api(#[from] kube::Error),
}

/// Writes `identity` into the Lease, and reserves it, unless its holder may act for `patience` or longer. A candidate with
/// that name then leads, but must first wait for `wait`.
///
/// A missing Lease is created: somebody may have deleted it, and its holder may still act. Without its namespace it
/// stays missing.
///
/// # Errors
/// See [`AcquireError`].
pub async fn acquire(
    api: &Api<Lease>,
    name: &str,
    identity: &str,
    patience: Duration,
) -> Result<Acquired, AcquireError> {
    let mut acquired = Acquired::default();
    let written = change(api, name, |lease, exists| {
        if !exists {
            let wait = Timings::default().lease;
            acquired = Acquired { from: None, wait };
            hold(lease, identity, RESERVED);
            return true;
        }
        let before = record(lease);
        // Another caller that may still act: it renews a Lease that is reserved as often as any leader.
        let lasts = if before.lease < RESERVED { before.lease } else { Timings::default().lease };
        acquired = if before.holder.is_empty() || before.holder == PARKED || before.holder == identity {
            Acquired::default()
        } else {
            Acquired { from: Some(before.holder), wait: lasts }
        };
        let fits = acquired.from.is_none() || acquired.wait < patience;
        if fits {
            hold(lease, identity, RESERVED);
        }
        fits
    })
    .await;
    match written {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Acquired::default()),
        written => written?,
    }
    match acquired {
        Acquired { from: Some(holder), wait } if wait >= patience => {
            Err(AcquireError::Longer { holder, wait, patience })
        }
        acquired => Ok(acquired),
    }
}

/// Reserves the Lease until it is freed or deleted.
///
/// # Errors
/// As [`acquire`].
pub async fn park(api: &Api<Lease>, name: &str) -> Result<(), kube::Error> {
    let hold = |lease: &mut Lease, exists| {
        if exists {
            hold(lease, PARKED, RESERVED);
        }
        exists
    };
    change(api, name, hold).await
}

/// Frees a reserved Lease; returns whether it was reserved. One that a caller of [`acquire`] reserved ends after the
/// usual time: if that process still runs, it renews it before.
///
/// # Errors
/// As [`acquire`].
pub async fn unpark(api: &Api<Lease>, name: &str) -> Result<bool, kube::Error> {
    let mut parked = false;
    change(api, name, |lease, _| {
        let before = record(lease);
        parked = before.holder == PARKED || before.lease >= RESERVED;
        if before.holder == PARKED {
            hold(lease, "", Duration::from_secs(1));
        } else if parked {
            hold(lease, &before.holder, Timings::default().lease);
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
    annotate(&mut lease.metadata, VERSION, None);
}

/// Reads the Lease, changes it and writes it back, until there is no conflict. One for which `edit` returns false is left
/// alone; `edit` is told whether it exists.
async fn change(
    api: &Api<Lease>,
    name: &str,
    mut edit: impl FnMut(&mut Lease, bool) -> bool,
) -> Result<(), kube::Error> {
    for left in (0..TRIES).rev() {
        let stored = api.get_opt(name).await?;
        let exists = stored.is_some();
        let named = || Lease {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            ..Lease::default()
        };
        let mut lease = stored.unwrap_or_else(named);
        if !edit(&mut lease, exists) {
            return Ok(());
        }
        let written = if exists {
            api.replace(name, &PostParams::default(), &lease).await
        } else {
            api.create(&PostParams::default(), &lease).await
        };
        match written {
            Err(error) if is_conflict(&error) && left > 0 => {}
            written => return written.map(|_| ()),
        }
    }
    Ok(())
}
