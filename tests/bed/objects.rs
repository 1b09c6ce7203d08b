//! Objects that users write.

use serde_json::{Value, json};

/// A Deployment in `prod` whose pods ask for a tenth of a core.
pub fn deployment(name: &str, replicas: i32) -> Value {
    let container =
        json!({"name": "app", "image": "web:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "prod", "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}},
    })
}
