//! Other autoscalers in karmada-apiserver, by what they scale: HPAs and KEDA's ScaledObjects. No I/O.

use std::sync::Arc;

use kube::Resource;

use super::event_handler::EventHandler;
use super::kind_index::{IndexedObject, KindIndex};
use crate::convert::Scaler;
use crate::decision::related_objects::{KnownScaler, ScalerKind, Target};

impl IndexedObject for KnownScaler {
    fn name(&self) -> &str {
        &self.name
    }
    fn target(&self) -> &Target {
        &self.target
    }
}

/// The other autoscalers.
#[derive(Default)]
pub struct Scalers {
    hpas: KindIndex<KnownScaler>,
    scaled_objects: KindIndex<KnownScaler>,
}

impl Scalers {
    /// Those that scale `target`: HPAs, then ScaledObjects, each by name.
    #[must_use]
    pub fn on(&self, target: &Target) -> Vec<KnownScaler> {
        let mut found = self.hpas.on(target);
        found.extend(self.scaled_objects.on(target));
        found
    }

    const fn of(&self, kind: ScalerKind) -> &KindIndex<KnownScaler> {
        match kind {
            ScalerKind::HorizontalPodAutoscaler => &self.hpas,
            ScalerKind::ScaledObject => &self.scaled_objects,
        }
    }
}

/// Is notified of targets.
type Tell = Box<dyn Fn(&[Target]) + Send>;

/// Stores autoscalers of one kind, and notifies of the targets whose autoscalers changed.
pub struct ScalerReader {
    scalers: Arc<Scalers>,
    kind: ScalerKind,
    tell: Tell,
    listing: Vec<KnownScaler>,
}

impl ScalerReader {
    /// Fills `scalers` with those of `kind`.
    #[must_use]
    pub fn new(scalers: &Arc<Scalers>, kind: ScalerKind, tell: impl Fn(&[Target]) + Send + 'static) -> Self {
        Self { scalers: Arc::clone(scalers), kind, tell: Box::new(tell), listing: Vec::new() }
    }

    fn take_named(&self, namespace: &str, name: &str) {
        let gone = self.scalers.of(self.kind).take(&(namespace.to_owned(), name.to_owned()));
        (self.tell)(gone.as_slice());
    }
}

impl<K: Scaler + Resource> EventHandler<K> for ScalerReader {
    fn begin(&mut self) {
        self.listing.clear();
    }
    fn listed(&mut self, object: &K) {
        self.listing.extend(object.known());
    }
    fn end(&mut self) {
        let changed = self.scalers.of(self.kind).replace(std::mem::take(&mut self.listing));
        (self.tell)(&changed);
    }
    fn put(&mut self, object: &K) {
        if let Some(known) = object.known() {
            let changed = self.scalers.of(self.kind).put(known);
            (self.tell)(&changed);
        } else {
            let metadata = object.meta();
            let name = |name: &Option<String>| name.clone().unwrap_or_default();
            self.take_named(&name(&metadata.namespace), &name(&metadata.name));
        }
    }
    fn take(&mut self, namespace: &str, name: &str) {
        self.take_named(namespace, name);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::{Value, json};

    use super::*;
    use crate::api::scaler::{PlainHPA, ScaledObject};

    fn target(name: &str) -> Target {
        Target { namespace: "prod".into(), group: "apps".into(), kind: "Deployment".into(), name: name.into() }
    }

    fn object<K: serde::de::DeserializeOwned>(name: &str, reference: &Value) -> K {
        let object = json!({"metadata": {"name": name, "namespace": "prod"}, "spec": {"scaleTargetRef": reference}});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn autoscalers_of_both_kinds_are_found_by_what_they_scale_and_a_change_names_the_targets() {
        let (scalers, told) = (Arc::new(Scalers::default()), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&told);
        let tell = move |targets: &[Target]| _ = count.fetch_add(targets.len(), Ordering::Relaxed);
        let mut hpas = ScalerReader::new(&scalers, ScalerKind::HorizontalPodAutoscaler, tell);
        let mut keda = ScalerReader::new(&scalers, ScalerKind::ScaledObject, |_| {});
        let on = |kind: &str, name: &str| json!({"apiVersion": "apps/v1", "kind": kind, "name": name});
        EventHandler::<PlainHPA>::listed(&mut hpas, &object("b", &on("Deployment", "web")));
        EventHandler::<PlainHPA>::listed(&mut hpas, &object("c", &on("StatefulSet", "web")));
        EventHandler::<PlainHPA>::end(&mut hpas);
        EventHandler::<ScaledObject>::put(&mut keda, &object("a", &json!({"name": "web"})));
        let names: Vec<String> = scalers.on(&target("web")).into_iter().map(|known| known.name).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(told.swap(0, Ordering::Relaxed), 2);
        EventHandler::<PlainHPA>::put(&mut hpas, &object("b", &on("Deployment", "shop")));
        assert_eq!((told.swap(0, Ordering::Relaxed), scalers.on(&target("web")).len()), (2, 1));
        let mut going: PlainHPA = object("b", &on("Deployment", "shop"));
        going.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-11-20T08:00:00Z")).unwrap());
        hpas.put(&going);
        assert_eq!((told.load(Ordering::Relaxed), scalers.on(&target("shop")).len()), (1, 0));
    }
}
