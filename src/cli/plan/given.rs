//! Manifests -> each FederatedHPA with its related objects. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::validate::{Class, Given, Kind, completed};
use super::centralized::members::{Given as GivenMembers, Written};
use super::centralized::outline::Outline as CentralizedOutline;
use super::outline::{CodedMessage, Outline};
use super::scenario::Scenario;
use super::{PlanError, PlanOutput, is_distributed, policy};
use crate::api::cluster::{ApiEnablement, ApiResource};
use crate::api::propagation_policy::PropagationPolicy;
use crate::api::resource_binding::ObjectReference;
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::convert;
use crate::decision::api_version::ApiVersion;
use crate::decision::defaults::Mode;
use crate::decision::fleet::placement::Placement;
use crate::decision::{names, quantity};
use crate::run::forecast::centralized::{Computation, Settings};
use crate::run::forecast::{Forecast, Objects, Rooms};

/// Objects of the files.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    pub(super) hpas: Vec<FederatedHPA>,
    policies: Vec<PropagationPolicy>,
    bindings: Vec<ResourceBinding>,
    clusters: Vec<Cluster>,
    works: Vec<Work>,
    scenarios: Vec<Scenario>,
    /// Possible workloads.
    others: Vec<Value>,
}

/// A FederatedHPA and its related objects.
pub(super) struct PlanInput {
    pub(super) hpa: FederatedHPA,
    pub(super) objects: Objects,
    pub(super) rooms: Rooms,
    /// A note beside the plan.
    pub(super) note: Option<CodedMessage>,
    /// The source of pods and metrics, in Centralized mode.
    pub(super) measured: Measured,
}

/// The source of pods and metrics of a Centralized object.
pub(super) enum Measured {
    /// Manifests and scenarios.
    Given {
        /// Requested replicas of the workload, where they are given.
        replicas: Option<i32>,
        /// Metrics of each cluster.
        metrics: BTreeMap<String, Written>,
        /// The workload.
        workload: Option<Value>,
    },
    /// The members of a control plane; `None`: the workload has no binding.
    Read(Option<Box<CentralizedOutline>>),
}

