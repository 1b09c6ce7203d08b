//! The controller: watch -> observe -> decide -> apply(&Leader) -> status. Talks to the API server; decisions are made
//! in `decision`.

pub mod cron_federated_hpa;
pub mod federated_hpa;
pub mod gate;
pub mod scale_target;

use std::sync::Arc;

use jiff::SignedDuration;
use kube::Client;
use tokio::sync::watch;

use self::gate::Gate;
use self::scale_target::Targets;
use crate::controller::engine::Engine;
use crate::controller::events::{Events, Poster};
use crate::decision::cron::zones::Zones;
use crate::decision::validation::Settings;
use crate::reconcile::cron_federated_hpa::cache::CronCache;
use crate::reconcile::cron_federated_hpa::execute::Executor;
use crate::reconcile::cron_federated_hpa::intake::Reader;
use crate::reconcile::cron_federated_hpa::read_before_run::Confirmer;
use crate::reconcile::cron_federated_hpa::reconcile::CronWorker;
use crate::reconcile::cron_federated_hpa::report::Reporter;
use crate::reconcile::cron_federated_hpa::shared_target::Lanes;
use crate::reconcile::federated_hpa::cache::Cache;
use crate::reconcile::federated_hpa::centralized;
use crate::reconcile::federated_hpa::drills::Drills;
use crate::reconcile::federated_hpa::observe::capacity::{Capacity, Unknown};
use crate::reconcile::federated_hpa::observe::failover;
use crate::reconcile::federated_hpa::observe::live_state::LiveState;
use crate::reconcile::federated_hpa::observe::members::Members;
use crate::reconcile::federated_hpa::worker::{FederatedHpaWorker, Parts};
use crate::runtime::clock::WallClock;
use crate::runtime::leader::Leader;
use crate::runtime::metrics::ControllerMetrics;
use crate::runtime::watch::{Definitions, Readers};

/// Options of a controller.
pub struct Options {
    /// Client of karmada-apiserver.
    pub client: Client,
    /// The time zone database.
    pub zones: Arc<dyn Zones>,
    /// Settings of the rules.
    pub settings: Settings,
    /// The time of day.
    pub clock: WallClock,
    /// The counters.
    pub metrics: Arc<ControllerMetrics>,
    /// Name of this process in Events.
    pub identity: String,
    /// Maximum number of objects that are reconciled at the same time.
    pub concurrency: usize,
    /// How often headroom is rebalanced (docs/design.md#rebalancing); `None`: never.
    pub rebalance_period: Option<SignedDuration>,
    /// How long to wait for clusters that fail or leave.
    pub failover: failover::Settings,
    /// Settings of Centralized mode.
    pub centralized: centralized::Settings,
    /// Reason for which an operator freezes the controllers of this process; `None`: they act.
    pub freeze: Option<String>,
}

/// A controller before it runs.
pub struct Controller {
    reader: Reader,
    engine: Engine<CronWorker>,
    live: LiveState,
    distributed: Engine<FederatedHpaWorker>,
    drills: Drills,
    poster: Poster,
    events: Events,
    metrics: Arc<ControllerMetrics>,
    freeze: Option<String>,
    clock: WallClock,
}

