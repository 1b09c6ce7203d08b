//! Takes objects of the installation back, each step of its own, so that whoever calls decides what comes between.
//! Talks to the API server.

use kube::Client;
use serde_json::Value;

use super::apply::{list, place};
use super::manifests::{Manifest, Part};
use super::upstream_webhooks;
use crate::controller::failure::Failure;
use crate::controller::managers;
use crate::decision::backoff::ErrorClass;

/// What became of an object that is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is deleted.
    Deleted,
    /// Karmada's own webhooks are asked again.
    GivenBack,
    /// There was nothing to be done.
    Absent,
}

/// Takes one object of the installation back.
///
/// # Errors
/// When the API server refuses or is not reached.
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
    // What an applier owns and does not send again is taken away.
    found.apply(client, managers::SET_ASIDE, &upstream_webhooks::configuration(entries, &[]), dry_run).await?;
    Ok(Removed::GivenBack)
}

/// The customizations of Karmada's interpreter that were made here, whatever their kinds.
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
            // Elements of a list need not say what they are.
            members.insert("apiVersion".to_owned(), VERSION.into());
            members.insert("kind".to_owned(), "ResourceInterpreterCustomization".into());
        }
        Manifest { part: Part::Customization, object }
    });
    Ok(named.collect())
}

/// Whether `manager` applied something of the object that still stands.
fn is_applied(object: &Value, manager: &str) -> bool {
    let shares = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    shares.into_iter().flatten().any(|share| share.get("manager").and_then(Value::as_str) == Some(manager))
}
