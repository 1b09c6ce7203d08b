//! What the webhook reads of Karmada's `ResourceBinding` (`work.karmada.io/v1alpha2`). No I/O, no decisions.

use serde::{Deserialize, Serialize};

use super::lenient::null_as_default;

/// The part of a ResourceBinding that decides whether Karmada's scheduler is kept off it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceBinding {
    /// What is bound.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ResourceBindingSpec,
}

/// The part of its spec.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceBindingSpec {
    /// The workload template.
    #[serde(deserialize_with = "null_as_default")]
    pub resource: ObjectReference,
    /// What is suspended; absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
}

/// The object a binding is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectReference {
    /// API version of the workload.
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: String,
    /// Kind of the workload.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    /// Namespace of the workload.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Name of the workload.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// What of a binding's life is suspended. Members that are not listed stay as they are: the webhook answers with a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Suspension {
    /// True: karmada-scheduler leaves the binding alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<bool>,
    /// True: no change is sent to any cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatching: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::{ObjectReference, ResourceBinding, Suspension};

    #[test]
    fn a_binding_is_read_as_karmada_writes_it() {
        let binding: ResourceBinding = serde_json::from_str(
            r#"{"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "uid": "u"},
                "replicas": 2, "suspension": {"dispatchingOnClusters": {"clusterNames": ["m1"]}, "scheduling": true}}}"#,
        )
        .unwrap();
        let web = ObjectReference {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: "shop".into(),
            name: "web".into(),
        };
        assert_eq!(binding.spec.resource, web);
        assert_eq!(binding.spec.suspension, Some(Suspension { scheduling: Some(true), dispatching: None }));
        assert_eq!(serde_json::from_str::<ResourceBinding>(r#"{"spec": null}"#).unwrap(), ResourceBinding::default());
    }
}
