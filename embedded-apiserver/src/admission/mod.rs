//! Admission webhooks: their configurations, and the calls to them. Calls use TLS.

mod call;
mod conditions;
mod hook;
mod matching;
mod outcome;
mod request;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use futures::future::{BoxFuture, join_all};
use serde_json::{Value, json};

use self::call::review;
use self::hook::{Hook, Target};
use self::outcome::{Answer, Failed};
use self::request::{Invocation, in_version, request_json};

pub use self::outcome::Refused;
pub use self::request::{AdmissionRequest, Kind, Operation, Resource};

/// Result of mutation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mutated {
    /// The mutated object; absent on a delete.
    pub object: Option<Value>,
    /// Warnings for the client, in order.
    pub warnings: Vec<String>,
}

/// Normalizes an object that a webhook changed: defaults and pruning of its kind.
pub type Normalize<'a> = &'a (dyn Fn(&mut Value) + Sync);

/// Answers reviews in the process: from path and review to the response, or to an error.
pub type Inside = Arc<dyn Fn(&str, Value) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

/// The webhooks, in order.
pub struct Chain {
    mutating: ArcSwap<Vec<Hook>>,
    validating: ArcSwap<Vec<Hook>>,
    inside: ArcSwap<BTreeMap<String, Inside>>,
    uid: Box<dyn Fn() -> String + Send + Sync>,
}

/// A request on its way through the mutating webhooks.
struct Round {
    request: AdmissionRequest,
    warnings: Vec<String>,
}

/// Reinvocation state: webhooks that request it are called a second time, when another changed the object after them,
/// in either pass.
#[derive(Default)]
struct Reinvocation {
    /// Called, without a later change.
    asked: BTreeSet<usize>,
    /// Called before a change.
    wanted: BTreeSet<usize>,
}

/// Kinds that no webhook may review, because a broken webhook could then not be repaired.
const EXEMPT: [&str; 6] = [
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
];

impl Chain {
    /// A chain without webhooks. `uid` creates the uid of each review.
    pub fn new(uid: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self {
            mutating: ArcSwap::default(),
            validating: ArcSwap::default(),
            inside: ArcSwap::default(),
            uid: Box::new(uid),
        }
    }

    /// Answers calls to the webhooks at `base`, `https://HOST:PORT`, without a socket, as virtual time needs it.
    pub fn answer_inside(&self, base: &str, inside: &Inside) {
        self.inside.rcu(|known| {
            let mut all = BTreeMap::clone(known);
            all.insert(base.to_owned(), Arc::clone(inside));
            all
        });
    }

    async fn call(&self, hook: &Hook, sent: Value) -> Result<Value, String> {
        if let Target::Url(url, _) = &hook.target {
            let inside = self.inside.load_full();
            let found = inside.iter().find_map(|(base, inside)| Some((inside, url.strip_prefix(base.as_str())?)));
            if let Some((inside, path)) = found {
                return inside(path, sent).await;
            }
        }
        review(hook, &sent).await
    }

    /// Why a configuration, of either kind, cannot be read. The server rejects it on write; here it is skipped.
    #[must_use]
    pub fn unreadable(configuration: &Value) -> Option<String> {
        hook::unreadable(configuration)
    }

    /// Sets all mutating configurations; they are called in the order of their names.
    pub fn set_mutating(&self, configurations: &[Value]) {
        self.mutating.store(Arc::new(hook::read(configurations)));
    }

    /// Sets all validating configurations.
    pub fn set_validating(&self, configurations: &[Value]) {
        self.validating.store(Arc::new(hook::read(configurations)));
    }

    /// Whether there are no webhooks.
    pub fn is_empty(&self) -> bool {
        self.mutating.load().is_empty() && self.validating.load().is_empty()
    }

    /// Whether a mutating webhook has a rule for requests like this one, whatever their objects are; otherwise the caller
    /// can skip building the request.
    pub fn may_mutate(&self, outline: &AdmissionRequest) -> bool {
        self.mutating.load().iter().any(|hook| hook.has_rule(outline))
    }

    /// As [`Self::may_mutate`], for validating webhooks.
    pub fn may_validate(&self, outline: &AdmissionRequest) -> bool {
        self.validating.load().iter().any(|hook| hook.has_rule(outline))
    }

    /// Calls the mutating webhooks one after the other; those that request reinvocation a second time when a later one
    /// changed the object.
    ///
    /// # Errors
    /// The Status of the first denial, or of a failed call that does not fail open.
    pub async fn mutate(&self, request: &AdmissionRequest, normalize: Normalize<'_>) -> Result<Mutated, Refused> {
        let hooks = self.mutating.load_full();
        if exempt(&request.kind) {
            return Ok(Mutated { object: request.object.clone(), warnings: Vec::new() });
        }
        let mut state = Round { request: request.clone(), warnings: Vec::new() };
        let mut second = Reinvocation::default();
        self.round(&hooks, false, normalize, &mut state, &mut second).await?;
        if !second.wanted.is_empty() {
            self.round(&hooks, true, normalize, &mut state, &mut second).await?;
        }
        Ok(Mutated { object: state.request.object, warnings: state.warnings })
    }

