//! A workload of any kind: JSON -> core. No I/O.

use std::collections::BTreeMap;

use serde::Deserialize;

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

/// The workload; `None` for text that is not an object of Kubernetes.
#[must_use]
pub fn workload(json: &str) -> Option<Workload> {
    let Stored { api_version, kind, metadata } = serde_json::from_str(json).ok()?;
    Some(Workload { api_version, kind, labelled: metadata.labels.is_some() })
}
