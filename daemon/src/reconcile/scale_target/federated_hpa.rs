//! Bounds of a FederatedHPA, by server-side apply of exactly those that the rule sets. I/O: the API server.

use kube::Client;
use kube::api::{GetParams, Patch, PatchParams};
use kube::core::Request;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::reference::path;
use super::{Done, Metadata, TargetRef, check_alive, mismatch, unread};
use crate::controller::failure::{Asked, Failure, WriteError, reason};
use crate::controller::managers::CRON_BOUNDS;
use crate::controller::request::{send, write};
use crate::decision::api_version::ApiVersion;
use crate::decision::backoff::ErrorClass;
use crate::decision::cron::ledger::Action;
use crate::runtime::leader::Leader;

const RESOURCE: &str = "federatedhpas";

/// The parts of the object that are read.
#[derive(Debug, Deserialize)]
struct Live {
    metadata: Owned,
    #[serde(default)]
    spec: Bounds,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owned {
    #[serde(flatten)]
    metadata: Metadata,
    #[serde(default)]
    managed_fields: Vec<Share>,
}

/// Fields owned by one manager.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Share {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    subresource: String,
    #[serde(default, rename = "fieldsV1")]
    fields: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bounds {
    min_replicas: Option<i32>,
    max_replicas: Option<i32>,
}

impl Live {
    /// Whether fhpa applied `field` of the spec earlier. A field that an applier owns and does not send again is
    /// removed.
    fn is_ours(&self, field: &str) -> bool {
        let ours =
            |share: &&Share| share.manager == CRON_BOUNDS && share.operation == "Apply" && share.subresource.is_empty();
        let owns = |share: &Share| share.fields.pointer(&format!("/f:spec/f:{field}")).is_some();
        self.metadata.managed_fields.iter().filter(ours).any(owns)
    }

    /// Bounds to send; `None` when all are as the rule sets them. An absent minReplicas counts as 1.
    fn change(&self, action: Action) -> Option<Bounds> {
        let Bounds { min_replicas: min, max_replicas: max } = self.spec;
        let stands = action.min_replicas.is_none_or(|wanted| wanted == min.unwrap_or(1))
            && action.max_replicas.is_none_or(|wanted| Some(wanted) == max);
        (!stands).then(|| Bounds {
            min_replicas: action.min_replicas.or_else(|| min.filter(|_| self.is_ours("minReplicas"))),
            max_replicas: action.max_replicas.or_else(|| max.filter(|_| self.is_ours("maxReplicas"))),
        })
    }
}

/// One attempt: read, compare, apply.
pub(super) async fn set(
    client: &Client,
    leader: &Leader,
    target: &TargetRef<'_>,
    place: ApiVersion<'_>,
    action: Action,
) -> Result<Done, WriteError> {
    if action.min_replicas.is_none() && action.max_replicas.is_none() {
        return Err(mismatch(target, "targetMinReplicas or targetMaxReplicas").into());
    }
    let requests = Request::new(path(place, target.namespace, RESOURCE));
    let asked = |verb| Asked { verb, group: place.group, resource: RESOURCE, object: target };
    let read = send::<Live>(client, requests.get(target.name, &GetParams::default()), asked("get")).await;
    let live = read.map_err(|failure| unread(target, failure))?;
    check_alive(target, &live.metadata.metadata)?;
    let Some(bounds) = live.change(action) else { return Ok(Done::Unchanged) };
    check_order(target, live.spec, action)?;
    let patch = Patch::Apply(configuration(target, &live.metadata.metadata, bounds));
    let written = requests.patch(target.name, &PatchParams::apply(CRON_BOUNDS).force(), &patch);
    let written = write::<IgnoredAny>(client, leader, written, asked("patch")).await;
    written.map_err(|error| error.map_failure(|failure| unread(target, failure)))?;
    Ok(Done::Written)
}

/// The applied configuration. With uid and resourceVersion it applies only to the object as it was read.
fn configuration(target: &TargetRef<'_>, metadata: &Metadata, bounds: Bounds) -> Value {
    let mut spec = Map::new();
    for (name, value) in [("minReplicas", bounds.min_replicas), ("maxReplicas", bounds.max_replicas)] {
        spec.extend(value.map(|value| (name.to_owned(), value.into())));
    }
    json!({
        "apiVersion": target.api_version,
        "kind": target.kind,
        "metadata": {
            "name": target.name,
            "namespace": target.namespace,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        },
        "spec": spec,
    })
}

/// Rejects a minimum above the maximum before sending: the message is clearer than that of the API server, and the
/// check also works where its rules are not installed.
fn check_order(target: &TargetRef<'_>, present: Bounds, action: Action) -> Result<(), Failure> {
    let min = action.min_replicas.or(present.min_replicas).unwrap_or(1);
    let Some(max) = action.max_replicas.or(present.max_replicas).filter(|max| min > *max) else { return Ok(()) };
    let message = match (action.min_replicas, action.max_replicas) {
        (Some(_), Some(_)) => format!("targetMinReplicas {min} of the rule is above its targetMaxReplicas {max}"),
        (Some(_), None) => format!(
            "targetMinReplicas {min} of the rule is above the present maxReplicas {max} of {target}; give the rule \
             targetMaxReplicas too, or raise maxReplicas"
        ),
        _ => format!(
            "targetMaxReplicas {max} of the rule is below the present minReplicas {min} of {target}; give the rule \
             targetMinReplicas too, or lower minReplicas"
        ),
    };
    Err(Failure::new(ErrorClass::Refused, reason::INVALID_BOUNDS, message))
}
