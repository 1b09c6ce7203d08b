//! The metrics server of a member cluster: `metrics.k8s.io` for its pods, from the simulated load. Client required.

use std::sync::Arc;

use embedded_apiserver::Aggregated;
use embedded_apiserver::status::StatusError;
use futures::FutureExt as _;
use serde_json::{Value, json};

use super::autoscaler::usage;
use super::{Member, pods};
use crate::decision::quantity::from_milli;
use crate::playground::clock::rfc3339;
use crate::playground::json::{items, name, namespace, text};

/// The responses of the member for the group `metrics.k8s.io`.
#[must_use]
pub fn metrics_api(member: &Arc<Member>) -> Aggregated {
    let member = Arc::downgrade(member);
    Arc::new(move |path: &str| {
        let (member, path) = (member.upgrade(), path.to_owned());
        async move {
            let gone = || {
                StatusError::plain(503, "ServiceUnavailable", "the server is currently unable to handle the request")
            };
            let member = member.ok_or_else(gone)?;
            if member.metrics_gone() {
                return Err(gone());
            }
            let ["apis", "metrics.k8s.io", "v1beta1", "namespaces", space, "pods"] =
                path.trim_matches('/').split('/').collect::<Vec<_>>()[..]
            else {
                return Err(StatusError::no_such_resource());
            };
            let items = member.usages(space).await.map_err(|_| gone())?;
            Ok(json!({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}))
        }
        .boxed()
    })
}

impl Member {
    /// `PodMetrics` of the running pods.
    async fn usages(&self, space: &str) -> Result<Vec<Value>, kube::Error> {
        let pods = self.objects.list(&self.kinds.pod, space).await?;
        let running = pods.iter().filter(|pod| text(pod, "/status/phase") == "Running");
        Ok(running.map(|pod| self.pod_metrics(pod)).collect())
    }

    fn pod_metrics(&self, pod: &Value) -> Value {
        let owner = pods::owner(pod).map_or("", |(_, owner)| owner);
        let share = self.load.share(namespace(pod), owner);
        let containers = items(pod, "/spec/containers");
        let number = i64::try_from(containers.len()).unwrap_or(i64::MAX).max(1);
        let containers: Vec<Value> = containers
            .iter()
            .map(|container| {
                let cpu = usage(pod, Some(name_of(container)), "cpu", share);
                let memory = usage(pod, None, "memory", share).checked_div(number).unwrap_or_default();
                json!({"name": name_of(container), "usage": {"cpu": from_milli(cpu), "memory": from_milli(memory)}})
            })
            .collect();
        json!({
            "metadata": {"name": name(pod), "namespace": namespace(pod)}, "timestamp": rfc3339(self.clock.now()),
            "window": format!("{}s", self.timing.metrics_window.as_secs()), "containers": containers,
        })
    }
}

fn name_of(container: &Value) -> &str {
    text(container, "/name")
}
