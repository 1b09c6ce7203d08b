//! Request -> verdict: decode, then default or validate. No I/O; the time and the other objects are passed in.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::copy::{self, CopiedFields};
use super::endpoint::Endpoint;
use super::envelope::{Operation, Request};
use super::hold;
use super::verdict::{self, Denial, PatchOperation, Verdict};
use crate::convert::decode::Reviewed;
use crate::convert::{self, DecodeError, Decoded, decode, did_you_mean, own};
use crate::decision::cron::zones::Zones;
use crate::decision::defaults::{self, Addition, Mode};
use crate::decision::finding::{Findings, Warning};
use crate::decision::mirror::{OF_CRON_FEDERATED_HPA, OF_FEDERATED_HPA, Own};
use crate::decision::related_objects::RelatedObjects;
use crate::decision::subject::{CronFederatedHPA, FederatedHPA, Metadata, ResourceBinding};
use crate::decision::validation::ratchet::validate_update;
use crate::decision::validation::{Settings, Subject as _, ValidationContext};

/// Computes, on a dry run, the bounds that clusters would get.
pub trait Preview: Send + Sync {
    /// The assignment of a valid FederatedHPA at `now`, as warnings.
    fn preview(&self, object: &Value, now: Timestamp) -> Vec<Warning>;
}

/// Reviews requests.
pub struct Reviewer {
    /// The other objects in the control plane.
    pub related_objects: Arc<dyn RelatedObjects + Send + Sync>,
    /// The time zone database.
    pub zones: Arc<dyn Zones>,
    /// Settings of the operator.
    pub settings: Settings,
    /// Adds a preview to the dry run of a FederatedHPA.
    pub preview: Option<Arc<dyn Preview>>,
    /// Whether the CRDs of both kinds are known to be foreign.
    pub frozen: Option<Frozen>,
    /// Whether no controller acts, as far as this process knows; `None` where it cannot know.
    pub idle: Option<Idle>,
}

/// Returns whether the CRDs of both kinds are known to be foreign.
pub type Frozen = Arc<dyn Fn() -> bool + Send + Sync>;

/// Returns whether no controller acts: it is frozen by an operator, or nobody leads.
pub type Idle = Arc<dyn Fn() -> bool + Send + Sync>;

impl Reviewer {
    /// The verdict on one request, at `now`. Deletions are never denied.
    #[must_use]
    pub fn review(&self, endpoint: Endpoint, request: &Request, now: Timestamp) -> Verdict {
        if request.operation == Operation::Delete {
            return Verdict::allowed();
        }
        match endpoint {
            Endpoint::MutateFederatedHPA => self.mutate::<FederatedHPA<'_>>(request, now, Self::complete_federated_hpa),
            Endpoint::MutateCronFederatedHPA => {
                self.mutate::<CronFederatedHPA<'_>>(request, now, Self::complete_cron_federated_hpa)
            }
            Endpoint::MutateResourceBinding => self.suspend_scheduling(request),
            Endpoint::MutateDefinition => keep_fields(request),
            Endpoint::MutateWorkload => self.keep_label(request),
            Endpoint::ValidateFederatedHPA => self.validate_federated_hpa(request, now),
            Endpoint::ValidateCronFederatedHPA => {
                let new = decode::<CronFederatedHPA<'_>>(given(request));
                new.map_or_else(undecodable, |new| self.verdict(request, &new, now))
            }
        }
    }

