//! Checks of what failover and replacement have left: clusters that keep their replicas while most are not Ready, and
//! replicas that no other cluster runs. Reads what the conditions of the FederatedHPAs say. No I/O.

use serde_json::Value;

use super::objects::key;
use super::{CheckState, Finding};
use crate::decision::few::Few;
use crate::reconcile::federated_hpa::status::FAILOVER_PAUSED;
use crate::reconcile::federated_hpa::status::conditions::MISSING_REPLICAS;

/// Whether failover is paused, and whether replicas of clusters that leave or failed run nowhere.
pub(super) fn failover(hpas: &[Value]) -> [Finding; 2] {
    [paused(hpas), missing(hpas)]
}

fn paused(hpas: &[Value]) -> Finding {
    const CHECK: &str = "failover";
    let keep = named(hpas, |condition| at(condition, "type") == FAILOVER_PAUSED && at(condition, "status") == "True");
    if keep.is_empty() {
        return Finding::ok(CHECK, "it is not paused");
    }
    let seen = format!("paused, as too many clusters are not Ready at once, for {}", Few(&keep));
    let to_do = "see whether the control plane reaches the clusters: until it does, each keeps what it has";
    Finding::new(CHECK, CheckState::Warn, seen, to_do)
}

fn missing(hpas: &[Value]) -> Finding {
    const CHECK: &str = "replacement";
    let lack = named(hpas, |condition| MISSING_REPLICAS.contains(&at(condition, "reason")));
    if lack.is_empty() {
        return Finding::ok(CHECK, "no replica of a cluster that left or failed is missing");
    }
    let seen = format!("replicas of clusters that leave or failed are not ready elsewhere: {}", Few(&lack));
    let to_do = "`fhpa status` says how many and why: add capacity to the other clusters, or raise maxReplicas";
    Finding::new(CHECK, CheckState::Warn, seen, to_do)
}

/// The objects with such a condition.
fn named(hpas: &[Value], is_such: impl Fn(&Value) -> bool) -> Vec<String> {
    let conditions = |hpa: &Value| hpa.pointer("/status/conditions").and_then(Value::as_array).cloned();
    let such = |hpa: &&Value| conditions(hpa).into_iter().flatten().any(|condition| is_such(&condition));
    hpas.iter().filter(such).map(key).collect()
}

fn at<'a>(condition: &'a Value, field: &str) -> &'a str {
    condition.get(field).and_then(Value::as_str).unwrap_or_default()
}
