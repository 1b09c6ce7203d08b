//! Whose a Work is (docs/design.md#law-11-stay-in-its-lane). No I/O.
//!
//! Karmada names a Work by the name of what is in it and a hash of 32 bits: for the objects of one namespace another
//! namespace is found in a second whose objects of the same kind and name have the same. So a name alone says nothing.
//! A Work is that of the FederatedHPA whose name it bears, as long as it holds the HPA of that one: Karmada writes into
//! a Work that has the name for an object of its own, whoever has made it. And only in the namespace of a cluster: users
//! may be allowed to make Works in their own.

use kube::core::ObjectMeta;
use serde_json::Value;

use super::names;
use crate::decision::names::EXECUTION_SPACE;

/// Namespace and name of a FederatedHPA, which are those of its HPAs.
pub type Name<'a> = (&'a str, &'a str);

/// Whose a Work is whose name a FederatedHPA would give its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// That of the FederatedHPA.
    Own,
    /// Karmada's, for an HPA of the namespace and name of the FederatedHPA.
    Propagated,
    /// That of another object.
    Another,
}

/// The FederatedHPA of a Work that holds `manifest`. One that lost its owner has that of its HPA, where fhpa wrote it.
#[must_use]
pub fn owner<'a>(metadata: &'a ObjectMeta, manifest: &'a Value) -> Option<Name<'a>> {
    if !metadata.namespace.as_ref().is_some_and(|namespace| namespace.starts_with(EXECUTION_SPACE)) {
        return None;
    }
    match borne(metadata) {
        Some(owner) => (!holds_another(manifest, owner)).then_some(owner),
        None => held(manifest).filter(|_| is_written(metadata, manifest)),
    }
}

/// Whose a Work is, seen from the FederatedHPA `name` with this uid.
#[must_use]
pub fn whose(metadata: &ObjectMeta, manifest: &Value, name: Name<'_>, uid: &str) -> Whose {
    if holds_another(manifest, name) || borne(metadata).is_some_and(|owner| owner != name) {
        return Whose::Another;
    }
    let marked = label(metadata, names::OWNER_UID).is_some_and(|known| known == uid && !uid.is_empty());
    if borne(metadata).is_some() || marked || is_written(metadata, manifest) {
        return Whose::Own;
    }
    if held(manifest).is_some() { Whose::Propagated } else { Whose::Another }
}

/// Whether fhpa wrote what is in a Work: a user can copy its marks into an HPA of his own, which Karmada propagates.
fn is_written(metadata: &ObjectMeta, manifest: &Value) -> bool {
    let annotations = manifest.pointer("/metadata/annotations");
    let marked = annotations.and_then(|all| all.get(names::WRITE_ID)).and_then(Value::as_str);
    marked.is_some_and(|mark| !mark.is_empty()) && label(metadata, names::BINDING_ID).is_none()
}

fn borne(metadata: &ObjectMeta) -> Option<Name<'_>> {
    metadata.annotations.as_ref()?.get(names::OWNER)?.split_once('/')
}

fn label<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(name).map(String::as_str)
}

fn text<'a>(manifest: &'a Value, path: &str) -> Option<&'a str> {
    manifest.pointer(path).and_then(Value::as_str)
}

/// Namespace and name of the HPA in a Work.
fn held(manifest: &Value) -> Option<Name<'_>> {
    let name = text(manifest, "/metadata/namespace").zip(text(manifest, "/metadata/name"));
    name.filter(|_| text(manifest, "/kind") == Some("HorizontalPodAutoscaler"))
}

/// Whether a Work holds something that is not the HPA of that FederatedHPA.
fn holds_another(manifest: &Value, (namespace, name): Name<'_>) -> bool {
    let wanted = [("/kind", "HorizontalPodAutoscaler"), ("/metadata/namespace", namespace), ("/metadata/name", name)];
    wanted.into_iter().any(|(path, wanted)| text(manifest, path).is_some_and(|found| found != wanted))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(labels: &Value, annotations: &Value) -> ObjectMeta {
        let namespace = "karmada-es-member1";
        serde_json::from_value(json!({"namespace": namespace, "labels": labels, "annotations": annotations})).unwrap()
    }

    fn unmarked() -> ObjectMeta {
        metadata(&json!({}), &json!({}))
    }

    fn hpa(namespace: &str, mark: Option<&str>) -> Value {
        json!({"kind": "HorizontalPodAutoscaler", "metadata": {"namespace": namespace, "name": "web",
            "annotations": mark.map(|mark| json!({names::WRITE_ID: mark}))}})
    }

    const PROD: Name<'_> = ("prod", "web");

    #[test]
    fn a_work_is_that_of_whose_name_it_bears_while_it_holds_its_hpa() {
        let bears = |owner: &str| metadata(&json!({}), &json!({names::OWNER: owner}));
        let deployment = json!({"kind": "Deployment", "metadata": {"namespace": "prod", "name": "web"}});
        for (metadata, manifest, expected, seen) in [
            (bears("prod/web"), hpa("prod", Some("1")), Some(PROD), Whose::Own),
            (bears("prod/web"), json!({}), Some(PROD), Whose::Own),
            (bears("prod/web"), hpa("team", Some("1")), None, Whose::Another),
            (bears("prod/web"), deployment, None, Whose::Another),
            (bears("team/web"), hpa("team", Some("1")), Some(("team", "web")), Whose::Another),
            (bears("team/web"), hpa("prod", Some("1")), None, Whose::Another),
        ] {
            assert_eq!(owner(&metadata, &manifest), expected, "{metadata:?} {manifest}");
            assert_eq!(whose(&metadata, &manifest, PROD, "u"), seen, "{metadata:?} {manifest}");
        }
    }

    #[test]
    fn a_work_in_a_namespace_of_users_is_that_of_no_federated_hpa() {
        let bears = metadata(&json!({}), &json!({names::OWNER: "prod/web"}));
        let in_theirs = |metadata: ObjectMeta| ObjectMeta { namespace: Some("team".to_owned()), ..metadata };
        assert_eq!(owner(&in_theirs(bears), &hpa("prod", Some("1"))), None);
        assert_eq!(owner(&in_theirs(unmarked()), &hpa("prod", Some("1"))), None);
    }

    #[test]
    fn a_work_without_an_owner_is_that_of_its_hpa_where_fhpa_wrote_it() {
        let propagated = metadata(&json!({names::BINDING_ID: "b"}), &json!({}));
        for (metadata, manifest, expected, seen) in [
            (unmarked(), hpa("prod", Some("1")), Some(PROD), Whose::Own),
            (unmarked(), hpa("prod", None), None, Whose::Propagated),
            (propagated.clone(), hpa("prod", Some("1")), None, Whose::Propagated),
            (propagated, hpa("team", Some("1")), None, Whose::Another),
            (metadata(&json!({names::OWNER_UID: "u"}), &json!({})), hpa("prod", None), None, Whose::Own),
            (metadata(&json!({names::OWNER_UID: ""}), &json!({})), hpa("prod", None), None, Whose::Propagated),
            (unmarked(), hpa("team", Some("1")), Some(("team", "web")), Whose::Another),
            (unmarked(), json!({}), None, Whose::Another),
        ] {
            assert_eq!(owner(&metadata, &manifest), expected, "{metadata:?} {manifest}");
            assert_eq!(whose(&metadata, &manifest, PROD, "u"), seen, "{metadata:?} {manifest}");
        }
    }
}
