//! The end of a history: without operations and faults, fhpa comes to rest, in a state that the rules explain.

use fhpa::api::FederatedHPA;
use fhpa::playground::json::{text, truth};
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use fhpa::run::forecast::live;
use jiff::SignedDuration;
use serde_json::Value;

use super::scene::Scene;
use crate::stories::distributed::kind;
use crate::stories::ending;

/// Longest time until rest: after an outage Karmada comes to a Work as late as the outage was long, tolerations and
/// replacements end after ten minutes, windows after five.
const LONGEST: i64 = 3_600;
/// Longest time until a replica leads.
const LEASE: i64 = 400;
/// Nothing is written for so long at rest.
const QUIET: i64 = 150;
/// Changes of bounds on the way to rest, for each bound there is.
const CHANGES: usize = 12;

/// How the look at the rest ends.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// New processes take over, which remember nothing.
    pub restarts: bool,
    /// Seconds until the end.
    pub lasts: u64,
}

/// A first look: new processes soon find what is to be done.
pub const FIRST: Look = Look { restarts: true, lasts: 120 };
/// Until all that waits for a time has happened, with new processes and without.
pub const LONG: [Look; 2] = [Look { restarts: true, lasts: 2_400 }, Look { restarts: false, lasts: 2_400 }];

/// What is seen before and after a look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Before it, one line for each object.
    pub before: Vec<String>,
    /// After it.
    pub after: Vec<String>,
}

/// Waits for rest and looks at it. Says what is wrong, or what is seen.
pub async fn settle(scene: &mut Scene, look: Look) -> Result<Rest, String> {
    scene.heal().await;
    // A Lease of a replica that is gone, or that was kept from all, runs out.
    lead(scene).await;
    // What was on its way arrives, pods start, members are ready again.
    scene.pass(120).await;
    broken(scene)?;
    scene.remove_crons().await;
    scene.watched.laws().freeze();
    let begun = scene.wall.now();
    // What Karmada comes to late is followed by what it does then.
    let mut waited = begun;
    loop {
        scene.pass(30).await;
        broken(scene)?;
        let now = scene.wall.now();
        let (last, what) = {
            let laws = scene.watched.laws();
            let rest = laws.rest();
            rest.last.clone().map_or((rest.since, String::new()), |(at, what)| (at, what))
        };
        let mut waits = scene.waits();
        waits.extend(scene.deletions().await);
        if !waits.is_empty() {
            waited = now;
        } else if now.duration_since(last.max(waited)) >= SignedDuration::from_secs(QUIET) {
            break;
        }
        // Who tries again until a quota has room writes for ever, as who scales by a metric that settles nowhere.
        let goes_on = scene.exceeds_quota() || scene.chases();
        if now.duration_since(begun) >= SignedDuration::from_secs(LONGEST / 4) && goes_on {
            return Ok(Rest::default());
        }
        let what = if waits.is_empty() { what } else { format!("{what}; {}", waits.join(", ")) };
        if now.duration_since(begun) >= SignedDuration::from_secs(LONGEST) {
            return Err(format!("no rest after {LONGEST} s: {last} {what}"));
        }
    }
    {
        let laws = scene.watched.laws();
        let rest = laws.rest();
        let (restless, bounds) = (rest.restless(laws.world()), laws.world().sent.len().max(1) * 2);
        if !restless.is_empty() {
            return Err(format!("under constant load bounds went to and fro: {}", restless.join("; ")));
        }
        if rest.changes() > CHANGES * bounds {
            return Err(format!("{} changes of {bounds} bounds under constant load", rest.changes()));
        }
    }
    nothing_is_planned(scene).await?;
    // How far others went meanwhile depends on when a quota refused what, and on when a cluster was tried again.
    if scene.exceeds_quota() || scene.is_evicted_again() { Ok(Rest::default()) } else { looked_at(scene, look).await }
}

/// Waits until a replica leads.
async fn lead(scene: &Scene) {
    let begun = scene.wall.now();
    while !scene.somebody_acts() && scene.wall.now().duration_since(begun) < SignedDuration::from_secs(LEASE) {
        scene.pass(5).await;
    }
}

async fn looked_at(scene: &mut Scene, look: Look) -> Result<Rest, String> {
    let before = seen(scene).await;
    if look.restarts {
        for number in 0..scene.replicas.len() {
            scene.replicas[number].kill().await;
        }
        for number in 0..scene.replicas.len() {
            scene.start(number);
        }
        lead(scene).await;
    }
    scene.pass(look.lasts).await;
    broken(scene)?;
    Ok(Rest { before, after: seen(scene).await })
}

/// The state, without what is not fhpa's: how many replicas a member's HPA asks for within its bounds, and what members
/// run of workloads that fhpa does not hold, which Karmada alone divides and fails over.
async fn seen(scene: &Scene) -> Vec<String> {
    let bindings = scene.control.list(&kind("ResourceBinding"), "prod").await.unwrap();
    let free = bindings.iter().filter(|binding| !truth(binding, "/spec/suspension/scheduling"));
    let free: Vec<&str> = free.map(|binding| text(binding, "/spec/resource/name")).collect();
    let lines = ending::state(&scene.control, &scene.fleet).await;
    let scaled = |cluster: &str, workload: &str| {
        let hpa = format!("{cluster} HorizontalPodAutoscaler prod/{workload} ");
        lines.iter().any(|line| line.starts_with(&hpa))
    };
    let told = |line: &String| {
        let Some((cluster, rest)) = line.split_once(" Deployment prod/").filter(|(cluster, _)| !cluster.is_empty())
        else {
            return Some(line.clone());
        };
        let (workload, replicas) = rest.split_once(' ')?;
        let runs = scaled(cluster, workload) && !replicas.contains(":0}");
        let line = if runs { format!("{cluster} Deployment prod/{workload} runs") } else { line.clone() };
        (!free.contains(&workload)).then_some(line)
    };
    lines.iter().filter_map(told).collect()
}

fn broken(scene: &Scene) -> Result<(), String> {
    let broken = scene.broken();
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

/// The plan of what is seen is empty.
async fn nothing_is_planned(scene: &Scene) -> Result<(), String> {
    let all: Vec<Value> = scene.control.list(&kind("FederatedHPA"), "").await.unwrap();
    for object in all {
        let hpa: FederatedHPA = serde_json::from_value(object.clone()).unwrap();
        let conditions = fhpa::playground::json::condition(&object, "/status/conditions", "Assigned");
        let assigned = conditions.is_some_and(|assigned| text(assigned, "/status") == "True");
        if hpa.spec.mode.as_deref() == Some("Centralized") || !assigned {
            continue;
        }
        let client = scene.control.client();
        let objects = live::objects(client, &hpa).await.unwrap();
        let steps = objects.forecast(&hpa, Rooms::default(), scene.wall.now(), |forecast| {
            let steps = forecast.plan.steps.iter().map(|step| format!("{:?} ({})", step.action, step.why));
            steps.collect::<Vec<_>>()
        });
        if let Some(steps) = steps.filter(|steps| !steps.is_empty()) {
            return Err(format!(
                "at rest something is planned for {}: {}",
                text(&object, "/metadata/name"),
                steps.join("; ")
            ));
        }
    }
    Ok(())
}
