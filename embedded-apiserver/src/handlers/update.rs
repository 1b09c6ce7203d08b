//! PUT and PATCH of an object or of its subresource.

use std::sync::Arc;

use serde_json::Value;

use super::{
    super::{
        admission::Operation,
        fields::{self, Apply, ApplyError},
        kinds::{
            conversion::{shown, to_storage},
            strategy::prepare_update,
            validation,
        },
        object::{self, Object, meta_str, set_meta},
        reply::Reply,
        status::{Cause, StatusDetails, StatusError},
        store::{Expected, Key, Raced},
        strategic,
    },
    Call,
    create::{check_definition, create_from, namespace_mismatch},
    garbage, gate,
    shape::shape,
    view::View,
};

/// Attempts of a write without a resource version when other writes come first.
const TRIES: usize = 100;

/// How a new state is derived from the current one.
#[derive(Debug, Clone)]
pub enum Change {
    /// The new state itself.
    Whole(Value),
    /// By JSON patch.
    Json(json_patch::Patch),
    /// By merge patch.
    Merge(Value),
    /// By strategic merge patch.
    Strategic(Value),
    /// By server-side apply.
    Apply(Value),
}

impl Change {
    /// The kind of options in error messages.
    fn options(&self) -> &'static str {
        match self {
            Self::Whole(_) => "UpdateOptions",
            _ => "PatchOptions",
        }
    }
}

/// Replaces an object.
///
/// # Errors
/// 400, 404, 409, 422, and the denials of admission.
pub async fn update(call: &Call) -> Result<Reply, StatusError> {
    let mut object = call.parsed_body()?;
    check_names(call, &mut object)?;
    if call.resource.behaviour.create_on_update && call.server.store().get(&call.path_key()).is_none() {
        return create_from(call, object, false).await;
    }
    write(call, &Change::Whole(object)).await
}

/// Changes an object by a patch.
///
/// # Errors
/// As [`update`], and 415 for an unknown kind of patch.
pub async fn patch(call: &Call) -> Result<Reply, StatusError> {
    let change = read_patch(call)?;
    let is_new = || call.path.subresource.is_empty() && call.server.store().get(&call.path_key()).is_none();
    if let Change::Apply(config) = &change
        && is_new()
    {
        let uid = object::uid(config);
        if !uid.is_empty() {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(StatusError::conflict(&call.subject(&call.path.name), &why));
        }
        let object = applied(call, None, config)?;
        return create_from(call, object, true).await;
    }
    write(call, &change).await
}

/// Reads the patch in the body.
///
/// # Errors
/// 400 and 415.
pub fn read_patch(call: &Call) -> Result<Change, StatusError> {
    let json = || {
        serde_json::from_slice(&call.body)
            .map_err(|error| StatusError::bad_request(format!("error decoding patch: {error}")))
    };
    let change = match call.content_type.as_str() {
        "application/json-patch+json" => Change::Json(
            serde_json::from_slice(&call.body)
                .map_err(|error| StatusError::bad_request(format!("error decoding patch: {error}")))?,
        ),
        "application/merge-patch+json" => Change::Merge(json()?),
        "application/strategic-merge-patch+json" if !call.resource.behaviour.custom => Change::Strategic(json()?),
        "application/apply-patch+yaml" => Change::Apply(call.yaml_body()?),
        _ => {
            let all = [
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
                "application/strategic-merge-patch+json",
            ];
            let count = if call.resource.behaviour.custom { 3 } else { 4 };
            return Err(StatusError::unsupported_media_type(all.get(..count).unwrap_or_default()));
        }
    };
    let option =
        |cause: Cause| Err(StatusError::invalid(&StatusDetails::new("meta.k8s.io", "PatchOptions", ""), &[cause]));
    match &change {
        Change::Apply(_) if call.options.get("fieldManager").is_empty() => {
            option(Cause::required("fieldManager", "is required for apply patch"))
        }
        Change::Apply(_) => Ok(change),
        _ if call.options.find("force").is_some() => {
            option(Cause::forbidden("force", "may not be specified for non-apply patch"))
        }
        _ => Ok(change),
    }
}

fn applied(call: &Call, live: Option<&Value>, config: &Value) -> Result<Value, StatusError> {
    if object::meta(config, "managedFields").is_some() {
        return Err(StatusError::bad_request("metadata.managedFields must be nil"));
    }
    let mut config = config.clone();
    check_names(call, &mut config)?;
    let now = call.server.now();
    let lists = call.resource.lists(&call.version);
    let request = Apply {
        live,
        config: &config,
        manager: call.options.get("fieldManager"),
        force: call.options.flag("force"),
        subresource: &call.path.subresource,
        api_version: &call.api_version(),
        now: &now,
        schema: &lists,
    };
    fields::apply(request).map_err(|error| match error {
        ApplyError::Invalid(message) => StatusError::internal(message),
        ApplyError::BadRequest(message) => StatusError::bad_request(message),
        ApplyError::Conflicts(ref conflicts) => apply_conflicts(error.to_string(), conflicts),
    })
}