    /// Completes an object, or denies it where the validating endpoint would deny what is completed: the API server
    /// checks an object by its schema after the mutating and before the validating webhooks, so an object with errors of
    /// both kinds would show those of the schema first, and the others at the next attempt
    /// (docs/validation.md#reviews). One with values of the wrong type cannot be completed.
    fn mutate<T: Reviewed>(
        &self,
        request: &Request,
        now: Timestamp,
        complete: impl Fn(&Self, &Request, &T) -> Verdict,
    ) -> Verdict {
        let new = match decode::<T>(given(request)) {
            Ok(new) => new,
            Err(error) => return undecodable(error),
        };
        let completed = complete(self, request, &new.object);
        let sound = new.wrong.is_empty();
        // A default adds no violation, but may be what is missing.
        if sound && (!self.settings.deny_early || new.violations(&self.context(now)).is_empty()) {
            return completed;
        }
        let with_defaults = verdict::patched(given(request).clone(), &completed.patch).ok();
        let judged = match with_defaults.and_then(|object| decode::<T>(&object).ok()) {
            // A default does not excuse the value of a wrong type in whose place it stands.
            Some(completed) => Decoded { wrong: new.wrong, ..completed },
            None => new,
        };
        let verdict = self.verdict(request, &judged, now);
        if verdict.denial.is_some() || !sound { verdict } else { completed }
    }

    /// The verdict on `new`, on UPDATE by its changes to the stored object.
    fn verdict<T: Reviewed>(&self, request: &Request, new: &Decoded<T>, now: Timestamp) -> Verdict {
        let stored = || stored(request).and_then(|object| decode(object).ok());
        let Findings { mut violations, warnings } = validate_update(new, stored, &self.context(now));
        did_you_mean::explain(T::KIND, given(request), &mut violations);
        let denial = (!violations.is_empty()).then_some(Denial::Invalid(violations));
        Verdict { denial, warnings, ..Verdict::default() }
    }

