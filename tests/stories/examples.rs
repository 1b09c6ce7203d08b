//! The manifests of `examples/`, each given to an embedded Karmada as it stands, do what their comments say. Their
//! times of day pass in virtual time.

use fhpa::playground::json::{int, items, text};
use fhpa::playground::objects::{Kind, Objects};
use serde_json::Value;

use super::Process;
use super::distributed::{Stage, kind};

const FILES: [(&str, &str); 5] = [
    ("business-hours", include_str!("../../examples/business-hours.yaml")),
    ("data-centre-first", include_str!("../../examples/data-centre-first.yaml")),
    ("evening-peak", include_str!("../../examples/evening-peak.yaml")),
    ("one-computation", include_str!("../../examples/one-computation.yaml")),
    ("web-shop", include_str!("../../examples/web-shop.yaml")),
];

fn controller(stage: &Stage) -> Process {
    stage.controller_by_room("one")
}

/// An example that is applied, of one workload.
struct Example {
    stage: Stage,
    one: Process,
    /// Namespace and name of its workload.
    workload: (String, String),
}

impl Example {
    /// The objects of a file, in their order, on a Karmada as the playground's.
    async fn of(file: &str) -> Self {
        let (_, manifest) = FILES.iter().find(|(name, _)| *name == file).expect("a file of examples/");
        let stage = Stage::new(3).await;
        let mut one = controller(&stage);
        one.leads().await;
        let objects: Vec<Value> = serde_saphyr::from_multiple(manifest).unwrap();
        let workload = objects.iter().find(|object| text(object, "/kind") == "Deployment").unwrap();
        let workload = (text(workload, "/metadata/namespace").to_owned(), text(workload, "/metadata/name").to_owned());
        for object in objects {
            stage.create(object).await;
        }
        stage.pass(60).await;
        Self { stage, one, workload }
    }

    async fn object(&self, kind: &Kind) -> Value {
        let (space, name) = &self.workload;
        self.stage.control.get(kind, space, name).await.unwrap().unwrap_or_default()
    }

    /// Replicas of the workload on the control plane.
    async fn replicas(&self) -> i64 {
        int(&self.object(&kind("Deployment")).await, "/spec/replicas").unwrap_or_default()
    }

    /// Ready replicas and the HPA's bounds in each member: `3 2..30 | 1 1..10 | -`.
    async fn members(&self) -> String {
        let (space, name) = &self.workload;
        let mut all = Vec::new();
        for cluster in self.stage.fleet.names() {
            let objects = Objects::new(self.stage.fleet.member(cluster).unwrap().client());
            let Some(deployment) = objects.get(&kind("Deployment"), space, name).await.unwrap() else {
                all.push("-".to_owned());
                continue;
            };
            let ready = int(&deployment, "/status/readyReplicas").unwrap_or_default();
            let hpa = objects.get(&kind("HorizontalPodAutoscaler"), space, name).await.unwrap();
            let bound = |hpa: &Value, which: &str| int(hpa, &format!("/spec/{which}")).unwrap_or_default();
            let bounds = hpa.map(|hpa| format!(" {}..{}", bound(&hpa, "minReplicas"), bound(&hpa, "maxReplicas")));
            all.push(format!("{ready}{}", bounds.unwrap_or_default()));
        }
        all.join(" | ")
    }

    /// Bounds of the FederatedHPA of the workload's name, and `Ready` with its reason.
    async fn federated(&self) -> String {
        let hpa = self.object(&kind("FederatedHPA")).await;
        let bound = |which: &str| int(&hpa, &format!("/spec/{which}")).unwrap_or_default();
        let ready = items(&hpa, "/status/conditions").iter().find(|one| text(one, "/type") == "Ready");
        let ready = ready.map_or(("", ""), |ready| (text(ready, "/status"), text(ready, "/reason")));
        format!("{}..{} {} {}", bound("minReplicas"), bound("maxReplicas"), ready.0, ready.1)
    }

    /// Work for its pods in thousandths of a CPU, and so many seconds.
    async fn load(&self, millicores: i64, seconds: u64) {
        let (space, name) = &self.workload;
        self.stage.fleet.load().set(space, name, millicores);
        self.stage.pass(seconds).await;
    }

