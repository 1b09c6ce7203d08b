//! A FederatedHPA and its related objects, read from a control plane. Talks to the API server; reads only.

use std::fmt::Display;

use kube::api::ListParams;
use kube::{Api, Client};

use super::Objects;
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::controller::failure::{Asked, Failure};
use crate::decision::api_version::GROUP;
use crate::decision::names;
use crate::runtime::watch::{MANAGED_BY, OURS};

/// The FederatedHPA; `None` when it does not exist.
///
/// # Errors
/// The API server is unreachable, or rejects the request.
pub async fn federated_hpa(client: &Client, namespace: &str, name: &str) -> Result<Option<FederatedHPA>, Failure> {
    let object = format!("federatedhpas {namespace}/{name}");
    let asked = Asked { verb: "get", group: GROUP, resource: "federatedhpas", object: &object };
    let stored = Api::namespaced(client.clone(), namespace).get_opt(name).await;
    stored.map_err(|error| Failure::of(&error, asked))
}

/// All FederatedHPAs, and what they relate to.
///
/// # Errors
/// The API server is unreachable, or rejects the request.
pub async fn fleet(client: &Client) -> Result<(Vec<FederatedHPA>, Objects), Failure> {
    let everything = ListParams::default();
    let failed = |error: kube::Error, group, resource: &'static str| {
        Failure::of(&error, Asked { verb: "list", group, resource, object: &format!("{resource} in all namespaces") })
    };
    let hpas = Api::<FederatedHPA>::all(client.clone()).list(&everything).await;
    let hpas = hpas.map_err(|error| failed(error, GROUP, "federatedhpas"))?.items;
    let bindings = Api::<ResourceBinding>::all(client.clone()).list(&everything).await;
    let bindings = bindings.map_err(|error| failed(error, "work.karmada.io", "resourcebindings"))?.items;
    let (clusters, works) = members(client).await?;
    Ok((hpas, Objects { bindings, clusters, works }))
}

/// All member clusters, and the Works of fhpa.
async fn members(client: &Client) -> Result<(Vec<Cluster>, Vec<Work>), Failure> {
    let failed = |error: kube::Error, group, resource, object: &(dyn Display + Sync)| {
        Failure::of(&error, Asked { verb: "list", group, resource, object })
    };
    let everything = ListParams::default();
    let clusters = Api::<Cluster>::all(client.clone()).list(&everything).await;
    let clusters = clusters.map_err(|error| failed(error, "cluster.karmada.io", "clusters", &"clusters"))?.items;
    let ours = everything.labels(&format!("{MANAGED_BY}={OURS}"));
    let works = Api::<Work>::all(client.clone()).list(&ours).await;
    let works = works.map_err(|error| failed(error, "work.karmada.io", "works", &"works in all namespaces"))?;
    Ok((clusters, works.items))
}

/// The related objects of `hpa`: the binding of its workload, with those of its namespace where the workload is in a group;
/// all member clusters, and the Works of fhpa.
///
/// # Errors
/// The API server is unreachable, or rejects the request.
pub async fn objects(client: &Client, hpa: &FederatedHPA) -> Result<Objects, Failure> {
    let target = &hpa.spec.scale_target_ref;
    let namespace = hpa.metadata.namespace.as_deref().unwrap_or_default();
    let bindings: Api<ResourceBinding> = Api::namespaced(client.clone(), namespace);
    let name = names::binding(&target.kind, &target.name);
    let (group, resource) = ("work.karmada.io", "resourcebindings");
    let binding = bindings.get_opt(&name).await.map_err(|error| {
        let object = format!("resourcebindings {namespace}/{name}");
        Failure::of(&error, Asked { verb: "get", group, resource, object: &object })
    })?;
    let grouped = binding.as_ref().is_some_and(|binding| binding.spec.workload_affinity_groups.is_some());
    let mut found: Vec<ResourceBinding> = binding.into_iter().collect();
    if grouped {
        let others = bindings.list(&ListParams::default()).await.map_err(|error| {
            let object = format!("resourcebindings in {namespace}");
            Failure::of(&error, Asked { verb: "list", group, resource, object: &object })
        })?;
        found.extend(others.items.into_iter().filter(|other| other.metadata.name.as_deref() != Some(&*name)));
    }
    let (clusters, works) = members(client).await?;
    Ok(Objects { bindings: found, clusters, works })
}
