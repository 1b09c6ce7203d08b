//! A constant stream of server-side applies, several in flight, none of which may fail.
//!
//! ```ignore
//! let flow = Flow::start(&client, "prod").await;
//! flow.during("a rotation", async { ... }).await;      // goes on while something happens
//! flow.end(10_000).await;                              // after so many in all; fails when one failed, and prints figures
//! ```
//!
//! Each apply changes the object, so that it is validated and stored; each answer shows that it was. Between them are
//! objects that cannot run: they have to be refused, which shows that the webhook is asked and nothing passes it by.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fhpa::api::{CronFederatedHPA, FederatedHPA};
use fhpa::runtime::clock;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Applies in flight.
const AT_ONCE: usize = 8;
/// Each so-and-so-many'th object of a writer cannot run.
const WRONG: usize = 25;

/// A stream that goes on until it is ended.
pub struct Flow {
    said: watch::Receiver<usize>,
    shared: Arc<Shared>,
    writers: JoinSet<()>,
    begun: Instant,
}

#[derive(Default)]
struct Shared {
    /// No further apply begins.
    ended: AtomicBool,
    told: Mutex<Told>,
    done: watch::Sender<usize>,
}

#[derive(Default)]
struct Told {
    took: Vec<Duration>,
    refused: usize,
    failed: Vec<String>,
}

impl Flow {
    /// Starts the stream in a namespace where the webhook is asked already, or soon.
    pub async fn start(client: &Client, namespace: &str) -> Self {
        let writer = |number| Writer::new(client, namespace, number);
        let probe = writer(AT_ONCE);
        // The API server asks as soon as its own watch has brought the registration.
        crate::bed::within(async { while !probe.wrong().await.is_ok_and(|refused| refused) {} }).await;
        let shared = Arc::<Shared>::default();
        let mut writers = JoinSet::new();
        for number in 0..AT_ONCE {
            writers.spawn(writer(number).write(Arc::clone(&shared)));
        }
        Self { said: shared.done.subscribe(), shared, writers, begun: clock::steady() }
    }

    /// Does something while the stream goes on, and says how many applies there were meanwhile. None may have failed.
    pub async fn during<T>(&self, what: &str, act: impl Future<Output = T>) -> T {
        let (before, begun) = (self.done(), clock::steady());
        let result = act.await;
        // What ends now was begun before the end.
        self.reaches(self.done() + AT_ONCE).await;
        let (after, seconds) = (self.done(), begun.elapsed().as_secs_f64());
        let told = self.shared.told.lock().unwrap();
        let slowest = told.took[before..].iter().max().copied().unwrap_or_default();
        eprintln!("{what}: {} applies in {seconds:.1} s, the slowest {} ms", after - before, slowest.as_millis());
        assert!(told.failed.is_empty(), "{what}: {:#?}", told.failed);
        result
    }

    /// Waits until so many applies are done.
    pub async fn reaches(&self, applies: usize) {
        self.said.clone().wait_for(|done| *done >= applies).await.unwrap();
    }

    /// Applies that are done.
    pub fn done(&self) -> usize {
        *self.said.borrow()
    }

    /// Ends the stream after so many applies in all.
    pub async fn end(self, applies: usize) {
        self.reaches(applies).await;
        self.shared.ended.store(true, Ordering::SeqCst);
        let seconds = self.begun.elapsed().as_secs_f64();
        self.writers.join_all().await;
        let mut told = self.shared.told.lock().unwrap();
        told.took.sort_unstable();
        let share = |percent: usize| told.took[(told.took.len() - 1) * percent / 100].as_millis();
        eprintln!(
            "{} applies in {seconds:.1} s, {AT_ONCE} in flight: p50 {} ms, p99 {} ms, the slowest {} ms; {} wrong ones refused, {} \
             failed",
            told.took.len(),
            share(50),
            share(99),
            share(100),
            told.refused,
            told.failed.len()
        );
        assert!(told.failed.is_empty(), "{:#?}", told.failed);
        assert!(told.took.len() >= applies && told.refused > 0);
    }
}

