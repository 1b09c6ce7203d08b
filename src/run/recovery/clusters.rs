//! Reads the Works of each cluster, and the HPAs of fhpa in its member. Talks to the API servers; reads only.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use serde_json::Value;

use super::kinds::Kinds;
use super::members::Way;
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

/// One cluster, as it was read.
#[derive(Default)]
pub(super) struct Read {
    /// Works with workloads, by binding.
    pub(super) works: BTreeMap<Name, StoredWork>,
    /// Works with HPAs, by FederatedHPA.
    pub(super) hpas: BTreeMap<Name, StoredHpa>,
    /// Its member; `None`: it is left out.
    pub(super) member: Option<ReadMember>,
}

/// A member, as it was read.
pub(super) struct ReadMember {
    /// How it is read.
    pub(super) way: Way,
    /// HPAs of fhpa, by FederatedHPA.
    pub(super) hpas: BTreeMap<Name, MemberHpa>,
}

impl Recovery {
    /// Reads all clusters, by name.
    pub(super) async fn read(&self, clusters: &[Cluster], kinds: &Kinds) -> Result<BTreeMap<String, Read>, Error> {
        let named = clusters.iter().filter_map(|cluster| Some((cluster, cluster.metadata.name.clone()?)));
        let reads = futures::stream::iter(named.map(|(cluster, name)| async move {
            let read = self.read_one(&name, self.way(cluster, &name), kinds).await?;
            Ok::<_, Failure>((name, read))
        }));
        let mut reads = reads.buffer_unordered(CLUSTERS);
        let (mut read, mut unread) = (BTreeMap::new(), BTreeMap::new());
        while let Some(one) = reads.next().await {
            let (name, (one, why)) = one?;
            unread.extend(why.map(|why| (name.clone(), why)));
            read.insert(name, one);
        }
        if unread.is_empty() { Ok(read) } else { Err(Error::Members(unread.into_iter().collect())) }
    }

    /// How a cluster is read; `None`: it is left out.
    fn way(&self, cluster: &Cluster, name: &str) -> Option<Way> {
        if self.without.contains(name) {
            return None;
        }
        let own = self.members.get(name);
        let version = convert::fleet::hpa_version(&cluster.status.kubernetes_version);
        let client = own.unwrap_or(&self.client).clone();
        Some(Way { client, direct: own.is_some(), version, cluster: name.to_owned() })
    }

    /// Reads one cluster; with it why its member could not be read.
    async fn read_one(
        &self,
        cluster: &str,
        way: Option<Way>,
        kinds: &Kinds,
    ) -> Result<(Read, Option<String>), Failure> {
        let place = format!("work.karmada.io/v1alpha1/namespaces/{}", execution_space(cluster));
        let mut read = Read::default();
        let works = self.list::<Work>(&place, "work.karmada.io", "works", |work| {
            if let Some((owner, hpa)) = StoredHpa::of(&work) {
                read.hpas.insert(owner, hpa);
            } else if let Some((binding, work)) = StoredWork::of(&work, kinds) {
                read.works.insert(binding, work);
            }
        });
        works.await?;
        let Some(way) = way else { return Ok((read, None)) };
        let mut hpas = BTreeMap::new();
        let text = |hpa: &Value, field| hpa.pointer(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let note = |hpa: Value| {
            let name = (text(&hpa, "/metadata/namespace"), text(&hpa, "/metadata/name"));
            hpas.insert(name, MemberHpa::of(&hpa));
        };
        let why = way.hpas(note).await.err().map(|failure| failure.to_string());
        read.member = Some(ReadMember { way, hpas });
        Ok((read, why))
    }
}

/// HPAs in members whose FederatedHPA is not in the backup.
pub(super) fn newer(read: &BTreeMap<String, Read>, stored: &BTreeSet<Name>) -> Vec<String> {
    let mut clusters: BTreeMap<&Name, Vec<&str>> = BTreeMap::new();
    for (cluster, read) in read {
        let there = read.member.iter().flat_map(|member| member.hpas.keys());
        for name in there.filter(|name| !stored.contains(*name)) {
            clusters.entry(name).or_default().push(cluster);
        }
    }
    let note = |((namespace, name), clusters): (&Name, Vec<&str>)| {
        format!(
            "FederatedHPA {namespace}/{name} is newer than the backup, and its HPAs are in {}: apply its manifest, with those of \
             its workload and policy, before Karmada's controllers start",
            clusters.join(", ")
        )
    };
    clusters.into_iter().map(note).collect()
}
