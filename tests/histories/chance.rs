//! Seeded random numbers: they determine the histories. No I/O.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fields::{Field, Meaning};
use super::operation::{History, Oddity, Operation, Stall, Step, Trouble};

/// SplitMix64.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.below(all.len());
        &all[at]
    }

    fn yes(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// Seconds between two steps: within one reaction, between reactions, over the stabilization window.
const WAITS: [u64; 8] = [0, 1, 3, 10, 20, 45, 90, 320];

/// Names of the workloads.
pub const WORKLOADS: [&str; 2] = ["web", "shop"];

/// The history of a seed.
pub fn history(seed: u64, fields: &[Field]) -> History {
    let mut chance = Chance::new(seed);
    let clusters = 2 + u32::try_from(chance.below(3)).unwrap();
    let mut steps = vec![Step {
        what: Operation::Create { workload: "web".into(), spec: spec(&mut chance) },
        then: *chance.one_of(&[1, 20, 45]),
    }];
    if chance.yes(3) {
        steps.extend(departure(&mut chance, clusters));
    }
    let count = 3 + chance.below(10);
    while steps.len() < count {
        let what = operation(&mut chance, clusters, fields);
        steps.push(Step { what, then: *chance.one_of(&WAITS) });
    }
    let guarded = chance.yes(3);
    // Most objects that fhpa meets were there before it.
    let migrated = !Chance::new(seed.rotate_left(32)).yes(3);
    History { clusters, guarded, migrated, odd: odd(seed, clusters), steps }
}

/// One cluster in some fleets. Drawn apart, so that it changes nothing else of a history.
fn odd(seed: u64, clusters: u32) -> BTreeMap<u32, Oddity> {
    let mut chance = Chance::new(!seed);
    let oddity = if chance.yes(6) { Oddity::Pulls } else { Oddity::Old };
    let number = 1 + u32::try_from(chance.below(clusters as usize)).unwrap();
    if oddity == Oddity::Pulls || chance.yes(8) { BTreeMap::from([(number, oddity)]) } else { BTreeMap::new() }
}

/// Pods run in all clusters, and then one leaves the policy.
fn departure(chance: &mut Chance, clusters: u32) -> [Step; 2] {
    let workload = || "web".to_owned();
    let milli = 240 + i64::try_from(chance.below(12)).unwrap() * 60;
    let leaves = chance.below(clusters as usize);
    let mut placement = placement(chance, clusters);
    let stay: Vec<String> =
        names(clusters).into_iter().enumerate().filter(|(at, _)| *at != leaves).map(|(_, name)| name).collect();
    placement.as_object_mut().unwrap().remove("clusterAffinities");
    placement["clusterAffinity"] = json!({"clusterNames": stay});
    [
        Step { what: Operation::Load { workload: workload(), milli }, then: *chance.one_of(&[90, 320]) },
        Step { what: Operation::Place { workload: workload(), placement }, then: *chance.one_of(&WAITS) },
    ]
}

fn names(clusters: u32) -> Vec<String> {
    (1..=clusters).map(|number| format!("member{number}")).collect()
}

/// Fields of a new FederatedHPA beside its target.
fn spec(chance: &mut Chance) -> Value {
    let min = 1 + chance.below(4);
    let max = min + chance.below(16);
    let mut spec = json!({"minReplicas": min, "maxReplicas": max, "mode": "Distributed"});
    if chance.yes(2) {
        let kinds = ["Duplicated", "Aggregated", "StaticWeighted", "DynamicWeighted", "Prioritized"];
        spec["federatedHPAAssignment"] = json!({"federatedHPAAssignmentType": chance.one_of(&kinds)});
    }
    if chance.yes(4) {
        spec["scalingToZero"] = json!(true);
    }
    spec
}

fn operation(chance: &mut Chance, clusters: u32, fields: &[Field]) -> Operation {
    let workload = (*chance.one_of(&["web", "web", "web", "shop"])).to_owned();
    let cluster = 1 + u32::try_from(chance.below(clusters as usize)).unwrap();
    let replica = chance.below(2);
    match chance.below(128) {
        0..=3 => Operation::Create { workload, spec: spec(chance) },
        4..=7 => Operation::Delete { workload },
        8..=27 => edit(chance, workload, fields),
        28..=31 => cron(chance, workload, fields),
        32..=40 => Operation::Place { workload, placement: placement(chance, clusters) },
        41..=44 => {
            Operation::Label { cluster, value: chance.one_of(&[None, Some("gold"), Some("iron")]).map(str::to_owned) }
        }
        45..=47 => {
            let effects = [None, Some("NoSchedule"), Some("NoExecute")];
            Operation::Taint { cluster, effect: chance.one_of(&effects).map(str::to_owned) }
        }
        48..=49 => Operation::Scale { workload, replicas: i64::try_from(chance.below(9)).unwrap() },
        50..=51 => Operation::RollOut { workload, image: format!("web:{}", 2 + chance.below(3)) },
        52 => Operation::Remove { workload },
        53..=55 => Operation::Bring { workload, replicas: i64::try_from(1 + chance.below(6)).unwrap() },
        56 => Operation::DropHpa { workload, cluster },
        57 => Operation::BendHpa { workload, cluster, max: i64::try_from(1 + chance.below(20)).unwrap() },
        58..=73 => Operation::Load { workload, milli: i64::try_from(chance.below(24)).unwrap() * 60 },
        74..=80 => Operation::Fail { cluster, on: !chance.yes(2) },
        81..=82 => Operation::Nodes { cluster, by: *chance.one_of(&[-1, 1]) },
        83..=85 => Operation::Kill { replica },
        86 => Operation::Stop { replica },
        87..=90 => Operation::Start { replica },
        91 => Operation::DropLease,
        92 => Operation::DropWatches,
        93 => Operation::Down { replica, on: !chance.yes(3) },
        94 => Operation::Hang { replica, on: !chance.yes(3) },
        95 => {
            let of = ["", "resourcebindings", "works", "clusters", "federatedhpas"];
            Operation::Stale { replica, on: !chance.yes(3), of: (*chance.one_of(&of)).to_owned() }
        }
        96..=99 => {
            let what = *chance.one_of(&[Trouble::Conflict, Trouble::Internal, Trouble::Lost, Trouble::Late]);
            Operation::Trouble { replica, what, count: 1 + u32::try_from(chance.below(3)).unwrap() }
        }
        _ => surroundings(chance, workload, cluster, replica),
    }
}

/// What happens around fhpa: to Karmada, to the ways, to the definitions.
fn surroundings(chance: &mut Chance, workload: String, cluster: u32, replica: usize) -> Operation {
    match chance.below(28) {
        0..=2 => Operation::Cut { cluster, on: !chance.yes(3) },
        3 => Operation::LoseMetrics { cluster, on: !chance.yes(3) },
        4 if chance.yes(2) => Operation::Unjoin { cluster },
        4 => Operation::Join { cluster },
        5..=6 => Operation::OtherHpa { workload, cluster, on: !chance.yes(3) },
        7..=8 => Operation::ApplicationFailover { workload, on: !chance.yes(4) },
        9..=10 => Operation::Lag { seconds: *chance.one_of(&[0, 20, 120]) },
        11 => Operation::RestartKarmada,
        12..=14 => Operation::Upgrade { on: !chance.yes(3) },
        15 => Operation::SilenceWebhook { on: !chance.yes(3) },
        16..=17 => Operation::Clock { replica, by: *chance.one_of(&[-600, -30, 30, 600]) },
        18..=20 => {
            Operation::Stall { cluster, how: *chance.one_of(&[None, Some(Stall::Pending), Some(Stall::Unready)]) }
        }
        21..=22 => Operation::PlainHpa { workload, on: !chance.yes(3) },
        23 => Operation::Quota { cpu: *chance.one_of(&[None, Some(300), Some(800), Some(1600)]) },
        24 => Operation::Uninstall,
        25..=26 => Operation::Freeze { on: !chance.yes(3) },
        _ => Operation::Install,
    }
}

fn edit(chance: &mut Chance, workload: String, fields: &[Field]) -> Operation {
    let of_kind: Vec<&Field> = fields.iter().filter(|field| field.of == Meaning::Federated).collect();
    let field = chance.one_of(&of_kind);
    let value = if chance.yes(5) { Value::Null } else { chance.one_of(&field.values).clone() };
    Operation::Edit { workload, field: field.path.clone(), value }
}

fn cron(chance: &mut Chance, workload: String, fields: &[Field]) -> Operation {
    match chance.below(4) {
        0 => Operation::DeleteCron { workload },
        1 => {
            let of_kind: Vec<&Field> = fields.iter().filter(|field| field.of == Meaning::Cron).collect();
            let field = chance.one_of(&of_kind);
            Operation::EditCron { workload, field: field.path.clone(), value: chance.one_of(&field.values).clone() }
        }
        _ => {
            let bounds = chance.yes(2);
            let number = 1 + chance.below(9);
            let rule = if bounds {
                json!({"name": "a", "schedule": "*/2 * * * *", "targetMaxReplicas": 9 + number})
            } else {
                json!({"name": "a", "schedule": "*/3 * * * *", "targetReplicas": number})
            };
            Operation::CreateCron { workload, bounds, rules: json!([rule]) }
        }
    }
}

/// A placement over some of the clusters.
fn placement(chance: &mut Chance, clusters: u32) -> Value {
    let all = names(clusters);
    let mut names: Vec<&String> = all.iter().filter(|_| !chance.yes(4)).collect();
    if names.is_empty() {
        names.push(&all[0]);
    }
    let mut placement = match chance.below(8) {
        0 => json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}}}),
        1 => json!({}),
        2 => json!({"clusterAffinities": [{"affinityName": "own", "clusterNames": names},
            {"affinityName": "all", "clusterNames": all}]}),
        _ => json!({"clusterAffinity": {"clusterNames": names}}),
    };
    let weights: Vec<Value> = all
        .iter()
        .map(|name| json!({"targetCluster": {"clusterNames": [name]}, "weight": 1 + chance.below(3)}))
        .collect();
    placement["replicaScheduling"] = match chance.below(5) {
        0 => json!({"replicaSchedulingType": "Duplicated"}),
        1 => json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}),
        2 => json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"}}),
        _ => json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": weights}}),
    };
    if chance.yes(5) {
        placement["clusterTolerations"] =
            json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]);
    }
    if chance.yes(8) {
        placement["spreadConstraints"] = json!([{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}]);
    }
    placement
}
