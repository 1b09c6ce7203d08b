//! Kinds whose replicas members keep, by the customizations of Karmada's interpreter from the installation. No I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::event_handler::EventHandler;
use crate::api::ResourceInterpreterCustomization;
use crate::decision::names::RETAIN_REPLICAS;

/// API version and kind.
type Kind = (String, String);

/// The kinds, by name of their customization; `None` until they were listed once.
#[derive(Debug, Default)]
pub struct KeptKinds(RwLock<Option<BTreeMap<String, Kind>>>);

impl KeptKinds {
    /// Whether members keep replicas of objects of the kind; `None` while that is not known.
    #[must_use]
    pub fn keeps(&self, api_version: &str, kind: &str) -> Option<bool> {
        let known = self.0.read();
        let known = known.as_ref()?;
        Some(known.values().any(|(version, name)| version == api_version && name == kind))
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Kind>)) {
        change(self.0.write().get_or_insert_default());
    }
}

/// The API version and kind whose replicas a customization keeps: those of objects with the label.
#[must_use]
pub fn kept(customization: &ResourceInterpreterCustomization) -> Option<Kind> {
    let spec = &customization.spec;
    let kind = (spec.target.api_version.clone(), spec.target.kind.clone());
    spec.customizations.retention.lua_script.contains(RETAIN_REPLICAS).then_some(kind)
}

fn name(customization: &ResourceInterpreterCustomization) -> String {
    customization.metadata.name.clone().unwrap_or_default()
}

/// Stores customizations, and notifies after each change.
pub struct KindReader {
    kinds: Arc<KeptKinds>,
    tell: Box<dyn Fn() + Send>,
    listing: BTreeMap<String, Kind>,
}

impl KindReader {
    /// Fills `kinds`, and calls `tell` after each change.
    #[must_use]
    pub fn new(kinds: Arc<KeptKinds>, tell: impl Fn() + Send + 'static) -> Self {
        Self { kinds, tell: Box::new(tell), listing: BTreeMap::new() }
    }
}

impl EventHandler<ResourceInterpreterCustomization> for KindReader {
    fn begin(&mut self) {
        self.listing.clear();
    }
    fn listed(&mut self, object: &ResourceInterpreterCustomization) {
        self.listing.extend(kept(object).map(|kind| (name(object), kind)));
    }
    fn end(&mut self) {
        let listed = std::mem::take(&mut self.listing);
        self.kinds.change(|known| *known = listed);
        (self.tell)();
    }
    fn put(&mut self, object: &ResourceInterpreterCustomization) {
        self.kinds.change(|known| {
            known.remove(&name(object));
            known.extend(kept(object).map(|kind| (name(object), kind)));
        });
        (self.tell)();
    }
    fn take(&mut self, _: &str, name: &str) {
        self.kinds.change(|known| _ = known.remove(name));
        (self.tell)();
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(kinds.keeps("apps/v1", "StatefulSet"), None);
        reader.begin();
        reader.listed(&custom("sets", "StatefulSet", &format!("labels[{RETAIN_REPLICAS:?}]")));
        reader.listed(&custom("others", "ReplicaSet", "return desiredObj"));
        reader.end();
        let keeps = |kind| kinds.keeps("apps/v1", kind).unwrap();
        assert!(keeps("StatefulSet") && !keeps("ReplicaSet"), "a script that does not look at the label keeps nothing");
        reader.take("", "sets");
        assert!(!kinds.keeps("apps/v1", "StatefulSet").unwrap());
    }
}
