//! DELETE of an object and of a collection. No I/O.

use serde_json::{Value, json};

use super::{
    super::{
        object::{self, text_at},
        reply::{Reply, success},
        resources::Resource,
        status::{Cause, StatusDetails, StatusError},
        store::Query,
    },
    Call,
    garbage::{self, Deletion, Manner, Policy},
    gate,
    get::selection,
    view::View,
};

/// Deletes the object in the path.
///
/// # Errors
/// 404, 409 for a precondition, 422 for invalid options.
pub async fn delete(call: &Call) -> Result<Reply, StatusError> {
    let view = View::of(call)?;
    let manner = manner(call)?;
    let current = call.server.store().get(&call.path_key());
    let mut warnings = Vec::new();
    if let Some(current) = current.filter(|_| !call.server.chain().is_empty()) {
        let old = view.of_store(&current);
        warnings = gate::delete(call, &old, manner.dry_run).await?;
    }
    let deletion = garbage::delete(&call.server, &call.resource, &call.path_key(), &manner)?;
    Ok(match deletion {
        Deletion::Gone(last) if !call.resource.behaviour.returns_deleted => {
            Reply::value(200, success(&details(&call.resource, last.value())))
        }
        Deletion::Gone(object) | Deletion::Waits(object) => Reply::bytes(200, view.encode(&object)),
    }
    .warn(warnings))
}

fn details(resource: &Resource, object: &Value) -> Value {
    let mut details = json!({"name": object::name(object), "kind": resource.plural, "uid": object::uid(object)});
    if !resource.group.is_empty() {
        object::put_at(&mut details, &["group"], resource.group.clone().into());
    }
    details
}

/// Deletes all selected objects of a collection.
///
/// # Errors
/// The first deletion that fails.
pub async fn delete_collection(call: &Call) -> Result<Reply, StatusError> {
    let view = View::of(call)?;
    let manner = manner(call)?;
    let namespace = Some(call.path.namespace.clone()).filter(|namespace| !namespace.is_empty());
    let query = Query { namespace, selection: selection(call)?, ..Query::default() };
    let page = call
        .server
        .store()
        .list(&call.resource.bucket, &query)
        .map_err(|_| StatusError::expired("The resourceVersion for the provided list is too old."))?;
    let mut warnings = Vec::new();
    for item in &page.items {
        if !call.server.chain().is_empty() {
            let old = view.of_store(item);
            match gate::delete(call, &old, manner.dry_run).await {
                Ok(more) => warnings.extend(more),
                Err(failure) => return Err(failure.after(warnings)),
            }
        }
        let key = call.key(object::namespace(item.value()), object::name(item.value()));
        match garbage::delete(&call.server, &call.resource, &key, &manner) {
            Err(failure) if failure.code != 404 => return Err(failure),
            _ => {}
        }
    }
    let metadata = json!({"resourceVersion": call.server.store().version().to_string()});
    Ok(Reply::bytes(200, view.encode_list(&page.items, &metadata)).warn(warnings))
}

/// Options of a delete: in the body, or in the query.
fn manner(call: &Call) -> Result<Manner, StatusError> {
    let body = if call.body.is_empty() { Value::Null } else { call.parsed_body()? };
    let text = |key: &str| {
        let given = text_at(&body, &[key]);
        if given.is_empty() { call.options.get(key).to_owned() } else { given.to_owned() }
    };
    let grace = body.get("gracePeriodSeconds").and_then(Value::as_i64);
    let grace = grace.or_else(|| call.options.get("gracePeriodSeconds").parse().ok());
    let orphan = body
        .get("orphanDependents")
        .and_then(Value::as_bool)
        .or_else(|| call.options.find("orphanDependents").map(|_| call.options.flag("orphanDependents")));
    let policy = match (text("propagationPolicy").as_str(), orphan) {
        ("", None) => None,
        ("", Some(true)) | ("Orphan", _) => Some(Policy::Orphan),
        ("", Some(false)) | ("Background", _) => Some(Policy::Background),
        ("Foreground", _) => Some(Policy::Foreground),
        (other, _) => return Err(unknown_policy(other)),
    };
    let precondition = |key: &str| {
        let value = text_at(&body, &["preconditions", key]);
        Some(value.to_owned()).filter(|value| !value.is_empty())
    };
    let dry = body.get("dryRun").and_then(Value::as_array).is_some_and(|list| list.contains(&"All".into()));
    Ok(Manner {
        policy,
        grace,
        uid: precondition("uid"),
        version: precondition("resourceVersion"),
        dry_run: dry || call.options.dry_run("DeleteOptions")?,
    })
}

fn unknown_policy(given: &str) -> StatusError {
    let subject = StatusDetails::new("meta.k8s.io", "DeleteOptions", "");
    let supported = ["Background", "Foreground", "Orphan", "nil"];
    StatusError::invalid(&subject, &[Cause::unsupported("propagationPolicy", &given.into(), &supported)])
}
