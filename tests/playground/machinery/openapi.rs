//! OpenAPI v3 documents: the parts that kubectl uses.

use embedded_apiserver::openapi::{Served, document, fingerprint, index, place};
use serde_json::{Value, json};

fn apps() -> Value {
    let deployments = Served {
        kind: "Deployment",
        resource: "deployments",
        namespaced: true,
        subresources: &["status", "scale"],
        schema: None,
    };
    document("apps", "v1", &[deployments])
}

fn things() -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                  "items": {"type": "object", "properties": {"name": {"type": "string"}}}}}}}});
    let things =
        Served { kind: "Thing", resource: "things", namespaced: false, subresources: &[], schema: Some(&schema) };
    document("t.example.com", "v1", &[things])
}

fn schema<'a>(document: &'a Value, name: &str) -> &'a Value {
    document["components"]["schemas"].get(name).unwrap_or_else(|| panic!("no schema {name}"))
}

/// Every reference in a value.
fn references(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str() {
                    Some(target) if name == "$ref" => out.push(target.to_owned()),
                    _ => references(member, out),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, out)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    for document in [apps(), things()] {
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 10);
        for target in found {
            let name = target.strip_prefix("#/components/schemas/").unwrap();
            schema(&document, name);
        }
    }
}

#[test]
fn kinds_carry_group_version_and_kind() {
    let apps = apps();
    let deployment = schema(&apps, "io.k8s.api.apps.v1.Deployment");
    assert_eq!(
        deployment["x-kubernetes-group-version-kind"],
        json!([{"group": "apps", "kind": "Deployment", "version": "v1"}])
    );
    assert_eq!(
        deployment["properties"]["spec"]["allOf"][0]["$ref"],
        "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec"
    );
    let things = things();
    let thing = schema(&things, "com.example.t.v1.Thing");
    assert_eq!(
        thing["x-kubernetes-group-version-kind"],
        json!([{"group": "t.example.com", "kind": "Thing", "version": "v1"}])
    );
    assert_eq!(thing["properties"]["spec"]["properties"]["items"]["x-kubernetes-list-map-keys"], json!(["name"]));
}

#[test]
fn merge_keys_of_built_in_lists_are_there() {
    let apps = apps();
    let spec = &schema(&apps, "io.k8s.api.core.v1.PodSpec")["properties"];
    assert_eq!(spec["containers"]["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(spec["containers"]["x-kubernetes-patch-strategy"], "merge");
    assert_eq!(spec["volumes"]["x-kubernetes-patch-strategy"], "merge,retainKeys");
    let container = &schema(&apps, "io.k8s.api.core.v1.Container")["properties"];
    assert_eq!(container["ports"]["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
    assert_eq!(container["volumeMounts"]["x-kubernetes-patch-merge-key"], "mountPath");
    let meta = &schema(&apps, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")["properties"];
    assert_eq!(meta["ownerReferences"]["x-kubernetes-patch-merge-key"], "uid");
    assert_eq!(meta["finalizers"]["x-kubernetes-list-type"], "set");
}

#[test]
fn patches_say_which_parameters_and_types_they_take() {
    let named = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    let apps = apps();
    let patch = &apps["paths"][named]["patch"];
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "apps", "kind": "Deployment", "version": "v1"})
    );
    let names: Vec<&str> =
        patch["parameters"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    let strategic = "application/strategic-merge-patch+json";
    assert!(patch["requestBody"]["content"].get(strategic).is_some());
    let things = things();
    let patch = &things["paths"]["/apis/t.example.com/v1/things/{name}"]["patch"];
    assert!(patch["requestBody"]["content"].get(strategic).is_none());
    assert!(patch["requestBody"]["content"].get("application/apply-patch+yaml").is_some());
}

#[test]
fn subresources_and_lists_have_paths() {
    let apps = apps();
    let paths = apps["paths"].as_object().unwrap();
    let keys: Vec<&str> = paths.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "/apis/apps/v1/deployments",
            "/apis/apps/v1/namespaces/{namespace}/deployments",
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status",
        ]
    );
    let scale = &paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["patch"];
    assert_eq!(scale["x-kubernetes-group-version-kind"]["kind"], "Scale");
}

#[test]
fn the_index_changes_with_the_documents() {
    let (apps, things) = (apps(), things());
    let index = index([(place("apps", "v1"), &apps), (place("", "v1"), &things)]);
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
    assert_eq!(url, format!("/openapi/v3/apis/apps/v1?hash={}", fingerprint(&apps)));
    assert!(index["paths"].get("api/v1").is_some());
    assert_ne!(fingerprint(&apps), fingerprint(&things));
}
