//! Reads a restored control plane and its members, and plans the corrections. Talks to the API servers; reads only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use kube::api::{GetParams, ListParams};
use kube::core::{PartialObjectMeta, Request};
use serde::de::DeserializeOwned;

use super::clusters::{Clusters, Name, newer};
use super::correction::{Correction, Uncorrected, corrections, uncorrected};
use super::members::MemberApi;
use super::workload::{Member, MemberHpa, Scaler, StoredBinding, StoredHpa, StoredWork, SurveyedWorkload, Template};
use super::{Error, Plan, Recovery};
use crate::api::hpa::CrossVersionObjectReference;
use crate::api::scale::Scale;
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding};
use crate::controller::failure::{Asked, Failure};
use crate::controller::pages::pages;
use crate::controller::request::send;
use crate::controller::table::Item as _;
use crate::convert;
use crate::decision::api_version::GROUP;
use crate::decision::backoff::ErrorClass;
use crate::decision::defaults::Mode;
use crate::decision::kinds::CORE_GROUP;
use crate::decision::names::{AGENT_LEASES, RETAIN_REPLICAS};
use crate::decision::related_objects::Target;
use crate::reconcile::federated_hpa::cache::entry::{Binding, FederatedHpaEntry};
use crate::reconcile::scale_target::{ResourcePath, TargetRef, Targets};
use crate::runtime::leader::activity::LeaseLocation;

/// Reads of workloads in members at a time.
const READS: usize = 64;
/// Members of a workload that are read at a time.
const MEMBERS: usize = 8;

/// A workload with corrections.
pub(super) struct CorrectedWorkload {
    /// The object that scales it, for messages.
    pub(super) object: String,
    /// The workload.
    pub(super) reference: CrossVersionObjectReference,
    /// Its namespace.
    pub(super) namespace: String,
    /// Path of the objects of its kind.
    pub(super) place: ResourcePath,
    /// What was read.
    pub(super) seen: SurveyedWorkload,
    /// Its corrections.
    pub(super) corrections: Vec<Correction>,
}

/// A workload that fhpa scales.
struct Scaled {
    object: String,
    reference: CrossVersionObjectReference,
    namespace: String,
    scaler: Scaler,
    target: Target,
}

impl Scaled {
    /// The workload.
    fn target(&self) -> TargetRef<'_> {
        let CrossVersionObjectReference { api_version, kind, name } = &self.reference;
        TargetRef { namespace: &self.namespace, api_version, kind, name }
    }
}