/// Writes one object of each kind, again and again.
struct Writer {
    number: usize,
    hpas: Api<DynamicObject>,
    crons: Api<DynamicObject>,
}

impl Writer {
    fn new(client: &Client, namespace: &str, number: usize) -> Self {
        let api = |resource: ApiResource| Api::namespaced_with(client.clone(), namespace, &resource);
        Self {
            number,
            hpas: api(ApiResource::erase::<FederatedHPA>(&())),
            crons: api(ApiResource::erase::<CronFederatedHPA>(&())),
        }
    }

    async fn write(self, shared: Arc<Shared>) {
        for turn in 0.. {
            if shared.ended.load(Ordering::SeqCst) {
                return;
            }
            if turn % WRONG == 0 {
                let refused = self.wrong().await;
                let mut told = shared.told.lock().unwrap();
                match refused {
                    Ok(true) => told.refused += 1,
                    Ok(false) => told.failed.push(format!("turn {turn}: an object that cannot run is stored")),
                    Err(error) => told.failed.push(format!("turn {turn}: {error}")),
                }
            }
            let begun = clock::steady();
            let applied = self.apply(turn).await;
            let took = begun.elapsed();
            let mut told = shared.told.lock().unwrap();
            told.took.push(took);
            if let Err(error) = applied {
                told.failed.push(format!("turn {turn} after {took:?}: {error}"));
            }
            drop(told);
            shared.done.send_modify(|done| *done += 1);
        }
    }

    /// Applies another content than the last time.
    async fn apply(&self, turn: usize) -> Result<(), String> {
        let (api, object) =
            if turn.is_multiple_of(2) { (&self.hpas, self.hpa(turn)) } else { (&self.crons, self.cron(turn)) };
        let stored = apply(api, &object, &params()).await.map_err(|error| error.to_string())?;
        let generation = i64::try_from(turn / 2 + 1).unwrap();
        if stored.metadata.generation != Some(generation) {
            return Err(format!("generation {:?} and not {generation}", stored.metadata.generation));
        }
        // Only the webhook completes it.
        if turn.is_multiple_of(2) && !stored.data["spec"]["metrics"].is_array() {
            return Err("it is stored without what the webhook adds".to_owned());
        }
        Ok(())
    }

    /// Whether an object that cannot run is refused; anything but a refusal of the webhook is an error.
    async fn wrong(&self) -> Result<bool, String> {
        let mut object = self.cron(0);
        object["metadata"]["name"] = json!(format!("wrong-{}", self.number));
        object["spec"]["rules"][0]["schedule"] = json!("0 0 30 2 *");
        // Stored once, it would be let through as it is: nothing is stored.
        let params = PatchParams { dry_run: true, ..params() };
        match apply(&self.crons, &object, &params).await {
            Ok(_) => Ok(false),
            Err(kube::Error::Api(status)) if status.message.contains("denied the request") => Ok(true),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Nobody works on it, so that the stream and not the controller's own writes are measured.
    fn hpa(&self, turn: usize) -> Value {
        let name = format!("hpa-{}", self.number);
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "metadata": {"name": name},
            "spec": {"mode": "Centralized", "minReplicas": 1 + turn % 5, "maxReplicas": 10 + turn % 90,
                "scaleTargetRef": target(&name)}})
    }

    fn cron(&self, turn: usize) -> Value {
        let name = format!("cron-{}", self.number);
        let rule =
            json!({"name": "up", "schedule": format!("{} 3 * * *", turn % 60), "targetReplicas": 1 + turn % 100});
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA", "metadata": {"name": name},
            "spec": {"scaleTargetRef": target(&name), "rules": [rule]}})
    }
}

fn target(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name})
}

fn params() -> PatchParams {
    PatchParams::apply("stream").force()
}

async fn apply(api: &Api<DynamicObject>, object: &Value, params: &PatchParams) -> Result<DynamicObject, kube::Error> {
    api.patch(object["metadata"]["name"].as_str().unwrap(), params, &Patch::Apply(object)).await
}
