//! Reads a restored control plane and its members, and plans the corrections. Talks to the API servers; reads only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use kube::api::{GetParams, ListParams};
use kube::core::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::correction::{Correction, corrections};
use super::members::Way;
use super::pages::pages;
use super::workload::{Member, MemberHpa, Scaler, Seen, StoredBinding, StoredHpa, StoredWork, Template, is_duplicated};
use super::{Error, Plan, Recovery};
use crate::api::hpa::CrossVersionObjectReference;
use crate::api::scale::Scale;
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding, Work};
use crate::controller::failure::{Asked, Failure};
use crate::controller::request::send;
use crate::controller::table::Item as _;
use crate::convert;
use crate::decision::api_version::GROUP;
use crate::decision::backoff::ErrorClass;
use crate::decision::defaults::Mode;
use crate::decision::names::{AGENT_LEASES, RETAIN_REPLICAS, execution_space};
use crate::decision::related_objects::Target;
use crate::reconcile::federated_hpa::cache::entry::{Binding, FederatedHpaEntry};
use crate::reconcile::federated_hpa::names;
use crate::reconcile::scale_target::{ResourcePath, TargetRef, Targets};
use crate::runtime::lease_activity::LeaseLocation;

/// Clusters that are read at a time.
const CLUSTERS: usize = 8;
/// Workloads that are read at a time.
const WORKLOADS: usize = 8;
/// Members of a workload that are read at a time.
const MEMBERS: usize = 8;

/// A workload with corrections.
pub(super) struct Subject {
    /// The object that scales it, for messages.
    pub(super) object: String,
    /// The workload.
    pub(super) reference: CrossVersionObjectReference,
    /// Its namespace.
    pub(super) namespace: String,
    /// Path of the objects of its kind.
    pub(super) place: ResourcePath,
    /// What was read.
    pub(super) seen: Seen,
    /// Its corrections.
    pub(super) corrections: Vec<Correction>,
}

/// A workload that fhpa scales.
struct Scaled {
    object: String,
    reference: CrossVersionObjectReference,
    namespace: String,
    scaler: Scaler,
}

/// Namespace and name.
type Name = (String, String);

/// What was read of one cluster.
#[derive(Default)]
struct Read {
    /// Works with workloads, by binding.
    works: BTreeMap<Name, StoredWork>,
    /// Works with HPAs, by FederatedHPA.
    hpas: BTreeMap<Name, StoredHpa>,
    /// HPAs of fhpa in the member, by FederatedHPA; `None`: the member is not read.
    there: Option<BTreeMap<Name, Value>>,
}

impl Recovery {
    async fn list<T: DeserializeOwned>(&self, place: &str, group: &str, plural: &str) -> Result<Vec<T>, Failure> {
        let asked = Asked { verb: "list", group, resource: plural, object: &plural };
        pages(&self.client, &format!("/apis/{place}/{plural}"), ListParams::default(), asked).await
    }

    async fn clusters(&self) -> Result<Vec<Cluster>, Failure> {
        self.list("cluster.karmada.io/v1alpha1", "cluster.karmada.io", "clusters").await
    }

    /// The Leases of karmada-agents. Those of clusters that are left out do not matter.
    pub(super) async fn agents(&self) -> Result<Vec<LeaseLocation>, Failure> {
        let pulls = self.clusters().await?.into_iter().filter(|cluster| cluster.spec.sync_mode == "Pull");
        let names = pulls.filter_map(|cluster| cluster.metadata.name).filter(|name| !self.without.contains(name));
        Ok(names.map(|name| LeaseLocation { namespace: AGENT_LEASES.to_owned(), name }).collect())
    }

    /// Plans all corrections. Nothing is written.
    ///
    /// # Errors
    /// The control plane or a member that is not left out could not be read.
    pub async fn plan(&self) -> Result<Plan, Error> {
        let clusters = self.clusters().await?;
        let (scaled, stored) = self.scaled().await?;
        let bindings: Vec<ResourceBinding> =
            self.list("work.karmada.io/v1alpha2", "work.karmada.io", "resourcebindings").await?;
        let bindings: BTreeMap<Target, ResourceBinding> =
            bindings.into_iter().filter_map(|binding| Some((Binding::of(&binding).about()?, binding))).collect();

        let ways: Vec<Way> = clusters.iter().filter_map(|cluster| self.way(cluster)).collect();
        let named = clusters.iter().filter_map(|cluster| cluster.metadata.name.clone());
        let reads = futures::stream::iter(named.map(|name| async {
            let way = ways.iter().find(|way| way.cluster == name);
            let read = self.read(&name, way).await?;
            Ok::<_, Failure>((name, read))
        }));
        let reads: Vec<Result<_, Failure>> = reads.buffer_unordered(CLUSTERS).collect().await;
        let (mut read, mut unread) = (BTreeMap::new(), BTreeMap::new());
        for one in reads {
            let (name, (one, why)) = one?;
            unread.extend(why.map(|why| (name.clone(), why)));
            read.insert(name, one);
        }
        let mut notes = unknown(&read, &stored);
        if !unread.is_empty() {
            return Err(Error::Members(unread.into_iter().collect()));
        }

        let targets = Arc::new(Targets::new(self.client.clone()));
        let workloads = scaled.len();
        let surveyed = futures::stream::iter(scaled.into_values().map(|(target, one)| {
            let binding = bindings.get(&target);
            self.survey(one, binding, &read, &ways, &targets)
        }));
        let surveyed: Vec<Result<Surveyed, Error>> = surveyed.buffered(WORKLOADS).collect().await;
        let (mut subjects, mut unread) = (Vec::new(), BTreeMap::new());
        for one in surveyed {
            match one {
                Ok(Surveyed::Corrected(subject)) => subjects.push(*subject),
                Ok(Surveyed::Fine) => {}
                Ok(Surveyed::Noted(note)) => notes.push(note),
                Err(Error::Members(all)) => unread.extend(all),
                Err(error) => return Err(error),
            }
        }
        if !unread.is_empty() {
            return Err(Error::Members(unread.into_iter().collect()));
        }
        let versions = ways.iter().map(|way| (way.cluster.clone(), way.version)).collect();
        Ok(Plan { subjects, versions, workloads, clusters: ways.len(), notes })
    }

