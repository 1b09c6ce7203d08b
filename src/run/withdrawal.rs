//! Hands every workload back, as the controller does when its FederatedHPA is deleted, whether or not a controller runs: the Lease
//! is taken first, so that none acts. Talks to the API server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout_at};

use crate::api::{FederatedHPA, ResourceBinding};
use crate::controller::key::Key;
use crate::decision::lease::Timings;
use crate::decision::names::SUSPENDED_FOR;
use crate::decision::validation::Settings;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::cache::{Cache, View};
use crate::reconcile::federated_hpa::centralized;
use crate::reconcile::federated_hpa::observe::failover;
use crate::reconcile::{Options, Withdrawal};
use crate::runtime::clock;
use crate::runtime::clock::WallClock;
use crate::runtime::leader::{Candidate, Leader, compete};
use crate::runtime::lifecycle::Readiness;
use crate::runtime::metrics::Metrics;
use crate::runtime::succession::{self, Seized};
use crate::runtime::watch::{Readers, Watches};
use crate::runtime::zones::ZoneDatabase;

/// Time between two looks at what is left.
const LOOK: Duration = Duration::from_millis(200);
/// How long others are kept off the Lease at the end: as long as it may take until their processes are gone, too.
const PARKED: Duration = Duration::from_mins(5);
/// Objects that are worked off at a time.
const CONCURRENCY: usize = 16;

/// Whose Lease.
#[derive(Clone, Debug)]
pub struct LeaseLocation {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What became of the workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandedBack {
    /// Those that are handed back.
    pub done: Vec<String>,
    /// Those that are not, each with what is missing.
    pub left: Vec<(String, String)>,
}

/// Why nothing could be handed back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// The Lease is not ours in time.
    #[error(
        "the Lease {0} could not be held in time: the namespace must exist, and the user of the kubeconfig needs the verbs \
         get, create and update on leases there"
    )]
    Lease(String),
    /// The API server refuses, or is not reached.
    #[error("the FederatedHPAs could not be listed: {0}")]
    Refused(String),
    /// Not everything was listed.
    #[error("the control plane did not tell of everything in time: {0}")]
    Unlisted(String),
}

/// The Lease, held for the removal.
pub struct Hold {
    client: Client,
    place: LeaseLocation,
    clock: WallClock,
    leadership: watch::Receiver<Option<Leader>>,
    /// Dropped, nobody renews the Lease any more.
    election: JoinSet<()>,
}

impl Hold {
    /// Takes the Lease; `told` is told from whom, and waits until that one cannot act any more.
    ///
    /// # Errors
    /// When the API server refuses or is not reached.
    pub async fn take(
        client: Client,
        place: LeaseLocation,
        identity: String,
        clock: WallClock,
        told: impl FnOnce(&Seized),
    ) -> Result<Self, kube::Error> {
        let leases: Api<Lease> = Api::namespaced(client.clone(), &place.namespace);
        let seized = succession::seize(&leases, &place.name, &identity).await?;
        told(&seized);
        sleep(seized.wait).await;
        let (tell, leadership) = watch::channel(None);
        let (stop, stopped) = watch::channel(false);
        let candidate = Candidate { lease: place.name.clone(), identity, timings: Timings::default() };
        let mut election = JoinSet::new();
        election.spawn(async move {
            compete(leases, candidate, tell, stopped).await;
            drop(stop);
        });
        Ok(Self { client, place, clock, leadership, election })
    }

