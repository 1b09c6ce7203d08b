//! Manifests -> all FederatedHPAs in Distributed mode with one set of related objects, as a fleet that runs. No I/O but
//! the files.

use std::path::PathBuf;

use jiff::Timestamp;

use super::super::validate::{examine, inputs, text as findings};
use super::given::{Manifests, assume_served, named};
use super::{FINE, PlanError, UNREADABLE, is_distributed, told_apart};
use crate::api::federated_hpa::FederatedHPAStatus;
use crate::api::resource_binding::{AggregatedStatus, TargetCluster, WorkloadStatus};
use crate::api::{FederatedHPA, ResourceBinding};
use crate::convert;
use crate::convert::fleet::number;
use crate::decision::defaults::Mode;
use crate::decision::validation::Settings;
use crate::run::forecast::{Forecast, Objects, Rooms};

/// Objects of a fleet.
pub(in crate::cli) struct Fleet {
    /// The FederatedHPAs.
    pub(in crate::cli) hpas: Vec<FederatedHPA>,
    /// What they relate to.
    pub(in crate::cli) objects: Objects,
}

/// Why there is no fleet.
pub(in crate::cli) struct NoFleet(PlanError);

/// The message, with the exit code.
pub(in crate::cli) fn explained(NoFleet(PlanError { code, message }): NoFleet) -> (String, u8) {
    (message, code)
}

/// The fleet of these files.
///
/// # Errors
/// A file cannot be read, an object would be refused, or something is missing.
pub(in crate::cli) fn of_manifests(
    paths: &[PathBuf],
    namespace: &str,
    settings: &Settings,
    now: Timestamp,
) -> Result<Fleet, NoFleet> {
    let sources = inputs::read(paths).into_iter().map(|source| source.map_err(told_apart)).collect();
    let (files, found) = examine(sources, namespace, settings.clone(), now);
    let code = found.exit_code(false);
    if code != FINE {
        let message = format!("the manifests cannot be used:\n{}", findings::render(&found, usize::MAX));
        return Err(NoFleet(PlanError { code: code.min(UNREADABLE), message }));
    }
    let given = Manifests::of(files.iter().flatten().flatten(), settings.default_mode).map_err(NoFleet)?;
    given.fleet(settings.default_mode, now).map_err(NoFleet)
}

impl Manifests {
    fn fleet(&self, default_mode: Mode, now: Timestamp) -> Result<Fleet, PlanError> {
        let mut objects = self.common();
        let distributed = |hpa: &&FederatedHPA| is_distributed(hpa.spec.mode.as_deref(), default_mode);
        let mut hpas: Vec<FederatedHPA> = self.hpas.iter().filter(distributed).cloned().collect();
        for hpa in &hpas {
            let mut binding = self.entered(hpa, &mut objects)?;
            binding.metadata.name.get_or_insert_with(|| named(hpa));
            objects.bindings.push(binding);
        }
        // Each scenario has named its clusters for each object.
        objects.clusters.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        objects.clusters.dedup_by(|one, other| one.metadata.name == other.metadata.name);
        for cluster in &mut objects.clusters {
            assume_served(cluster, objects.bindings.iter().map(|binding| &binding.spec.resource));
        }
        let idle = |binding: &ResourceBinding| binding.spec.clusters.is_empty();
        for (at, hpa) in hpas.iter_mut().enumerate() {
            let Some(binding) = objects.bindings.get(at).filter(|binding| idle(binding)).cloned() else { continue };
            let (binding, works) = divided(hpa, binding, &objects, now);
            objects.works.extend(works);
            if let Some(known) = objects.bindings.get_mut(at) {
                *known = binding;
            }
        }
        Ok(Fleet { hpas, objects })
    }
}

/// The object, its binding and its Works as its first plan leaves them.
fn divided(
    hpa: &mut FederatedHPA,
    mut binding: ResourceBinding,
    fleet: &Objects,
    now: Timestamp,
) -> (ResourceBinding, Vec<crate::api::Work>) {
    let mut own = Objects { bindings: vec![binding.clone()], clusters: fleet.clusters.clone(), works: Vec::new() };
    let first = |forecast: &Forecast<'_>| {
        let plan = forecast.plan;
        let kept = plan.shares.iter().filter(|share| share.kept().is_some());
        let shares = kept.map(|share| (share.target, convert::memory::write(share, None)));
        let entries = plan.binding.iter().map(|entry| (entry.cluster.to_owned(), number(entry.replicas)));
        (plan.assignment_hash.to_string(), shares.collect::<Vec<_>>(), entries.collect::<Vec<_>>())
    };
    let Some((hash, shares, entries)) = own.forecast(hpa, Rooms::default(), now, first) else {
        return (binding, Vec::new());
    };
    for (bounds, desired) in shares.iter().filter(|(bounds, _)| bounds.is_some()) {
        own.hold(hpa, &desired.cluster_name, *bounds);
    }
    let desired = shares.into_iter().map(|(_, desired)| desired).collect();
    hpa.status = Some(FederatedHPAStatus {
        assignment_hash: Some(hash),
        cluster_hpa_desired: Some(desired),
        ..FederatedHPAStatus::default()
    });
    for (name, replicas) in entries {
        let (ready_replicas, updated_replicas) = (replicas, None);
        let status = Some(WorkloadStatus { replicas, ready_replicas, updated_replicas, observed_generation: 1 });
        let cluster_name = name.clone();
        let report = AggregatedStatus { cluster_name, status, applied: true, ..AggregatedStatus::default() };
        binding.status.aggregated_status.push(report);
        binding.spec.clusters.push(TargetCluster { name, replicas });
    }
    (binding, own.works)
}
