//! Takes over the HPAs that members have on the workload under another name (docs/design.md#on-the-wire). Talks to the
//! API server.
//!
//! fhpa's own HPA exists beside them by then, and neither scales. The other one is deleted, so that replicas stay.

use kube::api::DeleteParams;
use kube::core::Request;
use kube::core::params::Preconditions;
use serde::de::IgnoredAny;
use tracing::info;

use super::cache::View;
use super::manifest::adopts;
use super::observe::foreign_hpas::{Found, refresh_at_once};
use super::observe::members::proxied;
use super::worker::FederatedHpaWorker;
use crate::controller::failure::{Asked, WriteError};
use crate::controller::request::write;
use crate::decision::backoff::ErrorClass;
use crate::runtime::leader::Leader;

impl FederatedHpaWorker {
    /// Deletes the HPAs that were found, where the object asks for it. One that would be restored is only reported.
    pub(crate) async fn adopt(&self, leader: &Leader, view: &View, found: &[Found]) -> Result<(), WriteError> {
        if !adopts(&view.federated_hpa.object) || view.federated_hpa.suspended() {
            return Ok(());
        }
        for Found { cluster, hpa } in found.iter().filter(|found| found.hpa.owner.is_none()) {
            let key = view.federated_hpa.key();
            let path = format!("/apis/autoscaling/v1/namespaces/{}/horizontalpodautoscalers", key.namespace);
            let preconditions = Preconditions { uid: Some(hpa.uid.clone()), resource_version: None };
            let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            let object = format!("HorizontalPodAutoscaler {}/{} in cluster {cluster}", key.namespace, hpa.name);
            let asked =
                Asked { verb: "delete", group: "cluster.karmada.io", resource: "clusters/proxy", object: &object };
            let request = Request::new(proxied(cluster, &path)).delete(&hpa.name, &parameters);
            match write::<IgnoredAny>(&self.writer.client, leader, request, asked).await {
                Ok(_) => {
                    info!(object = %key, cluster, hpa = hpa.name, "took over an HPA of another name: deleted it");
                    self.reporter.adopted(leader, &view.federated_hpa, cluster, &hpa.name);
                }
                Err(WriteError::Failed(failure))
                    if matches!(failure.class, ErrorClass::Missing | ErrorClass::Conflict) => {}
                Err(error) => return Err(error),
            }
            refresh_at_once(&self.live, view, cluster);
        }
        Ok(())
    }
}
