//! What the controllers ask of API servers, and what they take of the machine.

use std::collections::BTreeMap;
use std::time::Duration;

use fhpa::runtime::clock::steady;
use serde_json::json;
use tokio::time::Instant;

use super::{active, object};
use crate::audit::Reader;
use crate::both::{MEMBERS, World as _};
use crate::operator::USER;
use crate::rig::program::Program;
use crate::stand::Stand;
use crate::upstream::Adapter;
use crate::usage::{self, Usage};

/// Objects at a time.
const SIZES: [usize; 2] = [1, 20];
/// For how long requests are counted.
const WINDOW: Duration = Duration::from_secs(20);
/// What autoscaling reads and writes. Karmada's programs make other requests for their other controllers.
const COUNTED: [&str; 7] = [
    "clusters/proxy",
    "deployments",
    "deployments/scale",
    "federatedhpas",
    "federatedhpas/status",
    "pods",
    "pods.metrics",
];
/// Beginnings of the names of Karmada's programs.
const AGENTS: [&str; 2] = ["karmada-controller-manager", "karmada-metrics-adapter"];

/// Requests of a while.
#[derive(Debug)]
pub struct Requests {
    objects: usize,
    by: BTreeMap<String, usize>,
    took: Duration,
}

impl Requests {
    pub fn a_minute(&self) -> f64 {
        self.by.values().sum::<usize>() as f64 * 60.0 / self.took.as_secs_f64()
    }
}

/// For each size: requests, and the part of a core and the memory in MiB that the processes took.
pub type Costs = Vec<(Requests, (f64, f64))>;

fn name(number: usize) -> String {
    format!("cost{number}")
}

fn programs<'a>(stand: &'a Stand, adapter: Option<&'a Adapter>) -> Vec<&'a Program> {
    match adapter {
        Some(adapter) => stand.lab.manager().into_iter().chain([&adapter.program]).collect(),
        None => stand.fhpa.programs().collect(),
    }
}

pub async fn measure(stand: &Stand, mode: Option<&str>, adapter: Option<&Adapter>) -> Costs {
    let mut costs = Costs::new();
    let mut made = 0;
    for objects in SIZES {
        for number in made..objects {
            make(stand, mode, &name(number)).await;
        }
        for number in made..objects {
            active(stand, &name(number)).await;
        }
        made = objects;
        stand.pass(5).await;
        let (reader, begun, before) = (Reader::new(&stand.lab), steady(), usage::of(programs(stand, adapter)));
        tokio::time::sleep(WINDOW).await;
        let (after, took) = (usage::of(programs(stand, adapter)), begun.elapsed());
        let mut by = reader.requests(&AGENTS, USER);
        by.retain(|what, _| what.rsplit(' ').next().is_some_and(|resource| COUNTED.contains(&resource)));
        let requests = Requests { objects, by, took };
        costs.push((requests, part(before, after, begun)));
    }
    for number in 0..made {
        stand.delete("FederatedHPA", &name(number)).await;
    }
    for number in 0..made {
        stand.soon("the FederatedHPA goes", async |stand| stand.hpa(&name(number)).await.is_none()).await;
        stand.delete("Deployment", &name(number)).await;
        stand.delete("PropagationPolicy", &name(number)).await;
    }
    for number in 0..made {
        let gone = async |stand: &Stand| stand.lab.ready(&name(number)) == 0;
        stand.later(180, "the pods go", gone).await;
    }
    costs
}

async fn make(stand: &Stand, mode: Option<&str>, name: &str) {
    stand.each_wants(name, [1; 3]);
    stand.workload(name, 3, &MEMBERS).await;
    stand.apply(&object(mode, name, "Deployment", 12, json!({}))).await;
}

fn part(before: Usage, after: Usage, begun: Instant) -> (f64, f64) {
    ((after.cpu - before.cpu).as_secs_f64() / begun.elapsed().as_secs_f64(), after.resident)
}

pub fn print(theirs: &Costs, ours: &Costs) {
    for (who, costs) in [("Karmada", theirs), ("fhpa", ours)] {
        for (requests, (cpu, memory)) in costs {
            println!(
                "  {who:<8} {:>3} objects: {:.0} requests a minute, {:.1} % of a core, {memory:.0} MiB; {:?}",
                requests.objects,
                requests.a_minute(),
                cpu * 100.0,
                requests.by
            );
        }
    }
}
