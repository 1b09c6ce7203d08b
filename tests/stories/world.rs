//! The embedded world of the stories in `tests/both`, in virtual time. The laws see each change.

use std::time::Duration;

use fhpa::playground::fleet::Plan;
use fhpa::playground::karmada::Timing;
use fhpa::playground::member::Link;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use tokio::task::JoinSet;

use super::Process;
use super::distributed::{Stage, plan};
use crate::bed::admission;
use crate::both::pods::Pods;
use crate::both::{CORES, Loss, MEMBERS, World, wanted};
use crate::laws::embedded::Watched;

/// An embedded Karmada with the webhook and two replicas of fhpa.
pub struct Embedded {
    stage: Stage,
    watched: Watched,
    pods: Pods,
    replicas: Vec<(&'static str, Process)>,
    tasks: JoinSet<()>,
}

impl Embedded {
    /// One whose Karmada evicts for taints, or does not.
    pub async fn start(evicting: bool) -> Self {
        let karmada = Timing { failover: evicting, quota: true, ..Timing::default() };
        let (stage, watched) = Stage::watched_with(Plan { nodes: 0, karmada, ..plan(3) }).await;
        let tasks = admission::webhook(stage.fleet.control());
        let mut world = Self { stage, watched, pods: Pods::default(), replicas: Vec::new(), tasks };
        for member in MEMBERS {
            wanted::nodes(&world.client(member), member, 1, CORES).await;
            world.tasks.spawn(look(world.client(member), member, world.pods.clone()));
        }
        world.run_all();
        world.leader().await;
        world
    }

    /// No law was broken.
    pub fn ends_well(&self) {
        let broken: Vec<String> = self.watched.broken().iter().map(ToString::to_string).collect();
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }
}

async fn look(client: Client, member: &str, pods: Pods) {
    let mut events = std::pin::pin!(watcher(Api::<Pod>::all(client), watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(pod) | watcher::Event::InitApply(pod)) => {
                pods.saw(member, &serde_json::to_value(pod).unwrap(), false);
            }
            Ok(watcher::Event::Delete(pod)) => pods.saw(member, &serde_json::to_value(pod).unwrap(), true),
            _ => {}
        }
    }
}

impl World for Embedded {
    fn client(&self, place: &str) -> Client {
        let fleet = &self.stage.fleet;
        if place.is_empty() { fleet.control().client() } else { fleet.member(place).unwrap().client() }
    }

    fn pods(&self) -> &Pods {
        &self.pods
    }

    fn now(&self) -> Timestamp {
        self.stage.wall.now()
    }

    fn limit(&self, embedded: u64, _: u64) -> u64 {
        embedded
    }

    async fn rests(&self) {
        self.pass(600).await;
    }

    fn load(&self, member: &str, app: &str, millicores: u32) {
        self.stage.fleet.load().set_in(member, "prod", app, millicores.into());
    }

    async fn starts(&self, member: &str, _: &str, starts: bool) {
        self.stage.fleet.hold_pods(member, !starts).unwrap();
    }

    async fn loses(&mut self, member: &str, how: Loss) {
        let fleet = &self.stage.fleet;
        match how {
            Loss::Dies => fleet.fail(member, true).unwrap(),
            Loss::Hangs => {
                fleet.fail(member, true).unwrap();
                fleet.cut(member, Link::Hangs).unwrap();
            }
            Loss::Cut => fleet.cut(member, Link::Refused).unwrap(),
        }
    }

    async fn heals(&mut self, member: &str, _: Loss) {
        self.stage.fleet.fail(member, false).unwrap();
    }

    fn manage(&mut self, runs: bool) {
        self.stage.fleet.halt_karmada(!runs);
    }

    async fn leader(&self) -> &'static str {
        loop {
            let mut leading = self.replicas.iter().filter(|(_, process)| process.leadership.borrow().is_some());
            if let Some((name, _)) = leading.next() {
                return *name;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn kill(&mut self, replica: &str) {
        if let Some(at) = self.replicas.iter().position(|(name, _)| *name == replica) {
            self.replicas.remove(at).1.kill().await;
        }
    }

    fn run(&mut self, replica: &'static str) {
        let (control, wall) = (self.stage.fleet.control(), &self.stage.wall);
        let process = Process::start_with(control, replica, wall, std::sync::Arc::new(Rooms::default()));
        let (mut led, watched) = (process.leadership.clone(), self.watched.clone());
        self.tasks.spawn(async move {
            while led.changed().await.is_ok() {
                watched.acts(led.borrow_and_update().is_some());
            }
            watched.acts(false);
        });
        self.replicas.push((replica, process));
    }

    async fn restart(&mut self, _: &[&str]) {
        self.kill_all().await;
        self.run_all();
        self.leader().await;
    }
}
