//! Removes the label from a workload that is handed back, or says why it stays. Talks to the API server.

use kube::core::PartialObjectMeta;
use serde_json::json;

use super::release::{Release, Released};
use super::takeover::{labelled, other_owners, owns_label, target};
use crate::controller::failure::WriteError;
use crate::reconcile::federated_hpa::names::RETAIN_REPLICAS;
use crate::reconcile::scale_target::{ResourcePath, TargetRef};

impl Release<'_> {
    /// What remains of a workload whose binding fhpa does not suspend: without any, nothing would set its members to other
    /// replicas, and the label is removed. A scheduler that somebody else resumed may have divided it in another way.
    /// `None`: nothing is left to do.
    pub(super) async fn leave(self, bound: bool) -> Result<Option<Released>, WriteError> {
        let entry = &self.view.federated_hpa;
        // It is not known what one that is gone had taken over.
        if entry.taken_over.kind.is_empty() || self.known().keeps_label {
            return Ok(None);
        }
        let key = entry.key();
        let target = target(&entry.taken_over, &key.namespace);
        let read = self.takeover.template(target).await.map_err(WriteError::from);
        let Some((place, template)) = self.attempt(read)?.filter(|(_, template)| labelled(template)) else {
            return Ok(None);
        };
        if !bound {
            return self.unlabel(target, &place, &template).await;
        }
        if !self.tells_of_others(target, &template) {
            self.keeps_label(format!(
                "{target} keeps the label {RETAIN_REPLICAS}: somebody else resumed the scheduling of its ResourceBinding, and \
                 without the label Karmada would set its clusters to their entries there; remove it once these are what runs"
            ));
        }
        Ok(None)
    }

    /// The label stays, for the reason that is told.
    pub(super) fn keeps_label(self, why: String) {
        self.note(|progress| progress.keeps_label = true);
        self.undone(why);
    }

    /// Removes the label. `None`: it stays.
    pub(super) async fn unlabel(
        self,
        target: TargetRef<'_>,
        place: &ResourcePath,
        template: &PartialObjectMeta,
    ) -> Result<Option<Released>, WriteError> {
        let Self { takeover, leader, .. } = self;
        if !owns_label(template) {
            let owned = takeover.apply_label(leader, target, place, template).await;
            if self.attempt(owned)?.is_some() {
                return Ok(Some(Released::Partly));
            }
        }
        let left = takeover.apply_labels(leader, target, place, template, json!({})).await;
        let Some(left) = self.attempt(left)? else {
            self.note(|progress| progress.keeps_label = true);
            return Ok(None);
        };
        if labelled(&left) {
            self.tells_of_others(target, &left);
            return Ok(None);
        }
        Ok(Some(Released::Partly))
    }

    /// Tells that the label stays where only others own it; returns whether it is so.
    fn tells_of_others(self, target: TargetRef<'_>, template: &PartialObjectMeta) -> bool {
        let others = other_owners(template);
        if owns_label(template) || others.is_empty() {
            return false;
        }
        self.keeps_label(format!(
            "{target} keeps the label {RETAIN_REPLICAS}, which {} set as well: members keep their replicas, whatever Karmada \
             divides; remove it from the manifest where that is not meant",
            others.join(", ")
        ));
        true
    }
}