impl Controller {
    /// Builds the controller.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self::with_capacity(options, Arc::new(Unknown))
    }

    /// As [`Self::new`]; `capacity` is the source of free capacity.
    #[must_use]
    pub fn with_capacity(options: Options, capacity: Arc<dyn Capacity>) -> Self {
        let Options {
            client,
            zones,
            settings,
            clock,
            metrics,
            identity,
            concurrency,
            rebalance_period,
            failover,
            centralized,
            freeze,
        } = options;
        let stored_mode = settings.stored_mode();
        let cron_cache = Arc::new(CronCache::default());
        let confirmer = Confirmer::new(Reader::new(Arc::clone(&cron_cache), Arc::clone(&zones), settings.clone()));
        let reader = Reader::new(Arc::clone(&cron_cache), zones, settings);
        let (events, poster) = Events::new(client.clone(), &identity, Arc::<ControllerMetrics>::clone(&metrics));
        let targets = Arc::new(Targets::new(client.clone()));
        let cache = Arc::new(Cache::default());
        let members = Arc::new(Members::new(&client, &targets));
        let live = LiveState {
            cache: Arc::clone(&cache),
            capacity,
            ledger: Arc::default(),
            members,
            period: rebalance_period,
            failover,
        };
        let reporter = federated_hpa::status::report::Reporter {
            events: events.clone(),
            metrics: Arc::clone(&metrics),
            clock: Arc::clone(&clock),
        };
        let worker = FederatedHpaWorker::new(Parts {
            client: client.clone(),
            live: live.clone(),
            targets: Arc::clone(&targets),
            stored_mode,
            clock: Arc::clone(&clock),
            centralized,
            reporter,
        });
        let drills = Drills {
            coverage: Arc::clone(&worker.coverage),
            live: live.clone(),
            mode: stored_mode,
            clock: Arc::clone(&clock),
            metrics: Arc::clone(&metrics),
        };
        let distributed = Engine::new(Arc::new(worker), Arc::clone(&clock), concurrency);
        let executor = Executor { targets, clock: Arc::clone(&clock) };
        let reporter = Reporter { events: events.clone(), metrics: Arc::clone(&metrics), clock: Arc::clone(&clock) };
        let lanes = Lanes::default();
        let worker =
            CronWorker { client, cache: cron_cache, confirmer, executor, lanes, clock: Arc::clone(&clock), reporter };
        let engine = Engine::new(Arc::new(worker), Arc::clone(&clock), concurrency);
        Self { reader, engine, live, distributed, drills, poster, events, metrics, freeze, clock }
    }

    /// Input of reconciles: also enough for a preview.
    #[must_use]
    pub fn live(&self) -> LiveState {
        self.live.clone()
    }

    /// Registers the caches with `readers`; returns the controller to run.
    #[must_use]
    pub fn read_by(self, readers: &mut Readers) -> Idle {
        readers.cron_federated_hpas.push(Box::new(self.reader));
        self.live.cache.read_by(readers);
        let definitions = readers.definitions.get_or_insert_with(|| Arc::new(Definitions::new()));
        let gate = Gate {
            served: definitions.subscribe(),
            freeze: self.freeze,
            events: self.events,
            metrics: self.metrics,
            clock: self.clock,
        };
        let Self { engine, distributed, drills, poster, .. } = self;
        Idle { engine, distributed, drills, poster, gate }
    }
}

/// A controller with registered caches that waits to be run.
pub struct Idle {
    engine: Engine<CronWorker>,
    distributed: Engine<FederatedHpaWorker>,
    drills: Drills,
    poster: Poster,
    gate: Gate,
}

impl Idle {
    /// Reconciles while this process leads, until `stop` is true. The lease must be held until this returns; dropping
    /// the future aborts everything at once.
    pub async fn run(self, leadership: watch::Receiver<Option<Leader>>, stop: watch::Receiver<bool>) {
        let (sender, acts) = watch::channel(None);
        let (over, ended) = watch::channel(false);
        let engines = async {
            let (crons, drills) =
                (self.engine.run(acts.clone(), stop.clone()), self.drills.run(acts.clone(), stop.clone()));
            tokio::join!(crons, drills, self.distributed.run(acts, stop));
            // The last events are posted, too.
            over.send_replace(true);
        };
        // Reconciles in progress finish under the leader with which they began.
        tokio::join!(engines, self.gate.run(leadership, sender, ended.clone()), self.poster.run(ended));
    }
}

/// A controller that hands back every workload, and does nothing else.
pub struct HandBackController {
    cache: Arc<Cache>,
    engine: Engine<FederatedHpaWorker>,
    poster: Poster,
}

impl HandBackController {
    /// Builds the controller.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let Options { client, settings, clock, metrics, identity, concurrency, .. } = options;
        let (events, poster) = Events::new(client.clone(), &identity, Arc::<ControllerMetrics>::clone(&metrics));
        let cache = Arc::new(Cache::default());
        let worker = FederatedHpaWorker::new(Parts {
            live: LiveState { cache: Arc::clone(&cache), ..LiveState::default() },
            targets: Arc::new(Targets::new(client.clone())),
            client,
            stored_mode: settings.stored_mode(),
            clock: Arc::clone(&clock),
            centralized: centralized::Settings::default(),
            reporter: federated_hpa::status::report::Reporter { events, metrics, clock: Arc::clone(&clock) },
        });
        Self { cache, engine: Engine::new(Arc::new(worker.retiring()), clock, concurrency), poster }
    }

    /// Registers its cache with `readers`, and returns it.
    #[must_use]
    pub fn read_by(&self, readers: &mut Readers) -> Arc<Cache> {
        self.cache.read_by(readers);
        Arc::clone(&self.cache)
    }

    /// Reconciles while this process leads, until `stop` is true.
    pub async fn run(self, leadership: watch::Receiver<Option<Leader>>, stop: watch::Receiver<bool>) {
        let (over, ended) = watch::channel(false);
        let engine = async {
            self.engine.run(leadership, stop).await;
            over.send_replace(true);
        };
        tokio::join!(engine, self.poster.run(ended));
    }
}
