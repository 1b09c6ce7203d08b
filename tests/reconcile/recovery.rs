//! What is corrected after a restore, decided on what was restored and what members have.

use std::collections::{BTreeMap, BTreeSet};

use fhpa::decision::plan::Bounds;
use fhpa::install::kinds::{ScaledType, customizations};
use fhpa::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use fhpa::recovery::correction::{Correction, Division, Uncorrected, corrections, uncorrected};
use fhpa::recovery::kinds::Kinds;
use fhpa::recovery::workload::{
    Member, MemberHpa, ReplicasPlace, Scaler, StoredBinding, StoredHpa, StoredWork, SurveyedWorkload, Template,
};
use serde_json::{Value, json};

const fn bounds(min: u32, max: u32) -> Bounds {
    Bounds { min, max }
}

fn stored(min: u32, max: u32) -> StoredHpa {
    let bounds = bounds(min, max);
    StoredHpa { name: "web".into(), version: "7".into(), deleting: false, bounds, outstanding: max, held: false }
}

fn work(replicas: i64) -> StoredWork {
    StoredWork {
        name: "web".into(),
        version: "8".into(),
        deleting: false,
        replicas: Some(replicas),
        place: Some(ReplicasPlace { path: "/spec/replicas".into(), missing: 0 }),
        kept: true,
        retained: true,
    }
}

fn member(replicas: u32, min: u32, max: u32) -> Member {
    let hpa = MemberHpa { bounds: bounds(min, max), held: false, token: "5".into() };
    Member { replicas: Some(replicas), hpa: Some(hpa) }
}

fn federated(max: i32) -> Scaler {
    let object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"}, "spec": {"maxReplicas": max, "mode": "Distributed",
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let entry = FederatedHpaEntry::of(&serde_json::from_value(object).unwrap());
    Scaler::Distributed { hpa: Box::new(entry), taken: true }
}

/// Two clusters, restored as they are: 4 and 6 replicas of at most 20.
fn settled() -> SurveyedWorkload {
    let both = |one: &str, other: &str| [one.to_owned(), other.to_owned()];
    let [one, two] = both("m1", "m2");
    SurveyedWorkload {
        scaler: federated(20),
        template: Template { retained: true, ..Template::default() },
        binding: StoredBinding {
            entries: vec![(one.clone(), 3), (two.clone(), 3)],
            counted: true,
            suspended: true,
            marked: Some("web".into()),
            ..StoredBinding::default()
        },
        duplicated: false,
        works: [(one.clone(), work(3)), (two.clone(), work(3))].into(),
        hpas: [(one.clone(), stored(1, 10)), (two.clone(), stored(1, 10))].into(),
        members: [(one, member(4, 1, 10)), (two, member(6, 1, 10))].into(),
    }
}

fn changed(change: impl FnOnce(&mut SurveyedWorkload)) -> Vec<Correction> {
    let mut seen = settled();
    change(&mut seen);
    corrections(&seen)
}

fn hpa(cluster: &str, from: Option<Bounds>, to: Bounds, token: Option<&str>) -> Correction {
    let (cluster, token) = (cluster.to_owned(), token.map(str::to_owned));
    Correction::Hpa { cluster, from, to, held: false, token }
}

fn entries(all: &[(&str, i32)]) -> Vec<(String, i32)> {
    all.iter().map(|(name, replicas)| ((*name).to_owned(), *replicas)).collect()
}

#[test]
fn what_is_as_the_members_have_it_is_not_written() {
    assert_eq!(corrections(&settled()), []);
}

#[test]
fn bounds_follow_the_members_and_max_replicas_what_they_allow_together() {
    let found = changed(|seen| {
        seen.members.insert("m1".into(), member(14, 2, 18));
    });
    let raised = Correction::MaxReplicas { from: 20, to: 28 };
    assert_eq!(found, [hpa("m1", Some(bounds(1, 10)), bounds(2, 18), Some("5")), raised]);
}

#[test]
fn under_duplicated_each_cluster_may_run_all() {
    let found = changed(|seen| {
        seen.duplicated = true;
        seen.members.insert("m1".into(), member(14, 2, 18));
    });
    assert_eq!(found, [hpa("m1", Some(bounds(1, 10)), bounds(2, 18), Some("5"))]);
}

#[test]
fn a_cluster_without_an_hpa_keeps_bounds_that_allow_what_runs() {
    let alone = |replicas| {
        changed(|seen| {
            seen.members.insert("m1".into(), Member { replicas: Some(replicas), hpa: None });
        })
    };
    assert_eq!(alone(4), []);
    let raised = Correction::MaxReplicas { from: 20, to: 23 };
    assert_eq!(alone(13), [hpa("m1", Some(bounds(1, 10)), bounds(1, 13), None), raised]);
}

