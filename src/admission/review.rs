//! Request -> verdict: decode, then default or validate. No I/O; the time and the other objects are passed in.

use std::borrow::Cow;
use std::sync::Arc;

use super::copy::{self, CopiedFields};
use super::endpoint::Endpoint;
use super::envelope::{Operation, Request};
use super::hold;
use super::object::{NULL, Object};
use super::verdict::{self, Denial, PatchOperation, Verdict};
use super::wrong_types;
use crate::convert::{self, DecodeError, did_you_mean, own};
use crate::decision::cron::zones::Zones;
use crate::decision::defaults::{self, Addition, Mode};
use crate::decision::finding::{Findings, Warning};
use crate::decision::mirror::{OF_CRON_FEDERATED_HPA, OF_FEDERATED_HPA, Own};
use crate::decision::related_objects::RelatedObjects;
use crate::decision::subject::{CronFederatedHPA, FederatedHPA, Metadata};
use crate::decision::validation::ratchet::{STORED_BEFORE, validate_update};
use crate::decision::validation::{Settings, Subject, ValidationContext};
use jiff::Timestamp;

/// Bytes of the largest object that the mutating endpoint judges too: a larger one would cost too much.
const EARLY: usize = 64 << 10;

/// Computes, on a dry run, the bounds that clusters would get.
pub trait Preview: Send + Sync {
    /// The assignment of a valid FederatedHPA, given as JSON, at `now`, as warnings.
    fn preview(&self, object: &str, now: Timestamp) -> Vec<Warning>;
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
    pub fn review(&self, endpoint: Endpoint, request: &Request<'_>, now: Timestamp) -> Verdict {
        if request.operation == Operation::Delete {
            return Verdict::allowed();
        }
        let verdict = self.decide(endpoint, request, now);
        let text = given(request).text();
        if !matches!(verdict.denial, Some(Denial::Undecodable { .. })) || text.len() > EARLY {
            return verdict;
        }
        let Ok(object) = serde_json::from_str(text) else { return verdict };
        wrong_types::with_the_rest(verdict, object, |object| {
            let object = object.to_string();
            self.judged(endpoint, request, Some(Object::new(&object)), now).denial
        })
    }

    /// As [`Self::review`]; of values of the wrong type the first is told alone.
    fn decide(&self, endpoint: Endpoint, request: &Request<'_>, now: Timestamp) -> Verdict {
        match endpoint {
            Endpoint::MutateFederatedHPA => self.mutate_federated_hpa(request, now),
            Endpoint::MutateCronFederatedHPA => self.mutate_cron_federated_hpa(request, now),
            Endpoint::MutateResourceBinding => self.suspend_scheduling(request),
            Endpoint::MutateDefinition => keep_fields(request),
            Endpoint::MutateWorkload => self.keep_label(request),
            Endpoint::ValidateFederatedHPA => self.validate_federated_hpa(request, now),
            Endpoint::ValidateCronFederatedHPA => {
                validate(endpoint.kind(), request, &self.context(now), Object::cron_federated_hpa, |_, _| {})
            }
        }
    }

    fn mutate_cron_federated_hpa(&self, request: &Request<'_>, now: Timestamp) -> Verdict {
        let validating = Endpoint::ValidateCronFederatedHPA;
        let Ok(cron) = given(request).cron_federated_hpa() else { return self.decide(validating, request, now) };
        let completed = self.complete_cron_federated_hpa(request, &cron);
        if !self.is_denied_as_it_is(validating, request, &*cron, now) {
            return completed;
        }
        denial(self.judged_completed(validating, request, &completed, now)).unwrap_or(completed)
    }

    /// A quantity that cannot be parsed is rejected here, as in Karmada - with all other errors.
    fn mutate_federated_hpa(&self, request: &Request<'_>, now: Timestamp) -> Verdict {
        let validating = Endpoint::ValidateFederatedHPA;
        let Ok(hpa) = given(request).federated_hpa() else { return self.decide(validating, request, now) };
        let completed = self.complete_federated_hpa(request, &hpa);
        let judge = || self.judged_completed_federated_hpa(request, &hpa, &completed, now);
        if hpa.spec.as_ref().is_some_and(|spec| !spec.quantities_are_sound()) {
            let judged = is_small(request).then(judge).flatten();
            return judged.unwrap_or_else(|| self.decide(validating, request, now));
        }
        if !self.is_denied_as_it_is(validating, request, &*hpa, now) {
            return completed;
        }
        denial(judge()).unwrap_or(completed)
    }

