//! Brings one object of the installation to its desired state, by server-side apply, and returns the changes. Talks to
//! the API server.

use std::time::Duration;

use kube::Client;
use kube::api::{DeleteParams, GetParams, ListParams, ObjectMeta, Patch, PatchParams};
use kube::core::Request;
use serde_json::Value;

use super::compare::changes;
use super::manifests::{Manifest, Part};
use super::schema_merge::merge;
use super::{upstream_webhooks, webhooks};
use crate::api::served;
use crate::controller::failure::{Asked, Failure, reason};
use crate::controller::pages::{metadata_pages, pages};
use crate::controller::request::{PATIENCE, send, send_within};
use crate::decision::backoff::ErrorClass;

/// Karmada's message for a second customization of the same kind.
const TAKEN: &str = "conflicting with InterpreterOperation";

/// Result for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was created.
    Created,
    /// These fields were changed.
    Changed(Vec<String>),
    /// It was already in the desired state.
    Unchanged,
    /// Karmada has no such webhook to disable.
    Absent,
    /// Another object already does the same, and only one is allowed: the message.
    Taken(String),
    /// It belongs to Karmada, differs in these fields, and must not be changed.
    Left(Vec<String>),
    /// It is a definition of Karmada's that must not be changed, and lacks these fields, without which nothing is decided.
    Lacking(String),
    /// The API server is too old for it.
    Unserved,
}

/// How objects are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Whether nothing is stored.
    pub dry_run: bool,
    /// Whether to change objects that also belong to Karmada.
    pub manage_karmada: bool,
}

/// An object, by its kind and name.
pub struct Found<'a> {
    /// `/apis/GROUP/VERSION[/namespaces/NAMESPACE]/PLURAL`
    path: String,
    group: &'a str,
    plural: String,
    name: &'a str,
    shown: String,
}

/// The path of an object of the installation.
#[must_use]
pub fn place(object: &Value) -> Found<'_> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let plural = match kind.to_lowercase() {
        kind if kind.ends_with('y') => format!("{}ies", kind.trim_end_matches('y')),
        kind => format!("{kind}s"),
    };
    let path = match text("/metadata/namespace") {
        "" => format!("/apis/{api_version}/{plural}"),
        namespace => format!("/apis/{api_version}/namespaces/{namespace}/{plural}"),
    };
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Found { path, group, plural, name, shown: format!("{kind} {name}") }
}

impl Found<'_> {
    fn asked<'a>(&'a self, verb: &'a str) -> Asked<'a> {
        Asked { verb, group: self.group, resource: &self.plural, object: &self.shown }
    }

    /// The stored object, if there is one.
    ///
    /// # Errors
    /// When the API server rejects the request, does not serve the kind, or is unreachable.
    pub async fn get(&self, client: &Client) -> Result<Option<Value>, Failure> {
        let request = Request::new(&self.path).get(self.name, &GetParams::default());
        match send(client, request, self.asked("get")).await {
            Ok(live) => Ok(Some(live)),
            Err(failure) if failure.reason == reason::NOT_FOUND => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Applies `object` as `manager`.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn apply(&self, client: &Client, manager: &str, object: &Value, dry_run: bool) -> Result<Value, Failure> {
        self.apply_within(PATIENCE, client, manager, object, dry_run).await
    }

    async fn apply_within(
        &self,
        patience: Duration,
        client: &Client,
        manager: &str,
        object: &Value,
        dry_run: bool,
    ) -> Result<Value, Failure> {
        let parameters = PatchParams { dry_run, ..PatchParams::apply(manager).force() };
        let request = Request::new(&self.path).patch(self.name, &parameters, &Patch::Apply(object));
        send_within(patience, client, request, self.asked("patch")).await
    }

    /// Deletes the object; returns whether there was one.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn delete(&self, client: &Client, dry_run: bool) -> Result<bool, Failure> {
        if dry_run {
            return match self.get(client).await {
                Err(failure) if failure.class == ErrorClass::Missing => Ok(false),
                found => Ok(found?.is_some()),
            };
        }
        let request = Request::new(&self.path).delete(self.name, &DeleteParams::default());
        match send::<Value>(client, request, self.asked("delete")).await {
            Ok(_) => Ok(true),
            Err(failure) if failure.class == ErrorClass::Missing => Ok(false),
            Err(failure) => Err(failure),
        }
    }
}

/// All objects at `path`; empty when their kind is not served.
///
/// # Errors
/// When the API server rejects the request or is unreachable.
pub async fn list(client: &Client, path: &str, group: &str, resource: &str) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    each(client, path, group, resource, |object| all.push(object)).await?;
    Ok(all)
}

/// Passes every object at `path` to `take`, and holds no more than a page of them; none when their kind is not served.
///
/// # Errors
/// As [`list`].
pub async fn each(
    client: &Client,
    path: &str,
    group: &str,
    resource: &str,
    take: impl FnMut(Value),
) -> Result<(), Failure> {
    let asked = Asked { verb: "list", group, resource, object: &resource };
    none_unserved(pages(client, path, ListParams::default(), asked, take).await)
}

