//! The conformance list: each line runs on the embedded server and, where one is present, on a real kube-apiserver;
//! both must respond as in the recording of a real one.

mod kinds;
mod reads;
mod writes;

use serde_json::{Value, json};

use crate::bed::Answer;

fn config_map(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"a": "1"}})
}

fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1.27", "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "1"}}}]}}}})
}

fn hpa(name: &str) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 5,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 70}}}]}})
}

const CRON: &str = "autoscaling.karmada.io/v1alpha1";

fn cron(name: &str) -> Value {
    json!({"apiVersion": CRON, "kind": "CronFederatedHPA", "metadata": {"name": name}, "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "rules": [{"name": "up", "schedule": "0 8 * * *", "targetReplicas": 3}]}})
}

impl Answer {
    /// For refusals whose words come from a parser of its own.
    fn code_only(mut self) -> Self {
        self.body = json!({"reason": self.body["reason"]});
        self
    }
}
