//! Index of the other objects, by name and by target. No I/O; reads block writes for a moment only.
//!
//! Every replica reads it for reviews and no caller waits for its changes, so it has no set of changes and no wake-up,
//! unlike caches of controllers, and no versions: its one writer delivers changes in order.

use std::sync::Arc;

use super::kind_index::KindIndex;
use super::kinds::KeptKinds;
use super::scalers::Scalers;
use crate::decision::kinds::Retention;
use crate::decision::related_objects::{KnownCronFederatedHPA, KnownFederatedHPA, KnownScaler, RelatedObjects, Target};

/// Index of all kinds.
#[derive(Default)]
pub struct Index {
    /// The FederatedHPAs.
    pub federated_hpas: KindIndex<KnownFederatedHPA>,
    /// The CronFederatedHPAs.
    pub cron_federated_hpas: KindIndex<KnownCronFederatedHPA>,
    /// The kinds whose replicas members keep.
    pub kinds: Arc<KeptKinds>,
    /// Autoscalers that are not fhpa's.
    pub scalers: Arc<Scalers>,
}

impl RelatedObjects for Index {
    fn federated_hpas_on(&self, target: &Target) -> Vec<KnownFederatedHPA> {
        self.federated_hpas.on(target)
    }

    fn cron_federated_hpas_on(&self, target: &Target) -> Vec<KnownCronFederatedHPA> {
        self.cron_federated_hpas.on(target)
    }

    fn holder_of(&self, target: &Target) -> Option<KnownFederatedHPA> {
        let about = self.federated_hpas.about(target);
        about.into_iter().find(|hpa| hpa.taken_over.as_ref() == Some(target))
    }

    fn federated_hpa(&self, namespace: &str, name: &str) -> Option<KnownFederatedHPA> {
        self.federated_hpas.named(namespace, name)
    }

    fn scalers_on(&self, target: &Target) -> Vec<KnownScaler> {
        self.scalers.on(target)
    }

    fn retention(&self, api_version: &str, kind: &str) -> Option<Retention> {
        self.kinds.retention(api_version, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::Index;
    use crate::decision::related_objects::{KnownFederatedHPA, RelatedObjects, Target};

    fn target(name: &str) -> Target {
        Target { namespace: "prod".into(), group: "apps".into(), kind: "Deployment".into(), name: name.into() }
    }

    fn known(name: &str, on: &str) -> KnownFederatedHPA {
        let target = target(on);
        KnownFederatedHPA {
            name: name.into(),
            target,
            min_replicas: Some(1),
            max_replicas: 5,
            distributed: true,
            suspended: false,
            deleting: false,
            taken_over: None,
        }
    }

    fn names(index: &Index, on: &str) -> Vec<String> {
        index.federated_hpas_on(&target(on)).into_iter().map(|known| known.name).collect()
    }

    #[test]
    fn an_update_moves_an_object_to_its_new_target() {
        let index = Index::default();
        for name in ["b", "a"] {
            index.federated_hpas.put(known(name, "web"));
        }
        assert_eq!(names(&index, "web"), ["a", "b"]);
        index.federated_hpas.put(known("a", "shop"));
        assert_eq!((names(&index, "web"), names(&index, "shop")), (vec!["b".into()], vec!["a".into()]));
        index.federated_hpas.take(&("prod".into(), "a".into()));
        assert_eq!(names(&index, "shop"), [""; 0]);
        assert!(index.federated_hpa("prod", "a").is_none() && index.federated_hpa("prod", "b").is_some());
    }

    #[test]
    fn a_new_list_replaces_all() {
        let index = Index::default();
        index.federated_hpas.put(known("gone", "web"));
        index.federated_hpas.replace([known("new", "web")]);
        assert_eq!(names(&index, "web"), ["new"]);
        assert_eq!(index.federated_hpas.len(), 1);
    }
}
