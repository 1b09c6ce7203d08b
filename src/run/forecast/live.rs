//! A FederatedHPA and its related objects, read from a control plane. Talks to the API server; reads only.

use kube::api::ListParams;
use kube::{Api, Client};

use super::Objects;
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::decision::names;
use crate::runtime::watch::{MANAGED_BY, OURS};

/// The FederatedHPA; `None` when it does not exist.
///
/// # Errors
/// The API server is unreachable, or rejects the request.
pub async fn federated_hpa(client: &Client, namespace: &str, name: &str) -> Result<Option<FederatedHPA>, kube::Error> {
    Api::namespaced(client.clone(), namespace).get_opt(name).await
}

/// The related objects of `hpa`: the binding of its workload, all member clusters, the Works of fhpa.
///
/// # Errors
/// The API server is unreachable, or rejects the request.
pub async fn objects(client: &Client, hpa: &FederatedHPA) -> Result<Objects, kube::Error> {
    let target = &hpa.spec.scale_target_ref;
    let namespace = hpa.metadata.namespace.as_deref().unwrap_or_default();
    let bindings: Api<ResourceBinding> = Api::namespaced(client.clone(), namespace);
    let binding = bindings.get_opt(&names::binding(&target.kind, &target.name)).await?;
    let everything = ListParams::default();
    let clusters = Api::<Cluster>::all(client.clone()).list(&everything).await?.items;
    let ours = everything.labels(&format!("{MANAGED_BY}={OURS}"));
    let works = Api::<Work>::all(client.clone()).list(&ours).await?.items;
    Ok(Objects { bindings: binding.into_iter().collect(), clusters, works })
}
