//! Installs and uninstalls fhpa in a scene, like `fhpa install` and `fhpa uninstall`. No sockets.

use std::time::Duration;

use fhpa::admission::registration::Location;
use fhpa::cli::uninstall::Removal;
use fhpa::install::apply::{Mode, apply};
use fhpa::install::guard::{Guard, Options};
use fhpa::install::manifests::{self, Part, Settings};
use fhpa::playground::fleet::Fleet;
use fhpa::runtime::leader::activity::LeaseLocation;
use fhpa::runtime::leader::handover;
use fhpa::runtime::metrics::Metrics;
use kube::Api;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::review::location;
use super::scene::Scene;
use crate::stories::{Process, Wall};

/// Longest time of a removal, as without `--timeout`.
const PATIENCE: Duration = Duration::from_mins(5);
const LEASE: (&str, &str) = ("karmada-system", "fhpa");

/// What `fhpa install` puts into the control plane.
pub async fn install(fleet: &Fleet, guarded: bool) {
    let settings = Settings {
        location: Some(location()),
        failure_policy: None,
        subject: None,
        lease_namespace: LEASE.0.into(),
        manage_karmada: true,
        guard_definitions: guarded,
        scaled: Vec::new(),
        types: Vec::new(),
    };
    let client = fleet.control().client();
    // Roles are what an administrator gives: nobody asks for them here.
    for manifest in manifests::all(&settings).unwrap().iter().filter(|manifest| manifest.part != Part::Role) {
        apply(&client, manifest, Mode { dry_run: false, manage_karmada: true }).await.unwrap();
    }
    handover::unpark(&Api::namespaced(client, LEASE.0), LEASE.1).await.unwrap();
}

/// Has a replica keep the installation while it leads. Dropped, it ends between two polls.
pub fn guard(process: &Process, client: kube::Client, wall: &Wall, identity: &str) -> JoinSet<()> {
    let metrics = Metrics::new();
    let (place, seen): (watch::Sender<Location>, _) = watch::channel(location());
    let guard = Guard::new(Options {
        client,
        manage_karmada: true,
        definitions_guarded: true,
        location: Some(seen),
        clock: wall.clock(),
        metrics: metrics.guard(),
        counted: metrics.controller(),
        identity: identity.to_owned(),
    });
    let (guard, leadership) = (guard.unwrap(), process.leadership.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (stop, stopped) = watch::channel(false);
        guard.run(leadership, stopped).await;
        drop((stop, place));
    });
    tasks
}

impl Scene {
    /// Installs fhpa, and starts both replicas.
    pub async fn install(&mut self) {
        install(&self.fleet, self.guarded).await;
        self.installed = true;
        for number in 0..self.replicas.len() {
            self.start(number);
        }
    }

    /// Takes fhpa back. The replicas run on until all is taken back, and for good where something is left.
    pub async fn uninstall(&mut self) {
        let removal = Removal {
            client: self.fleet.control().client(),
            place: LeaseLocation { namespace: LEASE.0.into(), name: LEASE.1.into() },
            patience: PATIENCE,
            crds: false,
            dry_run: false,
            yes: true,
            only_if_url: None,
            clock: self.wall.clock(),
            out: Box::new(std::io::sink()),
        };
        self.watched.acts(self.is_whole());
        let whole = removal.run().await;
        self.watched.acts(false);
        if !whole {
            if self.is_whole() {
                self.found.push("law 8 (always lets go) is broken: an uninstallation did not end".to_owned());
            }
            // The operator goes back, as by `helm rollback`.
            let leases = Api::namespaced(self.fleet.control().client(), LEASE.0);
            handover::unpark(&leases, LEASE.1).await.unwrap();
            return;
        }
        self.installed = false;
        for replica in &mut self.replicas {
            replica.stop().await;
        }
        let held = self.watched.laws().world().held();
        if !held.is_empty() {
            self.found.push(format!("law 8 (always lets go) is broken after an uninstallation: {}", held.join("; ")));
        }
    }
}

#[test]
fn an_uninstallation_lets_everything_go_and_an_installation_takes_it_again() {
    use super::operation::Operation;
    use serde_json::json;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut scene = Scene::new(2, true).await;
        let spec = json!({"minReplicas": 2, "maxReplicas": 8, "mode": "Distributed"});
        scene.happen(&Operation::Create { workload: "web".into(), spec }).await;
        scene.pass(45).await;
        let held = |scene: &Scene| scene.watched.laws().world().held().len();
        assert!(held(&scene) > 2, "{}", scene.show().await);
        scene.happen(&Operation::Uninstall).await;
        assert_eq!((held(&scene), scene.installed), (0, false), "{}", scene.show().await);
        scene.pass(320).await;
        assert_eq!(held(&scene), 0);
        scene.happen(&Operation::Install).await;
        scene.pass(60).await;
        assert!(held(&scene) > 2, "{}", scene.show().await);
        assert_eq!((scene.found.clone(), scene.watched.broken()), (vec![], vec![]));
        scene.end().await;
    });
}