    /// Hands all workloads back, as many as there is time for.
    ///
    /// # Errors
    /// When the Lease is not ours, or not everything is seen, in time.
    pub async fn hand_back(&self, settings: Settings, patience: Duration) -> Result<HandedBack, Stuck> {
        let deadline = clock::steady() + patience;
        let led =
            timeout_at(deadline, self.leadership.clone().wait_for(Option::is_some)).await.is_ok_and(|led| led.is_ok());
        if !led {
            return Err(Stuck::Lease(format!("{}/{}", self.place.namespace, self.place.name)));
        }
        let first = self.held().await.map_err(|error| Stuck::Refused(error.to_string()))?;
        let metrics = Arc::new(Metrics::new());
        let withdrawal = Withdrawal::new(Options {
            client: self.client.clone(),
            zones: Arc::new(ZoneDatabase::open()),
            settings,
            clock: Arc::clone(&self.clock),
            metrics: metrics.controller(),
            identity: succession::PARKED.to_owned(),
            concurrency: CONCURRENCY,
            rebalance_period: None,
            failover: failover::Settings::default(),
            centralized: centralized::Settings::default(),
        });
        let mut readers = Readers::default();
        let cache = withdrawal.read_by(&mut readers);
        let readiness = Readiness::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(Watches::new(readers, &readiness).run(self.client.clone(), metrics));
        let (stop, stopped) = watch::channel(false);
        let works = withdrawal.run(self.leadership.clone(), stopped);
        let watched = async {
            let ended = watch_over(&cache, &first, deadline).await;
            stop.send_replace(true);
            ended
        };
        let ((), ended) = tokio::join!(works, watched);
        ended.ok_or_else(|| Stuck::Unlisted(readiness.missing((self.clock)()).join("; ")))
    }

    /// The FederatedHPAs whose workloads are to be handed back, and those for which a binding is suspended still.
    async fn held(&self) -> Result<BTreeSet<Key>, kube::Error> {
        let everything = ListParams::default();
        let all = Api::<FederatedHPA>::all(self.client.clone()).list(&everything).await?;
        let held = all.items.iter().map(FederatedHpaEntry::of).filter(FederatedHpaEntry::held).map(|order| order.key());
        let bindings = Api::<ResourceBinding>::all(self.client.clone()).list(&everything).await?;
        let marked = bindings.items.iter().filter_map(|binding| {
            let metadata = &binding.metadata;
            let name = metadata.annotations.as_ref()?.get(SUSPENDED_FOR)?;
            Some(Key::new(metadata.namespace.as_deref().unwrap_or_default(), name))
        });
        Ok(held.chain(marked).collect())
    }

    /// Keeps everybody off the Lease until their processes are gone, too.
    ///
    /// # Errors
    /// When the API server refuses or is not reached.
    pub async fn park(mut self) -> Result<(), kube::Error> {
        self.election.shutdown().await;
        let leases: Api<Lease> = Api::namespaced(self.client, &self.place.namespace);
        succession::park(&leases, &self.place.name, PARKED).await
    }
}

/// Waits until nothing is held any more of what was held at `first`, or came since; nothing, when not everything was seen in
/// time.
async fn watch_over(cache: &Cache, first: &BTreeSet<Key>, deadline: Instant) -> Option<HandedBack> {
    let mut looks = interval(LOOK);
    loop {
        looks.tick().await;
        let late = clock::steady() >= deadline;
        let Some(held) = cache.held() else {
            if late {
                return None;
            }
            continue;
        };
        if held.is_empty() || late {
            let done = first.iter().filter(|key| !held.contains(key)).map(ToString::to_string).collect();
            let left = held.iter().map(|key| (key.to_string(), missing(cache.view(key)))).collect();
            return Some(HandedBack { done, left });
        }
    }
}

/// What is missing until a workload is handed back.
fn missing(view: Option<View>) -> String {
    let Some(view) = view else {
        return "it is gone, and its ResourceBinding or HPAs are not given back yet".to_owned();
    };
    let clusters: Vec<&str> = view.sent.iter().map(|sent| &*sent.cluster).collect();
    if !clusters.is_empty() {
        return format!("its HPAs are still in {}", clusters.join(", "));
    }
    if view.taken.as_ref().is_some_and(|binding| binding.suspended()) {
        return "its replicas are not settled in the ResourceBinding yet; its Events say why".to_owned();
    }
    "its finalizer could not be taken off; its Events say why".to_owned()
}
