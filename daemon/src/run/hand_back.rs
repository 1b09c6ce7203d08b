//! Hands back every workload, as the controller does when its FederatedHPA is deleted, whether or not a controller
//! runs: it takes the Lease first, so that no controller acts. Talks to the API server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ListParams, ObjectMeta};
use kube::{Api, Client, Resource as _};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout_at};

use crate::api::{FederatedHPA, ResourceBinding};
use crate::controller::failure::{Asked, Failure, reason};
use crate::controller::key::Key;
use crate::controller::pages::metadata_pages;
use crate::decision::backoff::ErrorClass;
use crate::decision::lease::Timings;
use crate::decision::names::SUSPENDED_FOR;
use crate::decision::validation::Settings;
use crate::reconcile::federated_hpa::cache::entry::is_held;
use crate::reconcile::federated_hpa::cache::{Cache, View};
use crate::reconcile::federated_hpa::centralized;
use crate::reconcile::federated_hpa::observe::failover;
use crate::reconcile::{HandBackController, Options};
use crate::runtime::clock;
use crate::runtime::clock::WallClock;
use crate::runtime::leader::activity::{self, LeaseLocation, Renewed};
use crate::runtime::leader::handover::{self, AcquireError, Acquired};
use crate::runtime::leader::{Candidate, Leader, compete};
use crate::runtime::lifecycle::Readiness;
use crate::runtime::metrics::Metrics;
use crate::runtime::watch::{Readers, Watches};
use crate::runtime::zones::ZoneDatabase;

/// Interval between checks of the remaining workloads.
const LOOK: Duration = Duration::from_millis(200);
/// Maximum number of objects that are reconciled at the same time.
const CONCURRENCY: usize = 16;

/// Result for the workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandedBack {
    /// Workloads that were handed back.
    pub done: Vec<String>,
    /// Workloads that were not, each with the missing step.
    pub left: Vec<(String, String)>,
    /// Workloads whose HPA is still in a cluster that does not answer, each with the cluster: Karmada deletes it when
    /// the cluster answers.
    pub behind: Vec<(String, String)>,
}

/// Why no workload could be handed back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// The Lease could not be acquired in time.
    #[error(
        "the Lease {0} could not be held in time: the namespace must exist, and the user of the kubeconfig needs the verbs \
         get, create and update on leases there"
    )]
    Lease(String),
    /// The API server rejects the request, or is unreachable.
    #[error("the FederatedHPAs could not be listed: {0}")]
    Refused(String),
    /// Not all objects were listed.
    #[error("not all objects were listed in time: {0}")]
    Unlisted(String),
}

/// The Lease, held for the removal.
pub struct LeaseHold {
    client: Client,
    place: LeaseLocation,
    clock: WallClock,
    leadership: watch::Receiver<Option<Leader>>,
    /// Dropping it stops the renewal of the Lease.
    election: JoinSet<()>,
}

/// A controller of fhpa that leads by another Lease than that at `place`. Waits where there is such a Lease, to see
/// whether it is renewed.
///
/// # Errors
/// The Leases cannot be listed or read.
pub async fn leads_elsewhere(client: &Client, place: &LeaseLocation) -> Result<Option<Renewed>, Failure> {
    let read = async {
        let others = activity::others(client, place).await?;
        Ok(activity::renewed(client, &others).await?.into_iter().next())
    };
    let resource = "leases";
    let asked = Asked { verb: "list", group: "coordination.k8s.io", resource, object: &resource };
    read.await.map_err(|error: kube::Error| Failure::of(&error, asked))
}

