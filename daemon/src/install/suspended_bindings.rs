//! ResourceBindings that fhpa suspended, and which of them no FederatedHPA serves. Talks to the API server.

use kube::{Client, Resource as _};
use serde_json::Value;

use super::apply::each;
use crate::api::ResourceBinding;
use crate::controller::failure::Failure;
use crate::decision::names::SUSPENDED_FOR;
use crate::reconcile::federated_hpa::names::FINALIZER;

/// A marked binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The FederatedHPA for which it was suspended.
    pub owner: String,
    /// API version, kind and name of its workload.
    pub workload: [String; 3],
}

/// All marked bindings.
///
/// # Errors
/// When the API server rejects the request or is unreachable.
pub async fn marked(client: &Client) -> Result<Vec<Marked>, Failure> {
    let text = |object: &Value, path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mark = |binding: &Value| {
        let owner = binding.pointer("/metadata/annotations")?.get(SUSPENDED_FOR)?.as_str()?;
        Some(Marked {
            namespace: text(binding, "/metadata/namespace"),
            name: text(binding, "/metadata/name"),
            owner: owner.to_owned(),
            workload: ["apiVersion", "kind", "name"].map(|field| text(binding, &format!("/spec/resource/{field}"))),
        })
    };
    let mut marked = Vec::new();
    each(client, &ResourceBinding::url_path(&(), None), "work.karmada.io", "resourcebindings", |binding| {
        marked.extend(mark(&binding));
    })
    .await?;
    Ok(marked)
}

/// The marked bindings on which none of these FederatedHPAs acts. A FederatedHPA acts when it holds a workload, or
/// scales it and is not being deleted.
#[must_use]
pub fn unserved(marked: Vec<Marked>, hpas: &[Value]) -> Vec<Marked> {
    let text = |object: &Value, path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let acts = |one: &Marked, hpa: &Value| {
        let target = ["apiVersion", "kind", "name"].map(|field| text(hpa, &format!("/spec/scaleTargetRef/{field}")));
        let finalizers = hpa.pointer("/metadata/finalizers").and_then(Value::as_array);
        let held = finalizers.is_some_and(|finalizers| finalizers.iter().any(|finalizer| finalizer == FINALIZER));
        text(hpa, "/metadata/namespace") == one.namespace
            && text(hpa, "/spec/mode") != "Centralized"
            && (held && text(hpa, "/metadata/name") == one.owner
                || target == one.workload
                    && hpa.pointer("/spec/suspend") != Some(&Value::Bool(true))
                    && text(hpa, "/metadata/deletionTimestamp").is_empty())
    };
    marked.into_iter().filter(|one| !hpas.iter().any(|hpa| acts(one, hpa))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn marked() -> Marked {
        let workload = ["apps/v1", "Deployment", "web"].map(str::to_owned);
        Marked { namespace: "prod".into(), name: "web-deployment".into(), owner: "web".into(), workload }
    }

    fn hpa(name: &str, target: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "prod"}, "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}}})
    }

    #[test]
    fn a_binding_is_served_by_who_holds_its_workload_or_scales_it() {
        let unserved_with = |hpas: &[Value]| unserved(vec![marked()], hpas).len();
        assert_eq!(unserved_with(&[]), 1);
        assert_eq!(unserved_with(&[hpa("web", "web")]), 0);
        assert_eq!(unserved_with(&[hpa("other", "web")]), 0);
        assert_eq!(unserved_with(&[hpa("web", "shop")]), 1);
        let mut held = hpa("web", "shop");
        held["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io"]);
        assert_eq!(unserved_with(std::slice::from_ref(&held)), 1, "another one's finalizer");
        held["metadata"]["finalizers"] = json!([FINALIZER]);
        assert_eq!(unserved_with(&[held]), 0);
        let mut centralized = hpa("web", "web");
        centralized["spec"]["mode"] = json!("Centralized");
        assert_eq!(unserved_with(&[centralized]), 1);
        let mut suspended = hpa("web", "web");
        suspended["spec"]["suspend"] = json!(true);
        assert_eq!(unserved_with(&[suspended.clone()]), 1, "it takes nothing over");
        suspended["metadata"]["finalizers"] = json!([FINALIZER]);
        assert_eq!(unserved_with(&[suspended]), 0);
        let mut deleted = hpa("web", "web");
        deleted["metadata"]["deletionTimestamp"] = json!("2026-11-20T08:00:00Z");
        assert_eq!(unserved_with(&[deleted]), 1);
    }
}