    /// Whether the validating endpoint would deny the object, given decoded as `new`, without its defaults. Then it is
    /// judged with them, as a default may be what is missing, and denied here already: the API server checks an object
    /// by its schema after the mutating and before the validating webhooks, so an object with errors of both kinds would
    /// show those of the schema first, and the others at the next attempt (docs/validation.md#reviews).
    fn is_denied_as_it_is(
        &self,
        validating: Endpoint,
        request: &Request<'_>,
        new: &impl Subject,
        now: Timestamp,
    ) -> bool {
        let early = self.settings.deny_early && is_small(request);
        if !early || new.violations(&self.context(now)).is_empty() {
            return false;
        }
        // Only what was stored before may let a violation through.
        stored(request).is_none() || self.judged(validating, request, request.object.clone(), now).denial.is_some()
    }

    /// The verdict of the validating endpoint on `hpa` as `completed` leaves it.
    fn judged_completed_federated_hpa(
        &self,
        request: &Request<'_>,
        hpa: &FederatedHPA<'_>,
        completed: &Verdict,
        now: Timestamp,
    ) -> Option<Verdict> {
        let additions = verdict::overlay(&completed.patch)?.to_string();
        let hpa = convert::decode::overlaid(hpa, &additions)?;
        let kind = Endpoint::ValidateFederatedHPA.kind();
        Some(validate_decoded(kind, request, &hpa, &self.context(now), Object::federated_hpa, |_, _| {}))
    }

    /// The verdict of the validating endpoint on the object as `completed` leaves it; `None` where it cannot be read.
    fn judged_completed(
        &self,
        validating: Endpoint,
        request: &Request<'_>,
        completed: &Verdict,
        now: Timestamp,
    ) -> Option<Verdict> {
        if completed.patch.is_empty() {
            return Some(self.judged(validating, request, request.object.clone(), now));
        }
        let object = serde_json::from_str(given(request).text()).ok()?;
        let object = verdict::patched(object, &completed.patch).ok()?.to_string();
        Some(self.judged(validating, request, Some(Object::new(&object)), now))
    }

    /// The verdict of an endpoint on `object` in place of that of the request, without a preview.
    fn judged(&self, endpoint: Endpoint, request: &Request<'_>, object: Option<Object<'_>>, now: Timestamp) -> Verdict {
        let request = Request {
            uid: Cow::Borrowed(&*request.uid),
            operation: request.operation,
            namespace: Cow::Borrowed(&*request.namespace),
            name: Cow::Borrowed(&*request.name),
            sub_resource: Cow::Borrowed(&*request.sub_resource),
            dry_run: false,
            field_manager: Cow::Borrowed(&*request.field_manager),
            object,
            old_object: request.old_object.clone(),
        };
        self.decide(endpoint, &request, now)
    }

