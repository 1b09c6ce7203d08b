//! A FederatedHPA and what belongs to it, read from a control plane. Talks to the API server; reads only.

use kube::api::ListParams;
use kube::{Api, Client};

use super::Objects;
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::decision::names;
use crate::runtime::watch::{MANAGED_BY, OURS};

/// The FederatedHPA; nothing when there is none.
///
/// # Errors
/// The API server cannot be asked, or refuses.
pub async fn federated_hpa(client: &Client, namespace: &str, name: &str) -> Result<Option<FederatedHPA>, kube::Error> {
    Api::namespaced(client.clone(), namespace).get_opt(name).await
}

/// What belongs to `hpa`: the binding of its workload, all member clusters, our Works.
///
/// # Errors
/// The API server cannot be asked, or refuses.
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
