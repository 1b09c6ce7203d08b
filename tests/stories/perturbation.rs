//! Perturbs every request of the controller: it is killed before or after it, its response comes after the controller
//! stopped waiting, or the watches of the resource are delayed around it. In all cases the story must end as without
//! the perturbation, and break no law on the way.
//!
//! Each `cargo test` tries a write of each story. `FHPA_PERTURB=all` tries all writes in all ways, `FHPA_PERTURB=reads`
//! all reads, and `FHPA_PERTURB=created:Write:7:Stale` the one that a failure names.

mod told;

use std::time::Duration;

use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::{Access, Moment, Nth, ObservedRequest};
use futures::future::LocalBoxFuture;
use tokio::sync::oneshot;

use super::distributed::Stage;
use super::{Process, Wall, ending};
use crate::bed::role::AGENT;

/// How a request is perturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The process is killed before the request is done.
    Before,
    /// It is killed after the request is done and before it knows.
    After,
    /// The request is done, and the answer comes after its patience.
    Late,
    /// The watches of what it asks for tell nothing for a while around the request, and the others begin anew.
    Stale,
}

const WAYS: [Way; 4] = [Way::Before, Way::After, Way::Late, Way::Stale];

/// Longer than a request of the controller waits for its answer.
const LATE: Duration = Duration::from_secs(15);
/// How long watches are silent.
const SILENCE: Duration = Duration::from_secs(20);
/// After the last act of a story: a takeover, a late answer, and what is asked for again after a minute.
const REST: u64 = 150;

/// Reads go on until the end: those of its last seconds would have nothing after them that makes good for them.
const SETTLING: u64 = 60;

/// What is done.
pub type Act = Box<dyn for<'a> Fn(&'a Stage) -> LocalBoxFuture<'a, ()>>;

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
    pub act: Act,
}

/// One request of a story and what is done to it.
#[derive(Clone, Debug)]
struct Perturbation {
    access: Access,
    number: usize,
    way: Way,
    request: ObservedRequest,
}

impl Perturbation {
    /// As `FHPA_PERTURB` names it.
    fn name(&self, story: &Story) -> String {
        format!("{}:{:?}:{}:{:?}", story.name, self.access, self.number, self.way)
    }
}

/// How a story ended.
struct Ending {
    state: Vec<String>,
    reads: Vec<ObservedRequest>,
    writes: Vec<ObservedRequest>,
    budget: i32,
    broken: Vec<String>,
}

/// Runs the controller and does to it what is to be done.
async fn supervise(server: ApiServer, wall: Wall, perturbation: Option<Perturbation>, stop: oneshot::Receiver<()>) {
    let mut running = Process::start(&server, "one", &wall);
    if let Some(Perturbation { access, number, way, request }) = perturbation {
        let nth = Nth { agent: AGENT.into(), access, number };
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
                let resource = request.resource.split('/').next().unwrap_or_default();
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
    let requests = |access| stage.fleet.control().faults().requests_of(AGENT, access);
    let server = stage.fleet.control().clone();
    let reached = perturbation.is_some();
    let controller = tokio::spawn(supervise(server, stage.wall.clone(), perturbation, stopped));
    stage.pass(5).await;
    (story.act)(&stage).await;
    stage.pass(REST - SETTLING).await;
    let reads = requests(Access::Read);
    stage.pass(SETTLING).await;
    let ending = Ending {
        state: ending::state(&stage.control, &stage.fleet).await,
        reads,
        writes: requests(Access::Write),
        budget: stage.budget.most(),
        broken: watched.broken().iter().map(ToString::to_string).collect(),
    };
    stop.send(()).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), controller).await;
    assert!(ended.is_ok() || !reached, "{}: the request never came, or the controller does not stop", story.name);
    ended.unwrap().unwrap();
    ending
}

/// In virtual time, on a thread of its own.
fn run<T>(story: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(story)
}

/// Which requests are perturbed in which ways: a write, all writes, all reads, or one.
fn chosen(story: &Story, reference: &Ending) -> Vec<Perturbation> {
    let all = |access, requests: &[ObservedRequest]| -> Vec<Perturbation> {
        let ways = |(at, request): (usize, &ObservedRequest)| {
            WAYS.map(|way| Perturbation { access, number: at + 1, way, request: request.clone() })
        };
        requests.iter().enumerate().flat_map(ways).collect()
    };
    let (reads, writes) = (all(Access::Read, &reference.reads), all(Access::Write, &reference.writes));
    match &*std::env::var("FHPA_PERTURB").unwrap_or_default() {
        "all" => writes,
        "reads" => reads,
        "" => {
            // Spread over the writes, and over the ways from story to story.
            let step = writes.len().div_ceil(SAMPLE).max(1);
            let first = usize::try_from(fhpa::decision::fnv::fnv32(story.name)).unwrap_or_default() % step;
            writes.into_iter().skip(first).step_by(step).take(SAMPLE).collect()
        }
        one => reads.into_iter().chain(writes).filter(|perturbation| perturbation.name(story) == one).collect(),
    }
}

/// Writes of each story that every run tries.
const SAMPLE: usize = 1;

/// Plays the story undisturbed, and then with each of the chosen writes perturbed.
pub fn perturb(story: &Story) {
    let reference = run(play(story, None));
    assert!(!reference.writes.is_empty(), "{}: the controller does nothing", story.name);
    assert!(reference.broken.is_empty(), "{}: {}", story.name, reference.broken.join("\n"));
    let (mut found, chosen) = (Vec::new(), chosen(story, &reference));
    let (reads, writes) = (reference.reads.len(), reference.writes.len());
    eprintln!("{}: {} perturbations of {reads} reads and {writes} writes", story.name, chosen.len());
    for perturbation in chosen {
        let request = &perturbation.request;
        let name = perturbation.name(story);
        let what = format!("{name} ({} {} {})", request.verb, request.resource, request.name);
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
