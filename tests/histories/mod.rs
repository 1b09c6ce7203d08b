//! Generated histories: random operations of users and random faults, with the whole controller - two replicas, the
//! webhook, an embedded Karmada with its members - in virtual time. The laws are checked on every event; at the end all
//! faults are removed, and fhpa must come to rest.
//!
//! * `FHPA_HISTORIES=10000` runs this many, on all cores (`FHPA_THREADS`); `FHPA_HISTORY_FROM` is the first seed.
//! * `FHPA_HISTORY_SEED=17` replays one, and prints its events.
//! * A failing history is shrunk (for `FHPA_SHRINKING` seconds, default 120); the result belongs into `cases`, where it
//!   is replayed with each run of the tests.

pub mod chance;
mod effects;
mod fields;
pub mod flaky;
mod happening;
mod installation;
mod objects;
mod operation;
mod review;
mod scene;
mod shrink;
mod stillness;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fields::Field;
use operation::History;
use scene::Scene;
use stillness::{Look, Rest};

use crate::stories::ending;

/// Histories of an ordinary run, and the time after which it begins no more of them.
const ORDINARY: u64 = 200;
const TIME: Duration = Duration::from_secs(100);
/// At once, unless said otherwise.
const THREADS: usize = 2;
/// Time to shrink one that failed.
const SHRINKING: Duration = Duration::from_secs(120);

/// What became of a history.
struct Told {
    failed: Option<String>,
    operations: usize,
    /// How many states the laws looked at.
    states: u64,
}

/// Plays a history in virtual time. New processes change nothing at its end; or, where something waits for a time, they
/// come to the same end.
fn play(history: &History, tells: bool) -> Told {
    let (mut told, rest) = play_to(history, tells, stillness::FIRST);
    if told.failed.is_some() || rest.before == rest.after {
        return told;
    }
    let [(with, fresh), (without, calm)] = stillness::LONG.map(|look| play_to(history, false, look));
    told.failed = with.failed.or(without.failed).or_else(|| {
        let lines: String =
            ending::differences(&calm.after, &fresh.after).iter().map(|line| format!("\n  {line}")).collect();
        (!lines.is_empty()).then(|| format!("a fresh start ends otherwise:{lines}"))
    });
    told
}

/// Plays a history to its end, and looks at it.
fn play_to(history: &History, tells: bool, look: Look) -> (Told, Rest) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let begun = now();
    runtime.block_on(async {
        let mut scene = Scene::with(history.clusters, history.guarded, &history.odd).await;
        scene.migrated = history.migrated;
        if tells {
            println!("{} clusters, {:.1} s", history.clusters, begun.elapsed().as_secs_f64());
        }
        let (mut operations, mut rest) = (0, Rest::default());
        let mut failed = failure(&scene);
        for step in &history.steps {
            if failed.is_some() {
                break;
            }
            if tells {
                println!("{} {:?} {:.1} s", scene.wall.now(), step.what, begun.elapsed().as_secs_f64());
            }
            scene.happen(&step.what).await;
            operations += 1;
            scene.pass(step.then).await;
            if tells {
                println!("{}", scene.show().await);
            }
            failed = failure(&scene);
        }
        if failed.is_none() {
            match stillness::settle(&mut scene, look).await {
                Ok(seen) => rest = seen,
                Err(why) => failed = Some(why),
            }
            if tells {
                let (requests, spent) = (scene.requests(), begun.elapsed().as_secs_f64());
                println!("{} {requests} requests, {spent:.1} s\n{}", scene.wall.now(), scene.show().await);
            }
        }
        let states = scene.watched.laws().states();
        scene.end().await;
        (Told { failed, operations, states }, rest)
    })
}

fn failure(scene: &Scene) -> Option<String> {
    let broken = scene.broken();
    (!broken.is_empty()).then(|| broken.join("\n"))
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// One that fails, with what it shrinks to.
fn report(seed: u64, history: &History, why: &str) -> String {
    eprintln!("history {seed} breaks a law: {why}");
    let (begun, time) = (now(), number("FHPA_SHRINKING").map_or(SHRINKING, Duration::from_secs));
    let play = |history: &History| (begun.elapsed() < time).then(|| play(history, false).failed).flatten();
    let (shrunk, why) = shrink::shrink(history, why, &play);
    let text = serde_json::to_string(&shrunk).unwrap();
    format!("history {seed} breaks a law:\n{why}\nshrunk to {text}\n")
}

fn run(first: u64, count: u64, threads: usize, within: Duration, fields: &[Field]) -> Vec<String> {
    let (next, operations, played) = (AtomicU64::new(first), AtomicUsize::new(0), AtomicUsize::new(0));
    let states = AtomicU64::new(0);
    let begun = now();
    let found = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= first + count || begun.elapsed() > within {
                        break;
                    }
                    let history = chance::history(seed, fields);
                    let told = play(&history, false);
                    played.fetch_add(1, Ordering::SeqCst);
                    operations.fetch_add(told.operations, Ordering::SeqCst);
                    states.fetch_add(told.states, Ordering::SeqCst);
                    if let Some(why) = told.failed {
                        let text = report(seed, &history, &why);
                        eprintln!("{text}");
                        found.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let (seconds, played) = (begun.elapsed().as_secs_f64(), played.load(Ordering::SeqCst));
    let (operations, states) = (operations.load(Ordering::SeqCst), states.load(Ordering::SeqCst));
    let found = found.into_inner().unwrap();
    let broken = found.len();
    let of =
        if u64::try_from(played).unwrap() < count { format!(" of {count}, more took too long") } else { String::new() };
    eprintln!(
        "{played} histories{of} from {first} on, {operations} operations, {states} states, {broken} break a law, {seconds:.1} s"
    );
    found
}

#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn no_history_breaks_a_law() {
    let fields = fields::all();
    if let Some(seed) = number("FHPA_HISTORY_SEED") {
        let history = chance::history(seed, &fields);
        println!("{}", serde_json::to_string(&history).unwrap());
        let told = play(&history, true);
        assert!(told.failed.is_none(), "{}", told.failed.unwrap());
        return;
    }
    if let Ok(text) = std::env::var("FHPA_HISTORY") {
        let told = play(&serde_json::from_str(&text).unwrap(), true);
        assert!(told.failed.is_none(), "{}", told.failed.unwrap());
        return;
    }
    let wanted = number("FHPA_HISTORIES");
    let within = if wanted.is_some() { Duration::MAX } else { TIME };
    let threads = number("FHPA_THREADS").map_or(THREADS, |threads| usize::try_from(threads).unwrap());
    let first = number("FHPA_HISTORY_FROM").unwrap_or(1);
    let found = run(first, wanted.unwrap_or(ORDINARY), threads, within, &fields);
    assert!(found.is_empty(), "{} histories break a law:\n{}", found.len(), found.join("\n"));
}

/// Shrunk histories that broke a law once.
const CASES: &str = include_str!("cases.jsonl");

#[test]
fn histories_that_broke_a_law_once_break_none() {
    let lines: Vec<&str> = CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let next = AtomicUsize::new(0);
    let found = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let history: History = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                    if let Some(failed) = play(&history, false).failed {
                        found.lock().unwrap().push(format!("{line}\n{failed}"));
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{} histories break a law:\n{}", found.len(), found.join("\n"));
}
