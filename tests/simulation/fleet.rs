//! Scenarios for the laws.

use std::collections::BTreeMap;

use fhpa::decision::capacity::{Amounts, Demand, Summary};
use fhpa::decision::fleet::api_enablements::GroupVersionKind;
use fhpa::decision::fleet::candidates::Intent;
use fhpa::decision::fleet::placement::Placement;
use fhpa::decision::fleet::{Member, Readiness};
use fhpa::decision::hpa::metric::{Source, Target};
use fhpa::decision::plan::{Bounds, HpaVersion, Policy, Request};
use fhpa::decision::subject::federated_hpa::{Assignment, ClusterAffinity, ClusterAutoscalingPreference};
use fhpa::simulation::{
    Curve, Disruption, Driver, Fault, Growth, Point, Scenario, Second, Sharing, Site, Start, Timing, Workload, one_pod,
};
use jiff::SignedDuration;
use proptest::prelude::*;

pub const NAMES: [&str; 5] = ["d", "a", "e", "c", "b"];

/// What a scenario borrows, and the scenario without it.
#[derive(Clone, Debug)]
pub struct Given {
    assignment: Assignment<'static>,
    placement: Placement<'static>,
    pub total: Bounds,
    pub policy: Policy,
    pub zero: bool,
    pub assist: bool,
    pub delay: i64,
    pub sites: Vec<Site<'static>>,
    /// Those of each cluster at the start.
    pub replicas: Vec<Option<u32>>,
    pub points: Vec<Point>,
    pub noise: u8,
    pub shared: bool,
    pub faults: Vec<Fault>,
    pub duration: Second,
}

impl Given {
    pub fn scenario(&self) -> Scenario<'_> {
        let names = self.sites.iter().map(|site| &*site.member.name);
        let workload = Workload {
            name: "shop".into(),
            asked: Request {
                total: self.total,
                scaling_to_zero: self.zero,
                scale_assist: self.assist,
                delay: SignedDuration::from_secs(self.delay),
                ..Request::default()
            },
            intent: Intent {
                assignment: Some(&self.assignment),
                kind: GroupVersionKind::default(),
                affinity: None,
                placement: &self.placement,
                observed_group: "",
                neighbours: <_>::default(),
            },
            policy: Some(self.policy),
            driver: Driver::Controller,
            metric: (Source::Resource { name: "cpu".into() }, Target::Utilization(80)),
            behavior: None,
            saturation: 1250,
            pod_start: 10,
            each: one_pod(),
            priority: 0,
            load: Curve { points: self.points.clone(), daily: None, noise: self.noise, seed: 1 },
            shares: if self.shared { names.zip(1..).collect() } else { BTreeMap::new() },
            starts: self.replicas.iter().map(|replicas| Start { replicas: *replicas, usage: None }).collect(),
        };
        Scenario {
            workloads: vec![workload],
            sharing: Sharing::Ledger,
            sites: self.sites.clone(),
            faults: self.faults.clone(),
            timing: Timing { downscale_window: 60, unready: 120, ..Timing::default() },
            duration: self.duration,
        }
    }
}

/// Room for so many replicas.
pub fn pods(replicas: u32) -> Amounts {
    Amounts::of(&one_pod(), replicas)
}

fn site(name: &'static str) -> impl Strategy<Value = (Site<'static>, Option<u32>)> {
    let growth = (0..20_u32, 1..5_u32, 10..100_i64);
    (0..20_u32, prop::option::of(growth), prop::option::of(0..6_u32), any::<bool>()).prop_map(
        move |(capacity, growth, replicas, writable)| {
            let step = |step| Demand::from_iter([("pods".to_owned(), i128::from(step) * 1000)]);
            let site = Site {
                member: Member { name: name.into(), readiness: Readiness::Ready, ..Member::default() },
                version: HpaVersion::V2,
                capacity: pods(capacity),
                growth: growth.map(|(more, each, delay)| Growth {
                    capacity: pods(capacity + more),
                    step: step(each),
                    delay,
                }),
                pod_start: None,
                writable,
            };
            (site, replicas)
        },
    )
}

fn fault(clusters: usize, duration: Second) -> impl Strategy<Value = Fault> {
    let trouble = prop_oneof![
        2 => (0..clusters).prop_map(Disruption::Down),
        1 => Just(Disruption::ControlPlaneDown),
        1 => (prop::option::of(0..clusters), 1..90_i64).prop_map(|(at, by)| Disruption::Late(at, by)),
    ];
    (trouble, 0..duration, 1..duration / 2).prop_map(|(trouble, from, long)| Fault { from, to: from + long, trouble })
}