    /// One pass: the first over all webhooks, the second over those to reinvoke.
    async fn round(
        &self,
        hooks: &[Hook],
        again: bool,
        normalize: Normalize<'_>,
        state: &mut Round,
        second: &mut Reinvocation,
    ) -> Result<(), Refused> {
        for (index, hook) in hooks.iter().enumerate() {
            let called = self.ask(hook, &state.request, !again || second.wanted.contains(&index), true).await;
            let answer = match called {
                Ok(None) => continue,
                Ok(Some(answer)) => Some(answer),
                Err(failed) => {
                    refuse(failed, hook, &mut state.warnings)?;
                    None
                }
            };
            if let Some(answer) = answer {
                state.warnings.extend(answer.warnings.iter().cloned());
                let changed = answer.apply(hook, &mut state.request.object, normalize);
                if changed.map_err(|status| Refused { status, warnings: state.warnings.clone() })? {
                    second.wanted.append(&mut second.asked);
                }
            }
            if hook.reinvoke {
                second.asked.insert(index);
            }
        }
        Ok(())
    }

    /// Calls the validating webhooks, all at once; returns their warnings.
    ///
    /// # Errors
    /// The Status of the first denial in the order of the configurations, or of a failed call that does not fail open.
    pub async fn validate(&self, request: &AdmissionRequest) -> Result<Vec<String>, Refused> {
        let hooks = self.validating.load_full();
        if exempt(&request.kind) {
            return Ok(Vec::new());
        }
        let answers = join_all(hooks.iter().map(|hook| self.ask(hook, request, true, false))).await;
        let mut warnings = Vec::new();
        let mut refused = None;
        for (hook, answer) in hooks.iter().zip(answers) {
            match answer {
                Ok(answer) => warnings.extend(answer.into_iter().flat_map(|answer| answer.warnings)),
                Err(failed) => {
                    let mut own = Vec::new();
                    let outcome = refuse(failed, hook, &mut own);
                    warnings.extend(own);
                    refused = refused.or(outcome.err());
                }
            }
        }
        match refused {
            Some(refused) => Err(Refused { warnings, ..refused }),
            None => Ok(warnings),
        }
    }

    /// Calls one webhook; `None` when it does not match.
    async fn ask(
        &self,
        hook: &Hook,
        request: &AdmissionRequest,
        wanted: bool,
        mutating: bool,
    ) -> Result<Option<Answer>, Failed> {
        let Some(invocation) = hook.concerns(request)? else { return Ok(None) };
        if !wanted {
            return Ok(None);
        }
        if request.dry_run && !hook.dry_run_safe {
            let message = format!("admission webhook {:?} does not support dry run", hook.name);
            return Err(Failed::Refused { status: outcome::bad_request(&message), warnings: Vec::new() });
        }
        if !hook.accepts_v1 {
            let why = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1)";
            return Err(Failed::Call(why.to_owned()));
        }
        let uid = (self.uid)();
        let sent = review_of(&uid, request, &invocation);
        let answer = self.call(hook, sent).await;
        let answer = answer.map_err(|why| Failed::Call(format!("failed to call webhook: {why}")))?;
        outcome::read(hook, &uid, mutating, &answer).map(Some)
    }
}

fn exempt(kind: &Kind) -> bool {
    kind.group == "admissionregistration.k8s.io" && EXEMPT.contains(&kind.kind.as_str())
}

/// An error, unless the webhook fails open.
fn refuse(failed: Failed, hook: &Hook, warnings: &mut Vec<String>) -> Result<(), Refused> {
    match failed {
        Failed::Refused { status, warnings: own } => {
            warnings.extend(own);
            Err(Refused { status, warnings: warnings.clone() })
        }
        Failed::Call(_) if hook.fails_open => Ok(()),
        Failed::Call(why) => {
            let status = outcome::internal(&format!("failed calling webhook {:?}: {why}", hook.name));
            Err(Refused { status, warnings: warnings.clone() })
        }
    }
}

fn review_of(uid: &str, request: &AdmissionRequest, invocation: &Invocation) -> Value {
    let mut inner = request_json(uid, request, invocation);
    if let Some(members) = inner.as_object_mut() {
        members.insert("object".to_owned(), in_version(request.object.as_ref(), &invocation.kind));
        members.insert("oldObject".to_owned(), in_version(request.old_object.as_ref(), &invocation.kind));
    }
    json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": inner })
}
