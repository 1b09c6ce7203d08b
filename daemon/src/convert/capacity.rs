//! Resources of clusters and of replicas: JSON -> core. No I/O.

use std::borrow::Cow;

use serde_json::Value;

use crate::api::replica_requirements::ReplicaRequirements;
use crate::decision::capacity::{Demand, Summary};

/// `status.resourceSummary` of a Cluster; `None` when it is empty.
#[must_use]
pub fn summary(summary: &Value) -> Option<Summary> {
    let list = |name: &str| {
        let resources = summary.get(name).and_then(Value::as_object).into_iter().flatten();
        resources.map(|(resource, quantity)| (resource.as_str(), text(quantity)))
    };
    list("allocatable").next()?;
    Some(Summary::read(list("allocatable"), list("allocated"), list("allocating")))
}

/// A quantity as text: users and servers may write numbers.
fn text(quantity: &Value) -> Cow<'_, str> {
    match quantity {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Requests of each replica; `None` when a quantity cannot be parsed.
#[must_use]
pub fn demand(requirements: &ReplicaRequirements) -> Option<Demand> {
    let asked = requirements.resource_request.iter();
    Demand::read(asked.map(|(name, quantity)| (name.as_str(), quantity.0.as_str())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_summary_is_read_as_karmada_writes_it() {
        let wire = json!({"allocatable": {"cpu": "8", "memory": "32Gi", "pods": 220}, "allocated": {"cpu": "6500m", "pods": "8"},
            "allocating": null, "allocatableModelings": [{"grade": 0, "count": 2}]});
        let requirements: ReplicaRequirements =
            serde_json::from_value(json!({"resourceRequest": {"cpu": "500m", "memory": 1024}, "nodeClaim": null}))
                .unwrap();
        let (read, asked) = (summary(&wire).unwrap(), demand(&requirements).unwrap());
        assert_eq!((read.available(&asked), read.whole(&asked)), (3, 16));
    }

    #[test]
    fn a_cluster_that_says_nothing_of_itself_has_no_summary() {
        for wire in [json!(null), json!({}), json!({"allocatable": {}}), json!({"allocatable": "all"})] {
            assert_eq!(summary(&wire), None, "{wire}");
        }
    }
}