/// As [`each`], of the metadata of those that `parameters` select.
///
/// # Errors
/// As [`list`].
pub async fn each_metadata(
    client: &Client,
    path: &str,
    parameters: ListParams,
    (group, resource): (&str, &str),
    take: impl FnMut(ObjectMeta),
) -> Result<(), Failure> {
    let asked = Asked { verb: "list", group, resource, object: &resource };
    none_unserved(metadata_pages(client, path, parameters, asked, take).await)
}

/// Of a kind that is not served there are no objects.
fn none_unserved(read: Result<(), Failure>) -> Result<(), Failure> {
    read.or_else(|failure| if failure.class == ErrorClass::Missing { Ok(()) } else { Err(failure) })
}

/// The object to apply over `live`; `None`: no change is needed.
///
/// # Errors
/// When the live object cannot be replaced.
pub fn wanted(manifest: &Manifest, live: Option<&Value>) -> Result<Option<Value>, Failure> {
    match (manifest.part, live) {
        (Part::Definition, Some(live)) => {
            let refused = |error: super::schema_merge::UnsupportedStorageVersion| {
                Failure::new(ErrorClass::Refused, reason::REJECTED, error.to_string())
            };
            merge(&manifest.object, live).map(Some).map_err(refused)
        }
        (Part::SetAside(entries), live) => {
            let present = live.map(|live| upstream_webhooks::present(entries, live)).unwrap_or_default();
            Ok((!present.is_empty()).then(|| upstream_webhooks::configuration(entries, &present)))
        }
        (Part::Webhook, Some(live)) if webhooks::are_optional(live) && !webhooks::states_policy(&manifest.object) => {
            Ok(Some(webhooks::optional(&manifest.object)))
        }
        _ => Ok(Some(manifest.object.clone())),
    }
}

/// Whether the object could not be applied as its namespace does not exist: applying creates what is missing itself.
#[must_use]
pub fn lacks_namespace(manifest: &Manifest, failure: &Failure) -> bool {
    manifest.object.pointer("/metadata/namespace").is_some() && failure.reason == reason::NOT_FOUND
}

/// What is to be done about an object.
pub enum Due<'a> {
    /// Nothing, with this result.
    Nothing(Outcome),
    /// A write.
    Write(Write<'a>),
}

/// The write that brings an object to its desired state.
pub struct Write<'a> {
    manifest: &'a Manifest,
    found: Found<'a>,
    live: Option<Value>,
    wanted: Value,
}

/// Brings the object to its desired state.
///
/// # Errors
/// When the API server rejects the request or is unreachable, or the live object cannot be replaced.
pub async fn apply(client: &Client, manifest: &Manifest, mode: Mode) -> Result<Outcome, Failure> {
    match due(client, manifest, mode).await? {
        Due::Nothing(outcome) => Ok(outcome),
        Due::Write(write) => write.send(PATIENCE, client, mode).await,
    }
}

/// Reads the object, and says what is to be done about it.
///
/// # Errors
/// As [`apply`].
pub async fn due<'a>(client: &Client, manifest: &'a Manifest, mode: Mode) -> Result<Due<'a>, Failure> {
    let found = place(&manifest.object);
    let live = match found.get(client).await {
        Err(failure) if manifest.part == Part::Policy && failure.class == ErrorClass::Missing => {
            return Ok(Due::Nothing(Outcome::Unserved));
        }
        live => live?,
    };
    let Some(wanted) = wanted(manifest, live.as_ref())? else { return Ok(Due::Nothing(Outcome::Absent)) };
    let karmadas = matches!(manifest.part, Part::Definition | Part::SetAside(_));
    if let Some(live) = live.as_ref().filter(|_| karmadas && !mode.manage_karmada) {
        if manifest.part == Part::Definition {
            let lost = served::lost(&manifest.object, live);
            if !lost.is_empty() {
                return Ok(Due::Nothing(Outcome::Lacking(served::shown(&lost))));
            }
        }
        let differs = super::compare::differences(&wanted, live);
        return Ok(Due::Nothing(if differs.is_empty() { Outcome::Unchanged } else { Outcome::Left(differs) }));
    }
    Ok(Due::Write(Write { manifest, found, live, wanted }))
}

impl Write<'_> {
    /// Sends it, and waits so long for the response.
    ///
    /// # Errors
    /// When the API server rejects the request, is unreachable, or does not answer in time.
    pub async fn send(self, patience: Duration, client: &Client, mode: Mode) -> Result<Outcome, Failure> {
        let Self { manifest, found, live, wanted } = self;
        let after = match found.apply_within(patience, client, manifest.manager(), &wanted, mode.dry_run).await {
            Err(failure) if manifest.part == Part::Customization && failure.message.contains(TAKEN) => {
                return Ok(Outcome::Taken(failure.message));
            }
            after => after?,
        };
        let Some(live) = live else { return Ok(Outcome::Created) };
        let changed = changes(&live, &after);
        Ok(if changed.is_empty() { Outcome::Unchanged } else { Outcome::Changed(changed) })
    }
}
