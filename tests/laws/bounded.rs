//! Law 12: no object, list or rate of writes grows without bounds.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::managed::{changed, owners};
use super::{Change, Court, Law, is_ours};

/// Bytes of an object that fhpa writes: what etcd takes, less what others may add.
const MOST: usize = 1_000_000;
/// Bytes of a message of a condition (what Kubernetes allows).
const MESSAGE: usize = 32_768;

#[derive(Default)]
pub struct Bounded {
    /// When each was written, and which fields.
    writes: BTreeMap<String, VecDeque<(Timestamp, String)>>,
}

impl Law for Bounded {
    fn name(&self) -> &'static str {
        "12 (bounded)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        let Some(after) = change.after else { return };
        let paths = changed(change.before, after);
        let ours = |path: &Vec<&str>| owners(after, path).iter().any(|owner| is_ours(owner.manager));
        // Events are bounded by what they tell of, Leases by their time.
        if matches!(change.kind, "Event" | "Lease") || !paths.iter().any(ours) {
            return;
        }
        let size = size(after);
        if size > MOST {
            court.breaks(change.about(), format!("it has {size} bytes"));
        }
        for condition in super::world::items(after, "/status/conditions") {
            let message = super::world::text(condition, "/message").len();
            if message > MESSAGE {
                court.breaks(change.about(), format!("a condition's message has {message} bytes"));
            }
        }
        let writes = self.writes.entry(change.about()).or_default();
        let fields: BTreeSet<String> = paths.iter().map(|path| path[..path.len().min(2)].join(".")).collect();
        writes.push_back((change.at, fields.into_iter().collect::<Vec<_>>().join(" ")));
        while writes.front().is_some_and(|(first, _)| change.at.duration_since(*first) > SignedDuration::from_mins(1)) {
            writes.pop_front();
        }
        if writes.len() > court.terms.writes_a_minute {
            let mut often: BTreeMap<&str, usize> = BTreeMap::new();
            for (_, fields) in writes.iter() {
                *often.entry(fields).or_default() += 1;
            }
            court.breaks(change.about(), format!("it was written {} times within a minute: {often:?}", writes.len()));
            writes.clear();
        }
    }
}

/// About as many bytes as it has as JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 3,
        Value::Array(list) => list.iter().map(size).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + 4 + size(value)).sum::<usize>() + 2,
    }
}