#[test]
fn a_cluster_without_the_workload_gets_neither_an_entry_nor_an_hpa() {
    let found = changed(|seen| {
        seen.members.insert("m1".into(), Member::default());
    });
    let division = Division { entries: entries(&[("m2", 3)]), stay: BTreeSet::new(), replicas: None, suspend: false };
    let gone = Correction::NoHpa { cluster: "m1".into(), from: bounds(1, 10) };
    assert_eq!(found, [gone, Correction::Binding(division)]);
}

#[test]
fn an_eviction_ends_where_the_workload_runs_and_goes_on_where_it_does_not() {
    let found = changed(|seen| {
        seen.binding.entries = entries(&[("m2", 3)]);
        seen.binding.evicted = ["m1".to_owned(), "m3".to_owned()].into();
        seen.members.insert("m3".into(), Member::default());
    });
    let division = Division {
        entries: entries(&[("m2", 3), ("m1", 4)]),
        stay: ["m1".to_owned()].into(),
        replicas: None,
        suspend: false,
    };
    assert_eq!(found, [Correction::Binding(division)]);
}

#[test]
fn a_work_that_is_being_deleted_does_not_take_the_workload_with_it() {
    let found = changed(|seen| {
        seen.works.get_mut("m1").unwrap().deleting = true;
    });
    assert_eq!(found, [Correction::Keep { cluster: "m1".into() }]);
}

#[test]
fn a_cluster_that_is_left_out_stays_as_it_is_stored() {
    let found = changed(|seen| {
        seen.members.remove("m1");
        seen.binding.evicted = ["m1".to_owned()].into();
    });
    assert_eq!(found, []);
}

#[test]
fn a_held_hpa_stays_held_and_a_max_that_was_not_confirmed_counts() {
    let found = changed(|seen| {
        seen.members.get_mut("m1").unwrap().hpa.as_mut().unwrap().held = true;
        seen.hpas.get_mut("m2").unwrap().outstanding = 5;
    });
    let same = Some(bounds(1, 10));
    let held = Correction::Hpa {
        cluster: "m1".into(),
        from: same,
        to: bounds(1, 10),
        held: true,
        token: Some("5".to_owned()),
    };
    assert_eq!(found, [held, hpa("m2", same, bounds(1, 10), Some("5"))]);
}

#[test]
fn a_workload_that_karmada_divides_gets_the_replicas_that_run() {
    let whole = |duplicated| whole(|seen| seen.duplicated = duplicated);
    let manifest = |cluster: &str, replicas| Correction::Manifest { cluster: cluster.into(), replicas, retain: false };
    let division = |replicas| {
        let entries = entries(&[("m1", 4), ("m2", 6)]);
        Correction::Binding(Division { entries, stay: BTreeSet::new(), replicas, suspend: false })
    };
    let replicas = Correction::Replicas { from: 6, to: 10 };
    assert_eq!(whole(false), [replicas, manifest("m1", 4), manifest("m2", 6), division(Some(10))]);
    assert_eq!(whole(true), [manifest("m1", 4), manifest("m2", 6), division(None)]);
}

fn whole(change: impl FnOnce(&mut SurveyedWorkload)) -> Vec<Correction> {
    changed(|seen| {
        seen.scaler = Scaler::Whole;
        seen.template.replicas = Some(6);
        seen.binding.replicas = Some(6);
        change(seen);
    })
}

#[test]
fn of_a_kind_that_karmada_does_not_divide_each_cluster_gets_the_replicas_of_the_template() {
    let found = whole(|seen| {
        seen.binding.counted = false;
        seen.binding.replicas = None;
        seen.binding.entries = entries(&[("m1", 0), ("m2", 0)]);
        seen.members = [("m1".to_owned(), member(8, 1, 10)), ("m2".to_owned(), member(8, 1, 10))].into();
    });
    let manifest = |cluster: &str| Correction::Manifest { cluster: cluster.into(), replicas: 8, retain: false };
    assert_eq!(found, [Correction::Replicas { from: 6, to: 8 }, manifest("m1"), manifest("m2")]);
}

fn told(change: impl FnOnce(&mut SurveyedWorkload)) -> Vec<(String, Uncorrected)> {
    let mut seen = settled();
    change(&mut seen);
    uncorrected(&seen).map(|(cluster, why)| (cluster.clone(), why)).collect()
}

fn hide(seen: &mut SurveyedWorkload) {
    seen.works.values_mut().for_each(|work| (work.place, work.replicas) = (None, None));
}

fn both(why: Uncorrected) -> Vec<(String, Uncorrected)> {
    ["m1", "m2"].map(|cluster| (cluster.to_owned(), why)).to_vec()
}