impl Manifests {
    /// Sorts the objects by kind.
    pub(super) fn of<'a>(given: impl Iterator<Item = &'a Given>, default_mode: Mode) -> Result<Self, PlanError> {
        let mut manifests = Self::default();
        for object in given {
            manifests.add(object, default_mode)?;
        }
        Ok(manifests)
    }

    fn add(&mut self, given: &Given, default_mode: Mode) -> Result<(), PlanError> {
        let node = &given.subject.node;
        let group = node.text("apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
        match (group, given.name.kind.as_str(), &given.subject.class) {
            (_, _, Class::Known(Kind::FederatedHPA)) => {
                let object = completed(given.object(), default_mode).unwrap_or_else(|| given.object());
                self.hpas.push(read(given, object)?);
            }
            ("policy.karmada.io", "PropagationPolicy", _) => self.policies.push(read(given, given.object())?),
            ("policy.karmada.io", "ClusterPropagationPolicy", _) => self.policies.push(read(given, node.to_value())?),
            ("work.karmada.io", "ResourceBinding", _) => self.bindings.push(read(given, given.object())?),
            ("work.karmada.io", "Work", _) => self.works.push(read(given, given.object())?),
            ("cluster.karmada.io", "Cluster", _) => self.clusters.push(read(given, node.to_value())?),
            ("", "PlanScenario", _) => self.scenarios.push(read(given, node.to_value())?),
            _ => self.others.push(given.object()),
        }
        Ok(())
    }

    /// Each FederatedHPA with its related objects.
    pub(super) fn subjects(&self) -> Result<Vec<PlanInput>, PlanError> {
        if self.hpas.is_empty() {
            return Err(PlanError::wrong("no FederatedHPA: give one"));
        }
        self.hpas.iter().map(|hpa| self.subject(hpa)).collect()
    }

    /// What all FederatedHPAs relate to.
    pub(super) fn common(&self) -> Objects {
        Objects { clusters: self.clusters.clone(), works: self.works.clone(), ..Objects::default() }
    }

    /// The binding of the workload, with what scenarios say of it; their clusters go to `objects`.
    pub(super) fn entered(&self, hpa: &FederatedHPA, objects: &mut Objects) -> Result<ResourceBinding, PlanError> {
        let mut binding = self.binding(hpa)?;
        for scenario in &self.scenarios {
            scenario.enter(hpa, &mut binding, objects);
        }
        if objects.clusters.is_empty() {
            let message =
                "no member clusters: give them as `kubectl get clusters -o yaml` prints them, or in a PlanScenario";
            return Err(PlanError::wrong(message));
        }
        Ok(binding)
    }

    fn subject(&self, hpa: &FederatedHPA) -> Result<PlanInput, PlanError> {
        let mut objects = self.common();
        let binding = self.entered(hpa, &mut objects)?;
        let mut metrics = BTreeMap::new();
        for scenario in &self.scenarios {
            scenario.metrics(&mut metrics);
        }
        for cluster in &mut objects.clusters {
            assume_served(cluster, [&binding.spec.resource]);
        }
        let workload = self.workload(hpa).cloned();
        let wanted = workload.as_ref().and_then(|workload| workload.pointer("/spec/replicas")?.as_i64());
        let wanted = wanted.and_then(|replicas| i32::try_from(replicas).ok());
        let replicas =
            self.scenarios.iter().find_map(|scenario| scenario.replicas).or(binding.spec.replicas).or(wanted);
        if binding.spec.workload_affinity_groups.is_some() {
            let others = self.bindings.iter().filter(|other| other.spec.resource != binding.spec.resource);
            objects.bindings.extend(others.cloned());
        }
        objects.bindings.insert(0, binding);
        let measured = Measured::Given { replicas, metrics, workload };
        Ok(PlanInput { hpa: hpa.clone(), objects, rooms: Rooms::default(), note: None, measured })
    }

    fn workload(&self, hpa: &FederatedHPA) -> Option<&Value> {
        let target = convert::known_federated_hpa(hpa, Mode::default()).target;
        self.others.iter().find(|object| is(object, &target))
    }

    /// The binding of the workload: the given one, else the one that the given policy would create.
    fn binding(&self, hpa: &FederatedHPA) -> Result<ResourceBinding, PlanError> {
        let target = convert::known_federated_hpa(hpa, Mode::default()).target;
        let workload = self.workload(hpa);
        let bound = |binding: &&ResourceBinding| {
            let resource = &binding.spec.resource;
            let same = resource.kind == target.kind && resource.name == target.name;
            same && resource.namespace == target.namespace && group(&resource.api_version) == target.group
        };
        let mut binding = match self.bindings.iter().find(bound) {
            Some(binding) => binding.clone(),
            None => self.made(hpa, workload)?,
        };
        let spec = &mut binding.spec;
        spec.replica_requirements = spec.replica_requirements.take().or_else(|| workload.and_then(requirements));
        Ok(binding)
    }

    fn made(&self, hpa: &FederatedHPA, workload: Option<&Value>) -> Result<ResourceBinding, PlanError> {
        let reference = &hpa.spec.scale_target_ref;
        let namespace = hpa.metadata.namespace.clone().unwrap_or_default();
        let target = format!("{} {namespace}/{}", reference.kind, reference.name);
        let mut binding = ResourceBinding::default();
        binding.metadata.namespace = Some(namespace.clone());
        binding.spec.resource = ObjectReference {
            api_version: reference.api_version.clone(),
            kind: reference.kind.clone(),
            namespace,
            name: reference.name.clone(),
            resource_version: String::new(),
        };
        let chosen = policy::choose(&self.policies, &binding.spec.resource, workload);
        if let Some(policy) = chosen.map_err(|message| PlanError::wrong(format!("no placement: {message}")))? {
            binding.metadata.name = Some(named(hpa));
            binding.metadata.annotations = Some(policy::marks(policy));
            binding.spec.placement = policy::placement(policy);
            return Ok(binding);
        }
        // Without a placement every cluster of a scenario is a candidate, if the object has a policy.
        let centralized = hpa.spec.mode.as_deref().and_then(Mode::parse) == Some(Mode::Centralized);
        let own = (hpa.spec.federated_hpa_assignment.is_some() || centralized) && !self.scenarios.is_empty();
        let placed = self.scenarios.iter().any(|scenario| scenario.placement.is_some());
        if own && centralized && !placed {
            binding.spec.placement = json!({"replicaScheduling": {"replicaSchedulingType": "Divided"}});
        } else if own && !placed {
            // As Karmada stores that of a policy without a placement.
            binding.spec.placement = json!({});
        }
        if own || placed {
            return Ok(binding);
        }
        let none = match self.policies.len() {
            0 => String::new(),
            1 => " (the given policy does not select it)".to_owned(),
            several => format!(" (none of the {several} given policies selects it)"),
        };
        let message = format!("no placement: give the PropagationPolicy or the ResourceBinding of {target}{none}");
        Err(PlanError::wrong(message))
    }
}

