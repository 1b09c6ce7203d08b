//! The embedded fleet reports every change to the laws, at the moment of the change.

use std::sync::{Arc, Mutex, MutexGuard};

use embedded_apiserver::ApiServer;
use embedded_apiserver::store::{Change as Stored, Query};
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
    terms: Terms,
}

impl Watched {
    /// Watches all of a fleet, from before its first change on.
    pub fn fleet(fleet: &Fleet, terms: Terms) -> Self {
        let clock = fleet.clock().clone();
        let laws = Arc::new(Mutex::new(Laws::new(clock.now(), terms.clone())));
        let watched = Self { laws, clock, terms };
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

    /// The control plane went back to a backup, which the store reports as no change of an object: the laws begin anew
    /// with what is there, and judge what comes after it. What runs by then is what was asked for.
    pub fn restored(&self, fleet: &Fleet) {
        *self.laws() = Laws::new(self.clock.now(), self.terms.clone());
        let federated = |bucket: &str| bucket.starts_with("federatedhpas.");
        self.look_at("", fleet.control(), |bucket| !federated(bucket));
        for cluster in fleet.names() {
            self.look_at(cluster, fleet.member(cluster).unwrap(), |_| true);
        }
        self.look_at("", fleet.control(), federated);
        // Who had written it was judged then, or is the backup.
        drop(self.laws().broken());
    }

    fn look_at(&self, place: &str, server: &ApiServer, wanted: impl Fn(&str) -> bool) {
        let buckets: Vec<Arc<str>> = server.catalog().iter().map(|resource| Arc::clone(&resource.bucket)).collect();
        for bucket in buckets.iter().filter(|bucket| wanted(bucket)) {
            for object in server.store().list(bucket, &Query::default()).unwrap().items {
                self.tell((place, bucket), None, Some(object.value()));
            }
        }
    }

    fn saw(&self, place: &str, bucket: &str, change: &Stored) {
        let after = change.after.value();
        let before = change.before.as_ref().map(|before| before.value());
        // Of what is gone the last state is told.
        let (before, after) = if change.deleted { (before.or(Some(after)), None) } else { (before, Some(after)) };
        self.tell((place, bucket), before, after);
    }

    fn tell(&self, (place, bucket): (&str, &str), before: Option<&Value>, after: Option<&Value>) {
        let kind = after.or(before).and_then(|object| object.get("kind")).and_then(Value::as_str);
        if let Some(kind) = kind.filter(|_| !PASSED_OVER.contains(&bucket)) {
            self.laws().saw(&Change { at: self.clock.now(), place, kind, before, after });
        }
    }

    /// The laws.
    pub fn laws(&self) -> MutexGuard<'_, Laws> {
        self.laws.lock().unwrap()
    }

    /// Whether somebody can act from now on.
    pub fn acts(&self, acts: bool) {
        self.laws().acts(self.clock.now(), acts);
    }

    /// Whether the webhook answers from now on.
    pub fn reviews(&self, reviews: bool) {
        self.laws().reviews(self.clock.now(), reviews);
    }

    /// What was broken until now, since this was last asked.
    pub fn broken(&self) -> Vec<Broken> {
        let mut laws = self.laws();
        laws.passed(self.clock.now());
        laws.broken()
    }
}
