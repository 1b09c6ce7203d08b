//! Whose definitions of FederatedHPAs and CronFederatedHPAs karmada-apiserver serves
//! (docs/design.md#law-10-act-only-on-whole-objects). Talks to the API server.
//!
//! While they are not ours, everything that is read lacks our fields and whatever is written loses them. So both kinds are
//! listed again once they are ours, and nobody acts before: what was read until then may have been read through the others.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::join_all;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::Value;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::api::crd;
use crate::api::served::{self, DEFINITIONS};
use crate::decision::excerpt::{ERROR, excerpt};
use crate::runtime::metrics::Metrics;

/// How the definition of one kind stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Standing {
    /// Nobody has said yet.
    #[default]
    Unknown,
    /// It knows all our fields.
    Ours,
    /// It does not, or cannot be read: why.
    Foreign(String),
}

/// Whose definitions are served, and what was listed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    kinds: [Standing; 2],
    /// Generation of each that was last seen.
    generations: [Option<i64>; 2],
    /// Counts the times that both became ours, or were changed and are.
    term: u64,
    /// In which term each kind was last listed.
    listed: [Option<u64>; 2],
}

impl Served {
    /// Whether objects are read whole: both definitions are ours, and all objects were listed since.
    #[must_use]
    pub fn whole(&self) -> bool {
        self.ours() && self.listed == [Some(self.term); 2]
    }

    fn ours(&self) -> bool {
        self.kinds.iter().all(|kind| *kind == Standing::Ours)
    }

    /// Why nothing may be read or written, when a definition is another's.
    #[must_use]
    pub fn frozen(&self) -> Option<String> {
        let name = |(kind, name): (&Standing, &str)| match kind {
            Standing::Foreign(why) => Some(format!("{name}: {why}")),
            Standing::Unknown | Standing::Ours => None,
        };
        let all: Vec<String> = self.kinds.iter().zip(DEFINITIONS).filter_map(name).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn is_known(&self) -> bool {
        self.kinds.iter().all(|kind| *kind != Standing::Unknown)
    }
}

impl Default for Definitions {
    fn default() -> Self {
        Self::new()
    }
}

/// Knows whose definitions are served.
#[derive(Debug)]
pub struct Definitions {
    ours: Option<[&'static Value; 2]>,
    served: watch::Sender<Served>,
}

impl Definitions {
    /// Of which nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        let ours = crd::all().map(|[cron, federated]| [federated, cron]).ok();
        Self { ours, served: watch::Sender::default() }
    }

    /// Tells of each change from now on.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Served> {
        self.served.subscribe()
    }

    /// Whether a definition is known to be another's.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.served.borrow().frozen().is_some()
    }

    /// Watches both definitions, for ever.
    pub(super) async fn watch(&self, client: &Client, metrics: &Metrics) {
        join_all((0..DEFINITIONS.len()).map(|kind| self.watch_one(client, kind, metrics))).await;
    }

    async fn watch_one(&self, client: &Client, kind: usize, metrics: &Metrics) {
        let Some(name) = DEFINITIONS.get(kind) else { return };
        let ours = self.ours.and_then(|ours| ours.get(kind).copied());
        let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
        let events = watcher::watch_object(api, name).default_backoff();
        futures::pin_mut!(events);
        while let Some(event) = events.next().await {
            let (standing, generation) = match event {
                Ok(Some(definition)) => (judge(ours, &definition.data), definition.metadata.generation),
                Ok(None) => (Standing::Foreign("there is no such definition: run `fhpa install`".to_owned()), None),
                Err(error) => {
                    let error = error.to_string();
                    let why = format!("it cannot be read: {}", excerpt(&error, ERROR));
                    if self.cannot_be_read(kind, why, metrics) {
                        warn!(definition = name, error = excerpt(&error, ERROR), "it cannot be watched");
                    }
                    continue;
                }
            };
            self.told(kind, standing, generation, metrics);
        }
    }

    /// What was known stays: a server that does not answer serves nothing.
    fn cannot_be_read(&self, kind: usize, why: String, metrics: &Metrics) -> bool {
        let unknown = self.served.borrow().kinds.get(kind) == Some(&Standing::Unknown);
        if unknown {
            self.told(kind, Standing::Foreign(why), None, metrics);
        }
        unknown
    }

    fn told(&self, kind: usize, standing: Standing, generation: Option<i64>, metrics: &Metrics) {
        let before = self.served.borrow().clone();
        self.served.send_if_modified(|served| {
            let known = served.clone();
            if let Some(place) = served.kinds.get_mut(kind) {
                *place = standing;
            }
            let seen = served.generations.get_mut(kind).and_then(|place| std::mem::replace(place, generation));
            // Between two looks it may have been another's.
            let changed = seen.is_some() && seen != generation;
            if served.ours() && (!known.ours() || changed) {
                served.term = served.term.saturating_add(1);
            }
            *served != known
        });
        let after = self.served.borrow().frozen();
        metrics.frozen.set(after.is_some().into());
        match (before.frozen(), after) {
            (known, Some(why)) if known.as_ref() != Some(&why) => {
                warn!("FederatedHPAs and CronFederatedHPAs are frozen, members go on: {why}");
            }
            (Some(_), None) => {
                info!("the definitions are fhpa's again: all objects are listed before anything is done");
            }
            _ => {}
        }
    }
}

fn judge(ours: Option<&Value>, live: &Value) -> Standing {
    let Some(ours) = ours else { return Standing::Foreign("what it is to be cannot be made".to_owned()) };
    let lost = served::lost(ours, live);
    if lost.is_empty() { Standing::Ours } else { Standing::Foreign(format!("it lacks {}", served::shown(&lost))) }
}

/// When a kind is listed.
pub(super) enum Listing {
    /// Whenever it can be.
    Free,
    /// Once it is known whose definitions are served, and again in each of their terms; the kind's place among them.
    By(Arc<Definitions>, usize),
}

impl Listing {
    /// Waits until it is known whose definitions are served; returns the term.
    pub(super) async fn begin(&self) -> u64 {
        let Self::By(definitions, _) = self else { return 0 };
        // The sender lives in `definitions`.
        definitions.subscribe().wait_for(Served::is_known).await.map_or(0, |served| served.term)
    }

    /// Returns when a later term than `term` has begun.
    pub(super) async fn over(&self, term: u64) {
        let Self::By(definitions, _) = self else { return std::future::pending().await };
        let _ = definitions.subscribe().wait_for(|served| served.term > term).await;
    }

    /// The kind was listed, in a list that began in `term`.
    pub(super) fn listed(&self, term: u64) {
        let Self::By(definitions, kind) = self else { return };
        definitions.served.send_if_modified(|served| {
            served.listed.get_mut(*kind).is_some_and(|listed| listed.replace(term) != Some(term))
        });
    }
}
