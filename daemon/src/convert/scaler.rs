//! Other autoscalers: API object -> the facts that rules read. No I/O.

use crate::api::hpa::CrossVersionObjectReference;
use crate::api::scaler::{PlainHPA, ScaledObject};
use crate::decision::related_objects::{KnownScaler, ScalerKind};
use kube::core::ObjectMeta;

/// Reads the facts about an autoscaler.
pub trait Scaler {
    /// The facts; `None` while it is being deleted.
    fn known(&self) -> Option<KnownScaler>;
}

impl Scaler for PlainHPA {
    fn known(&self) -> Option<KnownScaler> {
        known(ScalerKind::HorizontalPodAutoscaler, &self.metadata, &self.spec.scale_target_ref)
    }
}

impl Scaler for ScaledObject {
    fn known(&self) -> Option<KnownScaler> {
        let mut reference = self.spec.scale_target_ref.clone();
        // The defaults of KEDA.
        if reference.api_version.is_empty() {
            "apps/v1".clone_into(&mut reference.api_version);
        }
        if reference.kind.is_empty() {
            "Deployment".clone_into(&mut reference.kind);
        }
        known(ScalerKind::ScaledObject, &self.metadata, &reference)
    }
}

fn known(kind: ScalerKind, metadata: &ObjectMeta, reference: &CrossVersionObjectReference) -> Option<KnownScaler> {
    metadata.deletion_timestamp.is_none().then(|| KnownScaler {
        kind,
        name: metadata.name.clone().unwrap_or_default(),
        target: super::federated_hpa::target(metadata.namespace.as_deref(), reference),
    })
}
