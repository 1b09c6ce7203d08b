//! Beside Karmada's own FederatedHPA controller: the same objects under the same load, first with it, then with fhpa.

mod chart;
mod cost;
pub(super) mod curves;
mod timeline;

use serde_json::Value;

use super::upkeep::karmada_applies_its_own;
use crate::both::{World as _, federated};
use crate::observer::Observer;
use crate::operator::Fhpa;
use crate::stand::Stand;
use crate::upstream::Adapter;
use timeline::{Run, SHOP, WEB, follow, is_near, play};

/// What both controllers run with: a short period, so that a story is short.
pub(super) const PACE: [&str; 4] = [
    "--horizontal-pod-autoscaler-sync-period=2s",
    "--horizontal-pod-autoscaler-downscale-stabilization=6s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
];

/// fhpa leaves, and Karmada's own controllers run at this pace.
pub(super) async fn only_karmada(stand: &mut Stand, pace: &[&str]) -> Adapter {
    stand.fhpa.does(&stand.lab, "uninstall", &["--yes"]);
    stand.fhpa.kill_all();
    karmada_applies_its_own(stand).await;
    let adapter = Adapter::start(&stand.lab).await;
    stand.lab.manage_with("*", pace);
    adapter
}

/// Karmada's own controllers end, and fhpa runs at this pace.
pub(super) async fn only_fhpa(stand: &mut Stand, adapter: Adapter, pace: &[&str]) {
    adapter.stop(&stand.lab).await;
    stand.lab.manage(true);
    stand.fhpa = Fhpa::start(&stand.lab, pace).await;
    // The laws are those of fhpa.
    stand.observer = Observer::start(&stand.lab);
}

/// A FederatedHPA as its user writes it for one of the two.
fn object(mode: Option<&str>, name: &str, kind: &str, most: u32, more: Value) -> Value {
    let mut object = federated(name, 1, most, more);
    object["spec"]["scaleTargetRef"]["kind"] = kind.into();
    if let Some(mode) = mode {
        object["spec"]["mode"] = mode.into();
    }
    object
}

pub(super) async fn active(stand: &Stand, name: &str) {
    stand
        .soon(&format!("{name} is computed"), async |stand| {
            let hpa = stand.hpa(name).await.unwrap_or_default();
            let conditions = hpa["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|one| one["type"] == "ScalingActive" && one["status"] == "True")
        })
        .await;
}

/// Plateaus are the same where Karmada is right. Where it is not, fhpa keeps what the load needs.
pub async fn replicas_differ_only_where_it_is_wrong(stand: &mut Stand) {
    let adapter = only_karmada(stand, &PACE).await;
    let theirs = play(stand, None).await;
    only_fhpa(stand, adapter, &PACE).await;
    let ours = play(stand, Some("Centralized")).await;
    for run in [&theirs, &ours] {
        run.print();
    }
    if let Some(path) = std::env::var_os("FHPA_BESIDE_CHART") {
        std::fs::write(path, chart::draw(&theirs, &ours)).unwrap();
    }
    stand.fhpa.kill_all();
    stand.fhpa = Fhpa::start(&stand.lab, &[]).await;
    equal_where_karmada_is_right(&theirs, &ours);
    differ_where_it_is_wrong(&theirs, &ours);
}

fn equal_where_karmada_is_right(theirs: &Run, ours: &Run) {
    for run in [theirs, ours] {
        let phases = ["step", "ramp", "after the spike", "all answer", "metrics are back"];
        let plateaus = phases.map(|phase| (phase, SHOP, run.needed(phase)));
        for (phase, name, needed) in plateaus.into_iter().chain([("two metrics", follow::NAME, 9)]) {
            let replicas = run.at_end(phase, name);
            assert!(is_near(replicas, needed), "{}: {name} has {replicas} at the end of {phase}", run.name);
        }
        let most = run.most("spike", SHOP);
        assert!(is_near(most, 27), "{}: {most} in the spike", run.name);
    }
}

fn differ_where_it_is_wrong(theirs: &Run, ours: &Run) {
    // 29: `web-0` of two clusters is one pod to Karmada, the busy one or the idle one.
    assert!(theirs.values(WEB).any(|replicas| replicas != 4), "{:?}", theirs.values(WEB).collect::<Vec<_>>());
    assert!(ours.values(WEB).all(|replicas| replicas == 4), "{:?}", ours.values(WEB).collect::<Vec<_>>());
    // 30: what a cluster without metrics, or a lost one, runs is estimated from the others, which are idle.
    for phase in ["member3 has no metrics", "member3 is lost"] {
        assert!(theirs.least(phase, SHOP) < theirs.at_start(phase, SHOP), "{phase}: Karmada removes replicas");
        assert!(ours.least(phase, SHOP) >= ours.at_start(phase, SHOP), "{phase}: fhpa removes none");
        assert!(theirs.least(phase, SHOP) < theirs.needed(phase), "{phase}: they are needed");
    }
    // While copies are on their way, the estimate goes on: Karmada overshoots.
    let back = "member3 is back";
    assert!(theirs.most(back, SHOP) > theirs.at_start(back, SHOP), "Karmada adds what it removed");
    assert!(is_near(ours.most(back, SHOP), ours.needed(back)) && is_near(ours.least(back, SHOP), ours.needed(back)));
    // 34: after an outage Karmada waits as long as it lasted; here it is the next period.
    let reaction = |run: &Run| run.reaction("metrics are back", SHOP).expect("it reacts").as_secs_f64();
    let (their, our) = (reaction(theirs), reaction(ours));
    assert!(our < 6.0 && their > 2.0 * our, "after an outage: Karmada {their:.1} s, fhpa {our:.1} s");
}

/// Requests of a period: Karmada's grow with each object and each of its members.
pub async fn requests_do_not_grow_with_the_objects(stand: &mut Stand) {
    let adapter = only_karmada(stand, &PACE).await;
    let theirs = cost::measure(stand, None, Some(&adapter)).await;
    only_fhpa(stand, adapter, &PACE).await;
    let ours = cost::measure(stand, Some("Centralized"), None).await;
    cost::print(&theirs, &ours);
    stand.fhpa.kill_all();
    stand.fhpa = Fhpa::start(&stand.lab, &[]).await;
    // One list for each cluster and period, whatever the number of objects; Karmada asks for each object.
    let (one, many) = (ours[0].0.a_minute(), ours[1].0.a_minute());
    assert!(one > 0.0 && many < 1.5 * one, "{ours:?}");
    let (one, many) = (theirs[0].0.a_minute(), theirs[1].0.a_minute());
    assert!(many > 5.0 * one, "{theirs:?}");
}
