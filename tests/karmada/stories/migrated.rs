//! Objects that Karmada's own controllers ran: fhpa takes their status over, and lets go of each in every way.

use fhpa::runtime::clock::steady;
use serde_json::{Value, json};

use super::beside::{PACE, active, only_fhpa, only_karmada};
use crate::both::{MEMBERS, World as _, federated};
use crate::stand::Stand;

const DELETED: &str = "ran-deleted";
const RETARGETED: &str = "ran-retargeted";
const CENTRALIZED: &str = "ran-centralized";
const UNINSTALLED: &str = "ran-uninstalled";
const ALL: [&str; 4] = [DELETED, RETARGETED, CENTRALIZED, UNINSTALLED];
/// Another workload, for the one that is pointed elsewhere.
const OTHER: &str = "ran-other";
/// What a handover takes at most.
const SHORTLY: u64 = 30;

async fn says(stand: &Stand, name: &str, type_: &str) -> String {
    let hpa = stand.hpa(name).await.unwrap_or_default();
    let conditions = hpa["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|one| one["type"] == type_).unwrap_or_default();
    format!("{} {} {}", found["status"], found["reason"], found["message"])
}

fn held(hpa: &Value) -> bool {
    hpa["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

async fn edit(stand: &Stand, name: &str, spec: Value) {
    let change = json!({"spec": spec});
    stand.edit("FederatedHPA", name, change).await;
}

/// Karmada's own controllers run the objects, in the mode that they get.
async fn karmada_runs_them(stand: &Stand) {
    for name in ALL {
        stand.workload(name, 3, &MEMBERS).await;
        stand.each_wants(name, [1; 3]);
        let mut object = federated(name, 1, 9, json!({}));
        object["metadata"]["annotations"] = json!({"fhpa.karmada.io/mode": "Distributed"});
        stand.apply(&object).await;
    }
    stand.workload(OTHER, 3, &MEMBERS).await;
    for name in ALL {
        active(stand, name).await;
        let hpa = stand.hpa(name).await.unwrap();
        assert!(hpa["status"]["currentMetrics"].is_array(), "{name} is run by Karmada: {hpa}");
    }
}

pub async fn what_karmada_ran_is_taken_over_and_let_go(stand: &mut Stand) {
    let adapter = only_karmada(stand, &PACE).await;
    karmada_runs_them(stand).await;
    only_fhpa(stand, adapter, &[]).await;
    let begun = steady();
    for name in ALL {
        let ready = async |stand: &Stand| says(stand, name, "Ready").await.contains("MemberHPAsReady");
        stand.later(SHORTLY, &format!("{name} is Ready"), ready).await;
    }
    println!("  Ready {:.1?} after the leader began", begun.elapsed());
    let ready: Vec<usize> = ALL.iter().map(|name| stand.note(name)).collect();

    let begun = steady();
    stand.delete("FederatedHPA", DELETED).await;
    edit(stand, RETARGETED, json!({"scaleTargetRef": {"name": OTHER}})).await;
    edit(stand, CENTRALIZED, json!({"mode": "Centralized"})).await;
    stand.later(SHORTLY, "it is gone", async |stand| stand.hpa(DELETED).await.is_none()).await;
    let elsewhere = async |stand: &Stand| {
        let hpa = stand.hpa(RETARGETED).await.unwrap_or_default();
        hpa["metadata"]["annotations"]["fhpa.karmada.io/workload"] == format!("apps/v1 Deployment {OTHER}")
    };
    stand.later(SHORTLY, "it scales the other workload", elsewhere).await;
    let centralized = async |stand: &Stand| says(stand, CENTRALIZED, "Ready").await.contains("TargetReady");
    stand.later(SHORTLY, "its mode is switched", centralized).await;
    assert!(!held(&stand.hpa(CENTRALIZED).await.unwrap()), "nothing is left to be handed back");
    println!("  handed back in {:.1?}", begun.elapsed());

    let begun = steady();
    stand.fhpa.does(&stand.lab, "uninstall", &["--yes"]);
    println!("  uninstalled in {:.1?}", begun.elapsed());
    for name in [RETARGETED, CENTRALIZED, UNINSTALLED] {
        assert!(!held(&stand.hpa(name).await.unwrap()), "{name}");
    }
    for (name, ready) in ALL.iter().zip(ready) {
        assert_eq!(stand.least(name), ready, "{name}: no pod was ended");
    }
    stand.restart(&[]).await;
    for name in ALL.into_iter().chain([OTHER]) {
        stand.clear(name).await;
    }
}
