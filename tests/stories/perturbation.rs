//! Perturbs every write of the controller: it is killed before or after it, its response comes after the controller
//! stopped waiting, or the watches of the written objects are delayed. In all cases the story must end as without the
//! perturbation, and break no law on the way.
//!
//! Each `cargo test` tries a few writes of each story. `FHPA_PERTURB=all` tries all of them in all ways, and
//! `FHPA_PERTURB=created:7:Stale` the one that a failure names.

mod told;

use std::time::Duration;

use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::{Moment, Nth, ObservedRequest};
use futures::future::LocalBoxFuture;
use tokio::sync::oneshot;

use super::distributed::Stage;
use super::{Process, Wall, ending};
use crate::bed::role::AGENT;

/// How a write is perturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The process is killed before the write is done.
    Before,
    /// It is killed after the write is done and before it knows.
    After,
    /// The write is done, and the answer comes after its patience.
    Late,
    /// The watches of what it writes tell nothing for a while around the write, and the others begin anew.
    Stale,
}

const WAYS: [Way; 4] = [Way::Before, Way::After, Way::Late, Way::Stale];

/// Longer than a request of the controller waits for its answer.
const LATE: Duration = Duration::from_secs(15);
/// How long watches are silent.
const SILENCE: Duration = Duration::from_secs(20);
/// After the last act of a story: a takeover, a late answer, and what is asked for again after a minute.
const REST: u64 = 150;

/// What happens, and when.
pub struct Story {
    /// Its name.
    pub name: &'static str,
    /// Members of the fleet.
    pub clusters: u32,
    /// Most replicas that the members' HPAs may allow together at any moment; 0 where clusters are given up.
    pub budget: i32,
    /// Before the controller is there.
    pub begin: fn(&Stage) -> LocalBoxFuture<'_, ()>,
    /// While it runs.
    pub act: fn(&Stage) -> LocalBoxFuture<'_, ()>,
}

/// One write of a story and what is done to it.
#[derive(Clone, Debug)]
struct Perturbation {
    number: usize,
    way: Way,
    write: ObservedRequest,
}

/// How a story ended.
struct Ending {
    state: Vec<String>,
    writes: Vec<ObservedRequest>,
    budget: i32,
    broken: Vec<String>,
}

/// Runs the controller and does to it what is to be done.
async fn supervise(server: ApiServer, wall: Wall, perturbation: Option<Perturbation>, stop: oneshot::Receiver<()>) {
    let mut running = Process::start(&server, "one", &wall);
    if let Some(Perturbation { number, way, write }) = perturbation {
        let nth = Nth { agent: AGENT.into(), number };
        let moment = if way == Way::Before || way == Way::Stale { Moment::Arriving } else { Moment::Answered };
        let mut held = server.faults().hold_nth(nth, moment);
        held.reached().await;
        match way {
            Way::Before | Way::After => {
                running.kill().await;
                drop(held);
                running = Process::start(&server, "two", &wall);
            }
            Way::Late => {
                tokio::time::sleep(LATE).await;
                drop(held);
            }
            Way::Stale => {
                let resource = write.resource.split('/').next().unwrap_or_default();
                let frozen = server.faults().freeze(resource);
                drop(held);
                tokio::time::sleep(SILENCE).await;
                server.faults().drop_watches();
                drop(frozen);
            }
        }
    }
    let _: Result<_, _> = stop.await;
    running.stop().await;
}

async fn play(story: &Story, perturbation: Option<Perturbation>) -> Ending {
    let (stage, watched) = Stage::watched(story.clusters).await;
    (story.begin)(&stage).await;
    stage.fleet.control().faults().follow(AGENT);
    stage.budget.most();
    let (stop, stopped) = oneshot::channel();
    let server = stage.fleet.control().clone();
    let reached = perturbation.is_some();
    let controller = tokio::spawn(supervise(server, stage.wall.clone(), perturbation, stopped));
    stage.pass(5).await;
    (story.act)(&stage).await;
    stage.pass(REST).await;
    let ending = Ending {
        state: ending::state(&stage.control, &stage.fleet).await,
        writes: stage.fleet.control().faults().writes_of(AGENT),
        budget: stage.budget.most(),
        broken: watched.broken().iter().map(ToString::to_string).collect(),
    };
    stop.send(()).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), controller).await;
    assert!(ended.is_ok() || !reached, "{}: the write never came, or the controller does not stop", story.name);
    ended.unwrap().unwrap();
    ending
}

/// In virtual time, on a thread of its own.
fn run<T>(story: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(story)
}

/// Which writes are perturbed in which ways: a few of them, all, or one.
fn chosen(story: &Story, writes: &[ObservedRequest]) -> Vec<Perturbation> {
    let wanted = std::env::var("FHPA_PERTURB").unwrap_or_default();
    let mut all = Vec::new();
    for (at, write) in writes.iter().enumerate() {
        for way in WAYS {
            let one = format!("{}:{}:{way:?}", story.name, at + 1);
            all.push((one, Perturbation { number: at + 1, way, write: write.clone() }));
        }
    }
    match &*wanted {
        "all" => {}
        "" => {
            // Spread over the writes, and over the ways from story to story.
            let step = all.len().div_ceil(SAMPLE).max(1);
            let first = usize::try_from(fhpa::decision::fnv::fnv32(story.name)).unwrap_or_default() % step;
            all = all.into_iter().skip(first).step_by(step).take(SAMPLE).collect();
        }
        one => all.retain(|(name, _)| name == one),
    }
    all.into_iter().map(|(_, perturbation)| perturbation).collect()
}

/// Writes of each story that every run tries.
const SAMPLE: usize = 1;

/// Plays the story undisturbed, and then with each of the chosen writes perturbed.
pub fn perturb(story: &Story) {
    let reference = run(play(story, None));
    assert!(!reference.writes.is_empty(), "{}: the controller does nothing", story.name);
    assert!(reference.broken.is_empty(), "{}: {}", story.name, reference.broken.join("\n"));
    let mut found = Vec::new();
    for perturbation in chosen(story, &reference.writes) {
        let Perturbation { number, way, write } = &perturbation;
        let what = format!("{}:{number}:{way:?} ({} {} {})", story.name, write.verb, write.resource, write.name);
        let ending = run(play(story, Some(perturbation.clone())));
        let differences = ending::differences(&reference.state, &ending.state);
        if !differences.is_empty() {
            found.push(format!("{what} ends otherwise\n  {}", differences.join("\n  ")));
        }
        if !ending.broken.is_empty() {
            found.push(format!("{what}: {}", ending.broken.join("\n")));
        }
        if story.budget > 0 && ending.budget > story.budget {
            found.push(format!("{what} allows {} of {}", ending.budget, story.budget));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
