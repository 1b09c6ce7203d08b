//! Corrects a control plane that was restored from a backup, so that it says what the members run before Karmada
//! applies it (docs/operations.md#after-a-restore). Talks to the API servers of the control plane and of the members.

mod clusters;
pub mod correction;
pub mod kinds;
mod members;
mod perform;
mod survey;
pub mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kube::Client;

use crate::controller::failure::Failure;
use crate::decision::names::AGENT_LEASES;
use crate::decision::plan::HpaVersion;
use crate::runtime::clock::WallClock;
use crate::runtime::leader::activity::{self, LeaseLocation};
use correction::Correction;
use survey::CorrectedWorkload;

/// Leases of Karmada's processes that divide replicas, or write to members.
const KARMADA: [&str; 3] = ["karmada-controller-manager", "karmada-scheduler", "karmada-descheduler"];
/// Their namespace.
const KARMADA_SYSTEM: &str = "karmada-system";

/// A recovery.
pub struct Recovery {
    /// Client of the control plane.
    pub client: Client,
    /// Clients of members that are read without the cluster proxy, by the name of the cluster.
    pub members: BTreeMap<String, Client>,
    /// Clusters that are not read, and for which nothing is corrected.
    pub without: BTreeSet<String>,
    /// The Lease of the controllers.
    pub lease: LeaseLocation,
    /// The time of day.
    pub clock: WallClock,
}

/// The corrections.
pub struct Plan {
    /// Workloads with corrections.
    subjects: Vec<CorrectedWorkload>,
    /// The API version of HPAs, by the name of the cluster.
    versions: BTreeMap<String, HpaVersion>,
    /// Workloads that were looked at.
    pub workloads: usize,
    /// Clusters that were read.
    pub clusters: usize,
    /// Sentences on what is not in the backup, or not read.
    pub notes: Vec<String>,
    /// Sentences on workloads that stay, in part, as the backup has them although they may run otherwise.
    pub left: Vec<String>,
}

/// Why nothing can be planned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The control plane rejects a request, or is unreachable.
    #[error("{0}")]
    ControlPlane(#[from] Failure),
    /// Names, given by the user, of which the control plane has no cluster.
    #[error("the restored control plane has no cluster named {}", .0.join(", "))]
    Unknown(Vec<String>),
    /// Members that could not be read, each with the reason.
    #[error("these clusters could not be read:\n{}", lines(.0))]
    Members(Vec<(String, String)>),
}

fn lines(all: &[(String, String)]) -> String {
    let lines = all.iter().map(|(cluster, why)| format!("  {cluster}: {why}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A workload with its corrections, for messages.
pub struct Planned<'a> {
    /// The object that scales it: `FederatedHPA prod/shop`.
    pub object: &'a str,
    /// Its corrections, in their order.
    pub corrections: &'a [Correction],
}

impl Plan {
    /// The workloads with corrections, in the order of their names.
    pub fn planned(&self) -> impl Iterator<Item = Planned<'_>> {
        self.subjects.iter().map(|subject| Planned { object: &subject.object, corrections: &subject.corrections })
    }

    /// Whether nothing is to be written.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.subjects.is_empty()
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("workloads", &self.workloads).finish_non_exhaustive()
    }
}

impl Recovery {
    /// Sentences on the processes that would write meanwhile. Waits until a process that holds a Lease must have
    /// renewed it.
    ///
    /// # Errors
    /// The control plane rejects a request, or is unreachable.
    pub async fn writers(&self) -> Result<Vec<String>, String> {
        let karmada = KARMADA.map(|name| LeaseLocation { namespace: KARMADA_SYSTEM.to_owned(), name: name.to_owned() });
        let agents = self.agents().await.map_err(|failure| failure.to_string())?;
        let unread = |error| format!("the Leases of those that write could not be read: {error}");
        let others = activity::others(&self.client, &self.lease).await.map_err(unread)?;
        let own = others.iter().chain([&self.lease]).cloned();
        let leases: Vec<LeaseLocation> = karmada.into_iter().chain(agents).chain(own).collect();
        let renewed = activity::renewed(&self.client, &leases).await.map_err(unread)?;
        // Only controllers of fhpa confirm a freeze.
        let writing = renewed.into_iter().filter(|renewed| !renewed.frozen);
        let told = writing.map(|renewed| {
            let LeaseLocation { namespace, name } = &renewed.place;
            if renewed.place == self.lease {
                format!("a controller of fhpa ({}) leads and is not frozen", renewed.holder)
            } else if others.contains(&renewed.place) {
                let holder = &renewed.holder;
                format!("a controller of fhpa ({holder}) leads by the Lease {namespace}/{name} (give --lease-name)")
            } else if namespace == AGENT_LEASES {
                format!("karmada-agent of {name} runs")
            } else {
                format!("{name} runs ({})", renewed.holder)
            }
        });
        Ok(told.collect())
    }
}
