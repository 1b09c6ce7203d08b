//! What handles the objects of each kind that is watched. No I/O.

use std::sync::Arc;

use k8s_openapi::api::events::v1::Event;

use super::definitions::Definitions;
use super::event_handler::EventHandler;
use super::index::Index;
use super::indexing::Indexing;
use super::kinds::KindReader;
use super::scalers::{ScalerReader, Scalers};
use crate::api::scaler::{PlainHPA, ScaledObject};
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding, ResourceInterpreterCustomization, Work};
use crate::convert;
use crate::decision::defaults::Mode;
use crate::decision::related_objects::{ScalerKind, Target};

/// Handlers of the objects of one kind.
pub type Intakes<K> = Vec<Box<dyn EventHandler<K>>>;

/// Handlers by kind.
#[derive(Default)]
pub struct Readers {
    /// Handlers of FederatedHPAs.
    pub federated_hpas: Intakes<FederatedHPA>,
    /// Handlers of CronFederatedHPAs.
    pub cron_federated_hpas: Intakes<CronFederatedHPA>,
    /// Handlers of ResourceBindings.
    pub resource_bindings: Intakes<ResourceBinding>,
    /// Handlers of member clusters.
    pub clusters: Intakes<Cluster>,
    /// Handlers of Works that fhpa created.
    pub works: Intakes<Work>,
    /// Observer of the CRDs of FederatedHPAs and CronFederatedHPAs; `None`: they are not observed.
    pub definitions: Option<Arc<Definitions>>,
    /// Handlers of customizations of Karmada's interpreter.
    pub customizations: Intakes<ResourceInterpreterCustomization>,
    /// Handlers of Events about FederatedHPAs.
    pub events: Intakes<Event>,
    /// The one namespace whose objects are watched; `None`: all of them. Clusters have none.
    pub namespace: Option<String>,
    /// FederatedHPAs, CronFederatedHPAs and ResourceBindings in one page of a list; `None`: as many as suit small ones.
    pub page: Option<u32>,
    /// Handlers of HPAs in karmada-apiserver.
    pub plain_hpas: Intakes<PlainHPA>,
    /// Handlers of KEDA's ScaledObjects in karmada-apiserver.
    pub scaled_objects: Intakes<ScaledObject>,
}

impl Readers {
    /// Also fills `index`. `stored_mode` is the mode of objects that are stored without one.
    #[must_use]
    pub fn with_index(mut self, index: &Arc<Index>, stored_mode: Option<Mode>) -> Self {
        let known = move |hpa: &FederatedHPA| convert::known_federated_hpa(hpa, stored_mode);
        self.federated_hpas.push(Box::new(Indexing::new(Arc::clone(index), |index| &index.federated_hpas, known)));
        let known = convert::known_cron_federated_hpa;
        self.cron_federated_hpas.push(Box::new(Indexing::new(
            Arc::clone(index),
            |index| &index.cron_federated_hpas,
            known,
        )));
        self.customizations.push(Box::new(KindReader::new(Arc::clone(&index.kinds), || {})));
        self.read_scalers(&index.scalers, |_| {});
        self
    }

    /// Fills `scalers`, and calls `tell` with the targets whose autoscalers changed.
    pub fn read_scalers(&mut self, scalers: &Arc<Scalers>, tell: impl Fn(&[Target]) + Clone + Send + 'static) {
        let reader = |kind| ScalerReader::new(scalers, kind, tell.clone());
        self.plain_hpas.push(Box::new(reader(ScalerKind::HorizontalPodAutoscaler)));
        self.scaled_objects.push(Box::new(reader(ScalerKind::ScaledObject)));
    }
}