    fn complete_federated_hpa(&self, request: &Request, hpa: &FederatedHPA<'_>) -> Verdict {
        let stored = stored(request).and_then(|value| Some((value, decode::<FederatedHPA<'_>>(value).ok()?.object)));
        let seen = |value: &Value, metadata| seen(&OF_FEDERATED_HPA, metadata, own::federated_hpa_value(value));
        let old = stored.as_ref().map(|(value, hpa)| seen(value, &hpa.metadata));
        let mut new = seen(given(request), &hpa.metadata);
        let hidden = copy::is_hidden(&new, old.as_ref(), self.is_frozen());
        // An update without a mode keeps the mode.
        let known = old.as_ref().and_then(|old| Mode::parse(old.own.get("mode")?.as_str()?));
        let mode = known.or_else(|| hpa.spec.as_ref().and_then(Mode::stated));
        let undecided = mode.is_none() && old.is_some() && !self.settings.mode_is_chosen;
        let mode = mode.unwrap_or(self.settings.default_mode);
        let mut additions = defaults::federated_hpa(hpa, mode);
        if hidden || undecided {
            defaults::leave_mode(&mut additions);
        } else {
            new.own.entry("mode").or_insert_with(|| mode.name().into());
        }
        let before = stored.as_ref().map(|(_, hpa)| &hpa.metadata);
        let hold = hold::additions(&hpa.metadata, before, &request.field_manager);
        new.annotated |= hold::annotates(&hold);
        additions.extend(hold);
        additions.extend(copied(&hpa.metadata, &new, old.as_ref(), hidden));
        patched(additions)
    }

    fn is_frozen(&self) -> bool {
        self.frozen.as_ref().is_some_and(|frozen| frozen())
    }

    fn complete_cron_federated_hpa(&self, request: &Request, cron: &CronFederatedHPA<'_>) -> Verdict {
        let new = seen(&OF_CRON_FEDERATED_HPA, &cron.metadata, own::cron_subject(cron));
        let stored = stored(request).and_then(|value| Some(decode::<CronFederatedHPA<'_>>(value).ok()?.object));
        let old = stored.as_ref().map(|cron| seen(&OF_CRON_FEDERATED_HPA, &cron.metadata, own::cron_subject(cron)));
        let hidden = copy::is_hidden(&new, old.as_ref(), self.is_frozen());
        let mut additions = defaults::cron_federated_hpa(cron);
        additions.extend(copied(&cron.metadata, &new, old.as_ref(), hidden));
        patched(additions)
    }

    fn validate_federated_hpa(&self, request: &Request, now: Timestamp) -> Verdict {
        let new = match decode::<FederatedHPA<'_>>(given(request)) {
            Ok(new) => new,
            Err(error) => return undecodable(error),
        };
        let mut verdict = self.verdict(request, &new, now);
        if let Some(preview) = self.preview.as_ref().filter(|_| request.dry_run && verdict.denial.is_none()) {
            verdict.warnings.extend(preview.preview(given(request), now));
        }
        verdict
    }

    /// Suspends Karmada's scheduler. This review never blocks: a binding that cannot be decoded is not changed.
    ///
    /// While no controller acts, Karmada divides it: a workload that nobody divides runs nowhere.
    fn suspend_scheduling(&self, request: &Request) -> Verdict {
        if self.is_frozen() || self.idle.as_ref().is_some_and(|idle| idle()) {
            return Verdict::allowed();
        }
        let created = request.object.as_ref().filter(|_| request.operation == Operation::Create);
        let binding = created.and_then(|object| ResourceBinding::deserialize(object).ok());
        patched(binding.map(|binding| defaults::resource_binding(&binding, &*self.related_objects)).unwrap_or_default())
    }

    /// Puts the label back with which members keep their replicas, where a write of the whole workload omits it: without
    /// it Karmada would set members to the entries of the binding. This review never blocks, and does not depend on
    /// whether a controller acts: the HPAs of members go on.
    fn keep_label(&self, request: &Request) -> Verdict {
        let workload = stored(request).and_then(|_| convert::workload(given(request)));
        let Some(workload) = workload else { return Verdict::allowed() };
        match defaults::retention(&workload, &request.namespace, &request.name, &*self.related_objects) {
            Some((label, warning)) => Verdict { warnings: vec![warning], ..patched([label]) },
            None => Verdict::allowed(),
        }
    }

    fn context(&self, now: Timestamp) -> ValidationContext<'_> {
        ValidationContext {
            related_objects: &*self.related_objects,
            zones: &*self.zones,
            settings: &self.settings,
            now,
        }
    }
}

/// Preserves the fhpa fields in a CRD that another client applies. This review never blocks.
fn keep_fields(request: &Request) -> Verdict {
    let kept = |old: &Value| convert::definition::kept(old, given(request));
    patched(stored(request).map(kept).unwrap_or_default())
}

/// Fields and copy of an object; `None` for an object without metadata.
fn copied(
    metadata: &Metadata<'_>,
    new: &CopiedFields<'_>,
    old: Option<&CopiedFields<'_>>,
    hidden: bool,
) -> Vec<Addition> {
    if *metadata == Metadata::default() { Vec::new() } else { copy::additions(new, old, hidden) }
}

/// The stored object of an update.
fn stored(request: &Request) -> Option<&Value> {
    request.old_object.as_ref().filter(|_| request.operation == Operation::Update)
}

fn seen<'a>(known: &'static [&'static str], metadata: &'a Metadata<'_>, own: Own) -> CopiedFields<'a> {
    let notes = own::subject_notes(known, metadata);
    CopiedFields { own, notes, annotated: !metadata.annotations.is_empty() }
}

/// The new object; null where there is none.
fn given(request: &Request) -> &Value {
    request.object.as_ref().unwrap_or(&Value::Null)
}

/// Admitted with `additions`.
fn patched(additions: impl IntoIterator<Item = Addition>) -> Verdict {
    let operation = |addition: Addition| PatchOperation::Add { path: addition.pointer, value: addition.value };
    Verdict { patch: additions.into_iter().map(operation).collect(), ..Verdict::default() }
}

fn undecodable(error: DecodeError) -> Verdict {
    let DecodeError { path, message } = error;
    Verdict { denial: Some(Denial::Undecodable { path, message }), ..Verdict::default() }
}
