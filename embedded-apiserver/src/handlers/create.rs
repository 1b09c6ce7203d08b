//! POST of a new object.

use serde_json::Value;

use super::{
    super::{
        admission::Operation,
        fields,
        kinds::{
            conversion::{from_storage, shown, to_storage},
            strategy::prepare_create,
            validation,
        },
        object::{self, Object, meta_str, set_meta},
        reply::Reply,
        status::{Cause, StatusError},
        store::{Expected, Key, Raced},
    },
    Call, garbage, gate,
    shape::shape,
    view::View,
};

/// Creates the object in the body.
///
/// # Errors
/// 400, 404 for the namespace, 409, 422, and the denials of admission.
pub async fn create(call: &Call) -> Result<Reply, StatusError> {
    let object = call.parsed_body()?;
    create_from(call, object, false).await
}

/// Creates an object; `applied` is whether server-side apply has already recorded its fields.
///
/// # Errors
/// As [`create`].
pub async fn create_from(call: &Call, object: Value, applied: bool) -> Result<Reply, StatusError> {
    let mut warnings = Vec::new();
    match made(call, object, applied, &mut warnings).await {
        Ok(reply) => Ok(reply.warn(warnings)),
        Err(failure) => Err(failure.after(warnings)),
    }
}

async fn made(call: &Call, mut object: Value, applied: bool, warnings: &mut Vec<String>) -> Result<Reply, StatusError> {
    let view = View::of(call)?;
    let dry_run = call.options.dry_run("CreateOptions")?;
    let validation = call.options.field_validation("CreateOptions")?;
    warnings.extend(shape(call, &mut object, None, validation)?);
    place(call, &mut object)?;
    check_namespace(call, object::name(&object))?;
    if !meta_str(&object, "resourceVersion").is_empty() {
        return Err(StatusError::plain(500, "", "resourceVersion should not be set on objects to be created"));
    }
    if !applied {
        let now = call.server.now();
        let lists = call.resource.lists(&call.version);
        fields::track_update(None, &mut object, &call.manager(), "", &call.api_version(), &now, &lists);
    }
    warnings.extend(gate::mutate(call, Operation::Create, &mut object, None, dry_run).await?);
    let stored = prepared(call, object)?;
    let versioned = shown(&call.resource, &call.version.name, &stored);
    warnings.extend(gate::validate(call, Operation::Create, Some(&versioned), None, dry_run).await?);
    let name = object::name(&stored).to_owned();
    let key = call.key(object::namespace(&stored), &name);
    if call.resource.kind == "CustomResourceDefinition" {
        check_definition(call, &stored)?;
    }
    let made = if dry_run {
        if call.server.store().get(&key).is_some() {
            return Err(StatusError::already_exists(&call.subject(&name)));
        }
        return Ok(Reply::value(201, view.shown(&stored)));
    } else {
        put_new(call, &key, stored)?
    };
    let shown = view.shown(made.value());
    garbage::after_write(&call.server, &call.resource, &key, &made);
    Ok(Reply::value(201, shown))
}

fn put_new(call: &Call, key: &Key, stored: Value) -> Result<std::sync::Arc<Object>, StatusError> {
    call.server.store().put(key, Expected::Absent, stored).map_err(|raced| match raced {
        Raced::Changed => StatusError::already_exists(&call.subject(key.name())),
        Raced::NoNamespace => no_namespace(key.namespace()),
        Raced::NamespaceTerminating => terminating(call, key.name(), key.namespace()),
    })
}

fn no_namespace(namespace: &str) -> StatusError {
    StatusError::not_found(&super::super::status::StatusDetails::new("", "namespaces", namespace))
}

fn terminating(call: &Call, name: &str, namespace: &str) -> StatusError {
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut failure = StatusError::forbidden(&call.subject(name), &why);
    let cause = serde_json::json!({"reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace"});
    if let Some(details) = failure.details.as_mut() {
        object::put_at(details, &["causes"], Value::Array(vec![cause]));
    }
    failure
}

/// Sets the namespace of the path.
fn place(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    if call.resource.namespaced {
        if call.path.namespace.is_empty() {
            let message = "an empty namespace may not be set during creation";
            return Err(StatusError::bad_request(message));
        }
        let given = object::namespace(object);
        if given.is_empty() {
            set_meta(object, "namespace", call.path.namespace.clone().into());
        } else if given != call.path.namespace {
            return Err(namespace_mismatch());
        }
    } else {
        set_meta(object, "namespace", Value::Null);
    }
    Ok(())
}

/// Gives an object with a `generateName` its name. Mutating webhooks have seen it without one, as on kube-apiserver.
fn generate_name(call: &Call, object: &mut Value) {
    let base = meta_str(object, "generateName").to_owned();
    if object::name(object).is_empty() && !base.is_empty() {
        let base: String = base.chars().take(58).collect();
        set_meta(object, "name", format!("{base}{}", call.server.identity().suffix()).into());
    }
}

/// 400 for a namespace that differs from the path's.
pub fn namespace_mismatch() -> StatusError {
    StatusError::bad_request("the namespace of the provided object does not match the namespace sent on the request")
}

fn check_namespace(call: &Call, name: &str) -> Result<(), StatusError> {
    if !call.resource.namespaced {
        return Ok(());
    }
    let namespace = &call.path.namespace;
    match call.server.store().get(&Key::new(&"namespaces".into(), "", namespace)) {
        None => Err(no_namespace(namespace)),
        Some(found) if object::is_terminating(found.value()) => Err(terminating(call, name, namespace)),
        Some(_) => Ok(()),
    }
}

/// Name, system metadata, initial status and checks. Returns the stored form.
fn prepared(call: &Call, mut object: Value) -> Result<Value, StatusError> {
    let (uid, now) = (call.server.identity().uid(), call.server.now());
    generate_name(call, &mut object);
    prepare_create(&call.resource, &call.version, &mut object, uid, &now);
    let schema = call.version.schema.as_ref();
    let errors = schema.map(|schema| schema.validate(&object, None)).unwrap_or_default();
    let mut causes: Vec<Cause> = errors.iter().map(Cause::from).collect();
    let stored = to_storage(&call.resource, &call.version.name, object);
    causes.extend(validation::check(&call.resource, &stored, None, &call.server.kubernetes()));
    if causes.is_empty() {
        return Ok(stored);
    }
    let versioned = from_storage(&call.resource, &call.version.name, stored);
    Err(StatusError::invalid(&call.kind_subject(object::name(&versioned)), &causes))
}

/// A definition must compile before it is stored.
///
/// # Errors
/// 422 for a schema that is not structural.
pub fn check_definition(call: &Call, stored: &Value) -> Result<(), StatusError> {
    let subject = call.kind_subject(object::name(stored));
    super::super::resources::from_definition(stored)
        .map(|_| ())
        .map_err(|error| StatusError::invalid(&subject, &[Cause::invalid("spec.versions", &Value::Null, &error)]))
}
