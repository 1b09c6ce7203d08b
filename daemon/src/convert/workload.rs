//! A workload of any kind, as far as its label needs it. No I/O.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::decision::defaults::Workload;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    api_version: String,
    kind: String,
    metadata: Labels,
}

#[derive(Deserialize)]
struct Labels {
    labels: Option<BTreeMap<String, String>>,
}

/// The workload; `None` for what is not an object of Kubernetes.
#[must_use]
pub fn workload(object: &Value) -> Option<Workload> {
    let Stored { api_version, kind, metadata } = Stored::deserialize(object).ok()?;
    Some(Workload { api_version, kind, labelled: metadata.labels.is_some() })
}