impl Recovery {
    /// Reads all objects of a kind.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        place: &str,
        group: &str,
        plural: &str,
        each: impl FnMut(T),
    ) -> Result<(), Failure> {
        let asked = Asked { verb: "list", group, resource: plural, object: &plural };
        pages(&self.client, &format!("/apis/{place}/{plural}"), ListParams::default(), asked, each).await
    }

    async fn clusters(&self) -> Result<Vec<Cluster>, Failure> {
        let mut clusters = Vec::new();
        let each = |cluster| clusters.push(cluster);
        self.list("cluster.karmada.io/v1alpha1", "cluster.karmada.io", "clusters", each).await?;
        Ok(clusters)
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
    /// The control plane or a member that is not left out could not be read, or a name is that of no cluster.
    pub async fn plan(&self) -> Result<Plan, Error> {
        let clusters = self.clusters().await?;
        let known: BTreeSet<&String> = clusters.iter().filter_map(|cluster| cluster.metadata.name.as_ref()).collect();
        let named = self.without.iter().chain(self.members.keys());
        let unknown: BTreeSet<&String> = named.filter(|name| !known.contains(name)).collect();
        if !unknown.is_empty() {
            return Err(Error::Unknown(unknown.into_iter().cloned().collect()));
        }
        let (scaled, stored) = self.scaled().await?;
        let targets = Arc::new(Targets::new(self.client.clone()));
        let kinds = self.kinds(scaled.iter().map(Scaled::target), &targets).await?;
        let mut bindings = self.bindings(&scaled).await?;
        let own = bindings.iter().map(|(target, binding)| (target.namespace.clone(), binding.name.clone())).collect();
        let mut read = self.read(&clusters, &kinds, &own).await?;
        let leaves = |name| format!("{name} is not read: what the backup says of it is applied there");
        let mut notes: Vec<String> = self.without.iter().map(leaves).collect();
        notes.extend(newer(&read.there, &stored));

        let (workloads, apis) = (scaled.len(), std::mem::take(&mut read.apis));
        let surveyed = futures::stream::iter(scaled.into_iter().map(|one| {
            let stored = bindings.remove(&one.target).map(|binding| Stored::take(&mut read, &one, binding));
            self.survey(one, stored, &apis, &targets)
        }));
        let at_a_time = READS.checked_div(apis.len().min(MEMBERS)).unwrap_or(READS);
        let mut surveyed = surveyed.buffered(at_a_time);
        let (mut subjects, mut left) = (Vec::new(), Vec::new());
        while let Some(one) = surveyed.next().await {
            // A member that fails now would do so for every workload.
            let Surveyed { subject, left: why } = one?;
            subjects.extend(subject);
            left.extend(why);
        }
        drop(surveyed);
        let (clusters, named) = (apis.len(), apis.into_iter().map(|api| (api.cluster, api.version)));
        Ok(Plan { subjects, clusters, versions: named.collect(), workloads, notes, left })
    }

    /// The ResourceBindings of these workloads.
    async fn bindings(&self, scaled: &[Scaled]) -> Result<BTreeMap<Target, StoredBinding>, Failure> {
        let targets: BTreeSet<&Target> = scaled.iter().map(|one| &one.target).collect();
        let mut bindings = BTreeMap::new();
        let each = |binding: ResourceBinding| {
            if let Some(target) = Binding::of(&binding).about().filter(|target| targets.contains(target)) {
                bindings.insert(target, StoredBinding::of(&binding));
            }
        };
        self.list("work.karmada.io/v1alpha2", "work.karmada.io", "resourcebindings", each).await?;
        Ok(bindings)
    }

    /// The workloads that fhpa scales, in the order of the objects that scale them, and the names of all FederatedHPAs.
    async fn scaled(&self) -> Result<(Vec<Scaled>, BTreeSet<Name>), Failure> {
        let place = format!("{GROUP}/v1alpha1");
        let (mut workloads, mut stored, mut targets) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let each = |hpa: FederatedHPA| {
            let taken = convert::taken_over(&hpa).is_some();
            let hpa = FederatedHpaEntry::of(&hpa);
            let key = hpa.key();
            stored.insert((key.namespace.to_string(), key.name.to_string()));
            let object = format!("FederatedHPA {key}");
            let (reference, target) = (hpa.taken_over.clone(), hpa.taken_over_target());
            let namespace = key.namespace.to_string();
            let scaler = match hpa.mode() {
                Some(Mode::Centralized) if !taken => Scaler::Whole,
                _ => Scaler::Distributed { hpa: Box::new(hpa), taken },
            };
            if targets.insert(target.clone()) {
                workloads.insert(object.clone(), Scaled { object, reference, namespace, scaler, target });
            }
        };
        self.list(&place, GROUP, "federatedhpas", each).await?;
        let each = |cron: CronFederatedHPA| {
            let reference = cron.spec.scale_target_ref;
            let group = reference.api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
            let namespace = cron.metadata.namespace.unwrap_or_default();
            let object = format!("CronFederatedHPA {namespace}/{}", cron.metadata.name.unwrap_or_default());
            let (kind, name) = (reference.kind.clone(), reference.name.clone());
            let target = Target { namespace: namespace.clone(), group, kind, name };
            if target.group != GROUP && targets.insert(target.clone()) {
                let one = Scaled { object: object.clone(), reference, namespace, scaler: Scaler::Whole, target };
                workloads.insert(object, one);
            }
        };
        self.list(&place, GROUP, "cronfederatedhpas", each).await?;
        Ok((workloads.into_values().collect(), stored))
    }
}

/// What was read of one workload before its template.
struct Stored {
    binding: StoredBinding,
    works: BTreeMap<String, StoredWork>,
    hpas: BTreeMap<String, StoredHpa>,
    there: BTreeMap<String, MemberHpa>,
}

impl Stored {
    fn take(read: &mut Clusters, of: &Scaled, binding: StoredBinding) -> Self {
        let works = read.works.remove(&(of.namespace.clone(), binding.name.clone())).unwrap_or_default();
        let Scaler::Distributed { hpa, .. } = &of.scaler else {
            return Self { binding, works, hpas: BTreeMap::new(), there: BTreeMap::new() };
        };
        let name = name_of(hpa);
        let (hpas, mut there) =
            (read.hpas.remove(&name).unwrap_or_default(), read.there.remove(&name).unwrap_or_default());
        let behavior = hpa.object.spec.behavior.as_ref().and_then(|behavior| behavior.scale_down.as_ref());
        if behavior.is_some_and(|rules| rules.select_policy.as_deref() == Some("Disabled")) {
            // Its user forbids it anyway: it needs no hold.
            for hpa in there.values_mut() {
                hpa.held = false;
            }
        }
        Self { binding, works, hpas, there }
    }
}

/// Result for a workload.
#[derive(Default)]
struct Surveyed {
    /// Its corrections, if any.
    subject: Option<CorrectedWorkload>,
    /// Why it stays, in part, as the backup has it.
    left: Option<String>,
}