/// Any fleet under any load; `faults` of them at most.
pub fn any_scenario(faults: usize) -> impl Strategy<Value = Given> {
    (1..=NAMES.len()).prop_flat_map(move |count| {
        let duration = 1500;
        let sites: Vec<_> = NAMES[..count].iter().map(|name| site(name)).collect();
        let told = prop::collection::vec((0..4_i64, prop::option::of(0..3_i32)), count);
        let point = (0..duration, 0..300_i64, 0..60_000_u64);
        let world = (
            sites,
            told,
            prop::collection::vec(point, 1..5),
            prop::collection::vec(fault(count, duration), 0..=faults),
        );
        let wish = (1..8_u32, 0..40_u32, prop::sample::select(Policy::ALL.to_vec()), any::<[bool; 3]>(), 0..90_i64);
        (world, wish).prop_map(move |((sites, told, points, faults), (min, more, policy, flags, delay))| {
            let (sites, replicas): (Vec<Site<'static>>, Vec<Option<u32>>) = sites.into_iter().unzip();
            let preference = |(site, (weight, priority)): (&Site<'static>, (i64, Option<i32>))| {
                let clusters = ClusterAffinity { cluster_names: vec![site.member.name.clone()], ..<_>::default() };
                ClusterAutoscalingPreference {
                    target_cluster: Some(clusters),
                    static_weight: Some(weight),
                    priority,
                    min_threshold: None,
                    max_threshold: None,
                }
            };
            let preferences = sites.iter().zip(told).map(preference).collect();
            let mut points: Vec<Point> = points.into_iter().map(|(at, ramp, load)| Point { at, ramp, load }).collect();
            points.sort_by_key(|point| point.at);
            points[0].at = 0;
            Given {
                assignment: Assignment { type_: policy.name().into(), preferences },
                placement: Placement::default(),
                total: Bounds { min, max: min + more },
                policy,
                zero: flags[0],
                assist: flags[1],
                delay,
                sites,
                replicas,
                points,
                noise: 0,
                shared: flags[2],
                faults,
                duration,
            }
        })
    })
}

/// A fleet with room and budget for everything, for a day; the load is a part of what fits, and wanders about it.
pub fn any_calm() -> impl Strategy<Value = Given> {
    let policies = vec![Policy::DynamicWeighted, Policy::Aggregated, Policy::Prioritized];
    let site = (10..40_u32, 0..2_i32, any::<bool>());
    let sites = prop::collection::vec(site, 2..=NAMES.len());
    let wish = (prop::sample::select(policies), any::<bool>(), 0..20_u32, 1..3_u32);
    (sites, wish, 20..60_u64, 1..8_u8).prop_map(|(told, (policy, equal, more, min), percent, noise)| {
        let first = told[0].0;
        let sites: Vec<Site<'static>> = NAMES
            .iter()
            .zip(&told)
            .map(|(name, (capacity, _, writable))| Site {
                member: Member { name: (*name).into(), readiness: Readiness::Ready, ..Member::default() },
                version: HpaVersion::V2,
                capacity: pods(if equal { first } else { *capacity }),
                growth: None,
                pod_start: None,
                writable: *writable,
            })
            .collect();
        let fits: u32 = sites.iter().map(|site| Summary::idle(&site.capacity).whole(&one_pod())).sum();
        let preferences = sites.iter().zip(&told).map(|(site, (_, priority, _))| ClusterAutoscalingPreference {
            target_cluster: Some(ClusterAffinity { cluster_names: vec![site.member.name.clone()], ..<_>::default() }),
            static_weight: None,
            priority: Some(*priority),
            min_threshold: None,
            max_threshold: None,
        });
        Given {
            assignment: Assignment { type_: policy.name().into(), preferences: preferences.collect() },
            placement: Placement::default(),
            total: Bounds { min, max: fits + more },
            policy,
            zero: false,
            assist: true,
            delay: 0,
            points: vec![Point { at: 0, ramp: 0, load: u64::from(fits) * 10 * percent }],
            noise,
            shared: false,
            faults: Vec::new(),
            duration: 86_400,
            replicas: vec![Some(1); sites.len()],
            sites,
        }
    })
}
