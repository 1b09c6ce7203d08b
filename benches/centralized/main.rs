//! What Centralized workloads cost: requests, processor time and memory of the controller, which runs in a process of
//! its own, beside three members whose pods and metrics an embedded API server in this process serves over HTTP on the
//! loopback. Beside it the floor: a process that lists the same metrics once in each period and decodes them.
//!
//! `FHPA_BENCH_OBJECTS` (`1,50,200,1000`) objects in a namespace, the last number also over ten namespaces;
//! `FHPA_BENCH_PODS` (100000) pods of one workload; `FHPA_BENCH_SECONDS` (60) of each measurement. Without `--bench`,
//! as when tests run, all is small.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub
)]

#[path = "../fleet/controller.rs"]
mod controller;
mod floor;
mod population;
#[allow(dead_code)]
#[path = "../fleet/process.rs"]
mod process;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;

use population::{Size, World};
use process::Process;

/// Karmada's controller: 12 requests a minute for each object, and 8 for each of its members.
const UPSTREAM: usize = 12 + 8 * 3;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("controller") => runtime.block_on(controller::run(arguments[2].clone().into(), 0, 8)),
        Some("floor") => runtime.block_on(floor::run(arguments[2].clone().into(), arguments[3].parse().unwrap())),
        _ => runtime.block_on(measure(arguments.iter().any(|argument| argument == "--bench"))),
    }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

async fn measure(whole: bool) {
    let seconds = Duration::from_secs(setting("FHPA_BENCH_SECONDS", if whole { 60 } else { 1 }) as u64);
    let objects = std::env::var("FHPA_BENCH_OBJECTS").unwrap_or(if whole { "1,50,200,1000" } else { "2" }.to_owned());
    let objects: Vec<usize> = objects.split(',').map(|text| text.parse().unwrap()).collect();
    let pods = setting("FHPA_BENCH_PODS", if whole { 100_000 } else { 30 });
    println!(
        "{:<34} {:>14} {:>10} {:>10} {:>10} {:>8}",
        "objects x 3 members", "requests/min", "Karmada's", "CPU", "floor", "MiB"
    );
    let last = *objects.last().unwrap();
    let one = |objects| Size { objects, namespaces: 1, pods: 3 };
    let sizes = objects.iter().map(|objects| one(*objects)).chain([Size { objects: last, namespaces: 10, pods: 3 }]);
    for size in sizes {
        let what = format!("{} in {} namespaces, {} pods", size.objects, size.namespaces, size.objects * size.pods);
        row(&what, size, seconds).await;
    }
    row(&format!("1, {pods} pods"), Size { objects: 1, namespaces: 1, pods }, seconds).await;
}

async fn row(what: &str, size: Size, seconds: Duration) {
    let world = World::new(size).await;
    let kubeconfig = world.file.path();
    let mut process = Process::start(&["controller", kubeconfig.to_str().unwrap()]);
    process.told("listed").await;
    world.computed(size.objects).await;
    sleep(seconds / 4).await;
    world.fleet.control().faults().record();
    let before = process.cpu();
    sleep(seconds).await;
    let cpu = (process.cpu() - before).as_secs_f64() / seconds.as_secs_f64();
    let seen = world.fleet.control().faults().recorded();
    let resident = process.resident();
    process.stop().await;
    let floor = floor_of(kubeconfig, size, seconds).await;
    let mut by: BTreeMap<String, usize> = BTreeMap::new();
    for request in seen.iter().filter(|request| request.resource != "leases") {
        *by.entry(format!("{} {}", request.verb, request.resource)).or_default() += 1;
    }
    let minute = |count: usize| count as f64 * 60.0 / seconds.as_secs_f64();
    let requests = minute(by.values().sum());
    println!(
        "{what:<34} {requests:>14.0} {:>10} {:>9.2}% {:>9.2}% {resident:>8.1}",
        UPSTREAM * size.objects,
        cpu * 100.0,
        floor * 100.0
    );
    if std::env::var_os("FHPA_BENCH_LOG").is_some() {
        println!("    {by:?}");
    }
}

/// The part of a core that the bare lists take.
async fn floor_of(kubeconfig: &Path, size: Size, seconds: Duration) -> f64 {
    let mut process = Process::start(&["floor", kubeconfig.to_str().unwrap(), &size.namespaces.to_string()]);
    process.told("begun").await;
    let before = process.cpu();
    sleep(seconds).await;
    let cpu = (process.cpu() - before).as_secs_f64() / seconds.as_secs_f64();
    process.stop().await;
    cpu
}
