//! The form of a response: the object, its metadata only, or a table. No I/O.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    super::{
        Clock,
        kinds::conversion::{from_storage, is_stored_form},
        object::{Object, partial},
        resources::{Resource, Version},
        status::StatusError,
        table,
    },
    Call,
};

/// The form that the client requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Objects unchanged.
    Full,
    /// `PartialObjectMetadata`.
    Partial,
    /// `Table`.
    Table(table::Include),
}

/// How objects are shown to one client.
#[derive(Clone)]
pub struct View {
    /// The kind.
    pub resource: Arc<Resource>,
    /// The version.
    pub version: Arc<Version>,
    /// The form.
    pub form: Form,
    /// For ages in tables.
    pub clock: Clock,
}

impl View {
    /// The form that `Accept` requests.
    ///
    /// # Errors
    /// 406 when none of it is supported.
    pub fn of(call: &Call) -> Result<Self, StatusError> {
        let accept = if call.accept.trim().is_empty() { "*/*" } else { call.accept.as_str() };
        let include = table::Include::parse(call.options.get("includeObject"));
        let form = accept.split(',').find_map(|media| form(media, include)).ok_or_else(|| {
            let message = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
            StatusError::plain(406, "NotAcceptable", message)
        })?;
        let clock = call.server.clock();
        Ok(Self { resource: call.resource.clone(), version: call.version.clone(), form, clock })
    }

    /// An object in its stored form -> in the requested version.
    fn versioned(&self, stored: &Value) -> Value {
        from_storage(&self.resource, &self.version.name, stored.clone())
    }

    /// An object of the store in the requested version.
    pub fn of_store(&self, object: &Object) -> Value {
        let decoded = self.resource.decoded(&self.version, object);
        self.versioned(decoded.as_ref().unwrap_or(object).value())
    }

    /// One object of the store, encoded.
    pub fn encode(&self, object: &Object) -> Bytes {
        match self.resource.decoded(&self.version, object) {
            Some(decoded) => self.encode_decoded(&decoded),
            None => self.encode_decoded(object),
        }
    }

    fn encode_decoded(&self, object: &Object) -> Bytes {
        if self.form == Form::Full && is_stored_form(&self.resource, &self.version.name) {
            return object.json();
        }
        encoded(&self.shown(object.value()))
    }

    /// One object in its stored form, in the form of this view.
    pub fn shown(&self, stored: &Value) -> Value {
        match self.form {
            Form::Full => self.versioned(stored),
            Form::Partial => partial(stored, "PartialObjectMetadata"),
            Form::Table(include) => {
                let metadata = json!({"resourceVersion": super::super::object::meta(stored, "resourceVersion")});
                self.table(&[self.versioned(stored)], include, &metadata)
            }
        }
    }

    fn table(&self, rows: &[Value], include: table::Include, metadata: &Value) -> Value {
        table::table(&self.resource, &self.version, rows, include, metadata, (self.clock)())
    }

    /// A list, encoded.
    pub fn encode_list(&self, items: &[Arc<Object>], metadata: &Value) -> Bytes {
        if let Form::Table(include) = self.form {
            let rows: Vec<Value> = items.iter().map(|item| self.of_store(item)).collect();
            return encoded(&self.table(&rows, include, metadata));
        }
        let (kind, api_version) = match self.form {
            Form::Partial => ("PartialObjectMetadataList", "meta.k8s.io/v1".to_owned()),
            _ => (self.resource.list_kind.as_str(), self.resource.api_version(&self.version.name)),
        };
        let head = format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":");
        if items.is_empty() && self.form == Form::Partial {
            // As kube-apiserver writes it, which makes this list anew.
            return format!("{head}null}}\n").into_bytes().into();
        }
        let mut bytes = format!("{head}[").into_bytes();
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                bytes.push(b',');
            }
            bytes.extend_from_slice(&self.encode_item(item));
        }
        bytes.extend_from_slice(b"]}\n");
        bytes.into()
    }

    /// One object of a list. Those of built-in kinds do not repeat the kind that the list names.
    fn encode_item(&self, item: &Object) -> Bytes {
        if self.form != Form::Full || self.resource.behaviour.custom {
            return self.encode(item);
        }
        let mut shown = self.of_store(item);
        for key in ["apiVersion", "kind"] {
            super::super::object::remove(&mut shown, key);
        }
        encoded(&shown)
    }

    /// The object of a bookmark.
    pub fn bookmark(&self, version: u64, ends_initial: bool) -> Value {
        let mut metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
        if ends_initial {
            super::super::object::put_at(&mut metadata, &["annotations", "k8s.io/initial-events-end"], "true".into());
        }
        let (kind, api_version) = match self.form {
            Form::Full => (self.resource.kind.as_str(), self.resource.api_version(&self.version.name)),
            Form::Partial => ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned()),
            Form::Table(_) => {
                return json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                    "columnDefinitions": [], "rows": []});
            }
        };
        json!({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    }
}

fn form(media: &str, include: table::Include) -> Option<Form> {
    let mut parts = media.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    if !matches!(kind, "application/json" | "*/*" | "application/*") {
        return None;
    }
    match parts.find_map(|part| part.strip_prefix("as=")) {
        Some("Table") => Some(Form::Table(include)),
        Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Form::Partial),
        Some(_) => None,
        None => Some(Form::Full),
    }
}

fn encoded(value: &Value) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}
