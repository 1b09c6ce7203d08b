//! Notices that the API server was restored from a backup: its versions are smaller than earlier ones. A watch would
//! continue from a version in the future, and deliver no events until then. No I/O.

use std::collections::HashSet;
use std::time::Duration;

use http::Uri;
use serde::Deserialize;
use tokio::time::Instant;

use super::Reader;
use crate::runtime::clock;

/// Who read a Lease within this time notices a restore by the next Lease.
const RECENT: Duration = Duration::from_mins(1);

/// Versions that an API server that was not restored only exceeds.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// Where Leases were last read or written, the version of the last one, and when.
    lease: Option<(String, u64, Instant)>,
    /// Readers that have begun a watch since their last list.
    watching: HashSet<Reader>,
}

impl Versions {
    /// Whether the Lease in the answer to a request for `path` has a smaller version than before. A process with a
    /// controller reads or writes its Lease every few seconds.
    pub(super) fn lease_went_back(&mut self, path: &str, answer: &[u8]) -> bool {
        let Some((place, _)) = path.split_once("/leases").filter(|_| path.contains("coordination.k8s.io")) else {
            return false;
        };
        let Some(version) = version(answer) else { return false };
        let before = self.lease.replace((place.to_owned(), version, clock::steady()));
        before.is_some_and(|(where_, before, _)| where_ == place && version < before)
    }

    /// The reader has listed: its next watch continues from that list.
    pub(super) fn listed(&mut self, reader: &Reader) {
        self.watching.remove(reader);
    }

    /// The version from which a watch continues an earlier one, unless a Lease says whether the server was restored.
    pub(super) fn goes_on(&mut self, uri: &Uri, reader: &Reader) -> Option<u64> {
        let first = self.watching.insert(reader.clone());
        let told = self.lease.as_ref().is_some_and(|(_, _, at)| at.elapsed() < RECENT);
        if first || told { None } else { began(uri)?.parse().ok() }
    }
}

/// The version from which a watch continues.
pub(super) fn began(uri: &Uri) -> Option<&str> {
    let mut from = parameters(uri).filter_map(|pair| pair.strip_prefix("resourceVersion="));
    from.find(|version| !matches!(*version, "" | "0"))
}

/// Path and query that list one object of what is watched, with the current version. A right on one name stays one.
pub(super) fn one_of(uri: &Uri) -> String {
    let name = parameters(uri).find(|pair| pair.starts_with("fieldSelector=metadata.name"));
    let name = name.map(|selector| format!("&{selector}")).unwrap_or_default();
    format!("{}?limit=1{name}", uri.path())
}

fn parameters(uri: &Uri) -> impl Iterator<Item = &str> {
    uri.query().unwrap_or_default().split('&')
}

/// The version of an object or of a list.
pub(super) fn version(answer: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Versioned {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: String,
    }
    serde_json::from_slice::<Versioned>(answer).ok()?.metadata.resource_version.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_version_is_asked_for_with_the_rights_of_the_watch() {
        let cases = [
            ("/apis/a/v1/bs?watch=true&resourceVersion=7&labelSelector=x%3Dy", "/apis/a/v1/bs?limit=1"),
            (
                "/apis/a/v1/bs?fieldSelector=metadata.name%3Dfhpa&watch=true",
                "/apis/a/v1/bs?limit=1&fieldSelector=metadata.name%3Dfhpa",
            ),
            ("/apis/a/v1/namespaces/n/bs?fieldSelector=regarding.kind%3DB", "/apis/a/v1/namespaces/n/bs?limit=1"),
        ];
        for (watch, list) in cases {
            assert_eq!(one_of(&watch.parse().unwrap()), list);
        }
    }

    #[test]
    fn a_watch_is_checked_when_it_goes_on_after_another_and_no_lease_was_read() {
        let watch: Uri = "/apis/a/v1/bs?watch=true&resourceVersion=7".parse().unwrap();
        let reader = Reader::Path("/apis/a/v1/bs".to_owned());
        let mut versions = Versions::default();
        assert_eq!(versions.goes_on(&watch, &reader), None, "its list has just been read");
        assert_eq!(versions.goes_on(&watch, &reader), Some(7));
        versions.listed(&reader);
        assert_eq!(versions.goes_on(&watch, &reader), None);
        let lease = br#"{"metadata": {"resourceVersion": "9"}}"#;
        assert!(!versions.lease_went_back("/apis/coordination.k8s.io/v1/namespaces/n/leases/fhpa", lease));
        assert_eq!(versions.goes_on(&watch, &reader), None, "the next Lease says it");
    }
}
