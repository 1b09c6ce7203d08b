//! Karmada's webhook for bindings where quotas are enforced: the scheduled usage of a namespace stays within its
//! FederatedResourceQuotas. No I/O except the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::json::{int, items, members, name, namespace};
use decision::quantity::milli;
use embedded_apiserver::admission::AdmissionRequest;
use embedded_apiserver::status::StatusError;
use embedded_apiserver::store::Query;
use embedded_apiserver::{ApiServer, Plugin};

const QUOTAS: &str = "federatedresourcequotas.policy.karmada.io";
const BINDINGS: &str = "resourcebindings.work.karmada.io";

/// Thousandths of each resource.
type Usage = BTreeMap<String, i64>;

/// The webhook, as part of the API server.
#[must_use]
pub fn webhook() -> Plugin {
    Arc::new(|server: &ApiServer, request: &AdmissionRequest, object: &mut Value| {
        if !request.subresource.is_empty() {
            return Ok(());
        }
        let (before, after) = (request.old_object.as_ref().map(usage).unwrap_or_default(), usage(object));
        if before == after {
            return Ok(());
        }
        let mut sum = after;
        for other in stored(server, BINDINGS, namespace(object)) {
            if name(&other) != name(object) {
                add(&mut sum, usage(&other));
            }
        }
        let quotas = stored(server, QUOTAS, namespace(object));
        quotas.iter().find_map(|quota| exceeded(quota, &sum)).map_or(Ok(()), |why| {
            let denied = "admission webhook \"resourcebinding.karmada.io\" denied the request: ";
            Err(StatusError::plain(403, "QuotaExceeded", format!("{denied}{why}")))
        })
    })
}

fn stored(server: &ApiServer, bucket: &str, namespace: &str) -> Vec<Value> {
    let query = Query { namespace: Some(namespace.to_owned()), ..Query::default() };
    let page = server.store().list(bucket, &query).map(|page| page.items).unwrap_or_default();
    page.iter().map(|item| item.value().clone()).collect()
}

/// The usage of a binding's clusters.
fn usage(binding: &Value) -> Usage {
    let given = items(binding, "/spec/clusters").iter().filter_map(|target| int(target, "/replicas"));
    let replicas = given.fold(0_i64, i64::saturating_add);
    let requests = members(binding, "/spec/replicaRequirements/resourceRequest");
    let each = requests.filter_map(|(resource, value)| Some((resource.to_owned(), milli(value.as_str()?)?)));
    each.map(|(resource, amount)| (resource, amount.saturating_mul(replicas))).collect()
}

fn add(sum: &mut Usage, more: Usage) {
    for (resource, amount) in more {
        let whole = sum.entry(resource).or_default();
        *whole = whole.saturating_add(amount);
    }
}

/// Why the usage exceeds the quota; also where it is less than before.
fn exceeded(quota: &Value, sum: &Usage) -> Option<String> {
    members(quota, "/spec/overall").find_map(|(resource, limit)| {
        let limit = milli(limit.as_str()?)?;
        let used = sum.get(resource).copied().filter(|used| *used > limit)?;
        let place = format!("{}/{}", namespace(quota), name(quota));
        Some(format!(
            "FederatedResourceQuota({place}) exceeded for resource {resource}: requested sum {used}m, limit {limit}m."
        ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{exceeded, usage};

    #[test]
    fn a_binding_uses_what_its_clusters_are_given() {
        let binding = json!({"spec": {"replicas": 9, "clusters": [{"name": "a", "replicas": 2}, {"name": "b"}],
            "replicaRequirements": {"resourceRequest": {"cpu": "250m", "memory": "1Gi"}}}});
        let used = usage(&binding);
        assert_eq!(used["cpu"], 500);
        let quota = |cpu: &str| json!({"metadata": {"name": "q", "namespace": "n"}, "spec": {"overall": {"cpu": cpu}}});
        assert_eq!(exceeded(&quota("500m"), &used), None);
        let why = exceeded(&quota("499m"), &used).unwrap();
        assert_eq!(why, "FederatedResourceQuota(n/q) exceeded for resource cpu: requested sum 500m, limit 499m.");
    }
}
