//! FederatedHPAs that are stored without a mode: Karmada's own controller ran them as Centralized. Talks to the API
//! server.

use kube::{Client, Resource as _};
use serde_json::Value;

use super::apply::{each, list};
use crate::api::FederatedHPA;
use crate::controller::failure::Failure;
use crate::decision::few::Few;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::crd_fields::{FieldState, field_state};

/// All stored FederatedHPAs.
///
/// # Errors
/// When the API server rejects the request or is unreachable.
pub async fn federated_hpas(client: &Client) -> Result<Vec<Value>, Failure> {
    list(client, &FederatedHPA::url_path(&(), None), "autoscaling.karmada.io", "federatedhpas").await
}

/// Those that have no mode and never had one, by namespace and name. One that is being deleted needs none.
#[must_use]
pub fn without_mode(objects: &[Value]) -> Vec<String> {
    objects.iter().filter_map(|object| undecided(object.clone())).collect()
}

/// Namespace and name, if it has no mode and never had one.
fn undecided(object: Value) -> Option<String> {
    let entry = FederatedHpaEntry::of(&serde_json::from_value::<FederatedHPA>(object).ok()?);
    let undecided = !entry.deleting() && matches!(field_state(&entry, None), FieldState::Undecided);
    undecided.then(|| entry.key().to_string())
}

/// The question that an installation asks first, where objects would otherwise be run in another mode than before.
///
/// # Errors
/// As [`federated_hpas`].
pub async fn question(client: &Client) -> Result<Option<String>, Failure> {
    let mut names = Vec::new();
    each(client, &FederatedHPA::url_path(&(), None), "autoscaling.karmada.io", "federatedhpas", |object| {
        names.extend(undecided(object));
    })
    .await?;
    let stored = match names.len() {
        0 => return Ok(None),
        1 => "1 FederatedHPA is stored without spec.mode".to_owned(),
        count => format!("{count} FederatedHPAs are stored without spec.mode"),
    };
    Ok(Some(format!(
        "{stored}: {}\n\
         Karmada ran them as Centralized. Nothing was changed. Say what they become, and start the processes with the same:\n  \
         --default-mode Centralized  (chart: rules.defaultMode=Centralized)  keeps what Karmada ran\n  \
         --default-mode Distributed  (chart: rules.defaultMode=Distributed)  gives each member cluster an HPA of its own",
        Few(&names)
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hpa(name: &str, metadata: &Value, spec: &Value) -> Value {
        let mut object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "prod"}, "spec": {"maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}});
        json_patch::merge(&mut object, &json!({"metadata": metadata, "spec": spec}));
        object
    }

    #[test]
    fn an_object_has_a_mode_by_its_name_by_a_field_of_distributed_or_by_its_copy() {
        let copy = json!({"annotations": {"fhpa.karmada.io/spec": r#"{"mode":"Distributed"}"#}});
        let objects = [
            hpa("named", &json!({}), &json!({"mode": "Centralized"})),
            hpa("implied", &json!({}), &json!({"scalingToZero": true})),
            hpa("pruned", &copy, &json!({})),
            hpa("leaving", &json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), &json!({})),
            hpa("karmadas", &json!({}), &json!({"scaleAssist": true})),
        ];
        assert_eq!(without_mode(&objects), ["prod/karmadas"]);
    }
}
