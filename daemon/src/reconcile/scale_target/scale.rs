//! Replicas through the `scale` subresource of any kind. I/O: the API server.

use kube::Client;
use kube::api::{GetParams, Patch, PatchParams};
use kube::core::Request;
use serde::Deserialize;
use serde_json::json;

use super::discovery::{Discovery, Scalable};
use super::reference::path;
use super::{Done, Metadata, TargetRef, check_alive, mismatch, unread};
use crate::controller::failure::{Asked, Failure, WriteError, reason};
use crate::controller::managers::CRON_SCALE;
use crate::controller::request::{send, write};
use crate::decision::api_version::ApiVersion;
use crate::decision::cron::ledger::Action;
use crate::runtime::leader::Leader;

/// An object of which only the metadata is read.
#[derive(Debug, Deserialize)]
struct ScaleObject {
    metadata: Metadata,
}

/// One attempt: find the resource, read, patch.
pub(super) async fn set(
    client: &Client,
    discovery: &Discovery,
    leader: &Leader,
    target: &TargetRef<'_>,
    place: ApiVersion<'_>,
    action: Action,
) -> Result<Done, WriteError> {
    let replicas = action.replicas.ok_or_else(|| mismatch(target, "targetReplicas"))?;
    let Scalable { plural, subresource } = discovery.find(client, target, place).await?;
    let requests = Request::new(path(place, target.namespace, &plural));
    let asked = Asked { verb: "get", group: place.group, resource: &plural, object: target };
    let unread = |failure: Failure| {
        if failure.reason == reason::NOT_SERVED {
            discovery.doubt(target);
        }
        unread(target, failure)
    };
    let read = send::<ScaleObject>(client, requests.get_metadata(target.name, &GetParams::default()), asked).await;
    let before = read.map_err(unread)?.metadata;
    check_alive(target, &before)?;
    // Rejected when the object was written or created anew since it was read: built-in kinds check the uid as well,
    // custom kinds the version only.
    let seen = json!({"uid": before.uid, "resourceVersion": before.resource_version});
    let patch = Patch::Merge(json!({"metadata": seen, "spec": {"replicas": replicas}}));
    let parameters = PatchParams { field_manager: Some(CRON_SCALE.to_owned()), ..PatchParams::default() };
    let written = requests.patch_subresource("scale", target.name, &parameters, &patch);
    let asked = Asked { verb: "patch", resource: &subresource, ..asked };
    let after =
        write::<ScaleObject>(client, leader, written, asked).await.map_err(|error| error.map_failure(unread))?.metadata;
    let untouched = !after.resource_version.is_empty() && after.resource_version == before.resource_version;
    Ok(if untouched { Done::Unchanged } else { Done::Written })
}
