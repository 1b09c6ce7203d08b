//! A FederatedHPA and a document -> the scenario of a simulation. No I/O.

use std::borrow::Cow;

use super::SimulateError;
use super::document::{Cluster, Document, Fault, FaultKind};
use super::given::SimulationInput;
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
use crate::simulation::{self, Disruption, Driver, Scenario, Site, Workload};

/// Spec and placement, as input of the rules.
pub(super) struct SimulatedSpec<'a> {
    assignment: Option<Assignment<'a>>,
    affinity: Option<ClusterAffinity<'a>>,
    placement: Placement<'a>,
}

impl<'a> SimulatedSpec<'a> {
    pub(super) fn of(subject: &'a SimulationInput) -> Self {
        let spec = &subject.hpa.spec;
        Self {
            assignment: spec.federated_hpa_assignment.as_ref().map(fleet::assignment),
            affinity: spec.cluster_affinity.as_ref().map(fleet::affinity),
            placement: fleet::placement(&subject.document.placement),
        }
    }

    /// The policy that follows from them.
    pub(super) fn policy(&self) -> Policy {
        let overflows = self.placement.groups.first().is_some_and(|group| !group.overflow.is_empty());
        settings::policy(self.assignment.as_ref(), &self.placement, overflows)
    }
}

/// The scenario.
pub(super) fn scenario<'a>(
    subject: &'a SimulationInput,
    spec: &'a SimulatedSpec<'a>,
) -> Result<Scenario<'a>, SimulateError> {
    let SimulationInput { hpa, mode, document, .. } = subject;
    let intent = Intent {
        assignment: spec.assignment.as_ref(),
        kind: GroupVersionKind::default(),
        affinity: spec.affinity.as_ref(),
        placement: &spec.placement,
        observed_group: "",
        neighbours: Neighbours::default(),
    };
    Ok(Scenario {
        asked: Request { suspended: false, ..request::asked(&hpa.spec) },
        intent,
        policy: None,
        driver: if *mode == Mode::Centralized { Driver::Centralized } else { Driver::Controller },
        workload: workload(hpa, document)?,
        sites: document.clusters.iter().map(|cluster| site(hpa, cluster)).collect(),
        load: document.load.curve.clone(),
        shares: document.load.shares.iter().map(|(name, share)| (name.as_str(), *share)).collect(),
        faults: document.faults.iter().filter_map(|fault| self::fault(document, fault)).collect(),
        timing: document.timing,
        duration: document.duration,
    })
}

/// The load appears in the first metric.
fn workload(hpa: &FederatedHPA, document: &Document) -> Result<Workload, SimulateError> {
    let spec = &hpa.spec;
    let namespace = hpa.metadata.namespace.as_deref().unwrap_or_default();
    let metrics = scaling::metrics(spec.metrics.as_deref().unwrap_or_default(), namespace);
    let metric = metrics.into_iter().flatten().next();
    let metric = metric.ok_or_else(|| SimulateError::wrong("the FederatedHPA has no metric that can be simulated"))?;
    let behavior = spec.behavior.as_ref().map(scaling::behavior);
    Ok(Workload { metric, behavior, saturation: document.saturation, pod_start: document.pod_start })
}

fn site<'a>(hpa: &FederatedHPA, cluster: &'a Cluster) -> Site<'a> {
    let text = |text: &'a str| Cow::Borrowed(text);
    let zone = Some(cluster.zone.as_str()).filter(|zone| !zone.is_empty());
    let preferences = hpa.spec.cluster_hpa_preference.iter().flatten();
    let mut own = preferences.filter(|preference| preference.cluster_name == cluster.name);
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
        capacity: cluster.capacity,
        growth: cluster.growth,
        pod_start: cluster.pod_start,
        replicas: cluster.replicas,
        usage: own.find_map(|own| own.max_resource_usage),
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