/// 409 with each manager and its fields.
fn apply_conflicts(message: String, conflicts: &[fields::Conflict]) -> StatusError {
    let cause = |conflict: &fields::Conflict| serde_json::json!({"reason": "FieldManagerConflict", "message": conflict.message(), "field": conflict.path});
    let causes: Vec<Value> = conflicts.iter().map(cause).collect();
    StatusError { details: Some(serde_json::json!({"causes": causes})), ..StatusError::plain(409, "Conflict", message) }
}

fn changed(call: &Call, live: &Value, change: &Change) -> Result<Value, StatusError> {
    match change {
        Change::Whole(whole) => Ok(whole.clone()),
        Change::Json(patch) => {
            let mut object = live.clone();
            json_patch::patch(&mut object, patch).map_err(|error| unpatchable(call, &error))?;
            Ok(object)
        }
        Change::Merge(patch) => {
            let mut object = live.clone();
            json_patch::merge(&mut object, patch);
            Ok(object)
        }
        Change::Strategic(patch) => strategic::apply(&call.resource.group, &call.resource.kind, live, patch)
            .map_err(|error| StatusError::bad_request(error.to_string())),
        Change::Apply(config) => applied(call, Some(live), config),
    }
}

fn unpatchable(call: &Call, error: &json_patch::PatchError) -> StatusError {
    let subject = call.subject(&call.path.name);
    let message = format!("the server rejected our request due to an error in our request: {error}");
    let mut failure = StatusError::invalid(&subject, &[]);
    failure.message = message;
    failure
}

/// Sets and checks the name and namespace of the path.
fn check_names(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    let name = object::name(object);
    if name.is_empty() {
        set_meta(object, "name", call.path.name.clone().into());
    } else if name != call.path.name {
        let url = &call.path.name;
        return Err(StatusError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({url})"
        )));
    }
    if call.path.namespace.is_empty() {
        return Ok(());
    }
    let namespace = object::namespace(object);
    if namespace.is_empty() {
        set_meta(object, "namespace", call.path.namespace.clone().into());
    } else if namespace != call.path.namespace {
        return Err(namespace_mismatch());
    }
    Ok(())
}

/// Makes a change, and retries when another write came first and the change allows it.
///
/// # Errors
/// As [`update`].
pub async fn write(call: &Call, change: &Change) -> Result<Reply, StatusError> {
    let view = View::of(call)?;
    let (object, warnings) = write_object(call, change).await?;
    Ok(Reply::bytes(200, view.encode(&object)).warn(warnings))
}

/// Makes a change, and returns the new state.
///
/// # Errors
/// As [`update`].
pub async fn write_object(call: &Call, change: &Change) -> Result<(Arc<Object>, Vec<String>), StatusError> {
    let mut warnings = Vec::new();
    match written(call, change, &mut warnings).await {
        Ok(object) => Ok((object, warnings)),
        Err(failure) => Err(failure.after(warnings)),
    }
}

async fn written(call: &Call, change: &Change, warnings: &mut Vec<String>) -> Result<Arc<Object>, StatusError> {
    let key = call.path_key();
    for _ in 0..TRIES {
        let stored =
            call.server.store().get(&key).ok_or_else(|| StatusError::not_found(&call.subject(&call.path.name)))?;
        let old = call.resource.decoded(&call.version, &stored).map_or_else(|| Arc::clone(&stored), Arc::new);
        let live = shown(&call.resource, &call.version.name, old.value());
        let mut object = changed(call, &live, change)?;
        let pinned = pins_version(change);
        let validation = call.options.field_validation(change.options())?;
        check_names(call, &mut object)?;
        warnings.extend(shape(call, &mut object, Some(&live), validation)?);
        if !matches!(change, Change::Apply(_)) {
            track(call, &live, &mut object);
        }
        let dry_run = call.options.dry_run(change.options())?;
        warnings.extend(gate::mutate(call, Operation::Update, &mut object, Some(&live), dry_run).await?);
        check_version(call, &old, change, &mut object)?;
        let new = prepared(call, &old, &live, object)?;
        if !call.server.chain().is_empty() {
            let new = shown(&call.resource, &call.version.name, &new);
            warnings.extend(gate::validate(call, Operation::Update, Some(&new), Some(&live), dry_run).await?);
        }
        if dry_run {
            return Ok(Arc::new(Object::new(new, old.version())));
        }
        // The stored state counts: a write without an apparent change stores the decoded object.
        match commit(call, &key, &stored, new) {
            Ok(object) => return Ok(object),
            Err(_) if pinned => return Err(StatusError::modified(&call.subject(&call.path.name))),
            Err(_) => {}
        }
    }
    Err(StatusError::modified(&call.subject(&call.path.name)))
}

