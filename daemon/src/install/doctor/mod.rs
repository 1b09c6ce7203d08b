//! Finds problems of an installation: one small function for each check. Writes nothing. Talks to the API server, and
//! to the webhook.

mod certificate;
mod control_plane;
mod failover;
mod installation;
mod members;
mod node_events;
mod objects;
mod scalers;

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use serde::Serialize;

pub use self::members::Estimators;
use super::apply::list;
use super::modes::federated_hpas;
use crate::decision::excerpt::{ERROR, excerpt};

/// Time limit of one check that is not a request to the API server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most members that are checked one by one.
const LOOKED_AT: usize = 100;

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// As it should be.
    Ok,
    /// It could not be checked from here.
    Skipped,
    /// It works, but needs attention.
    Warn,
    /// Something does not work.
    Fail,
}

/// Possible problems: each check, and its states. The troubleshooting guide describes each.
pub const TROUBLES: &[(&str, &[CheckState])] = &[
    ("connection", &[CheckState::Fail]),
    ("version", &[CheckState::Warn]),
    ("clock", &[CheckState::Skipped, CheckState::Warn, CheckState::Fail]),
    ("karmada", &[CheckState::Fail]),
    ("rights", &[CheckState::Skipped, CheckState::Fail]),
    ("definitions", &[CheckState::Skipped, CheckState::Fail]),
    ("frozen", &[CheckState::Skipped, CheckState::Fail]),
    ("definition guard", &[CheckState::Skipped, CheckState::Warn, CheckState::Fail]),
    ("karmada's webhooks", &[CheckState::Skipped, CheckState::Fail]),
    ("customizations", &[CheckState::Skipped, CheckState::Fail]),
    ("registration", &[CheckState::Warn, CheckState::Fail]),
    ("certificate", &[CheckState::Skipped, CheckState::Warn, CheckState::Fail]),
    ("probe", &[CheckState::Skipped, CheckState::Fail]),
    ("lease", &[CheckState::Warn, CheckState::Fail]),
    ("freeze", &[CheckState::Warn]),
    ("suspended bindings", &[CheckState::Skipped, CheckState::Fail]),
    ("upstream controllers", &[CheckState::Fail]),
    ("members", &[CheckState::Skipped, CheckState::Warn, CheckState::Fail]),
    ("estimators", &[CheckState::Skipped, CheckState::Warn]),
    ("modes", &[CheckState::Skipped, CheckState::Warn, CheckState::Fail]),
    ("failover", &[CheckState::Warn]),
    ("replacement", &[CheckState::Warn]),
    ("member metrics", &[CheckState::Skipped, CheckState::Warn, CheckState::Fail]),
    ("node events", &[CheckState::Warn]),
    ("other autoscalers", &[CheckState::Skipped, CheckState::Fail]),
];

/// Result of one check, with details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Name of the check.
    pub check: &'static str,
    /// The state.
    pub state: CheckState,
    /// The observation.
    pub seen: String,
    /// What to do; empty when nothing is needed.
    pub to_do: String,
}

impl Finding {
    fn new(check: &'static str, state: CheckState, seen: impl Into<String>, to_do: impl Into<String>) -> Self {
        let (seen, to_do): (String, String) = (seen.into(), to_do.into());
        Self { check, state, seen: excerpt(&seen, ERROR).to_owned(), to_do }
    }

    fn ok(check: &'static str, seen: impl Into<String>) -> Self {
        Self::new(check, CheckState::Ok, seen, "")
    }

    fn fail(check: &'static str, seen: impl Into<String>, to_do: impl Into<String>) -> Self {
        Self::new(check, CheckState::Fail, seen, to_do)
    }
}

/// Dependencies of checks.
pub struct Context {
    /// Client of karmada-apiserver.
    pub client: Client,
    /// The time of day.
    pub now: Timestamp,
    /// Namespace and name of the Lease.
    pub lease: (String, String),
    /// Addresses of estimators.
    pub estimators: Estimators,
}

/// Runs all checks, in the order of their dependencies. Without a connection, no further ones.
pub async fn examine(context: &Context) -> Vec<Finding> {
    let connected = control_plane::connection(context).await;
    if connected.iter().any(|finding| finding.state == CheckState::Fail) {
        return connected;
    }
    let mut all = connected;
    all.extend(control_plane::rights(context).await);
    all.extend(installation::definitions(context).await);
    all.extend(installation::frozen(context).await);
    all.push(installation::policy(context).await);
    all.extend(installation::set_aside(context).await);
    all.extend(installation::customizations(context).await);
    let (registration, location) = installation::registration(context).await;
    all.push(registration);
    if let Some(location) = &location {
        all.push(certificate::certificate(context, location).await);
        all.push(installation::probe(context).await);
    }
    all.extend(control_plane::lease(context).await);
    all.push(installation::suspended(context).await);
    all.extend(control_plane::upstream(context).await);
    let clusters =
        list(&context.client, "/apis/cluster.karmada.io/v1alpha1/clusters", "cluster.karmada.io", "clusters");
    let clusters = match clusters.await {
        Ok(clusters) => {
            all.push(members::members(context, &clusters).await);
            all.push(members::estimators(context, &clusters).await);
            clusters
        }
        Err(failure) => {
            all.push(Finding::fail("members", failure.message, ""));
            Vec::new()
        }
    };
    match federated_hpas(&context.client).await {
        Ok(hpas) => {
            all.push(objects::modes(&hpas));
            all.extend(failover::failover(&hpas));
            all.extend(objects::metrics(context, &hpas, &clusters).await);
            all.extend(node_events::node_events(context, &hpas, &clusters).await);
            all.push(scalers::scalers(context, &hpas, &clusters).await);
        }
        Err(failure) => all.push(objects::unread("modes", failure)),
    }
    all
}
