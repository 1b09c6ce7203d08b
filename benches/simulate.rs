//! A day of a thousand clusters and a million pods in virtual time: wall time, decisions per second, writes per minute.
//! `cargo bench --bench simulate -- 2` simulates two hours instead, up to the peak.

#![allow(missing_docs, clippy::unwrap_used, clippy::pedantic, clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::time::Instant;

use fhpa::decision::capacity::Amounts;
use fhpa::decision::fleet::api_enablements::GroupVersionKind;
use fhpa::decision::fleet::candidates::Intent;
use fhpa::decision::fleet::placement::Placement;
use fhpa::decision::fleet::{Member, Readiness};
use fhpa::decision::hpa::metric::{Source, Target};
use fhpa::decision::plan::{Bounds, HpaVersion, Policy, Request};
use fhpa::simulation::{
    Curve, Daily, Disruption, Driver, Fault, Scenario, Sharing, Site, Start, Timing, Workload, one_pod, run,
};
use jiff::SignedDuration;

const CLUSTERS: u32 = 1_000;
const PODS: u32 = 1_000_000;
const HOURS: i64 = 24;

fn site(number: u32) -> Site<'static> {
    let name = format!("member-{number:04}").into();
    Site {
        member: Member { name, readiness: Readiness::Ready, ..Member::default() },
        version: HpaVersion::V2,
        // From 700 to 1,300 replicas.
        capacity: Amounts::of(&one_pod(), 700 + (number * 37) % 601),
        growth: None,
        pod_start: None,
        writable: true,
    }
}

fn main() {
    let placement = Placement::default();
    let kind = GroupVersionKind::default();
    let intent = Intent {
        assignment: None,
        kind,
        affinity: None,
        placement: &placement,
        observed_group: "",
        neighbours: <_>::default(),
    };
    let hour = 3600;
    let hours = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(HOURS).clamp(1, HOURS);
    let down = |at, from, to| Fault { from: from * hour, to: to * hour, trouble: Disruption::Down(at) };
    println!("{CLUSTERS} clusters, up to {PODS} pods, {hours} hours, debug = {}", cfg!(debug_assertions));
    for policy in Policy::ALL {
        let workload = Workload {
            name: "shop".into(),
            asked: Request {
                total: Bounds { min: 10_000, max: PODS },
                scale_assist: true,
                delay: SignedDuration::from_secs(60),
                ..Request::default()
            },
            intent,
            policy: Some(policy),
            driver: Driver::Controller,
            metric: (Source::Resource { name: "cpu".into() }, Target::Utilization(80)),
            behavior: None,
            saturation: 1250,
            pod_start: 20,
            each: one_pod(),
            priority: 0,
            load: Curve {
                daily: Some(Daily { low: 150_000_000, high: 950_000_000, peak: 13.min(hours) * hour }),
                noise: 3,
                seed: 1,
                ..Curve::default()
            },
            shares: BTreeMap::new(),
            starts: vec![Start { replicas: Some(200), usage: None }; CLUSTERS as usize],
        };
        let scenario = Scenario {
            workloads: vec![workload],
            sharing: Sharing::Ledger,
            sites: (0..CLUSTERS).map(site).collect(),
            faults: vec![down(3, 8, 10), down(500, 12, 13), down(77, 18, 19)],
            timing: Timing::default(),
            duration: hours * hour,
        };
        let begin = Instant::now();
        let mut peak = 0;
        let figures = run(&scenario, |frame| peak = peak.max(frame.in_effect()));
        let wall = begin.elapsed().as_secs_f64();
        println!(
            "{:<16} {wall:>7.1} s wall, {:>6} decisions ({:.0}/s), {} writes ({:.1}/minute, {} in the busiest), peak {} pods, \
             sum of max {peak}, served {:.2}%",
            policy.name(),
            figures.decisions,
            figures.decisions as f64 / wall,
            figures.writes,
            figures.writes as f64 / (60 * hours) as f64,
            figures.busiest_minute,
            figures.peak_replicas,
            figures.served() as f64 / 100.0,
        );
    }
}
