//! Objects whose workload cannot be scaled now: reports why. Hands back only what nothing else would. Talks to the API
//! server.

use std::sync::Arc;

use super::cache::View;
use super::cache::entry::{Binding, FederatedHpaEntry};
use super::crd_fields::{FieldState, UNDECIDED};
use super::observe::upstream::UPSTREAM_IDLE;
use super::preflight::divisible;
use super::progress::{Progress, bound};
use super::status;
use super::status::conditions;
use super::worker::FederatedHpaWorker;
use super::write::takeover::target;
use crate::controller::failure::{Failure, WriteError, reason};
use crate::controller::managers;
use crate::decision::backoff::ErrorClass;
use crate::runtime::leader::Leader;

impl FederatedHpaWorker {
    /// Restores lost fields, and copies those that have no copy yet; or reports what only the user can set.
    pub(super) async fn complete(
        &self,
        leader: &Leader,
        entry: &FederatedHpaEntry,
        fields: FieldState,
    ) -> Result<Progress, WriteError> {
        match fields {
            FieldState::Complete => Ok(Progress::Settled(None)),
            FieldState::Unrecoverable(why) => self.mode_unknown(leader, entry, why).await,
            FieldState::Undecided => self.mode_unknown(leader, entry, UNDECIDED).await,
            FieldState::Pruned(patch, fields) => {
                self.writer.federated_hpa_as(managers::MIRROR, leader, entry, patch).await?;
                self.reporter.restored(leader, entry, &fields);
                Ok(Progress::Wrote)
            }
            FieldState::NeedsCopy(patch) => {
                self.writer.federated_hpa_as(managers::MIRROR, leader, entry, patch).await?;
                Ok(Progress::Wrote)
            }
        }
    }

    /// Fields with unknown values are lost: the workload is neither handed back nor divided anew.
    async fn mode_unknown(
        &self,
        leader: &Leader,
        entry: &FederatedHpaEntry,
        why: &str,
    ) -> Result<Progress, WriteError> {
        let now = (self.clock)();
        self.centralized.forget(&entry.key());
        self.pauses.pause(&entry.key());
        // The two would write over each other for ever.
        let theirs = entry.upstream.and_then(|last| last.checked_add(UPSTREAM_IDLE).ok());
        if let Some(until) = theirs.filter(|until| *until > now) {
            return Ok(Progress::Settled(Some(until)));
        }
        let parts = |status| (status, conditions::MODE_UNKNOWN, why.to_owned());
        let status = status::unplanned(entry, parts("Unknown"), parts("False"), now);
        if !status::is_stored(entry, &status) {
            status::write(&self.writer, leader, entry, &status).await?;
        }
        Ok(Progress::Settled(None))
    }

    /// The user suspends the object before its workload is taken over or handed back.
    pub(super) async fn suspend(&self, leader: &Leader, view: &View) -> Result<Progress, WriteError> {
        let what = if view.federated_hpa.held() {
            "the change of its workload or mode waits, and member clusters keep their HPAs"
        } else {
            "the workload is not taken over"
        };
        let message = format!("spec.suspend is true: {what}");
        self.report_unplanned(leader, view, conditions::SUSPENDED, message).await?;
        Ok(Progress::Settled(None))
    }

    /// Another FederatedHPA scales the workload: two would conflict. Unless that divides it, a binding that was suspended
    /// at its creation is handed back, or no pod would run.
    pub(super) async fn yield_to_rival(&self, leader: &Leader, view: &View) -> Result<Progress, WriteError> {
        let Some(rival) = view.rival() else { return Ok(Progress::Settled(self.later())) };
        let message = if rival.deleting() || rival.target != view.federated_hpa.target {
            format!("FederatedHPA {} hands this workload back first: wait, nothing is to be done", rival.key())
        } else {
            format!(
                "FederatedHPA {} scales this workload already: delete one of them, or correct spec.scaleTargetRef",
                rival.key()
            )
        };
        self.report_unplanned(leader, view, conditions::CONFLICT, message).await?;
        let entry = &view.federated_hpa;
        let divides = self.serves(rival) && !rival.suspended();
        let undivided = |binding: &&Arc<Binding>| binding.marked().is_some() && !binding.is_divided();
        match view.binding.as_ref().filter(undivided) {
            Some(binding) if !divides && !entry.held() => self.give_back(leader, &entry.key(), binding).await,
            // The other one may be pointed elsewhere, and what it writes last wakes nobody.
            _ => Ok(Progress::Settled(self.later())),
        }
    }

    /// There is no binding by which the workload can be divided: reports why.
    pub(super) async fn await_binding(&self, leader: &Leader, view: &View) -> Result<Progress, WriteError> {
        let Some(binding) = bound(view) else { return self.unbound(leader, view).await };
        if let Err(failure) = divisible(view, binding) {
            self.report_unplanned(leader, view, failure.reason, failure.message).await?;
        }
        Ok(Progress::Settled(self.later()))
    }

    /// There is no binding: reports whether the workload is missing or not propagated.
    pub(crate) async fn unbound(&self, leader: &Leader, view: &View) -> Result<Progress, WriteError> {
        let (reason, message) = self.why_unbound(view).await?;
        self.report_unplanned(leader, view, reason, message).await?;
        Ok(Progress::Settled(self.later()))
    }

    /// Whether a workload without a binding is missing or not propagated.
    pub(crate) async fn why_unbound(&self, view: &View) -> Result<(&'static str, String), Failure> {
        let key = view.federated_hpa.key();
        let target = target(&view.federated_hpa.object.spec.scale_target_ref, &key.namespace);
        Ok(match self.takeover.template(target).await {
            Ok(_) => {
                let message = format!(
                    "{target} is not propagated: there is no ResourceBinding for it; create a PropagationPolicy that \
                     selects it"
                );
                (conditions::BINDING_NOT_FOUND, message)
            }
            Err(failure) if matches!(failure.reason, reason::NOT_FOUND | reason::TARGET_NOT_FOUND) => (
                conditions::WORKLOAD_NOT_FOUND,
                format!("{target} does not exist; create it or correct spec.scaleTargetRef"),
            ),
            Err(failure) if failure.class == ErrorClass::Transient => return Err(failure),
            Err(failure) => (failure.reason, failure.message),
        })
    }
}
