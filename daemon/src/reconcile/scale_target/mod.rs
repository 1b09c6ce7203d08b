//! Sets the values of a cron rule on its target: bounds of a FederatedHPA, or replicas of a `scale` subresource
//! (docs/cron.md#late-runs). I/O: the API server.
//!
//! Reads before it writes, so that an equal value is not written, and a deleted object is not created again. A write
//! with a conflict is retried on the new state.

mod discovery;
mod federated_hpa;
mod reference;
mod scale;

use kube::Client;
use serde::Deserialize;
use tokio::time::sleep;

use self::discovery::{Discovery, Scalable};
pub use self::reference::TargetRef;
use crate::controller::failure::{Failure, WriteError, reason};
use crate::decision::backoff::{self, ErrorClass};
use crate::decision::cron::ledger::Action;
use crate::runtime::leader::Leader;

/// Number of attempts of a write with conflicts.
const TRIES: u32 = 4;

/// Whether the target was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was already as the rule sets it.
    Unchanged,
    /// It was written.
    Written,
}

/// Sets targets, with a cache of the kinds that the API server serves.
pub struct Targets {
    client: Client,
    discovery: Discovery,
}

impl std::fmt::Debug for Targets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Targets").field("discovery", &self.discovery).finish_non_exhaustive()
    }
}

impl Targets {
    /// Sends requests through `client`.
    pub fn new(client: Client) -> Self {
        Self { client, discovery: Discovery::default() }
    }

    /// Sets the values of `action` on `target`; absent members are not changed.
    ///
    /// # Errors
    /// When this process no longer leads, or the target does not exist, rejects the write, or is unreachable.
    pub async fn set(&self, leader: &Leader, target: &TargetRef<'_>, action: Action) -> Result<Done, WriteError> {
        let place = target.place()?;
        let mut failures = 0;
        loop {
            leader.check()?;
            let tried = if target.is_federated_hpa() {
                federated_hpa::set(&self.client, leader, target, place, action).await
            } else {
                scale::set(&self.client, &self.discovery, leader, target, place, action).await
            };
            match tried {
                Err(WriteError::Failed(failure)) if failure.class == ErrorClass::Conflict => {
                    failures += 1;
                    if failures >= TRIES {
                        return Err(failure.into());
                    }
                    sleep(backoff::wait(failure.class, failures, target, failure.retry_after)).await;
                }
                done => return done,
            }
        }
    }
}

impl Targets {
    /// The path and plural of the target's kind.
    ///
    /// # Errors
    /// When the reference is not valid, the API server serves no such scalable kind, or it is unreachable.
    pub async fn place(&self, target: &TargetRef<'_>) -> Result<ResourcePath, Failure> {
        let place = target.place()?;
        let Scalable { plural, .. } = self.discovery.find(&self.client, target, place).await?;
        let (path, group) = (reference::path(place, target.namespace, &plural), place.group.to_owned());
        Ok(ResourcePath { path, group, plural })
    }
}

/// Path of the objects of a kind.
#[derive(Clone, Debug)]
pub struct ResourcePath {
    /// `/apis/apps/v1/namespaces/prod/deployments`
    pub path: String,
    /// `apps`
    pub group: String,
    /// `deployments`
    pub plural: std::sync::Arc<str>,
}

/// The parts of a target's metadata that are read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    deletion_timestamp: Option<String>,
}

/// A failed read of `target`; a missing object is reported as a missing target.
fn unread(target: &TargetRef<'_>, failure: Failure) -> Failure {
    match failure.reason {
        reason::NOT_FOUND => {
            let message = format!("{target} does not exist; create it or correct spec.scaleTargetRef");
            Failure::new(ErrorClass::Missing, reason::TARGET_NOT_FOUND, message)
        }
        reason::NOT_SERVED => kind_unknown(target),
        _ => failure,
    }
}

/// The kind is not served.
fn kind_unknown(target: &TargetRef<'_>) -> Failure {
    let message = format!(
        "the API server serves no kind {} of {}; install its CustomResourceDefinition or correct spec.scaleTargetRef",
        target.shown_kind(),
        target.shown_api_version()
    );
    Failure::new(ErrorClass::Missing, reason::TARGET_KIND_UNKNOWN, message)
}

/// A target that is being deleted is not set.
fn check_alive(target: &TargetRef<'_>, metadata: &Metadata) -> Result<(), Failure> {
    if metadata.deletion_timestamp.is_none() {
        return Ok(());
    }
    let message = format!("{target} is being deleted; nothing is set on it");
    Err(Failure::new(ErrorClass::Refused, reason::TARGET_BEING_DELETED, message))
}

/// The rule sets no field that this kind of target has.
fn mismatch(target: &TargetRef<'_>, needs: &str) -> Failure {
    let message = format!("the rule sets nothing that {target} has; give it {needs}");
    Failure::new(ErrorClass::Refused, reason::RULE_TARGET_MISMATCH, message)
}
