//! A FederatedHPA and its related objects, read from a control plane. Talks to the API server; reads only.

use kube::api::ListParams;
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use super::Objects;
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::controller::failure::{Asked, Failure};
use crate::controller::pages::pages;
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

/// All FederatedHPAs, and what they relate to, page by page.
///
/// # Errors
/// The API server is unreachable, or rejects the request.
pub async fn fleet(client: &Client) -> Result<(Vec<FederatedHPA>, Objects), Failure> {
    let hpas = list(client, FEDERATED_HPAS, ListParams::default()).await?;
    let bindings = list(client, BINDINGS, ListParams::default()).await?;
    let (clusters, works) = members(client).await?;
    Ok((hpas, Objects { bindings, clusters, works }))
}

/// All member clusters, and the Works of fhpa.
async fn members(client: &Client) -> Result<(Vec<Cluster>, Vec<Work>), Failure> {
    let clusters = list(client, CLUSTERS, ListParams::default()).await?;
    let ours = ListParams::default().labels(&format!("{MANAGED_BY}={OURS}"));
    Ok((clusters, list(client, WORKS, ours).await?))
}

/// A kind that is listed.
#[derive(Clone, Copy)]
struct Kind {
    path: &'static str,
    group: &'static str,
    plural: &'static str,
    /// What is listed, in messages.
    all: &'static str,
}

const FEDERATED_HPAS: Kind = Kind {
    path: "/apis/autoscaling.karmada.io/v1alpha1/federatedhpas",
    group: GROUP,
    plural: "federatedhpas",
    all: "federatedhpas in all namespaces",
};
const BINDINGS: Kind = Kind {
    path: "/apis/work.karmada.io/v1alpha2/resourcebindings",
    group: "work.karmada.io",
    plural: "resourcebindings",
    all: "resourcebindings in all namespaces",
};
const CLUSTERS: Kind = Kind {
    path: "/apis/cluster.karmada.io/v1alpha1/clusters",
    group: "cluster.karmada.io",
    plural: "clusters",
    all: "clusters",
};
const WORKS: Kind = Kind {
    path: "/apis/work.karmada.io/v1alpha1/works",
    group: "work.karmada.io",
    plural: "works",
    all: "works in all namespaces",
};

async fn list<T: DeserializeOwned>(client: &Client, kind: Kind, parameters: ListParams) -> Result<Vec<T>, Failure> {
    let asked = Asked { verb: "list", group: kind.group, resource: kind.plural, object: &kind.all };
    let mut all = Vec::new();
    pages(client, kind.path, parameters, asked, |object| all.push(object)).await?;
    Ok(all)
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
        let path = format!("/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings");
        let object = format!("resourcebindings in {namespace}");
        let asked = Asked { verb: "list", group, resource, object: &object };
        let others = |other: ResourceBinding| {
            found.extend(Some(other).filter(|other| other.metadata.name.as_deref() != Some(&*name)));
        };
        pages(client, &path, ListParams::default(), asked, others).await?;
    }
    let (clusters, works) = members(client).await?;
    Ok(Objects { bindings: found, clusters, works })
}