    fn complete_federated_hpa(&self, request: &Request<'_>, hpa: &FederatedHPA<'_>) -> Verdict {
        let stored = stored(request).and_then(|object| Some((object.text(), object.federated_hpa().ok()?)));
        let old = stored
            .as_ref()
            .map(|(text, hpa)| seen(&OF_FEDERATED_HPA, &hpa.metadata, own::federated_hpa_subject(hpa, text)));
        let mut new = seen(&OF_FEDERATED_HPA, &hpa.metadata, own::federated_hpa_subject(hpa, given(request).text()));
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

    fn complete_cron_federated_hpa(&self, request: &Request<'_>, cron: &CronFederatedHPA<'_>) -> Verdict {
        let new = seen(&OF_CRON_FEDERATED_HPA, &cron.metadata, own::cron_subject(cron));
        let stored = stored(request).and_then(|object| object.cron_federated_hpa().ok());
        let old = stored.as_ref().map(|cron| seen(&OF_CRON_FEDERATED_HPA, &cron.metadata, own::cron_subject(cron)));
        let hidden = copy::is_hidden(&new, old.as_ref(), self.is_frozen());
        let mut additions = defaults::cron_federated_hpa(cron);
        additions.extend(copied(&cron.metadata, &new, old.as_ref(), hidden));
        patched(additions)
    }

    fn validate_federated_hpa(&self, request: &Request<'_>, now: Timestamp) -> Verdict {
        let kind = Endpoint::ValidateFederatedHPA.kind();
        validate(kind, request, &self.context(now), Object::federated_hpa, |_, findings| {
            if let Some(preview) = self.preview.as_ref().filter(|_| request.dry_run && findings.violations.is_empty()) {
                findings.warnings.extend(preview.preview(given(request).text(), now));
            }
        })
    }

    /// Suspends Karmada's scheduler. This review never blocks: a binding that cannot be decoded is not changed.
    ///
    /// While no controller acts, Karmada divides it: a workload that nobody divides runs nowhere.
    fn suspend_scheduling(&self, request: &Request<'_>) -> Verdict {
        if self.is_frozen() || self.idle.as_ref().is_some_and(|idle| idle()) {
            return Verdict::allowed();
        }
        let created = request.object.as_ref().filter(|_| request.operation == Operation::Create);
        let binding = created.and_then(|object| object.resource_binding().ok());
        patched(binding.map(|binding| defaults::resource_binding(&binding, &*self.related_objects)).unwrap_or_default())
    }

    /// Puts the label back with which members keep their replicas, where a write of the whole workload omits it: without
    /// it Karmada would set members to the entries of the binding. This review never blocks, and does not depend on
    /// whether a controller acts: the HPAs of members go on.
    fn keep_label(&self, request: &Request<'_>) -> Verdict {
        let workload = stored(request).and_then(|_| convert::workload(given(request).text()));
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
fn keep_fields(request: &Request<'_>) -> Verdict {
    let kept = |old: &Object<'_>| convert::definition::kept(old.text(), given(request).text());
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
fn stored<'r, 'a>(request: &'r Request<'a>) -> Option<&'r Object<'a>> {
    request.old_object.as_ref().filter(|_| request.operation == Operation::Update)
}

fn seen<'a>(known: &'static [&'static str], metadata: &'a Metadata<'_>, own: Own) -> CopiedFields<'a> {
    let notes = own::subject_notes(known, metadata);
    CopiedFields { own, notes, annotated: !metadata.annotations.is_empty() }
}

/// The new object; null where there is none.
fn given<'r, 'a>(request: &'r Request<'a>) -> &'r Object<'a> {
    request.object.as_ref().unwrap_or(&NULL)
}

/// Whether the new object is small enough to be judged by the mutating endpoint.
fn is_small(request: &Request<'_>) -> bool {
    given(request).text().len() <= EARLY
}

/// Admitted with `additions`.
fn patched(additions: impl IntoIterator<Item = Addition>) -> Verdict {
    let operation = |addition: Addition| PatchOperation::Add { path: addition.pointer, value: addition.value };
    Verdict { patch: additions.into_iter().map(operation).collect(), ..Verdict::default() }
}

/// Validates the new object, on UPDATE by its changes to the stored one.
fn validate<'r, 'a, S: Subject + Clone + 'r>(
    kind: &str,
    request: &'r Request<'a>,
    around: &ValidationContext<'_>,
    decode: impl Fn(&'r Object<'a>) -> Result<Cow<'r, S>, DecodeError>,
    finish: impl FnOnce(&S, &mut Findings),
) -> Verdict {
    match decode(given(request)) {
        Ok(new) => validate_decoded(kind, request, &*new, around, decode, finish),
        Err(error) if stored(request).map(decode) == Some(Err(error.clone())) => spared(error),
        Err(error) => undecodable(error),
    }
}

/// As [`validate`], with the new object decoded as `new`.
fn validate_decoded<'r, 'a, S: Subject + Clone + 'r>(
    kind: &str,
    request: &'r Request<'a>,
    new: &S,
    around: &ValidationContext<'_>,
    decode: impl Fn(&'r Object<'a>) -> Result<Cow<'r, S>, DecodeError>,
    finish: impl FnOnce(&S, &mut Findings),
) -> Verdict {
    let stored = || stored(request).and_then(|object| decode(object).ok()).map(Cow::into_owned);
    let mut findings = validate_update(new, stored, around);
    finish(new, &mut findings);
    let Findings { mut violations, warnings } = findings;
    did_you_mean::explain(kind, given(request).text(), &mut violations);
    let denial = (!violations.is_empty()).then_some(Denial::Invalid(violations));
    Verdict { denial, warnings, ..Verdict::default() }
}

/// The verdict, if it denies.
fn denial(verdict: Option<Verdict>) -> Option<Verdict> {
    verdict.filter(|verdict| verdict.denial.is_some())
}

fn undecodable(error: DecodeError) -> Verdict {
    let DecodeError { path, message } = error;
    Verdict { denial: Some(Denial::Undecodable { path, message }), ..Verdict::default() }
}

/// An error that the stored object already has is not a reason to reject the update.
fn spared(error: DecodeError) -> Verdict {
    let text = format!("{STORED_BEFORE}: {}", error.message);
    let warning = Warning::shortened(error.path, text, "decode");
    Verdict { warnings: vec![warning], ..Verdict::default() }
}
