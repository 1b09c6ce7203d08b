//! Reads the Works of each cluster, and the HPAs of fhpa in its member. Talks to the API servers; reads only.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use serde_json::Value;

use super::kinds::Kinds;
use super::members::MemberApi;
use super::workload::{MemberHpa, StoredHpa, StoredWork};
use super::{Error, Recovery};
use crate::api::{Cluster, Work};
use crate::controller::failure::Failure;
use crate::convert;
use crate::decision::names::execution_space;

/// Clusters that are read at a time.
const CLUSTERS: usize = 8;

/// Namespace and name.
pub(super) type Name = (String, String);

/// One for each cluster that has one, by object.
pub(super) type ByObject<T> = BTreeMap<Name, BTreeMap<String, T>>;

/// All clusters, as they were read.
#[derive(Default)]
pub(super) struct Clusters {
    /// Works with workloads, by binding.
    pub(super) works: ByObject<StoredWork>,
    /// Works with HPAs, by FederatedHPA.
    pub(super) hpas: ByObject<StoredHpa>,
    /// HPAs of fhpa in members, by FederatedHPA.
    pub(super) there: ByObject<MemberHpa>,
    /// The members that are read.
    pub(super) apis: Vec<MemberApi>,
}

/// What was read of one cluster.
#[derive(Default)]
struct Read {
    works: Vec<(Name, StoredWork)>,
    hpas: Vec<(Name, StoredHpa)>,
    there: Vec<(Name, MemberHpa)>,
    api: Option<MemberApi>,
    /// Why its member could not be read.
    unread: Option<String>,
}

fn put<T>(all: &mut ByObject<T>, cluster: &str, found: Vec<(Name, T)>) {
    for (name, one) in found {
        all.entry(name).or_default().insert(cluster.to_owned(), one);
    }
}

impl Recovery {
    /// Reads all clusters: Works of these bindings, and all HPAs of fhpa.
    pub(super) async fn read(
        &self,
        clusters: &[Cluster],
        kinds: &Kinds,
        bindings: &BTreeSet<Name>,
    ) -> Result<Clusters, Error> {
        let named = clusters.iter().filter_map(|cluster| Some((cluster, cluster.metadata.name.clone()?)));
        let reads = futures::stream::iter(named.map(|(cluster, name)| async move {
            let read = self.read_one(&name, self.api(cluster, &name), kinds, bindings).await?;
            Ok::<_, Failure>((name, read))
        }));
        let mut reads = reads.buffer_unordered(CLUSTERS);
        let (mut all, mut unread) = (Clusters::default(), BTreeMap::new());
        while let Some(one) = reads.next().await {
            let (name, read) = one?;
            put(&mut all.works, &name, read.works);
            put(&mut all.hpas, &name, read.hpas);
            put(&mut all.there, &name, read.there);
            all.apis.extend(read.api);
            unread.extend(read.unread.map(|why| (name, why)));
        }
        if unread.is_empty() { Ok(all) } else { Err(Error::Members(unread.into_iter().collect())) }
    }

    /// How a cluster is read; `None`: it is left out.
    fn api(&self, cluster: &Cluster, name: &str) -> Option<MemberApi> {
        if self.without.contains(name) {
            return None;
        }
        let own = self.members.get(name);
        let version = convert::fleet::hpa_version(&cluster.status.kubernetes_version);
        let client = own.unwrap_or(&self.client).clone();
        Some(MemberApi { client, direct: own.is_some(), version, cluster: name.to_owned() })
    }

    async fn read_one(
        &self,
        cluster: &str,
        api: Option<MemberApi>,
        kinds: &Kinds,
        bindings: &BTreeSet<Name>,
    ) -> Result<Read, Failure> {
        let place = format!("work.karmada.io/v1alpha1/namespaces/{}", execution_space(cluster));
        let mut read = Read::default();
        let works = self.list::<Work>(&place, "work.karmada.io", "works", |work| {
            if let Some(hpa) = StoredHpa::of(&work) {
                read.hpas.push(hpa);
            } else {
                read.works.extend(StoredWork::of(&work, kinds).filter(|(binding, _)| bindings.contains(binding)));
            }
        });
        works.await?;
        let Some(api) = api else { return Ok(read) };
        let text = |hpa: &Value, field| hpa.pointer(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let note = |hpa: Value| {
            let name = (text(&hpa, "/metadata/namespace"), text(&hpa, "/metadata/name"));
            read.there.push((name, MemberHpa::of(&hpa)));
        };
        read.unread = api.hpas(note).await.err().map(|failure| failure.to_string());
        read.api = Some(api);
        Ok(read)
    }
}

/// HPAs in members whose FederatedHPA is not in the backup.
pub(super) fn newer(there: &ByObject<MemberHpa>, stored: &BTreeSet<Name>) -> Vec<String> {
    let newer = there.iter().filter(|(name, _)| !stored.contains(*name));
    newer.map(|((namespace, name), clusters)| {
        let clusters: Vec<&str> = clusters.keys().map(String::as_str).collect();
        format!(
            "FederatedHPA {namespace}/{name} is newer than the backup, and its HPAs are in {}: apply its manifest, with those of \
             its workload and policy, before Karmada's controllers start",
            clusters.join(", ")
        )
    })
    .collect()
}