    /// A controller that begins half a minute before an instant, and three minutes of it: the hours before are not
    /// waited for.
    async fn at(&mut self, instant: &str) {
        let stopped = std::mem::replace(&mut self.one, controller(&self.stage));
        stopped.kill().await;
        let ahead = super::at(instant).duration_since(self.stage.wall.now()).as_secs();
        self.stage.wall.jump(ahead - 30);
        self.stage.pass(180).await;
    }
}

/// Each with what it shows, at one moment after the other.
async fn shown(example: &Example) -> String {
    format!("{}, {}: {}", example.replicas().await, example.federated().await, example.members().await)
}

#[tokio::test(start_paused = true)]
async fn the_web_shop_scales_in_two_clusters_three_to_one() {
    let shop = Example::of("web-shop").await;
    let mut told = vec![shown(&shop).await];
    shop.load(3600, 300).await;
    told.push(shown(&shop).await);
    let expected = ["2 2..30 | 1 1..10 | -", "20 2..30 | 10 1..10 | -"];
    assert_eq!(told, expected.map(|members| format!("2, 2..40 True MemberHPAsReady: {members}")));
    shop.one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_computation_is_spread_by_karmada() {
    let catalogue = Example::of("one-computation").await;
    let mut told = vec![shown(&catalogue).await];
    catalogue.load(1200, 300).await;
    told.push(shown(&catalogue).await);
    assert_eq!(told, ["2, 2..40 True TargetReady: 1 | 1 | -", "10, 2..40 True TargetReady: 4 | 3 | 3"]);
    catalogue.one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_cloud_takes_over_what_does_not_fit_into_the_data_centre_and_shrinks_to_nothing() {
    let checkout = Example::of("data-centre-first").await;
    let ready = async || -> Vec<i64> {
        let members = checkout.members().await;
        members.split(" | ").map(|member| member.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    assert_eq!(checkout.federated().await, "4..60 True MemberHPAsReady");
    assert_eq!(ready().await[0], 4);
    // The data centre has room for 32 replicas, and 39 are needed.
    checkout.load(7000, 600).await;
    let peak = ready().await;
    assert!(peak[0] >= peak[1] + peak[2] && peak.iter().sum::<i64>() >= 36, "{peak:?}");
    checkout.load(700, 1800).await;
    assert_eq!(ready().await, [4, 0, 0]);
    checkout.one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_bounds_rise_before_the_evening_peak_and_fall_after_it() {
    let mut streaming = Example::of("evening-peak").await;
    let mut told = vec![shown(&streaming).await];
    // 18:45 and 01:00 in Shanghai; the members scale down after a window of five minutes.
    streaming.at("2026-11-20T10:45:00Z").await;
    told.push(shown(&streaming).await);
    streaming.at("2026-11-20T17:00:00Z").await;
    streaming.stage.pass(600).await;
    told.push(shown(&streaming).await);
    let quiet = "5, 5..100 True MemberHPAsReady: 2 2..34 | 2 2..33 | 1 1..33";
    let peak = "5, 50..300 True MemberHPAsReady: 17 17..100 | 17 17..100 | 16 16..100";
    assert_eq!(told, [quiet, peak, quiet]);
    streaming.one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_desk_opens_and_closes_by_its_clocks() {
    let mut desk = Example::of("business-hours").await;
    let mut told = vec![(desk.replicas().await, desk.members().await)];
    // Friday 08:30 and 18:00 in New York, Monday 08:30 in Berlin.
    for instant in ["2026-11-20T13:30:00Z", "2026-11-20T23:00:00Z", "2026-11-23T07:30:00Z"] {
        desk.at(instant).await;
        told.push((desk.replicas().await, desk.members().await));
    }
    let expected = [(3, "1 | 1 | 1"), (35, "12 | 12 | 11"), (3, "1 | 1 | 1"), (20, "7 | 7 | 6")];
    assert_eq!(told, expected.map(|(replicas, members)| (replicas, members.to_owned())));
    desk.one.stop().await;
}

#[test]
fn every_example_is_played() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap();
    let names = files.filter_map(|file| Some(file.unwrap().file_name().to_str()?.strip_suffix(".yaml")?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    assert_eq!(names, FILES.map(|(name, _)| name));
}
