//! Given objects -> a forecast, as if watches had delivered them. Talks to estimators where these are enabled.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::{Forecast, forecast};
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::decision::capacity::Answer;
use crate::decision::plan::{Bounds, HpaVersion};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::manifest::{Write, work_name, work_of};
use crate::reconcile::federated_hpa::names;
use crate::reconcile::federated_hpa::observe::capacity::{Requirements, Rooms};
use crate::reconcile::federated_hpa::observe::live_state::LiveState;
use crate::runtime::watch::{Intakes, Readers};

/// Id of a write in 1970.
const LONG_AGO: &str = "0";

/// Objects of a control plane beside a FederatedHPA.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// Workloads and their clusters.
    pub bindings: Vec<ResourceBinding>,
    /// The member clusters.
    pub clusters: Vec<Cluster>,
    /// The Works with the HPAs of the members.
    pub works: Vec<Work>,
}

impl Objects {
    /// Adds the Work of an HPA of `hpa` with these bounds that was confirmed in a cluster long ago.
    pub fn hold(&mut self, hpa: &FederatedHPA, cluster: &str, bounds: Bounds) {
        let version = HpaVersion::default();
        let (outstanding, held, token) = (bounds.max, false, LONG_AGO);
        let write = Write { cluster, bounds, version, outstanding, held, token };
        let mut work = work_of(hpa, &work_name(hpa), write);
        if let Some(work) = work.as_object_mut() {
            let status = json!({names::REFLECTED_WRITE_ID: LONG_AGO});
            work.insert("status".to_owned(), json!({"manifestStatuses": [{"status": status}]}));
        }
        self.works.extend(serde_json::from_value::<Work>(work).ok());
    }

    /// Queries the estimators of all clusters how many replicas of the workload fit, and waits a moment. Returns the
    /// clusters whose estimator answered, and the others.
    pub async fn query_estimators(&self, rooms: &Rooms) -> (Vec<String>, Vec<String>) {
        let asks = self.bindings.first().and_then(|binding| binding.spec.replica_requirements.as_ref());
        let requirements = Requirements::read(asks);
        let names: Vec<&str> = self.clusters.iter().filter_map(|cluster| cluster.metadata.name.as_deref()).collect();
        rooms.refresh(&names, &requirements).await;
        let own = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let (answered, silent) =
            names.into_iter().partition(|name| rooms.answer(name, &requirements) != Answer::Unknown);
        (own(answered), own(silent))
    }

    /// The decision that the controller would make for `hpa` at `now`, with the known free capacity. `None` when its
    /// workload has no binding among these objects.
    pub fn forecast<R>(
        &self,
        hpa: &FederatedHPA,
        rooms: Rooms,
        now: Timestamp,
        tell: impl FnOnce(&Forecast<'_>) -> R,
    ) -> Option<R> {
        let live = self.live(&[], rooms);
        forecast(&live.cache.as_if(FederatedHpaEntry::of(hpa))?, &live, now, tell)
    }

    /// The view of the controller on `hpa`.
    pub(super) fn view(&self, hpa: &FederatedHPA) -> Option<View> {
        self.live(&[], Rooms::default()).cache.as_if(FederatedHpaEntry::of(hpa))
    }

    /// Beside these FederatedHPAs.
    pub(super) fn live(&self, hpas: &[FederatedHPA], rooms: Rooms) -> LiveState {
        let live = LiveState { capacity: Arc::new(rooms), ..LiveState::default() };
        let mut readers = Readers::default();
        live.cache.read_by(&mut readers);
        bring(&mut readers.federated_hpas, hpas);
        bring(&mut readers.resource_bindings, &self.bindings);
        bring(&mut readers.clusters, &self.clusters);
        bring(&mut readers.works, &self.works);
        live
    }
}

/// Delivers objects as a list of a watch.
fn bring<K>(intakes: &mut Intakes<K>, objects: &[K]) {
    for intake in intakes {
        intake.begin();
        for object in objects {
            intake.listed(object);
        }
        intake.end();
    }
}