/// Whether the change requires a resource version.
fn pins_version(change: &Change) -> bool {
    match change {
        Change::Whole(object) | Change::Merge(object) | Change::Strategic(object) | Change::Apply(object) => {
            !meta_str(object, "resourceVersion").is_empty()
        }
        Change::Json(_) => false,
    }
}

fn track(call: &Call, live: &Value, object: &mut Value) {
    let now = call.server.now();
    let lists = call.resource.lists(&call.version);
    let (manager, version) = (call.manager(), call.api_version());
    fields::track_update(Some(live), object, &manager, &call.path.subresource, &version, &now, &lists);
}

fn check_version(call: &Call, old: &Object, change: &Change, object: &mut Value) -> Result<(), StatusError> {
    let subject = call.subject(&call.path.name);
    let (given, uid) = (meta_str(object, "resourceVersion"), object::uid(object));
    let real = object::uid(old.value());
    let stale = !matches!(given, "" | "0") && given.parse() != Ok(old.version());
    if stale && !matches!(change, Change::Whole(_)) {
        return Err(StatusError::modified(&subject));
    }
    if !uid.is_empty() && uid != real {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {real}");
        return Err(StatusError::conflict(&subject, &why));
    }
    if given.is_empty() || given == "0" {
        if !call.resource.behaviour.unconditional {
            let mut cause = Cause::invalid("metadata.resourceVersion", &Value::Null, "must be specified for an update");
            cause.message = "Invalid value: 0: must be specified for an update".into();
            return Err(StatusError::invalid(&subject, &[cause]));
        }
    } else if stale {
        return Err(StatusError::modified(&subject));
    }
    set_meta(object, "resourceVersion", old.version().to_string().into());
    Ok(())
}

/// Restores the parts that the write may not change, and checks the rest. Returns the stored form.
fn prepared(call: &Call, old: &Object, live: &Value, object: Value) -> Result<Value, StatusError> {
    let now = call.server.now();
    let mut new = to_storage(&call.resource, &call.version.name, object);
    prepare_update(&call.resource, &call.version, &call.path.subresource, old.value(), &mut new, &now);
    let mut causes = Vec::new();
    if let Some(schema) = &call.version.schema {
        let versioned = shown(&call.resource, &call.version.name, &new);
        causes.extend(schema.validate(&versioned, Some(live)).iter().map(Cause::from));
    }
    causes.extend(validation::check(&call.resource, &new, Some(old.value()), &call.server.kubernetes()));
    if !causes.is_empty() {
        return Err(StatusError::invalid(&call.kind_subject(&call.path.name), &causes));
    }
    if call.resource.kind == "CustomResourceDefinition" {
        check_definition(call, &new)?;
    }
    Ok(new)
}

fn commit(call: &Call, key: &Key, old: &Arc<Object>, new: Value) -> Result<Arc<Object>, Raced> {
    if same(old.value(), &new) {
        return Ok(old.clone());
    }
    let store = call.server.store();
    if garbage::is_finished(&new) {
        let last = store.remove(key, old.version(), new)?;
        garbage::after_removal(&call.server, key, &last);
        return Ok(last);
    }
    let object = store.put(key, Expected::Version(old.version()), new)?;
    garbage::after_write(&call.server, &call.resource, key, &object);
    Ok(object)
}

/// Whether two objects differ in their metadata at most.
fn same_but_metadata(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return false };
    old.len() == new.len() && old.iter().all(|(key, value)| key == "metadata" || new.get(key) == Some(value))
}

/// Whether a write changes nothing: only the times of field managers differ.
fn same(old: &Value, new: &Value) -> bool {
    old == new || {
        let without_times = |object: &Value| {
            let mut object = object.clone();
            let managers = object::metadata_mut(&mut object).get_mut("managedFields");
            for manager in managers.and_then(Value::as_array_mut).into_iter().flatten() {
                object::remove(manager, "time");
            }
            object
        };
        let fields = |object: &Value| object::meta(object, "managedFields").is_some();
        // Most writes change other fields, which is detected without a copy.
        (fields(old) || fields(new)) && same_but_metadata(old, new) && without_times(old) == without_times(new)
    }
}
