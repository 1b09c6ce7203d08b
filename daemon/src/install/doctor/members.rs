//! Checks of the member clusters: readiness, access through the proxy, and estimators. Talks to the API server and to
//! estimators.

use futures::future::join_all;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{CheckState, Context, Finding, LOOKED_AT, PATIENCE};
use crate::estimator::grpc::Address;
use crate::reconcile::federated_hpa::observe::members::proxied;

/// Addresses of estimators.
#[derive(Clone, Debug, Default)]
pub struct Estimators {
    /// Address for the name of a cluster.
    pub address: Address,
}

pub(super) fn name(cluster: &Value) -> &str {
    cluster.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn is_ready(cluster: &Value) -> bool {
    let conditions = cluster.pointer("/status/conditions").and_then(Value::as_array);
    let text =
        |condition: &Value, name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    conditions.into_iter().flatten().any(|one| text(one, "type") == "Ready" && text(one, "status") == "True")
}

/// Whether each member is ready and answers through the proxy.
pub(super) async fn members(context: &Context, clusters: &[Value]) -> Finding {
    const CHECK: &str = "members";
    if clusters.is_empty() {
        return Finding::new(CHECK, CheckState::Warn, "no cluster has joined", "join one with `karmadactl join`");
    }
    let looked_at = clusters.get(..clusters.len().min(LOOKED_AT)).unwrap_or_default();
    let down: Vec<&str> = looked_at.iter().filter(|cluster| !is_ready(cluster)).map(name).collect();
    let ready = looked_at.iter().filter(|cluster| is_ready(cluster));
    let asked = join_all(
        ready.map(|cluster| async move { (name(cluster), ask(context, proxied(name(cluster), "/version")).await) }),
    )
    .await;
    let forbidden = asked.iter().any(|(_, answer)| answer.as_ref().is_err_and(|error| error.0 == 403));
    let mut wrong: Vec<String> =
        asked.iter().filter_map(|(name, answer)| Some(format!("{name}: {}", answer.as_ref().err()?.1))).collect();
    if forbidden {
        let to_do = "ask with an administrator's kubeconfig; the processes themselves only patch through the proxy";
        return Finding::new(
            CHECK,
            CheckState::Skipped,
            format!("this user may not read through the proxy: {}", wrong.join("; ")),
            to_do,
        );
    }
    wrong.extend((!down.is_empty()).then(|| format!("not ready: {}", down.join(", "))));
    if wrong.is_empty() {
        return Finding::ok(CHECK, format!("{} ready, and reached through the proxy", clusters.len()));
    }
    let to_do = "recover them; a member that is not reachable through clusters/proxy is scaled by its HPA alone";
    Finding::new(CHECK, CheckState::Warn, wrong.join("; "), to_do)
}

/// Code and message of a failure.
pub(super) async fn ask(context: &Context, path: String) -> Result<(), (u16, String)> {
    let request = http::Request::get(path).body(Vec::new()).map_err(|error| (0, error.to_string()))?;
    match context.client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err((status.code, status.message)),
        Err(error) => Err((0, error.to_string())),
    }
}

/// Whether a karmada-scheduler-estimator listens for each member.
pub(super) async fn estimators(context: &Context, clusters: &[Value]) -> Finding {
    const CHECK: &str = "estimators";
    let looked_at = clusters.get(..clusters.len().min(LOOKED_AT)).unwrap_or_default();
    let reached = join_all(looked_at.iter().map(async |cluster| {
        let address = context.estimators.address.of(name(cluster));
        matches!(timeout(PATIENCE, TcpStream::connect(address)).await, Ok(Ok(_)))
    }))
    .await;
    let count = reached.iter().filter(|reached| **reached).count();
    let seen = format!("{count} of {} clusters have one that is reachable from here", looked_at.len());
    if count == 0 || looked_at.is_empty() {
        let to_do = "nothing, when none is installed: free capacity then comes from the resource summaries of Clusters";
        return Finding::new(CHECK, CheckState::Skipped, seen, to_do);
    }
    if count < looked_at.len() {
        return Finding::new(CHECK, CheckState::Warn, seen, "install karmada-scheduler-estimator for the others, too");
    }
    Finding::ok(CHECK, seen)
}