impl LeaseHold {
    /// Takes the Lease; passes the previous holder to `report`, and waits until that process can no longer act. Where
    /// that takes `patience` or longer, the Lease stays as it is.
    ///
    /// # Errors
    /// When the time does not suffice, the API server rejects the request, or is unreachable.
    pub async fn take(
        client: Client,
        place: LeaseLocation,
        identity: String,
        clock: WallClock,
        patience: Duration,
        report: impl FnOnce(&Acquired),
    ) -> Result<Self, Failure> {
        let leases: Api<Lease> = Api::namespaced(client.clone(), &place.namespace);
        let taken = handover::acquire(&leases, &place.name, &identity, patience).await;
        let mut acquired = taken.map_err(|error| match error {
            AcquireError::Longer { .. } => Failure::new(ErrorClass::Refused, reason::REJECTED, error.to_string()),
            AcquireError::Api(error) => {
                let object = format!("the Lease {}/{}", place.namespace, place.name);
                let asked = Asked { verb: "update", group: "coordination.k8s.io", resource: "leases", object: &object };
                Failure::of(&error, asked)
            }
        })?;
        // The Lease was missing, so a controller may still act. Where nothing is held, it has nothing to act on.
        let unknown = acquired.from.is_none() && !acquired.wait.is_zero();
        if unknown && held(&client).await.is_ok_and(|held| held.is_empty()) {
            acquired.wait = Duration::ZERO;
        }
        report(&acquired);
        sleep(acquired.wait).await;
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

    /// Hands back all workloads, as many as the time allows.
    ///
    /// # Errors
    /// When the Lease is not acquired, or not all objects are listed, in time.
    pub async fn hand_back(&self, settings: Settings, patience: Duration) -> Result<HandedBack, Stuck> {
        let deadline = clock::steady() + patience;
        let led =
            timeout_at(deadline, self.leadership.clone().wait_for(Option::is_some)).await.is_ok_and(|led| led.is_ok());
        if !led {
            return Err(Stuck::Lease(format!("{}/{}", self.place.namespace, self.place.name)));
        }
        let first = held(&self.client).await.map_err(|error| Stuck::Refused(error.to_string()))?;
        let metrics = Arc::new(Metrics::new());
        let controller = HandBackController::new(Options {
            client: self.client.clone(),
            zones: Arc::new(ZoneDatabase::open()),
            settings,
            clock: Arc::clone(&self.clock),
            metrics: metrics.controller(),
            identity: handover::PARKED.to_owned(),
            concurrency: CONCURRENCY,
            rebalance_period: None,
            failover: failover::Settings::default(),
            centralized: centralized::Settings::default(),
            freeze: None,
        });
        let mut readers = Readers::default();
        let cache = controller.read_by(&mut readers);
        let readiness = Readiness::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(Watches::new(readers, &readiness).run(self.client.clone(), metrics));
        let (stop, stopped) = watch::channel(false);
        let works = controller.run(self.leadership.clone(), stopped);
        let watched = async {
            let ended = watch_over(&cache, &first, deadline).await;
            stop.send_replace(true);
            ended
        };
        let ((), ended) = tokio::join!(works, watched);
        ended.ok_or_else(|| Stuck::Unlisted(readiness.missing((self.clock)()).join("; ")))
    }

    /// Reserves the Lease, so that no process that still runs takes everything over again.
    ///
    /// # Errors
    /// When the API server rejects the request or is unreachable.
    pub async fn park(mut self) -> Result<(), kube::Error> {
        self.election.shutdown().await;
        let leases: Api<Lease> = Api::namespaced(self.client, &self.place.namespace);
        handover::park(&leases, &self.place.name).await
    }
}

/// The FederatedHPAs whose workloads should be handed back, and those for which a binding is still suspended.
async fn held(client: &Client) -> Result<BTreeSet<Key>, Failure> {
    let mut held = BTreeSet::new();
    let key = |metadata: &ObjectMeta, name: &str| Key::new(metadata.namespace.as_deref().unwrap_or_default(), name);
    let (group, resource) = ("autoscaling.karmada.io", "federatedhpas");
    let asked = Asked { verb: "list", group, resource, object: &resource };
    metadata_pages(client, &FederatedHPA::url_path(&(), None), ListParams::default(), asked, |hpa| {
        held.extend(hpa.name.as_deref().filter(|_| is_held(&hpa)).map(|name| key(&hpa, name)));
    })
    .await?;
    let (group, resource) = ("work.karmada.io", "resourcebindings");
    let asked = Asked { verb: "list", group, resource, object: &resource };
    metadata_pages(client, &ResourceBinding::url_path(&(), None), ListParams::default(), asked, |binding| {
        let owner = binding.annotations.as_ref().and_then(|annotations| annotations.get(SUSPENDED_FOR));
        held.extend(owner.map(|name| key(&binding, name)));
    })
    .await?;
    Ok(held)
}

/// Waits until no FederatedHPA holds a workload any more, of those in `first` and later ones; `None` when not all
/// objects were listed in time.
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
            let behind = cache.leaving().into_iter().filter(|(key, _)| !held.contains(key));
            let behind = behind.map(|(key, cluster)| (key.to_string(), cluster)).collect();
            return Some(HandedBack { done, left, behind });
        }
    }
}

/// The missing step before a workload is handed back.
fn missing(view: Option<View>) -> String {
    let Some(view) = view else {
        return "it is gone, and its ResourceBinding or HPAs are not given back yet".to_owned();
    };
    let clusters: Vec<&str> = view.member_hpas.iter().map(|member_hpa| member_hpa.cluster()).collect();
    if !clusters.is_empty() {
        return format!("its HPAs are still in {}", clusters.join(", "));
    }
    if view.taken_over_binding.as_ref().is_some_and(|binding| binding.marked().is_some()) {
        return "its replicas are not settled in the ResourceBinding yet; its Events say why".to_owned();
    }
    "its finalizer could not be removed; its Events say why".to_owned()
}
