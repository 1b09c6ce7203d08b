//! The selectors of workloads in one namespace, and which of them select a pod: two autoscalers whose workloads have
//! pods in common must not both scale. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::selector::{Labels, Selector};

type Names = BTreeSet<Box<str>>;

/// Selectors by the names of their autoscalers. A pod is compared with few of them, however many there are.
#[derive(Clone, Debug, Default)]
pub struct SelectorIndex {
    selectors: BTreeMap<Box<str>, Selector>,
    /// Names by key and value of a label that all selected pods have.
    by_label: BTreeMap<Box<str>, BTreeMap<Box<str>, Names>>,
    /// Names of selectors without such a label.
    others: Names,
}

impl SelectorIndex {
    /// Sets the selector of `name`.
    pub fn put(&mut self, name: &str, selector: &Selector) {
        if self.selectors.get(name) == Some(selector) {
            return;
        }
        self.remove(name);
        match selector.label() {
            Some((key, value)) => {
                let of_key = self.by_label.entry(key.into()).or_default();
                of_key.entry(value.into()).or_default().insert(name.into());
            }
            None => {
                self.others.insert(name.into());
            }
        }
        self.selectors.insert(name.into(), selector.clone());
    }

    /// Removes the selector of `name`.
    pub fn remove(&mut self, name: &str) {
        let Some(selector) = self.selectors.remove(name) else { return };
        self.others.remove(name);
        let Some((key, value)) = selector.label() else { return };
        if let Some(of_key) = self.by_label.get_mut(key) {
            if let Some(names) = of_key.get_mut(value) {
                names.remove(name);
            }
            if of_key.get(value).is_some_and(Names::is_empty) {
                of_key.remove(value);
            }
            if of_key.is_empty() {
                self.by_label.remove(key);
            }
        }
    }

    /// The names whose selectors select a pod with these labels.
    pub fn selecting<'a>(&'a self, labels: &'a Labels) -> impl Iterator<Item = &'a str> {
        let candidates = labels.iter().filter_map(|(key, value)| self.by_label.get(key)?.get(value)).flatten();
        candidates.chain(&self.others).map(|name| &**name).filter(|name| self.selects(name, labels))
    }

    fn selects(&self, name: &str, labels: &Labels) -> bool {
        self.selectors.get(name).is_some_and(|selector| selector.selects(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_found_by_every_selector_that_selects_it() {
        let mut index = SelectorIndex::default();
        for (name, text) in
            [("web", "app=web"), ("front", "tier in (front),app"), ("any", "!canary"), ("shop", "app=shop")]
        {
            index.put(name, &Selector::parse(text).unwrap());
        }
        let labels = |pairs: &[(&str, &str)]| -> Labels {
            pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
        };
        let found = |index: &SelectorIndex, pairs: &[(&str, &str)]| -> Vec<String> {
            let labels = labels(pairs);
            let mut found: Vec<String> = index.selecting(&labels).map(str::to_owned).collect();
            found.sort();
            found
        };
        assert_eq!(found(&index, &[("app", "web"), ("tier", "front")]), ["any", "front", "web"]);
        assert_eq!(found(&index, &[("app", "web"), ("canary", "yes")]), ["web"]);
        index.put("web", &Selector::parse("app=store").unwrap());
        index.remove("any");
        assert!(found(&index, &[("app", "web")]).is_empty());
        assert_eq!(found(&index, &[("app", "store")]), ["web"]);
    }
}
