//! Reads of members: through the cluster proxy, or with a client of their own. Talks to the API servers of members;
//! reads only.

use kube::Client;
use kube::api::ListParams;
use kube::core::Request;
use serde_json::Value;

use crate::api::scale::Scale;
use crate::controller::failure::{Asked, Failure};
use crate::controller::pages::pages;
use crate::controller::request::send;
use crate::decision::backoff::ErrorClass;
use crate::decision::plan::HpaVersion;
use crate::reconcile::federated_hpa::manifest::hpa_version;
use crate::reconcile::federated_hpa::observe::members::proxied;
use crate::runtime::watch::{MANAGED_BY, OURS};

/// Access to one member.
#[derive(Clone)]
pub(super) struct MemberApi {
    /// Name of the cluster.
    pub(super) cluster: String,
    /// Client of the member, or of the control plane.
    pub(super) client: Client,
    /// Whether `client` is that of the member.
    pub(super) direct: bool,
    /// The API version of its HPAs.
    pub(super) version: HpaVersion,
}

impl MemberApi {
    fn path(&self, path: &str) -> String {
        if self.direct { path.to_owned() } else { proxied(&self.cluster, path) }
    }

    /// Reads all HPAs of fhpa.
    ///
    /// # Errors
    /// When the member, or the cluster proxy, rejects the request or is unreachable.
    pub(super) async fn hpas(&self, each: impl FnMut(Value)) -> Result<(), Failure> {
        let path = self.path(&format!("/apis/autoscaling/{}/horizontalpodautoscalers", hpa_version(self.version)));
        let ours = ListParams::default().labels(&format!("{MANAGED_BY}={OURS}"));
        let object = format!("HPAs of fhpa in cluster {}", self.cluster);
        let asked = Asked { verb: "list", group: "autoscaling", resource: "horizontalpodautoscalers", object: &object };
        pages(&self.client, &path, ours, asked, each).await
    }

    /// The replicas that a workload is asked for; `None` where the member does not have it. `path` is that of the
    /// objects of its kind.
    ///
    /// # Errors
    /// As [`Self::hpas`].
    pub(super) async fn replicas(&self, path: &str, name: &str) -> Result<Option<u32>, Failure> {
        let object = format!("{name} in cluster {}", self.cluster);
        let asked = Asked { verb: "get", group: "cluster.karmada.io", resource: "clusters/proxy", object: &object };
        let request = Request::new(self.path(path)).get_subresource("scale", name);
        match send::<Scale>(&self.client, request, asked).await {
            Ok(scale) => Ok(Some(u32::try_from(scale.spec.replicas.unwrap_or_default()).unwrap_or_default())),
            Err(failure) if failure.class == ErrorClass::Missing => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}