    /// How a cluster is read; `None`: it is left out.
    fn way(&self, cluster: &Cluster) -> Option<Way> {
        let name = cluster.metadata.name.clone().filter(|name| !self.without.contains(name))?;
        let own = self.members.get(&name);
        let version = convert::fleet::hpa_version(&cluster.status.kubernetes_version);
        let client = own.unwrap_or(&self.client).clone();
        Some(Way { client, direct: own.is_some(), version, cluster: name })
    }

    /// The workloads that fhpa scales, by the object that scales them, and the names of all FederatedHPAs.
    async fn scaled(&self) -> Result<(BTreeMap<String, (Target, Scaled)>, BTreeSet<Name>), Failure> {
        let place = format!("{GROUP}/v1alpha1");
        let (mut workloads, mut stored, mut targets) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        for hpa in self.list::<FederatedHPA>(&place, GROUP, "federatedhpas").await? {
            let hpa = FederatedHpaEntry::of(&hpa);
            let key = hpa.key();
            stored.insert((key.namespace.to_string(), key.name.to_string()));
            let object = format!("FederatedHPA {key}");
            let taken = hpa.object.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(names::WORKLOAD));
            let (reference, target) = (hpa.taken_over.clone(), hpa.taken_over_target());
            let scaler = match hpa.mode() {
                Some(Mode::Centralized) if !taken => Scaler::Whole,
                _ => Scaler::Distributed { hpa: Box::new(hpa), taken },
            };
            if targets.insert(target.clone()) {
                let namespace = key.namespace.to_string();
                workloads.insert(object.clone(), (target, Scaled { object, reference, namespace, scaler }));
            }
        }
        for cron in self.list::<CronFederatedHPA>(&place, GROUP, "cronfederatedhpas").await? {
            let reference = cron.spec.scale_target_ref;
            let group = reference.api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
            let namespace = cron.metadata.namespace.unwrap_or_default();
            let object = format!("CronFederatedHPA {namespace}/{}", cron.metadata.name.unwrap_or_default());
            let (kind, name) = (reference.kind.clone(), reference.name.clone());
            let target = Target { namespace: namespace.clone(), group, kind, name };
            if target.group != GROUP && targets.insert(target.clone()) {
                let one = Scaled { object: object.clone(), reference, namespace, scaler: Scaler::Whole };
                workloads.insert(object, (target, one));
            }
        }
        Ok((workloads, stored))
    }

    /// Reads the Works of a cluster, and the HPAs of its member; with it why the member could not be read.
    async fn read(&self, cluster: &str, way: Option<&Way>) -> Result<(Read, Option<String>), Failure> {
        let place = format!("work.karmada.io/v1alpha1/namespaces/{}", execution_space(cluster));
        let mut read = Read::default();
        for work in self.list::<Work>(&place, "work.karmada.io", "works").await? {
            if let Some((owner, hpa)) = StoredHpa::of(&work) {
                read.hpas.insert(owner, hpa);
            } else if let Some((binding, work)) = StoredWork::of(&work) {
                read.works.insert(binding, work);
            }
        }
        let Some(way) = way else { return Ok((read, None)) };
        match way.hpas().await {
            Ok(hpas) => {
                let text =
                    |hpa: &Value, field| hpa.pointer(field).and_then(Value::as_str).unwrap_or_default().to_owned();
                let named = |hpa: Value| ((text(&hpa, "/metadata/namespace"), text(&hpa, "/metadata/name")), hpa);
                read.there = Some(hpas.into_iter().map(named).collect());
                Ok((read, None))
            }
            Err(failure) => Ok((read, Some(failure.to_string()))),
        }
    }
}

