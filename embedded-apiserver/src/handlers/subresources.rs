//! The scale subresource. No I/O.

use http::Method;
use serde_json::{Value, json};

use super::{
    super::{
        kinds::conversion::from_storage,
        object::{self, Object, at, meta, meta_str, put_at},
        reply::Reply,
        resources::ScalePaths,
        selectors::selector_text,
        status::{Cause, StatusDetails, StatusError},
        strategic,
    },
    Call,
    update::{Change, read_patch, write_object},
};

/// The `Scale` of an object.
///
/// # Errors
/// 404.
pub fn get_scale(call: &Call) -> Result<Reply, StatusError> {
    let (_, object, paths) = present(call)?;
    Ok(Reply::value(200, scale_of(&object, &paths)?))
}

fn present(call: &Call) -> Result<(std::sync::Arc<Object>, Value, ScalePaths), StatusError> {
    let paths = call.version.scale.clone().ok_or_else(StatusError::no_such_resource)?;
    let found = call.server.store().get(&call.path_key());
    let found = found.ok_or_else(|| StatusError::not_found(&call.subject(&call.path.name)))?;
    let decoded = call.resource.decoded(&call.version, &found);
    let value = decoded.as_ref().unwrap_or(&found).value().clone();
    let object = from_storage(&call.resource, &call.version.name, value);
    Ok((found, object, paths))
}

fn keys(path: &str) -> Vec<&str> {
    path.split('.').filter(|key| !key.is_empty()).collect()
}

fn scale_of(object: &Value, paths: &ScalePaths) -> Result<Value, StatusError> {
    let number = |path: &str| at(object, &keys(path)).and_then(Value::as_i64);
    let replicas = number(&paths.spec)
        .ok_or_else(|| StatusError::internal(format!("the spec replicas field \"{}\" does not exist", paths.spec)))?;
    let selector = match &paths.selector {
        Some(path) => at(object, &keys(path)).and_then(Value::as_str).unwrap_or_default().to_owned(),
        None => at(object, &["spec", "selector"]).map(selector_text).unwrap_or_default(),
    };
    let mut metadata = json!({});
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta(object, key) {
            put_at(&mut metadata, &[key], value.clone());
        }
    }
    let mut status = json!({"replicas": number(&paths.status).unwrap_or_default()});
    if !selector.is_empty() {
        put_at(&mut status, &["selector"], selector.into());
    }
    let spec = if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) };
    Ok(json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}))
}

/// Sets the replicas of an object through its `Scale`.
///
/// # Errors
/// 404, 409, 422, and the denials of admission.
pub async fn set_scale(call: &Call, method: &Method) -> Result<Reply, StatusError> {
    let (_, object, paths) = present(call)?;
    let scale = wanted(call, method, &object, &paths)?;
    check_uid(call, &scale, &object)?;
    let version = meta_str(&scale, "resourceVersion");
    let replicas = at(&scale, &["spec", "replicas"]).and_then(Value::as_i64).unwrap_or_default();
    if replicas < 0 {
        let cause = Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
        return Err(StatusError::invalid(&StatusDetails::new("autoscaling", "Scale", &call.path.name), &[cause]));
    }
    let mut patch = json!({});
    put_at(&mut patch, &keys(&paths.spec), json!(replicas));
    if !version.is_empty() {
        put_at(&mut patch, &["metadata", "resourceVersion"], version.into());
    }
    let (written, warnings) = write_object(call, &Change::Merge(patch)).await?;
    let object = from_storage(&call.resource, &call.version.name, written.value().clone());
    Ok(Reply::value(200, scale_of(&object, &paths)?).warn(warnings))
}

/// The uid of a scale is a precondition, but not for custom kinds.
fn check_uid(call: &Call, scale: &Value, object: &Value) -> Result<(), StatusError> {
    let (uid, real) = (object::uid(scale), object::uid(object));
    if call.resource.behaviour.custom || uid.is_empty() || uid == real {
        return Ok(());
    }
    let resource = format!("{}/scale", call.resource.plural);
    let subject = StatusDetails::new(&call.resource.group, &resource, &call.path.name);
    let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {real}");
    Err(StatusError::conflict(&subject, &why))
}

/// The `Scale` in the request.
fn wanted(call: &Call, method: &Method, object: &Value, paths: &ScalePaths) -> Result<Value, StatusError> {
    if method == Method::PUT {
        let scale = call.parsed_body()?;
        let (given, url) = (object::name(&scale), &call.path.name);
        if !given.is_empty() && given != url {
            let message = format!("the name of the object ({given}) does not match the name on the URL ({url})");
            return Err(StatusError::bad_request(message));
        }
        return Ok(scale);
    }
    let mut scale = scale_of(object, paths)?;
    object::metadata_mut(&mut scale).remove("resourceVersion");
    match read_patch(call)? {
        Change::Merge(patch) | Change::Apply(patch) => json_patch::merge(&mut scale, &patch),
        Change::Strategic(patch) => {
            scale = strategic::apply("autoscaling", "Scale", &scale, &patch)
                .map_err(|error| StatusError::bad_request(error.to_string()))?;
        }
        Change::Json(patch) => {
            json_patch::patch(&mut scale, &patch).map_err(|error| StatusError::bad_request(error.to_string()))?;
        }
        Change::Whole(whole) => scale = whole,
    }
    Ok(scale)
}