impl Recovery {
    async fn survey(
        &self,
        scaled: Scaled,
        stored: Option<Stored>,
        apis: &[MemberApi],
        targets: &Targets,
    ) -> Result<Surveyed, Error> {
        let target = scaled.target();
        let Some(Stored { binding, works, hpas, there }) = stored else { return Ok(Surveyed::default()) };
        let place = match targets.place(&target).await {
            Ok(place) => place,
            Err(failure) if failure.class == ErrorClass::Transient => return Err(failure.into()),
            Err(failure) => {
                let left = Some(format!("{} is left as the backup has it: {failure}", scaled.object));
                return Ok(Surveyed { subject: None, left });
            }
        };
        let Some(template) = self.template(&place, &target).await? else { return Ok(Surveyed::default()) };
        let members = workloads(apis, &place, target.name, there).await?;
        let Scaled { object, reference, namespace, scaler, target } = scaled;
        let run_by = scaler.as_run(members.values().any(|member| member.hpa.is_some()) || !hpas.is_empty());
        let own = match &run_by {
            Scaler::Distributed { hpa, .. } => hpa.object.spec.federated_hpa_assignment.as_ref(),
            Scaler::Whole => None,
        };
        let own = own.and_then(|own| own.federated_hpa_assignment_type.as_deref()).filter(|own| !own.is_empty());
        let duplicated = own.map_or(binding.duplicated, |own| own == "Duplicated");
        let seen = SurveyedWorkload { scaler: run_by, template, binding, duplicated, works, hpas, members };
        let corrections = corrections(&seen);
        let left = self::left(&object, &target, &place.plural, &seen);
        let subject = (!corrections.is_empty()).then_some(CorrectedWorkload {
            object,
            reference,
            namespace,
            place,
            seen,
            corrections,
        });
        Ok(Surveyed { subject, left })
    }

    /// The template; `None` where there is none.
    async fn template(&self, place: &ResourcePath, target: &TargetRef<'_>) -> Result<Option<Template>, Failure> {
        let asked = Asked { verb: "get", group: &place.group, resource: &place.plural, object: target };
        let requests = Request::new(&place.path);
        let found =
            send::<PartialObjectMeta>(&self.client, requests.get_metadata(target.name, &GetParams::default()), asked)
                .await;
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

/// A workload in each member, by cluster; `there` are the HPAs of fhpa.
async fn workloads(
    apis: &[MemberApi],
    place: &ResourcePath,
    name: &str,
    mut there: BTreeMap<String, MemberHpa>,
) -> Result<BTreeMap<String, Member>, Error> {
    let looks = futures::stream::iter(apis.iter().map(|api| async {
        let replicas = api.replicas(&place.path, name).await;
        (api.cluster.clone(), replicas)
    }));
    let mut looks = looks.buffer_unordered(MEMBERS);
    let (mut members, mut unread) = (BTreeMap::new(), Vec::new());
    while let Some((cluster, replicas)) = looks.next().await {
        match replicas {
            Ok(replicas) => {
                let hpa = there.remove(&cluster);
                members.insert(cluster, Member { replicas, hpa });
            }
            Err(failure) => unread.push((cluster, failure.to_string())),
        }
    }
    if unread.is_empty() { Ok(members) } else { Err(Error::Members(unread)) }
}

/// The sentence on the clusters in which the replicas of a workload stay as the backup has them.
fn left(object: &str, target: &Target, plural: &str, seen: &SurveyedWorkload) -> Option<String> {
    let (clusters, why): (Vec<&str>, Vec<Uncorrected>) =
        uncorrected(seen).map(|(cluster, why)| (cluster.as_str(), why)).unzip();
    let (clusters, Target { namespace, group, kind, name }) = (clusters.join(", "), target);
    let allow = format!("`fhpa install --scale-kind {}/{plural}`", if group.is_empty() { CORE_GROUP } else { group });
    match why.first()? {
        Uncorrected::Unkept => Some(format!(
            "{object}: members do not keep the replicas of a {kind}, as the customization that makes them is not in the backup, \
             or another takes its place: Karmada sets those of the template of {kind} {namespace}/{name} in {clusters}. \
             Run {allow}, and run this again"
        )),
        Uncorrected::Unknown => Some(format!(
            "{object}: it is not known where a {kind} has its replicas, so the Works of {kind} {namespace}/{name} in {clusters} \
             stay as the backup has them. Run {allow}, or let this user read the CustomResourceDefinition, and run this again"
        )),
    }
}

fn name_of(hpa: &FederatedHpaEntry) -> Name {
    let key = hpa.key();
    (key.namespace.to_string(), key.name.to_string())
}
