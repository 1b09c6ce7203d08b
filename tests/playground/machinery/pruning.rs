//! Stored objects while another CRD of their kind is served: as on a kube-apiserver.

use serde_json::{Value, json};

use crate::bed::{Bed, brief};

/// Requests until the server has taken in a definition.
const ATTEMPTS: usize = 10_000;

fn definition(group: &str, fields: &[&str]) -> Value {
    let fields: Value = fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": fields}, "status": {"type": "object", "properties": fields}}}}}],
        },
    })
}

struct Kind<'a> {
    bed: &'a Bed,
    group: &'static str,
}

impl<'a> Kind<'a> {
    fn path(&self, rest: &str) -> String {
        self.bed.path(&format!("{}/v1", self.group), &format!("things{rest}"))
    }

    async fn get(&self, name: &str) -> Value {
        let found = self.bed.get(&self.path(&format!("/{name}"))).await.body;
        json!([found["spec"], found["status"], found["metadata"]["generation"]])
    }

    /// Serves these fields from now on; returns once that shows in the object `probe`.
    async fn serve(&self, fields: &[&str]) {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{}", self.group);
        let patch = json!({"spec": {"versions": definition(self.group, fields)["spec"]["versions"]}});
        assert_eq!(self.bed.patch("merge", &path, &patch).await.code, 200);
        for _ in 0..ATTEMPTS {
            let spec = self.bed.get(&self.path("/probe")).await.body["spec"].clone();
            if spec.as_object().is_some_and(|spec| spec.contains_key("b") == fields.contains(&"b")) {
                return;
            }
        }
        panic!("the definition is never served");
    }

    async fn found(bed: &'a Bed, group: &'static str) -> Self {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        assert_eq!(bed.post(path, &definition(group, &["a", "b"])).await.code, 201);
        let kind = Kind { bed, group };
        for _ in 0..ATTEMPTS {
            if bed.get(&kind.path("")).await.code == 200 {
                return kind;
            }
        }
        panic!("the kind is never served");
    }

    async fn create(&self, name: &str) {
        let api_version = format!("{}/v1", self.group);
        let object = json!({"apiVersion": api_version, "kind": "Thing", "metadata": {"name": name, "finalizers": ["example.com/held"]},
            "spec": {"a": "1", "b": "2"}});
        assert_eq!(self.bed.post(&self.path(""), &object).await.code, 201);
        let status = json!({"status": {"a": "3", "b": "4"}});
        assert_eq!(self.bed.patch("merge", &self.path(&format!("/{name}/status")), &status).await.code, 200);
    }
}

/// In the window each object is written in its own way, or not at all.
async fn window(bed: &Bed) -> Value {
    let kind = Kind::found(bed, "pruning.example.com").await;
    let names = ["deleted", "finalizer", "note", "nothing", "probe", "spec", "status", "untouched"];
    for name in names {
        kind.create(name).await;
    }
    kind.serve(&["a"]).await;
    let mut said = vec![json!([kind.get("untouched").await, "read in the window"])];
    let list = bed.get(&kind.path("")).await.body;
    let specs: Vec<Value> = list["items"].as_array().unwrap().iter().map(|item| item["spec"].clone()).collect();
    said.push(json!([specs, "listed in the window"]));
    let told = bed.watch(&kind.path("?watch=true&resourceVersion=0")).await.next(names.len()).await;
    let mut specs: Vec<String> = told
        .iter()
        .map(|event| format!("{} {}", event["object"]["metadata"]["name"], event["object"]["spec"]))
        .collect();
    specs.sort();
    said.push(json!([specs, "watched in the window"]));
    let patches = [
        ("status", "/status/status", json!({"status": {"a": "5"}})),
        ("note", "/note", json!({"metadata": {"annotations": {"note": "x"}}})),
        ("finalizer", "/finalizer", json!({"metadata": {"finalizers": ["example.com/other"]}})),
        ("spec", "/spec", json!({"spec": {"a": "6"}})),
        ("nothing", "/nothing", json!({"spec": {"a": "1"}})),
    ];
    for (what, path, patch) in patches {
        let written = bed.patch("merge", &kind.path(path), &patch).await;
        said.push(json!([what, written.code, written.body["spec"], written.body["metadata"]["generation"]]));
    }
    assert_eq!(bed.delete(&kind.path("/deleted"), &Value::Null).await.code, 200);
    kind.serve(&["a", "b"]).await;
    for name in names {
        said.push(json!([name, kind.get(name).await, "after the window"]));
    }
    json!(said)
}

#[tokio::test]
async fn every_write_while_another_definition_is_served_loses_what_that_does_not_know() {
    Bed::same("reads and writes while another definition is served", "pruning", window).await;
}

/// A watch that began before the window, and one that would go on from there.
async fn watches(bed: &Bed) -> Value {
    let kind = Kind::found(bed, "watches.example.com").await;
    kind.create("probe").await;
    let version = bed.get(&kind.path("")).await.version();
    let path = kind.path(&format!("?watch=true&resourceVersion={version}"));
    let mut watch = bed.watch(&path).await;
    kind.serve(&["a"]).await;
    let ended = watch.next(1).await;
    let again = bed.watch(&path).await.next(1).await;
    // The version that is too old is a number of this server.
    let again: Vec<String> =
        brief(&again).into_iter().map(|line| line.chars().filter(|c| !c.is_ascii_digit()).collect()).collect();
    json!([brief(&ended), again])
}

#[tokio::test]
async fn watches_end_with_the_definition_and_do_not_go_on_from_before() {
    Bed::same("watches over a change of their kind's definition", "watches-end", watches).await;
}
