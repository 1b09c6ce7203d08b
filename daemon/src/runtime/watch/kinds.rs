//! Kinds whose replicas members keep, by the customizations of Karmada's interpreter from the installation. No I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::event_handler::EventHandler;
use crate::api::ResourceInterpreterCustomization;
use crate::decision::kinds::Retention;
use crate::decision::names::RETAIN_REPLICAS;

/// A retention script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionScript {
    /// API version of the kind that it is for.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// Whether it keeps the replicas of objects with the label.
    pub keeps: bool,
}

/// The retention scripts, by name of their customization; `None` until they were listed once.
#[derive(Debug, Default)]
pub struct KeptKinds(RwLock<Option<BTreeMap<String, RetentionScript>>>);

impl KeptKinds {
    /// What is retained of objects of the kind; `None` while that is not known.
    #[must_use]
    pub fn retention(&self, api_version: &str, kind: &str) -> Option<Retention> {
        let known = self.0.read();
        let about =
            |(_, script): &(&String, &RetentionScript)| script.api_version == api_version && script.kind == kind;
        let mut found = Retention::Native;
        for (name, script) in known.as_ref()?.iter().filter(about) {
            if script.keeps {
                return Some(Retention::Replicas);
            }
            found = Retention::Other(name.clone());
        }
        Some(found)
    }

    /// Returns whether it changed anything.
    fn replace(&self, listed: BTreeMap<String, RetentionScript>) -> bool {
        let mut known = self.0.write();
        let changed = known.as_ref() != Some(&listed);
        *known = Some(listed);
        changed
    }

    /// Returns whether it changed anything.
    fn set(&self, name: &str, script: Option<RetentionScript>) -> bool {
        let mut known = self.0.write();
        let known = known.get_or_insert_default();
        let before = known.remove(name);
        let changed = before != script;
        known.extend(script.map(|script| (name.to_owned(), script)));
        changed
    }
}

/// The retention script of a customization.
#[must_use]
pub fn retention_script(customization: &ResourceInterpreterCustomization) -> Option<RetentionScript> {
    let spec = &customization.spec;
    let script = &spec.customizations.retention.lua_script;
    (!script.is_empty()).then(|| RetentionScript {
        api_version: spec.target.api_version.clone(),
        kind: spec.target.kind.clone(),
        keeps: script.contains(RETAIN_REPLICAS),
    })
}

fn name(customization: &ResourceInterpreterCustomization) -> String {
    customization.metadata.name.clone().unwrap_or_default()
}

/// Stores customizations, and notifies after each change.
pub struct KindReader {
    kinds: Arc<KeptKinds>,
    tell: Box<dyn Fn() + Send>,
    listing: BTreeMap<String, RetentionScript>,
}

impl KindReader {
    /// Fills `kinds`, and calls `tell` after each change.
    #[must_use]
    pub fn new(kinds: Arc<KeptKinds>, tell: impl Fn() + Send + 'static) -> Self {
        Self { kinds, tell: Box::new(tell), listing: BTreeMap::new() }
    }

    fn tell_if(&self, changed: bool) {
        if changed {
            (self.tell)();
        }
    }
}

impl EventHandler<ResourceInterpreterCustomization> for KindReader {
    fn begin(&mut self) {
        self.listing.clear();
    }
    fn listed(&mut self, object: &ResourceInterpreterCustomization) {
        self.listing.extend(retention_script(object).map(|script| (name(object), script)));
    }
    fn end(&mut self) {
        let listed = std::mem::take(&mut self.listing);
        self.tell_if(self.kinds.replace(listed));
    }
    fn put(&mut self, object: &ResourceInterpreterCustomization) {
        self.tell_if(self.kinds.set(&name(object), retention_script(object)));
    }
    fn take(&mut self, _: &str, name: &str) {
        self.tell_if(self.kinds.set(name, None));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    fn custom(name: &str, kind: &str, script: &str) -> ResourceInterpreterCustomization {
        let customization = json!({"metadata": {"name": name}, "spec": {"target": {"apiVersion": "apps/v1", "kind": kind},
            "customizations": {"retention": {"luaScript": script}}}});
        serde_json::from_value(customization).unwrap()
    }

    #[test]
    fn a_kind_is_kept_while_a_customization_says_so() {
        let kinds = Arc::new(KeptKinds::default());
        let mut reader = KindReader::new(Arc::clone(&kinds), || {});
        assert_eq!(kinds.retention("apps/v1", "StatefulSet"), None);
        reader.begin();
        reader.listed(&custom("sets", "StatefulSet", &format!("labels[{RETAIN_REPLICAS:?}]")));
        reader.listed(&custom("others", "ReplicaSet", "return desiredObj"));
        reader.end();
        let retention = |kind| kinds.retention("apps/v1", kind).unwrap();
        assert_eq!(retention("StatefulSet"), Retention::Replicas);
        assert_eq!(retention("ReplicaSet"), Retention::Other("others".to_owned()), "it does not look at the label");
        assert_eq!(retention("Deployment"), Retention::Native);
        reader.take("", "sets");
        assert_eq!(retention("StatefulSet"), Retention::Native);
    }

    #[test]
    fn only_changes_are_told() {
        let told = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&told);
        let mut reader = KindReader::new(Arc::default(), move || _ = counted.fetch_add(1, Ordering::Relaxed));
        let list = |reader: &mut KindReader| {
            reader.begin();
            reader.listed(&custom("sets", "StatefulSet", "return desiredObj"));
            reader.end();
            told.load(Ordering::Relaxed)
        };
        assert_eq!((list(&mut reader), list(&mut reader)), (1, 1));
        reader.put(&custom("health", "Deployment", ""));
        assert_eq!(list(&mut reader), 1, "it retains nothing");
        reader.put(&custom("sets", "StatefulSet", RETAIN_REPLICAS));
        assert_eq!(told.load(Ordering::Relaxed), 2);
    }
}
