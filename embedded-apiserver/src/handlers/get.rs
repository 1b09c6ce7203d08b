//! GET of an object and of a collection. No I/O.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{
    super::{object::put_at, reply::Reply, selectors::Selection, status::StatusError, store::Query},
    Call,
    view::View,
};

/// One object.
///
/// # Errors
/// 404.
pub fn get(call: &Call) -> Result<Reply, StatusError> {
    let view = View::of(call)?;
    let object = call
        .server
        .store()
        .get(&call.path_key())
        .ok_or_else(|| StatusError::not_found(&call.subject(&call.path.name)))?;
    Ok(Reply::bytes(200, view.encode(&object)))
}

/// Label and field selectors of a call.
///
/// # Errors
/// 400.
pub fn selection(call: &Call) -> Result<Selection, StatusError> {
    let (labels, fields) = (call.options.get("labelSelector"), call.options.get("fieldSelector"));
    Selection::parse(labels, fields, &call.resource.kind, &call.version.selectable)
}

/// Position of a list: the version of its first page, and the last path. Version 0 is the current one.
#[derive(Debug, PartialEq, Eq)]
struct Token {
    version: u64,
    after: String,
}

impl Token {
    fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": self.version, "start": self.after}).to_string())
    }

    fn decode(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        Some(Self { version: value.get("rv")?.as_u64()?, after: value.get("start")?.as_str()?.to_owned() })
    }
}

fn query(call: &Call) -> Result<Query, StatusError> {
    let namespace = Some(call.path.namespace.clone()).filter(|namespace| !namespace.is_empty());
    let limit = usize::try_from(call.options.number("limit")?.unwrap_or_default()).unwrap_or(usize::MAX);
    let mut query = Query { namespace, selection: selection(call)?, limit, version: None, after: None };
    let asked = call.options.resource_version()?;
    let matching = call.options.get("resourceVersionMatch");
    if !matching.is_empty() && asked.is_none() {
        let message = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        return Err(invalid_options("resourceVersionMatch", message));
    }
    if let Some(token) = call.options.find("continue").filter(|token| !token.is_empty()) {
        if asked.is_some_and(|version| version != 0) {
            return Err(StatusError::bad_request("specifying resource version is not allowed when using continue"));
        }
        let token = Token::decode(token)
            .ok_or_else(|| StatusError::bad_request("continue key is not valid: invalid continue token"))?;
        query.version = Some(token.version).filter(|version| *version > 0);
        query.after = Some(token.after);
        return Ok(query);
    }
    let current = call.server.store().version();
    if let Some(version) = asked.filter(|version| *version > current) {
        return Err(StatusError::too_large(version, current));
    }
    query.version = asked.filter(|_| matching == "Exact");
    Ok(query)
}

fn invalid_options(field: &str, detail: &str) -> StatusError {
    let subject = super::super::status::StatusDetails::new("meta.k8s.io", "ListOptions", "");
    StatusError::invalid(&subject, &[super::super::status::Cause::forbidden(field, detail)])
}

/// A collection.
///
/// # Errors
/// 400 for invalid options, 410 for a continue token or version that is too old, 504 for a version in the future.
pub fn list(call: &Call) -> Result<Reply, StatusError> {
    let view = View::of(call)?;
    let query = query(call)?;
    let page = call.server.store().list(&call.resource.bucket, &query).map_err(|_| expired(&query))?;
    let mut metadata = json!({"resourceVersion": page.version.to_string()});
    if let Some(after) = page.more {
        put_at(&mut metadata, &["continue"], Token { version: page.version, after }.encode().into());
        if let Some(remaining) = page.remaining {
            put_at(&mut metadata, &["remainingItemCount"], json!(remaining));
        }
    }
    Ok(Reply::bytes(200, view.encode_list(&page.items, &metadata)))
}

fn expired(query: &Query) -> StatusError {
    let Some(after) = &query.after else {
        return StatusError::expired("The resourceVersion for the provided list is too old.");
    };
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
    let token = Token { version: 0, after: after.clone() }.encode();
    StatusError { continue_token: Some(token.into()), ..StatusError::expired(message) }
}
