//! Whether karmada-apiserver serves fhpa's CRDs of FederatedHPAs and CronFederatedHPAs
//! (docs/design.md#law-10-act-only-on-whole-objects). Talks to the API server.
//!
//! While it serves others, every object that is read lacks fhpa's fields and every write loses them. So both kinds are
//! listed again once fhpa's CRDs are served, and no controller acts before: earlier reads may have used the other CRDs.

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
use crate::runtime::control_plane::for_one_watch;
use crate::runtime::metrics::Metrics;

/// State of the CRD of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum DefinitionState {
    /// Not known yet.
    #[default]
    Unknown,
    /// It has all fields of fhpa.
    Ours,
    /// It has not, or cannot be read: the reason.
    Foreign(String),
}

/// State of both CRDs, and the kinds listed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    kinds: [DefinitionState; 2],
    /// Last observed generation of each.
    generations: [Option<i64>; 2],
    /// Counts how often fhpa's CRDs began to be served, or were changed.
    term: u64,
    /// The term in which each kind was last listed.
    listed: [Option<u64>; 2],
}

impl Served {
    /// Whether objects are complete: fhpa's CRDs are served, and all objects were listed since.
    #[must_use]
    pub fn whole(&self) -> bool {
        self.ours() && self.listed == [Some(self.term); 2]
    }

    fn ours(&self) -> bool {
        self.kinds.iter().all(|kind| *kind == DefinitionState::Ours)
    }

    /// Why nothing may be read or written, when a CRD is foreign.
    #[must_use]
    pub fn frozen(&self) -> Option<String> {
        let name = |(kind, name): (&DefinitionState, &str)| match kind {
            DefinitionState::Foreign(why) => Some(format!("{name}: {why}")),
            DefinitionState::Unknown | DefinitionState::Ours => None,
        };
        let all: Vec<String> = self.kinds.iter().zip(DEFINITIONS).filter_map(name).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn is_known(&self) -> bool {
        self.kinds.iter().all(|kind| *kind != DefinitionState::Unknown)
    }
}

impl Default for Definitions {
    fn default() -> Self {
        Self::new()
    }
}

/// Observes the CRDs of both kinds.
#[derive(Debug)]
pub struct Definitions {
    ours: Option<[&'static Value; 2]>,
    served: watch::Sender<Served>,
}

impl Definitions {
    /// Both states are unknown.
    #[must_use]
    pub fn new() -> Self {
        let ours = crd::all().map(|[cron, federated]| [federated, cron]).ok();
        Self { ours, served: watch::Sender::default() }
    }

    /// Subscribes to further changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Served> {
        self.served.subscribe()
    }

    /// Whether a CRD is known to be foreign.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.served.borrow().frozen().is_some()
    }

    /// Watches both CRDs, without end.
    pub(super) async fn watch(&self, client: &Client, metrics: &Metrics) {
        join_all((0..DEFINITIONS.len()).map(|kind| self.watch_one(client, kind, metrics))).await;
    }

    async fn watch_one(&self, client: &Client, kind: usize, metrics: &Metrics) {
        let Some(name) = DEFINITIONS.get(kind) else { return };
        let ours = self.ours.and_then(|ours| ours.get(kind).copied());
        let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let api: Api<DynamicObject> = Api::all_with(for_one_watch(client), &ApiResource::from_gvk(&gvk));
        let events = watcher::watch_object(api, name).default_backoff();
        futures::pin_mut!(events);
        while let Some(event) = events.next().await {
            let (state, generation) = match event {
                Ok(Some(definition)) => (judge(ours, &definition.data), definition.metadata.generation),
                Ok(None) => {
                    (DefinitionState::Foreign("there is no such definition: run `fhpa install`".to_owned()), None)
                }
                Err(error) => {
                    let error = error.to_string();
                    let why = format!("it cannot be read: {}", excerpt(&error, ERROR));
                    if self.cannot_be_read(kind, why, metrics) {
                        warn!(definition = name, error = excerpt(&error, ERROR), "it cannot be watched");
                    }
                    continue;
                }
            };
            self.observe(kind, state, generation, metrics);
        }
    }

    /// The known state stays: a server that does not answer serves nothing.
    fn cannot_be_read(&self, kind: usize, why: String, metrics: &Metrics) -> bool {
        let unknown = self.served.borrow().kinds.get(kind) == Some(&DefinitionState::Unknown);
        if unknown {
            self.observe(kind, DefinitionState::Foreign(why), None, metrics);
        }
        unknown
    }

    fn observe(&self, kind: usize, state: DefinitionState, generation: Option<i64>, metrics: &Metrics) {
        let before = self.served.borrow().clone();
        self.served.send_if_modified(|served| {
            let known = served.clone();
            if let Some(place) = served.kinds.get_mut(kind) {
                *place = state;
            }
            let seen = served.generations.get_mut(kind).and_then(|place| std::mem::replace(place, generation));
            // Between two events it may have been foreign.
            let changed = seen.is_some() && seen != generation;
            if served.ours() && (!known.ours() || changed) {
                served.term = served.term.saturating_add(1);
            }
            *served != known
        });
        let after = self.served.borrow().frozen();
        metrics.definitions_incomplete.set(after.is_some().into());
        match (before.frozen(), after) {
            (known, Some(why)) if known.as_ref() != Some(&why) => {
                warn!("FederatedHPAs and CronFederatedHPAs are frozen, members keep scaling: {why}");
            }
            (Some(_), None) => {
                info!("the definitions are fhpa's again: all objects are listed before anything is done");
            }
            _ => {}
        }
    }
}

fn judge(ours: Option<&Value>, live: &Value) -> DefinitionState {
    let Some(ours) = ours else { return DefinitionState::Foreign("its desired state cannot be built".to_owned()) };
    let lost = served::lost(ours, live);
    if lost.is_empty() {
        DefinitionState::Ours
    } else {
        DefinitionState::Foreign(format!("it lacks {}", served::shown(&lost)))
    }
}

/// When a kind is listed.
pub(super) enum Listing {
    /// At any time.
    Free,
    /// Once the state of the CRDs is known, and again in each of their terms; with the index of the kind.
    By(Arc<Definitions>, usize),
}

impl Listing {
    /// Waits until the state of the CRDs is known; returns the term.
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

    /// Records that the kind was listed, in a list that began in `term`.
    pub(super) fn listed(&self, term: u64) {
        let Self::By(definitions, kind) = self else { return };
        definitions.served.send_if_modified(|served| {
            served.listed.get_mut(*kind).is_some_and(|listed| listed.replace(term) != Some(term))
        });
    }
}
