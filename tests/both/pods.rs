//! Ready pods, as API servers tell of them, and the fewest of each app since somebody began to note them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// The label `app` of a pod.
pub fn app_of(pod: &Value) -> &str {
    pod["metadata"]["labels"]["app"].as_str().unwrap_or_default()
}

/// Whether a pod is ready and there to stay.
pub fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    pod["metadata"]["deletionTimestamp"].is_null() && conditions.into_iter().flatten().any(ready)
}

/// What was seen of pods.
#[derive(Clone, Default)]
pub struct Pods(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// The app of each ready pod, by member, namespace and name.
    ready: BTreeMap<(String, String, String), String>,
    least: BTreeMap<String, usize>,
}

impl Seen {
    fn ready(&self, app: &str) -> usize {
        self.ready.values().filter(|other| *other == app).count()
    }
}

impl Pods {
    /// A pod changed, or is gone.
    pub fn saw(&self, member: &str, pod: &Value, gone: bool) {
        let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
        let mut seen = self.0.lock().unwrap();
        let key = (member.to_owned(), text("namespace"), text("name"));
        if !gone && is_ready(pod) {
            seen.ready.insert(key, app_of(pod).to_owned());
        } else if let Some(app) = seen.ready.remove(&key) {
            let now = seen.ready(&app);
            seen.least.entry(app).and_modify(|least| *least = now.min(*least));
        }
    }

    /// Ready pods of an app in all members.
    pub fn ready(&self, app: &str) -> usize {
        self.0.lock().unwrap().ready(app)
    }

    /// Ready pods of an app in one member.
    pub fn ready_in(&self, member: &str, app: &str) -> usize {
        let seen = self.0.lock().unwrap();
        seen.ready.iter().filter(|((place, ..), other)| place == member && *other == app).count()
    }

    /// Begins to note the fewest ready pods of an app. Returns how many are ready.
    pub fn note(&self, app: &str) -> usize {
        let mut seen = self.0.lock().unwrap();
        let now = seen.ready(app);
        seen.least.insert(app.to_owned(), now);
        now
    }

    /// The fewest ready pods of an app since [`Self::note`].
    pub fn least(&self, app: &str) -> usize {
        self.0.lock().unwrap().least.get(app).copied().expect("it is noted")
    }
}