#[test]
fn a_work_of_a_kind_whose_replicas_are_at_an_unknown_place_is_told_and_not_written() {
    let found = whole(hide);
    assert!(!found.iter().any(|one| matches!(one, Correction::Manifest { .. })), "{found:?}");
    let unknown = |seen: &mut SurveyedWorkload| {
        hide(seen);
        seen.scaler = Scaler::Whole;
    };
    assert_eq!(told(unknown), both(Uncorrected::Unknown));
    assert_eq!(told(hide), [], "members keep what they run");
    let away = |seen: &mut SurveyedWorkload| {
        unknown(seen);
        seen.members.insert("m1".into(), Member::default());
        seen.works.remove("m2");
    };
    assert_eq!(told(away), [], "what does not run there, and what has no Work");
}

#[test]
fn a_workload_whose_replicas_members_do_not_keep_is_told() {
    let unkept = |seen: &mut SurveyedWorkload| seen.works.values_mut().for_each(|work| work.kept = false);
    assert_eq!(told(unkept), both(Uncorrected::Unkept));
    let left_out = |seen: &mut SurveyedWorkload| {
        unkept(seen);
        seen.members.remove("m1");
    };
    assert_eq!(told(left_out), [("m2".to_owned(), Uncorrected::Unkept)]);
    let untaken = |seen: &mut SurveyedWorkload| {
        unkept(seen);
        let Scaler::Distributed { hpa, .. } = federated(20) else { panic!("it is Distributed") };
        seen.scaler = Scaler::Distributed { hpa, taken: false };
        seen.members.values_mut().for_each(|member| member.hpa = None);
    };
    assert_eq!(told(untaken), [], "Karmada divides it");
}

#[test]
fn the_replicas_of_a_manifest_are_where_the_customization_of_its_kind_keeps_them() {
    let mut kinds = Kinds::default();
    let scaled = ScaledType {
        api_version: "shop.example.com/v1".into(),
        kind: "Store".into(),
        replicas: ".spec.size.count".into(),
    };
    for customization in customizations(&[scaled]) {
        kinds.customized(&serde_json::from_value(customization).unwrap());
    }
    let work = |api_version: &str, kind: &str, spec: Value| {
        let manifest = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "web"}, "spec": spec});
        let annotations =
            json!({"resourcebinding.karmada.io/namespace": "prod", "resourcebinding.karmada.io/name": "web-store"});
        let work = json!({"metadata": {"name": "web-1", "annotations": annotations},
            "spec": {"workload": {"manifests": [manifest]}}});
        StoredWork::of(&serde_json::from_value(work).unwrap(), &kinds).unwrap().1
    };
    let store = |spec: Value| work("shop.example.com/v1", "Store", spec);
    let there = store(json!({"size": {"count": 7}}));
    assert_eq!((there.replicas, there.kept), (Some(7), true));
    assert_eq!(there.place.unwrap().with(9), ("/spec/size/count", json!(9)));
    let absent = store(json!({"other": 1}));
    assert_eq!((absent.replicas, absent.place.unwrap().with(9)), (None, ("/spec/size", json!({"count": 9}))));
    let other = work("shop.example.com/v1", "Shelf", json!({"replicas": 3}));
    assert_eq!((other.place, other.replicas, other.kept), (None, None, false));
    let native = work("apps/v1", "ReplicaSet", json!({"replicas": 3}));
    assert_eq!((native.replicas, native.kept), (Some(3), false));
    assert!(work("apps/v1", "Deployment", json!({})).kept);
}

#[test]
fn what_runs_nowhere_and_what_was_never_taken_over_is_karmadas() {
    let nowhere = changed(|seen| {
        seen.members = BTreeMap::from(["m1", "m2"].map(|name| (name.to_owned(), Member::default())));
    });
    assert_eq!(nowhere, []);
    let never = changed(|seen| {
        let Scaler::Distributed { hpa, .. } = federated(2) else { panic!("it is Distributed") };
        seen.scaler = Scaler::Distributed { hpa, taken: false };
        seen.members.values_mut().for_each(|member| member.hpa = None);
    });
    assert_eq!(never, []);
}

#[test]
fn bounds_and_hold_of_a_member_are_read_in_both_versions() {
    let of = |spec: Value, annotations: Value| {
        MemberHpa::of(&json!({"metadata": {"annotations": annotations}, "spec": spec}))
    };
    let mark = json!({"fhpa.karmada.io/write-id": "9"});
    let newer = of(json!({"maxReplicas": 4, "behavior": {"scaleDown": {"selectPolicy": "Disabled"}}}), mark.clone());
    assert_eq!(newer, MemberHpa { bounds: bounds(1, 4), held: true, token: "9".into() });
    let mut older = mark;
    older["autoscaling.alpha.kubernetes.io/behavior"] = json!(r#"{"scaleDown":{"selectPolicy":"Disabled"}}"#);
    let older = of(json!({"minReplicas": 2, "maxReplicas": 4}), older);
    assert_eq!(older, MemberHpa { bounds: bounds(2, 4), held: true, token: "9".into() });
}
