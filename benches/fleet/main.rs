//! A fleet of CronFederatedHPAs whose rules are all due in one minute: memory, time, lateness, requests and idle time
//! of the controller, which runs in a process of its own and speaks to the embedded API server in this one over HTTP on
//! the loopback. Beside it the floor: the same requests sent flat out by a client that decides nothing, in the same
//! run.
//!
//! `FHPA_BENCH_OBJECTS` (20000) objects with `FHPA_BENCH_RULES` (5) rules each, `FHPA_BENCH_CONCURRENCY` (64) turns at
//! a time, `FHPA_BENCH_IDLE` (60) seconds of rest. Without `--bench`, as when tests run, all is small.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub
)]

mod controller;
mod floor;
mod population;
#[allow(dead_code)]
mod process;
mod recorder;

use std::path::Path;
use std::time::Duration;

use embedded_apiserver::ApiServer;
use fhpa::runtime::clock;
use jiff::{SignedDuration, Timestamp};
use tempfile::NamedTempFile;
use tokio::time::sleep;

use population::Size;
use process::Process;
use recorder::Recorder;

/// What upstream's controller-manager needs: MiB above rest for 5000 rules, seconds until 5000 rules have a next run
/// after a start, and lateness p50 and p99 of 5000 rules of one minute; its client's rate limit was lifted.
const UPSTREAM: (f64, f64, [f64; 2]) = ((2036.0 - 93.0) / 5000.0, 83.0, [23.0, 33.0]);
/// Requests for an execution: two reads and a write of the status, when the target stands already.
const UPSTREAM_REQUESTS: f64 = 3.0;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let arguments: Vec<String> = std::env::args().collect();
    let number = |index: usize| arguments[index].parse::<usize>().unwrap();
    match arguments.get(1).map(String::as_str) {
        Some("controller") => {
            runtime.block_on(controller::run(arguments[2].clone().into(), arguments[3].parse().unwrap(), number(4)));
        }
        Some("floor") => {
            let size = Size { objects: number(3), rules: number(4) };
            runtime.block_on(floor::run(arguments[2].clone().into(), size, number(5)));
        }
        _ => runtime.block_on(measure(arguments.iter().any(|argument| argument == "--bench"))),
    }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

fn seconds(since: std::time::Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

fn row(what: &str, figure: &str, beside: &str) {
    println!("{what:<58} {figure:>22}   {beside}");
}

/// A server and a file by which others find it.
async fn listening() -> (ApiServer, embedded_apiserver::serve::Listening, NamedTempFile) {
    let server = ApiServer::builder().kept_changes(20_000).build();
    population::definitions(&server).await;
    let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), listening.kubeconfig("fleet")).unwrap();
    (server, listening, file)
}

fn controller(kubeconfig: &Path, ahead: SignedDuration, concurrency: usize) -> Process {
    let ahead = ahead.as_nanos().to_string();
    Process::start(&["controller", kubeconfig.to_str().unwrap(), &ahead, &concurrency.to_string()])
}

