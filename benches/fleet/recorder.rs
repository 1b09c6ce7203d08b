//! Sees in the store when each object was observed, each target set, and each run recorded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use embedded_apiserver::ApiServer;
use fhpa::runtime::clock;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use crate::population::bucket;

#[derive(Default)]
struct Seen {
    /// When each target was set.
    set: HashMap<String, Timestamp>,
    observed: HashMap<String, ()>,
    recorded: HashMap<String, ()>,
}

pub struct Recorder {
    seen: Arc<Mutex<Seen>>,
    counts: watch::Receiver<(usize, usize)>,
}

impl Recorder {
    pub fn start(server: &ApiServer, due: Timestamp) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (tell, counts) = watch::channel((0, 0));
        let due = Value::String(due.to_string());
        let noted = Arc::clone(&seen);
        tokio::spawn(follow(server.clone(), ("apps", "deployments"), move |name, _| {
            noted.lock().unwrap().set.entry(name).or_insert_with(clock::wall);
        }));
        let noted = Arc::clone(&seen);
        tokio::spawn(follow(server.clone(), ("autoscaling.karmada.io", "cronfederatedhpas"), move |name, object| {
            let status = &object["status"];
            let mut noted = noted.lock().unwrap();
            let ran = status["executionHistories"].as_array().into_iter().flatten();
            let mut ran = ran.map(|history| history["successfulExecutions"][0]["scheduleTime"] == due);
            if ran.all(|ran| ran) {
                noted.recorded.insert(name.clone(), ());
            }
            if status["observedGeneration"].is_i64() {
                noted.observed.insert(name, ());
            }
            tell.send_replace((noted.observed.len(), noted.recorded.len()));
        }));
        Self { seen, counts }
    }

    /// Waits until so many objects have a status.
    pub async fn observed(&self, objects: usize) {
        self.counts.clone().wait_for(|counts| counts.0 >= objects).await.unwrap();
    }

    /// Waits until so many objects have the runs recorded.
    pub async fn recorded(&self, objects: usize) {
        self.counts.clone().wait_for(|counts| counts.1 >= objects).await.unwrap();
    }

    /// p50, p99 and the greatest time from `due` to the write of a target, in seconds.
    pub async fn lateness(&self, due: Timestamp) -> [f64; 3] {
        let late = |at: &Timestamp| at.duration_since(due).as_secs_f64();
        let mut all: Vec<f64> = self.seen.lock().unwrap().set.values().map(late).collect();
        all.sort_by(f64::total_cmp);
        [0.5, 0.99, 1.0].map(|part| all[((all.len() as f64 * part).ceil() as usize).clamp(1, all.len()) - 1])
    }
}

async fn follow(server: ApiServer, (group, plural): (&str, &str), mut note: impl FnMut(String, &Value)) {
    let bucket = bucket(&server, group, plural);
    let mut changed = server.store().subscribe(&bucket);
    let mut version = server.store().version();
    while changed.changed().await.is_ok() {
        let (changes, reached) = server.store().changes(&bucket, version, 10_000).unwrap();
        for change in changes {
            let value = change.after.value();
            note(format!("{}/{}", value["metadata"]["namespace"], value["metadata"]["name"]), value);
        }
        version = reached;
        // Many at a time, so that the server is not held up.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