/// HPAs in members whose FederatedHPA is not in the backup.
fn unknown(read: &BTreeMap<String, Read>, stored: &BTreeSet<Name>) -> Vec<String> {
    let mut clusters: BTreeMap<&Name, Vec<&str>> = BTreeMap::new();
    for (cluster, read) in read {
        for name in read.there.iter().flat_map(BTreeMap::keys).filter(|name| !stored.contains(*name)) {
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

/// Result for a workload.
enum Surveyed {
    Fine,
    Corrected(Box<Subject>),
    /// Why nothing is corrected.
    Noted(String),
}

impl Recovery {
    async fn survey(
        &self,
        scaled: Scaled,
        binding: Option<&ResourceBinding>,
        read: &BTreeMap<String, Read>,
        ways: &[Way],
        targets: &Targets,
    ) -> Result<Surveyed, Error> {
        let Scaled { object, reference, namespace, scaler } = scaled;
        let Some(binding) = binding else { return Ok(Surveyed::Fine) };
        let CrossVersionObjectReference { api_version, kind, name } = &reference;
        let target = TargetRef { namespace: &namespace, api_version, kind, name };
        let place = match targets.place(&target).await {
            Ok(place) => place,
            Err(failure) if failure.class == ErrorClass::Transient => return Err(failure.into()),
            Err(failure) => return Ok(Surveyed::Noted(format!("{object} is left as it is: {failure}"))),
        };
        let Some(template) = self.template(&place, &target).await? else { return Ok(Surveyed::Fine) };
        let duplicated = match &scaler {
            Scaler::Distributed { hpa, .. } => {
                let own = hpa.object.spec.federated_hpa_assignment.as_ref();
                let own = own.map(|own| own.federated_hpa_assignment_type.as_str()).filter(|own| !own.is_empty());
                own.map_or_else(|| is_duplicated(binding), |own| own == "Duplicated")
            }
            Scaler::Whole => is_duplicated(binding),
        };
        let own = (namespace.clone(), binding.metadata.name.clone().unwrap_or_default());
        let (hpa_name, user_holds) = match &scaler {
            Scaler::Distributed { hpa, .. } => {
                let behavior = hpa.object.spec.behavior.as_ref().and_then(|behavior| behavior.scale_down.as_ref());
                let holds = behavior.is_some_and(|rules| rules.select_policy.as_deref() == Some("Disabled"));
                let key = hpa.key();
                (Some((key.namespace.to_string(), key.name.to_string())), holds)
            }
            Scaler::Whole => (None, false),
        };
        let of_hpa = |read: &'_ Read| hpa_name.as_ref().and_then(|name| read.there.as_ref()?.get(name).cloned());
        let hpas = read
            .iter()
            .filter_map(|(cluster, read)| Some((cluster.clone(), read.hpas.get(hpa_name.as_ref()?)?.clone())));
        let hpas: BTreeMap<String, StoredHpa> = hpas.collect();
        let works = read.iter().filter_map(|(cluster, read)| Some((cluster.clone(), read.works.get(&own)?.clone())));
        let works: BTreeMap<String, StoredWork> = works.collect();
        let stored = StoredBinding::of(binding);

        let looks = futures::stream::iter(ways.iter().map(|way| async {
            let replicas = way.replicas(&place.path, name).await.map_err(|failure| (way.cluster.clone(), failure))?;
            let hpa = read.get(&way.cluster).and_then(of_hpa).map(|hpa| MemberHpa::of(&hpa, user_holds));
            Ok((way.cluster.clone(), Member { replicas, hpa }))
        }));
        let looks: Vec<Result<_, (String, Failure)>> = looks.buffer_unordered(MEMBERS).collect().await;
        let (mut members, mut unread) = (BTreeMap::new(), Vec::new());
        for look in looks {
            match look {
                Ok((cluster, member)) => drop(members.insert(cluster, member)),
                Err((cluster, failure)) => unread.push((cluster, failure.to_string())),
            }
        }
        if !unread.is_empty() {
            return Err(Error::Members(unread));
        }
        let seen = Seen { scaler, template, binding: stored, duplicated, works, hpas, members };
        let corrections = corrections(&seen);
        if corrections.is_empty() {
            return Ok(Surveyed::Fine);
        }
        Ok(Surveyed::Corrected(Box::new(Subject { object, reference, namespace, place, seen, corrections })))
    }

    /// The template; `None` where there is none.
    async fn template(&self, place: &ResourcePath, target: &TargetRef<'_>) -> Result<Option<Template>, Failure> {
        #[derive(Deserialize)]
        struct Meta {
            metadata: kube::core::ObjectMeta,
        }
        let asked = Asked { verb: "get", group: &place.group, resource: &place.plural, object: target };
        let requests = Request::new(&place.path);
        let found = send::<Meta>(&self.client, requests.get_metadata(target.name, &GetParams::default()), asked).await;
        let metadata = match found {
            Ok(found) => found.metadata,
            Err(failure) if failure.class == ErrorClass::Missing => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let scale: Scale = send(&self.client, requests.get_subresource("scale", target.name), asked).await?;
        Ok(Some(Template {
            uid: metadata.uid.unwrap_or_default(),
            version: scale.metadata.resource_version.or(metadata.resource_version).unwrap_or_default(),
            retained: metadata.labels.is_some_and(|labels| labels.get(RETAIN_REPLICAS).is_some_and(|on| on == "true")),
            replicas: scale.spec.replicas,
        }))
    }
}