async fn measure(whole: bool) {
    let size = if whole { Size { objects: 20_000, rules: 5 } } else { Size { objects: 40, rules: 5 } };
    let size =
        Size { objects: setting("FHPA_BENCH_OBJECTS", size.objects), rules: setting("FHPA_BENCH_RULES", size.rules) };
    let concurrency = setting("FHPA_BENCH_CONCURRENCY", 64);
    let rest = Duration::from_secs(setting("FHPA_BENCH_IDLE", if whole { 60 } else { 1 }) as u64);
    println!("{} objects, {} rules, {concurrency} turns at a time", size.objects, size.all_rules());

    let empty = resident_without_objects(concurrency).await;
    let (server, _listening, file) = listening().await;
    // Some hours from now, so that nothing is due before the clock of a controller says so.
    let due = Timestamp::from_second((clock::wall().as_second() / 3600 + 6) * 3600).unwrap();
    population::populate(&server, size, due).await;
    let recorder = Recorder::start(&server, due);
    let bytes = json_bytes(&server);
    let mib = |bytes: usize| bytes as f64 / 1024.0 / 1024.0;
    row("the objects as JSON, MiB", &format!("{:.1}", mib(bytes)), "");
    row("resident without objects, MiB", &format!("{empty:.1}"), "upstream 93");

    cold(&server, &recorder, file.path(), size, concurrency, rest, empty).await;
    let took = warm(&server, &recorder, file.path(), size, concurrency, due, empty).await;
    let mut floor = Process::start(&[
        "floor",
        file.path().to_str().unwrap(),
        &size.objects.to_string(),
        &size.rules.to_string(),
        &concurrency.to_string(),
    ]);
    let [targets, statuses, events] = floor_told(&mut floor).await;
    floor.stop().await;
    let objects = targets + statuses;
    let beside = format!("controller {:.2} x, with its Events", took / objects);
    row("floor: all targets, all statuses flat out, s", &format!("{targets:.1} + {statuses:.1}"), &beside);
    row("floor: an Event for each rule flat out, s", &format!("{events:.1}"), "");
}

async fn floor_told(floor: &mut Process) -> [f64; 3] {
    let mut all = [0.0; 3];
    for (seconds, what) in all.iter_mut().zip(["targets", "statuses", "events"]) {
        *seconds = floor.told(what).await.parse().unwrap();
    }
    all
}

async fn resident_without_objects(concurrency: usize) -> f64 {
    let (_server, _listening, file) = listening().await;
    let mut process = controller(file.path(), SignedDuration::ZERO, concurrency);
    process.told("listed").await;
    sleep(Duration::from_secs(2)).await;
    let resident = process.resident();
    process.stop().await;
    resident
}

fn json_bytes(server: &ApiServer) -> usize {
    let bucket = population::bucket(server, "autoscaling.karmada.io", "cronfederatedhpas");
    let all = server.store().list(&bucket, &Default::default()).unwrap();
    all.items.iter().map(|object| object.value().to_string().len()).sum()
}

fn memory(process: &Process, size: Size, empty: f64) -> [String; 2] {
    let resident = process.resident();
    let of_rule = (resident - empty) / size.all_rules() as f64;
    let figures = format!("{resident:.1} (peak {:.1})", process.peak());
    [figures, format!("{:.2} KiB a rule, 1/{:.0} of upstream's", of_rule * 1024.0, UPSTREAM.0 / of_rule)]
}

/// A first start: nothing was worked off before.
async fn cold(
    server: &ApiServer,
    recorder: &Recorder,
    kubeconfig: &Path,
    size: Size,
    concurrency: usize,
    rest: Duration,
    empty: f64,
) {
    let begun = clock::monotonic();
    let mut process = controller(kubeconfig, SignedDuration::ZERO, concurrency);
    process.told("listed").await;
    row("first start: listed after, s", &format!("{:.2}", seconds(begun)), "");
    recorder.observed(size.objects).await;
    let beside = format!("upstream {} for 5000 rules", UPSTREAM.1);
    row("first start: every rule has its next run recorded after, s", &format!("{:.2}", seconds(begun)), &beside);
    sleep(Duration::from_secs(5)).await;
    let [figures, beside] = memory(&process, size, empty);
    row("first start: resident, MiB", &figures, &beside);
    let (before, requests) = (process.cpu(), all_requests(server));
    sleep(rest).await;
    let percent = (process.cpu() - before).as_secs_f64() / rest.as_secs_f64() * 100.0;
    let requests = all_requests(server) - requests;
    let beside = format!("of one core, over {} s; {requests} requests", rest.as_secs());
    row("idle, nothing due: CPU", &format!("{percent:.2} %"), &beside);
    process.stop().await;
}

