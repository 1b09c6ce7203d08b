//! FederatedHPAs and a document -> the scenario of a simulation. No I/O.

use std::borrow::Cow;

use super::SimulateError;
use super::clusters::Cluster;
use super::document::{Document, Fault, FaultKind};
use super::given::{SimulatedHpa, SimulationInput};
use super::workloads;
use crate::api::FederatedHPA;
use crate::convert::{fleet, request, scaling};
use crate::decision::defaults::Mode;
use crate::decision::fleet::api_enablements::{ApiEnablements, GroupVersionKind};
use crate::decision::fleet::candidates::Intent;
use crate::decision::fleet::placement::Placement;
use crate::decision::fleet::settings;
use crate::decision::fleet::workload_affinity::Neighbours;
use crate::decision::fleet::{Member, Readiness};
use crate::decision::plan::{Policy, Request};
use crate::decision::subject::federated_hpa::{Assignment, ClusterAffinity};
use crate::simulation::{self, Disruption, Driver, Scenario, Sharing, Site, Start, Workload};

/// Spec and placement of a workload, as input of the rules.
pub(super) struct SimulatedSpec<'a> {
    assignment: Option<Assignment<'a>>,
    affinity: Option<ClusterAffinity<'a>>,
    placement: &'a Placement<'a>,
}

impl<'a> SimulatedSpec<'a> {
    /// Of each workload.
    pub(super) fn all(subject: &'a SimulationInput) -> Vec<Self> {
        subject.hpas.iter().map(|hpa| Self::of(&hpa.object, &subject.document)).collect()
    }

    fn of(hpa: &'a FederatedHPA, document: &'a Document) -> Self {
        let spec = &hpa.spec;
        Self {
            assignment: spec.federated_hpa_assignment.as_ref().map(fleet::assignment),
            affinity: spec.cluster_affinity.as_ref().map(fleet::affinity),
            placement: &document.placement,
        }
    }

    /// The policy that follows from them.
    pub(super) fn policy(&self) -> Policy {
        let overflows = self.placement.groups.first().is_some_and(|group| !group.overflow.is_empty());
        settings::policy(self.assignment.as_ref(), self.placement, overflows)
    }
}

/// The scenario.
pub(super) fn scenario<'a>(
    subject: &'a SimulationInput,
    specs: &'a [SimulatedSpec<'a>],
) -> Result<Scenario<'a>, SimulateError> {
    let document = &subject.document;
    let workloads = document.workloads.iter().zip(&subject.hpas).zip(specs);
    let workloads = workloads.map(|((written, hpa), spec)| workload(written, hpa, spec, document));
    Ok(Scenario {
        workloads: workloads.collect::<Result<_, _>>()?,
        sharing: Sharing::Ledger,
        sites: document.clusters.iter().map(site).collect(),
        faults: document.faults.iter().filter_map(|fault| self::fault(document, fault)).collect(),
        timing: document.timing,
        duration: document.duration,
    })
}

/// The load appears in the first metric.
fn workload<'a>(
    written: &'a workloads::Workload,
    hpa: &'a SimulatedHpa,
    spec: &'a SimulatedSpec<'a>,
    document: &'a Document,
) -> Result<Workload<'a>, SimulateError> {
    let SimulatedHpa { object, mode } = hpa;
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let metrics = scaling::metrics(object.spec.metrics.as_deref().unwrap_or_default(), namespace);
    let metric = metrics.into_iter().flatten().next();
    let metric = metric.ok_or_else(|| SimulateError::wrong("the FederatedHPA has no metric that can be simulated"))?;
    Ok(Workload {
        name: Cow::Borrowed(&written.name),
        asked: Request { suspended: false, ..request::asked(&object.spec) },
        intent: Intent {
            assignment: spec.assignment.as_ref(),
            kind: GroupVersionKind::default(),
            affinity: spec.affinity.as_ref(),
            placement: spec.placement,
            observed_group: "",
            neighbours: Neighbours::default(),
        },
        policy: None,
        driver: if *mode == Mode::Centralized { Driver::Centralized } else { Driver::Controller },
        metric,
        behavior: object.spec.behavior.as_ref().map(scaling::behavior),
        saturation: document.saturation,
        pod_start: document.pod_start,
        each: written.each.clone(),
        priority: written.priority,
        load: written.load.curve.clone(),
        shares: written.load.shares.iter().map(|(name, share)| (name.as_str(), *share)).collect(),
        starts: document.clusters.iter().map(|cluster| start(written, object, cluster)).collect(),
    })
}

fn start(written: &workloads::Workload, hpa: &FederatedHPA, cluster: &Cluster) -> Start {
    let preferences = hpa.spec.cluster_hpa_preference.iter().flatten();
    let mut own = preferences.filter(|preference| preference.cluster_name == cluster.name);
    Start { replicas: written.replicas.get(&cluster.name).copied(), usage: own.find_map(|own| own.max_resource_usage) }
}

fn site<'a>(cluster: &'a Cluster) -> Site<'a> {
    let text = |text: &'a str| Cow::Borrowed(text);
    let zone = Some(cluster.zone.as_str()).filter(|zone| !zone.is_empty());
    Site {
        member: Member {
            since: None,
            name: text(&cluster.name),
            labels: cluster.labels.iter().map(|(key, value)| (text(key), text(value))).collect(),
            provider: text(&cluster.provider),
            region: text(&cluster.region),
            zones: zone.map(text).into_iter().collect(),
            taints: Vec::new(),
            enablements: ApiEnablements::Every,
            readiness: Readiness::Ready,
            deleting: false,
        },
        version: fleet::hpa_version(&cluster.kubernetes_version),
        capacity: cluster.capacity.clone(),
        growth: cluster.growth.clone(),
        pod_start: cluster.pod_start,
        writable: cluster.writable,
    }
}

fn fault(document: &Document, fault: &Fault) -> Option<simulation::Fault> {
    let at = fault.cluster.as_ref().and_then(|name| document.clusters.iter().position(|own| own.name == *name));
    let trouble = match fault.kind {
        FaultKind::ClusterDown => Disruption::Down(at?),
        FaultKind::ControlPlaneDown => Disruption::ControlPlaneDown,
        FaultKind::ReportsLate => Disruption::Late(at, fault.by),
    };
    Some(simulation::Fault { from: fault.from, to: fault.to, trouble })
}
