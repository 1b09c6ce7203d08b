//! Removes objects of the installation, one by one, so that the caller controls the order. Talks to the API server.

use kube::Client;
use serde_json::Value;

use super::apply::{list, place};
use super::manifests::{Manifest, Part};
use super::upstream_webhooks;
use crate::controller::failure::{Failure, reason};
use crate::controller::managers;
use crate::decision::backoff::ErrorClass;

/// Result for a removed object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It was deleted.
    Deleted,
    /// Karmada's own webhooks are enabled again.
    GivenBack,
    /// There was nothing to do.
    Absent,
}

/// Removes one object of the installation.
///
/// # Errors
/// When the API server rejects the request or is unreachable.
pub async fn remove(client: &Client, manifest: &Manifest, dry_run: bool) -> Result<Removed, Failure> {
    let Part::SetAside(entries) = manifest.part else {
        let deleted = place(&manifest.object).delete(client, dry_run).await?;
        return Ok(if deleted { Removed::Deleted } else { Removed::Absent });
    };
    let found = place(&manifest.object);
    let live = match found.get(client).await {
        Err(failure) if failure.class == ErrorClass::Missing => None,
        live => live?,
    };
    if !live.as_ref().is_some_and(|live| is_applied(live, managers::SET_ASIDE)) {
        return Ok(Removed::Absent);
    }
    // A field that an applier owns and does not send again is removed.
    found.apply(client, managers::SET_ASIDE, &upstream_webhooks::configuration(entries, &[]), dry_run).await?;
    Ok(Removed::GivenBack)
}

/// Removes an object that an installation no longer wants, where an earlier one applied it. Who may not read it has not
/// applied it either.
///
/// # Errors
/// As [`remove`].
pub async fn withdraw(client: &Client, manifest: &Manifest, dry_run: bool) -> Result<Removed, Failure> {
    let live = match place(&manifest.object).get(client).await {
        Err(failure) if failure.class == ErrorClass::Missing || failure.reason == reason::FORBIDDEN => None,
        live => live?,
    };
    if live.is_some_and(|live| is_applied(&live, manifest.manager())) {
        return remove(client, manifest, dry_run).await;
    }
    Ok(Removed::Absent)
}

/// The customizations of Karmada's interpreter that fhpa created, for all kinds.
///
/// # Errors
/// As [`remove`].
pub async fn customizations(client: &Client) -> Result<Vec<Manifest>, Failure> {
    const VERSION: &str = "config.karmada.io/v1alpha1";
    const PLURAL: &str = "resourceinterpretercustomizations";
    let all = list(client, &format!("/apis/{VERSION}/{PLURAL}"), "config.karmada.io", PLURAL).await?;
    let ours = all.into_iter().filter(|object| is_applied(object, managers::INTERPRETER));
    let named = ours.map(|mut object| {
        if let Some(members) = object.as_object_mut() {
            // Elements of a list need not have their kind.
            members.insert("apiVersion".to_owned(), VERSION.into());
            members.insert("kind".to_owned(), "ResourceInterpreterCustomization".into());
        }
        Manifest { part: Part::Customization, object }
    });
    Ok(named.collect())
}

/// Whether the object still has fields that `manager` applied.
fn is_applied(object: &Value, manager: &str) -> bool {
    let shares = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    shares.into_iter().flatten().any(|share| share.get("manager").and_then(Value::as_str) == Some(manager))
}
