//! The controller, in a process of its own: ends when its standard input does.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fhpa::decision::lease::Timings;
use fhpa::decision::validation::Settings;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use fhpa::reconcile::{Controller, Options};
use fhpa::runtime::control_plane::{self, Bounds, Origin, POLL};
use fhpa::runtime::leader::{Candidate, compete};
use fhpa::runtime::lifecycle::Readiness;
use fhpa::runtime::logging::{self, Format, LogArgs};
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::watch::{Readers, Watches};
use fhpa::runtime::{clock, zones::ZoneDatabase};
use jiff::SignedDuration;
use kube::Api;
use tokio::sync::watch;

/// Works on the control plane of a kubeconfig, by a clock that is ahead by so many nanoseconds.
pub async fn run(kubeconfig: PathBuf, ahead: i64, concurrency: usize) {
    logging::start(&LogArgs { log_format: Format::Json, log_level: "info".into() }).unwrap();
    let ahead = SignedDuration::from_nanos(ahead);
    let metrics = Arc::new(Metrics::new());
    let origin = Origin::find(Some(kubeconfig), None, None).unwrap();
    let (client, reloader) = control_plane::connect(origin, Bounds::default(), metrics.requests()).await.unwrap();
    let options = Options {
        client: client.clone(),
        zones: Arc::new(ZoneDatabase::bundled()),
        settings: Settings::default(),
        clock: Arc::new(move || clock::wall() + ahead),
        metrics: metrics.controller(),
        identity: "fleet".into(),
        concurrency,
        rebalance_period: None,
        failover: fhpa::reconcile::federated_hpa::observe::failover::Settings::default(),
        centralized: fhpa::reconcile::federated_hpa::centralized::Settings::default(),
        freeze: None,
    };
    let controller = Controller::with_capacity(options, Arc::new(Rooms::default()));
    let mut readers = Readers::default();
    let idle = controller.read_by(&mut readers);
    let (stop, stopped) = watch::channel(false);
    let (told, leadership) = watch::channel(None);
    let readiness = Readiness::default();
    let watches = Watches::new(readers, &readiness);
    tokio::spawn(reloader.run(POLL));
    tokio::spawn(watches.run(client.clone(), Arc::clone(&metrics)));
    let candidate = Candidate { lease: "fhpa".into(), identity: "fleet".into(), timings: Timings::default() };
    let (end, ended) = watch::channel(false);
    let leases = Api::namespaced(client, "karmada-system");
    let held = tokio::spawn(compete(leases, candidate, told, ended));
    let works = tokio::spawn(idle.run(leadership, stopped));
    while !readiness.missing(clock::wall()).is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    println!("listed");
    let told = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    told.await.unwrap().unwrap();
    stop.send_replace(true);
    works.await.unwrap();
    end.send_replace(true);
    held.await.unwrap();
    println!("{}", metrics.text());
}