/// A second start, at which everything is known; then all rules are due. Gives the seconds until all are recorded.
async fn warm(
    server: &ApiServer,
    recorder: &Recorder,
    kubeconfig: &Path,
    size: Size,
    concurrency: usize,
    due: Timestamp,
    empty: f64,
) -> f64 {
    let begun = clock::monotonic();
    // Time to list and to look at everything once, and to rest.
    let until_due = SignedDuration::from_millis(10_000 + size.objects as i64);
    let at = clock::wall() + until_due;
    let mut process = controller(kubeconfig, due.duration_since(at), concurrency);
    process.told("listed").await;
    row("second start: listed after, s", &format!("{:.2}", seconds(begun)), "");
    let rest = at - SignedDuration::from_secs(2);
    sleep(Duration::try_from(rest.duration_since(clock::wall())).unwrap()).await;
    let [figures, beside] = memory(&process, size, empty);
    row("second start: resident, MiB", &figures, &beside);
    process.forget_peak();
    let (cpu, writes) = (process.cpu(), Requests::of(server));
    recorder.recorded(size.objects).await;
    let took = clock::wall().duration_since(at).as_secs_f64();
    let requests = Requests::of(server).since(&writes);
    let runs = size.all_rules() as f64;
    row("all applied and recorded after, s", &format!("{took:.1}"), &format!("{:.0} runs/s", runs / took));
    let [p50, p99, max] = recorder.lateness(at).await;
    let [theirs50, theirs99] = UPSTREAM.2;
    let beside = format!("upstream {theirs50} / {theirs99} for 5000 rules");
    row("lateness of the target's write p50 / p99 / max, s", &format!("{p50:.2} / {p99:.2} / {max:.2}"), &beside);
    let beside = format!("upstream {UPSTREAM_REQUESTS} requests");
    let each = |count: u64| count as f64 / runs;
    let figures = format!("{:.2} + {:.2}", each(requests.writes), each(requests.reads));
    row("writes + reads for an execution, Events left out", &figures, &beside);
    let spent = (process.cpu() - cpu).as_secs_f64();
    row("CPU until recorded, s", &format!("{spent:.1}"), &format!("{:.0} us a run", spent / runs * 1e6));
    let posted = all_events(server, writes.events).await;
    let took_events = clock::wall().duration_since(at).as_secs_f64();
    let beside = format!("within {took_events:.0} s of the due instant");
    row("Events posted", &posted.to_string(), &beside);
    let [figures, beside] = memory(&process, size, empty);
    row("after all: resident, MiB", &figures, &beside);
    let said = process.stop().await;
    for line in said.lines().filter(|line| {
        line.starts_with("fhpa_events_total")
            || line.starts_with("fhpa_workqueue_retries")
            || line.starts_with("fhpa_cron_executions_total")
    }) {
        println!("  {line}");
    }
    took
}

fn all_requests(server: &ApiServer) -> u64 {
    server.faults().counts().values().sum()
}

struct Requests {
    writes: u64,
    reads: u64,
    events: u64,
}

impl Requests {
    fn of(server: &ApiServer) -> Self {
        let mut this = Self { writes: 0, reads: 0, events: 0 };
        for ((verb, resource), count) in server.faults().counts() {
            match (verb.as_str(), resource.as_str()) {
                (_, "leases") => {}
                (_, "events") => this.events += count,
                ("patch" | "update" | "create", _) => this.writes += count,
                _ => this.reads += count,
            }
        }
        this
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            writes: self.writes - before.writes,
            reads: self.reads - before.reads,
            events: self.events - before.events,
        }
    }
}

/// Waits until no more Events come; gives how many came.
async fn all_events(server: &ApiServer, before: u64) -> u64 {
    let mut seen = Requests::of(server).events;
    loop {
        sleep(Duration::from_millis(500)).await;
        let now = Requests::of(server).events;
        if now == seen {
            return now - before;
        }
        seen = now;
    }
}
