//! etcd of Karmada goes back to a snapshot, as charts/fhpa/docs/day2.md has it.

use fhpa::runtime::clock::steady;
use serde_json::json;

use super::day2::{SPREAD, WHOLE, cleared, fleet};
use crate::both::{MEMBERS, World as _};
use crate::stand::Stand;

/// For how long Karmada alone, and then fhpa, must end no pod.
const REST: u64 = 40;

async fn conditions(stand: &Stand, name: &str) -> String {
    let hpa = stand.hpa(name).await.unwrap_or_default();
    let all = hpa["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let line = |one: &serde_json::Value| format!("{}={} {}; ", one["type"], one["status"], one["reason"]);
    all.iter().map(line).collect()
}

/// `maxReplicas` and what runs have grown since the snapshot, in both modes. The laws look on from before Karmada's
/// controllers start. Between the restore and what the command writes they would judge the snapshot: it allows less than
/// the members have, and nobody wrote that.
pub async fn a_restored_etcd_ends_no_pod(stand: &mut Stand) {
    fleet(stand).await;
    let snapshot = stand.lab.directory.path().join("snapshot");
    stand.lab.etcd.snapshot(&snapshot);

    let edit = |max: u32| json!({"spec": {"maxReplicas": max}});
    stand.edit("FederatedHPA", SPREAD, edit(48)).await;
    for (member, replicas) in [("member1", 10), ("member2", 9), ("member3", 7)] {
        stand.wants(member, SPREAD, replicas);
        stand.wants(member, WHOLE, 4);
    }
    stand.runs(SPREAD, &[("member1", 10), ("member2", 9), ("member3", 7)]).await;
    stand.runs(WHOLE, &MEMBERS.map(|member| (member, 4))).await;
    assert_eq!((stand.note(SPREAD), stand.note(WHOLE)), (26, 12));
    let mut bounds = Vec::new();
    for member in MEMBERS {
        bounds.push(stand.bounds(member, SPREAD).await);
    }

    let begun = steady();
    stand.fhpa.kill_all();
    stand.lab.restore(&snapshot).await;
    println!("  restored after {:.1?}", begun.elapsed());
    stand.fhpa.begin(&["--freeze=restored".into()]);
    stand.leader().await;
    let said = stand.fhpa.does_itself("recover", &["--yes"]);
    println!("  corrected after {:.1?}:\n{said}", begun.elapsed());
    assert!(said.contains("spec.maxReplicas 30 -> ") && said.contains("template: replicas 9 -> 12"), "{said}");
    let again = stand.fhpa.does_itself("recover", &["--yes"]);
    assert!(again.contains("0 of 2 workloads differ"), "{again}");
    stand.observer.restored(&stand.lab).await;

    stand.lab.schedule(true);
    stand.manage(true);
    for member in MEMBERS {
        stand.cluster_is(member, "True").await;
    }
    stand.pass(REST).await;
    println!("  Karmada runs for {REST} s, after {:.1?}", begun.elapsed());
    let (spread, whole) = (stand.least(SPREAD), stand.least(WHOLE));
    assert_eq!((spread, whole), (26, 12), "Karmada ended no pod");
    for (member, before) in MEMBERS.iter().zip(bounds) {
        assert_eq!(stand.bounds(member, SPREAD).await, before, "{member}");
    }

    stand.fhpa.begin(&[]);
    stand.leader().await;
    stand.observer.acts();
    println!("  fhpa decides after {:.1?}", begun.elapsed());
    stand.pass(REST).await;
    stand.edit("FederatedHPA", SPREAD, edit(48)).await;
    stand.soon("it is assigned", async |stand| conditions(stand, SPREAD).await.contains(r#""Ready"="True""#)).await;
    let (spread, whole) = (stand.least(SPREAD), stand.least(WHOLE));
    assert_eq!((spread, whole), (26, 12), "no pod ended: {}", conditions(stand, SPREAD).await);
    stand.wants("member3", SPREAD, 8);
    stand.runs(SPREAD, &[("member3", 8)]).await;
    cleared(stand).await;
}