impl PlanInput {
    /// The decision of the controller, as an outline.
    pub(super) fn outline(
        self,
        default_mode: Mode,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<PlanOutput, PlanError> {
        if !is_distributed(self.hpa.spec.mode.as_deref(), default_mode) {
            return self.computed(settings, now);
        }
        let hpa = &self.hpa;
        let to_outline = |forecast: &Forecast<'_>| Outline::of(hpa, &self.objects, forecast);
        let outline = self.objects.forecast(hpa, self.rooms.clone(), now, to_outline).map(|mut outline| {
            outline.notes.extend(self.note.clone());
            PlanOutput::Distributed(Box::new(outline))
        });
        outline.ok_or_else(|| self.unbound())
    }

    /// The computation of a Centralized object.
    fn computed(self, settings: &Settings, now: Timestamp) -> Result<PlanOutput, PlanError> {
        let outline = match &self.measured {
            Measured::Given { replicas, metrics, workload } => {
                let binding = self.objects.bindings.first().cloned().unwrap_or_default();
                let current = replicas.unwrap_or_else(|| placed(&binding));
                let specs = self.hpa.spec.metrics.as_deref().unwrap_or_default();
                let members = GivenMembers::of(&binding, metrics, specs, workload.as_ref(), now)?;
                let tell = |of: &Computation<'_>| CentralizedOutline::of(&self.hpa, of, members.assumed);
                self.objects.compute(&self.hpa, settings, current, &members, now, tell)
            }
            Measured::Read(_) => None,
        };
        match (outline, self.measured) {
            (Some(outline), _) => Ok(PlanOutput::Centralized(Box::new(outline))),
            (None, Measured::Read(Some(outline))) => Ok(PlanOutput::Centralized(outline)),
            (None, measured) => Err(Self { measured, ..self }.unbound()),
        }
    }

    fn unbound(&self) -> PlanError {
        let (target, metadata) = (&self.hpa.spec.scale_target_ref, &self.hpa.metadata);
        let name = format!("{}/{}", text(metadata.namespace.as_ref()), text(metadata.name.as_ref()));
        let message = format!("{} {} has no ResourceBinding: it is not propagated", target.kind, target.name);
        PlanError::wrong(format!("FederatedHPA {name}: {message}"))
    }
}

/// A cluster that is given without the kinds that it serves is taken to serve those of the workloads.
pub(super) fn assume_served<'a>(cluster: &mut Cluster, workloads: impl IntoIterator<Item = &'a ObjectReference>) {
    if cluster.status.api_enablements.is_empty() {
        let kinds: BTreeSet<(&str, &str)> =
            workloads.into_iter().map(|workload| (&*workload.api_version, &*workload.kind)).collect();
        let served = |(version, kind): (&str, &str)| {
            let resources = vec![ApiResource { kind: kind.to_owned(), ..ApiResource::default() }];
            ApiEnablement { group_version: version.to_owned(), resources }
        };
        cluster.status.api_enablements = kinds.into_iter().map(served).collect();
    }
}

/// The name of the binding of the workload of a FederatedHPA.
pub(super) fn named(hpa: &FederatedHPA) -> String {
    let target = &hpa.spec.scale_target_ref;
    names::binding(&target.kind, &target.name)
}

/// The replicas of a template whose clusters have these: all of them, or those of one where each has all.
fn placed(binding: &ResourceBinding) -> i32 {
    let replicas = binding.spec.clusters.iter().map(|target| target.replicas);
    let placement: Placement<'_> = serde_json::from_value(binding.spec.placement.clone()).unwrap_or_default();
    let divided = placement.policy().divides();
    if divided { replicas.fold(0, i32::saturating_add) } else { replicas.max().unwrap_or_default() }
}

fn text(text: Option<&String>) -> &str {
    text.map_or("", String::as_str)
}

/// The object, or the position and reason of an error.
fn read<T: DeserializeOwned>(given: &Given, object: Value) -> Result<T, PlanError> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let line = given.source.position(given.subject.node.span.start).line;
        let name = &given.name;
        let place = format!("{}:{line}: {} {}", given.source.name, name.kind, name.name);
        PlanError::unreadable(format!("{}: {}: {}", place.trim_end(), error.path(), error.inner()))
    })
}

fn is(object: &Value, target: &crate::decision::related_objects::Target) -> bool {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    group(text("/apiVersion")) == target.group
        && text("/kind") == target.kind
        && text("/metadata/namespace") == target.namespace
        && text("/metadata/name") == target.name
}

fn group(api_version: &str) -> &str {
    ApiVersion::parse(api_version).map_or("", |version| version.group)
}

/// Requests of each replica, as Karmada reads them from a pod template: the sum over the containers.
fn requirements(workload: &Value) -> Option<Value> {
    let containers = workload.pointer("/spec/template/spec/containers")?.as_array()?;
    let mut sums = BTreeMap::<&str, i128>::new();
    for (resource, quantity) in
        containers.iter().filter_map(|container| container.pointer("/resources/requests")?.as_object()).flatten()
    {
        let quantity = quantity.as_str().map_or_else(|| quantity.to_string(), str::to_owned);
        let sum = sums.entry(resource).or_default();
        *sum = sum.saturating_add(quantity::thousandths(&quantity)?);
    }
    let request: serde_json::Map<_, _> =
        sums.into_iter().map(|(resource, sum)| (resource.to_owned(), format!("{sum}m").into())).collect();
    (!request.is_empty()).then(|| serde_json::json!({"resourceRequest": request}))
}
