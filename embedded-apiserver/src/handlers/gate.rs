//! Admission of writes: builds the requests for the webhooks, and applies their result.

use serde_json::{Value, json};

use super::{
    super::{
        ApiServer, Plugin,
        admission::{AdmissionRequest, Kind, Operation, Refused, Resource},
        object::{self, meta, put_at, text_at},
        request::FieldValidation,
        status::StatusError,
        store::{Key, Query},
    },
    Call,
    shape::shape,
};

/// Buckets of the two kinds of webhook configurations.
const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

/// Whether a bucket contains webhook configurations.
pub fn is_configuration(bucket: &str) -> bool {
    bucket == MUTATING || bucket == VALIDATING
}

impl ApiServer {
    /// Loads the stored webhook configurations.
    pub(super) fn reload_webhooks(&self) {
        let stored = |bucket: &str| -> Vec<Value> {
            let page = self.store().list(bucket, &Query::default());
            let items = page.map(|page| page.items).unwrap_or_default();
            items.iter().map(|item| item.value().clone()).collect()
        };
        self.chain().set_mutating(&stored(MUTATING));
        self.chain().set_validating(&stored(VALIDATING));
    }
}

/// The admission request for an object, as far as the rules of webhooks look at it.
fn outline(call: &Call, operation: Operation, new: Option<&Value>) -> AdmissionRequest {
    let created = operation == Operation::Create;
    let kind = |version: &str| Kind {
        group: call.resource.group.clone(),
        version: version.to_owned(),
        kind: call.resource.kind.clone(),
    };
    let resource = |version: &str| Resource {
        group: call.resource.group.clone(),
        version: version.to_owned(),
        resource: call.resource.plural.clone(),
    };
    let others = call.resource.versions.iter().filter(|version| version.name != call.version.name);
    let name = new.filter(|_| created).map_or(call.path.name.as_str(), object::name).to_owned();
    let namespace = if call.resource.kind == "Namespace" { name.clone() } else { call.path.namespace.clone() };
    AdmissionRequest {
        operation,
        kind: kind(&call.version.name),
        resource: resource(&call.version.name),
        subresource: call.path.subresource.clone(),
        equivalents: others.map(|version| (resource(&version.name), kind(&version.name))).collect(),
        name,
        namespace,
        namespace_labels: None,
        object: None,
        old_object: None,
        options: None,
        dry_run: false,
        user: Value::Null,
    }
}

/// The whole admission request.
fn request(
    call: &Call,
    outline: AdmissionRequest,
    new: Option<&Value>,
    old: Option<&Value>,
    dry_run: bool,
) -> AdmissionRequest {
    let stored = call.server.store().get(&Key::new(&"namespaces".into(), "", &outline.namespace));
    let namespace_labels = stored.map(|found| meta(found.value(), "labels").cloned().unwrap_or_else(|| json!({})));
    AdmissionRequest {
        namespace_labels,
        object: new.cloned(),
        old_object: old.cloned(),
        options: Some(options(call, outline.operation, dry_run)),
        dry_run,
        user: json!({"username": "playground", "groups": ["system:masters", "system:authenticated"]}),
        ..outline
    }
}

/// The options of the request, as an object. Those of a patch are reported as those of an update.
fn options(call: &Call, operation: Operation, dry_run: bool) -> Value {
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Delete => "DeleteOptions",
        _ => "UpdateOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    if dry_run {
        put_at(&mut options, &["dryRun"], json!(["All"]));
    }
    for key in ["fieldManager", "fieldValidation"] {
        let given = call.options.get(key);
        if !given.is_empty() {
            put_at(&mut options, &[key], given.into());
        }
    }
    options
}

/// Calls the mutating and then the validating webhooks for a deletion.
///
/// # Errors
/// The denial of a webhook.
pub async fn delete(call: &Call, old: &Value, dry_run: bool) -> Result<Vec<String>, StatusError> {
    let outline = outline(call, Operation::Delete, None);
    if !call.server.chain().may_mutate(&outline) && !call.server.chain().may_validate(&outline) {
        return Ok(Vec::new());
    }
    let request = request(call, outline, None, Some(old), dry_run);
    let mutated = call.server.chain().mutate(&request, &|_| {}).await.map_err(refusal)?;
    let mut warnings = mutated.warnings;
    match call.server.chain().validate(&request).await {
        Ok(more) => warnings.extend(more),
        Err(refused) => return Err(refusal(refused).after(warnings)),
    }
    Ok(warnings)
}

/// Lets the mutating webhooks change a new state.
///
/// # Errors
/// The denial of a webhook.
pub async fn mutate(
    call: &Call,
    operation: Operation,
    new: &mut Value,
    old: Option<&Value>,
    dry_run: bool,
) -> Result<Vec<String>, StatusError> {
    let outline = outline(call, operation, Some(new));
    let plugins = call.server.plugins();
    let plugins: Vec<&Plugin> =
        plugins.iter().filter(|(plural, _)| *plural == call.resource.plural).map(|(_, plugin)| plugin).collect();
    if plugins.is_empty() && !call.server.chain().may_mutate(&outline) {
        return Ok(Vec::new());
    }
    let normalize = |object: &mut Value| {
        // An object that a webhook made invalid is left unchanged, and fails the later checks.
        let _: Result<Vec<String>, StatusError> = shape(call, object, None, FieldValidation::Ignore);
    };
    let request = request(call, outline, Some(new), old, dry_run);
    let mutated = call.server.chain().mutate(&request, &normalize).await.map_err(refusal)?;
    if let Some(object) = mutated.object {
        *new = object;
    }
    for plugin in plugins {
        plugin(&call.server, &request, new)?;
    }
    Ok(mutated.warnings)
}

/// Calls the validating webhooks.
///
/// # Errors
/// The denial of a webhook.
pub async fn validate(
    call: &Call,
    operation: Operation,
    new: Option<&Value>,
    old: Option<&Value>,
    dry_run: bool,
) -> Result<Vec<String>, StatusError> {
    let outline = outline(call, operation, new);
    if !call.server.chain().may_validate(&outline) {
        return Ok(Vec::new());
    }
    call.server.chain().validate(&request(call, outline, new, old, dry_run)).await.map_err(refusal)
}

fn refusal(refused: Refused) -> StatusError {
    let Refused { status, warnings } = refused;
    let code = status.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    StatusError {
        code: code.unwrap_or(403),
        reason: text_at(&status, &["reason"]).to_owned(),
        message: text_at(&status, &["message"]).to_owned(),
        details: status.get("details").cloned(),
        continue_token: None,
        warnings: warnings.into(),
        header_only: None,
    }
}
