//! The embedded fleet reports every change to the laws, at the moment of the change.

use std::sync::{Arc, Mutex, MutexGuard};

use embedded_apiserver::ApiServer;
use embedded_apiserver::store::Change as Stored;
use fhpa::playground::clock::Clock;
use fhpa::playground::fleet::Fleet;
use serde_json::Value;

use super::{Broken, Change, Laws, Terms};

/// Kinds of which no law says anything.
const PASSED_OVER: [&str; 9] = [
    "events.events.k8s.io",
    "events",
    "leases.coordination.k8s.io",
    "pods",
    "replicasets.apps",
    "nodes",
    "namespaces",
    "secrets",
    "controllerrevisions.apps",
];

/// Laws that an embedded fleet tells of its changes.
#[derive(Clone)]
pub struct Watched {
    laws: Arc<Mutex<Laws>>,
    clock: Clock,
}

impl Watched {
    /// Watches all of a fleet, from before its first change on.
    pub fn fleet(fleet: &Fleet, terms: Terms) -> Self {
        let clock = fleet.clock().clone();
        let laws = Arc::new(Mutex::new(Laws::new(clock.now(), terms)));
        let watched = Self { laws, clock };
        watched.server("", fleet.control());
        for cluster in fleet.names() {
            watched.server(cluster, fleet.member(cluster).unwrap());
        }
        watched
    }

    fn server(&self, place: &str, server: &ApiServer) {
        let (watched, place) = (self.clone(), place.to_owned());
        let told = move |bucket: &str, change: &Stored| watched.saw(&place, bucket, change);
        assert!(server.store().observe(Box::new(told)), "one observer at a time");
    }

    fn saw(&self, place: &str, bucket: &str, change: &Stored) {
        if PASSED_OVER.contains(&bucket) {
            return;
        }
        let after = (!change.deleted).then(|| change.after.value());
        let Some(kind) = change.after.value().get("kind").and_then(Value::as_str) else { return };
        let before = change.before.as_ref().map(|before| before.value());
        self.laws().saw(&Change { at: self.clock.now(), place, kind, before, after });
    }

    /// The laws.
    pub fn laws(&self) -> MutexGuard<'_, Laws> {
        self.laws.lock().unwrap()
    }

    /// Whether somebody can act from now on.
    pub fn acts(&self, acts: bool) {
        self.laws().acts(self.clock.now(), acts);
    }

    /// What was broken until now, since this was last asked.
    pub fn broken(&self) -> Vec<Broken> {
        let mut laws = self.laws();
        laws.passed(self.clock.now());
        laws.broken()
    }
}
