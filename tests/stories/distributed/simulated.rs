//! The simulator compared with the embedded fleet: the same scenario, the same assignments.

use fhpa::playground::fleet::Plan;
use serde_json::{Value, json};

use super::capacity::node;
use super::help::work;
use super::{Stage, plan, weights};
use crate::cli::command::fhpa;

/// A scenario: what is assigned, and the load before and after a minute.
struct Scenario {
    assignment: Value,
    bounds: (i32, i32),
    /// Replicas at the beginning, and how many fit.
    members: Vec<(i64, i64)>,
    load: (i64, i64),
}

impl Scenario {
    fn spec(&self) -> Value {
        json!({"federatedHPAAssignment": self.assignment})
    }

    /// Bounds of the members after the first minute and at the end, as `fhpa simulate` says.
    fn simulated(&self) -> [String; 2] {
        let clusters: serde_json::Map<String, Value> = self
            .members
            .iter()
            .enumerate()
            .map(|(at, (replicas, fits))| {
                (format!("member{}", at + 1), json!({"capacity": fits, "replicas": replicas}))
            })
            .collect();
        let simulation = json!({"kind": "Simulation", "duration": "5m", "sample": "1m",
            "workload": {"saturationPercent": 200}, "clusters": clusters,
            "load": {"points": [{"at": "0s", "replicas": self.load.0}, {"at": "61s", "replicas": self.load.1}]}});
        let hpa = super::hpa(self.bounds.0, self.bounds.1, self.spec());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scenario.yaml");
        std::fs::write(&file, format!("{hpa}\n---\n{simulation}\n")).unwrap();
        let outcome = fhpa(&["simulate", file.to_str().unwrap(), "-o", "json"]);
        assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{}", outcome.stdout);
        let said: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let line = |at: usize| {
            let clusters = said["samples"][at]["clusters"].as_array().unwrap();
            let bounds = |one: &Value| match &one["bounds"] {
                Value::Null => "-".to_owned(),
                bounds => format!("{}..{}", bounds["minReplicas"], bounds["maxReplicas"]),
            };
            clusters.iter().map(bounds).collect::<Vec<_>>().join(" ")
        };
        [line(1), line(4)]
    }

    /// The same of the embedded fleet.
    async fn lived(&self) -> [String; 2] {
        let count = u32::try_from(self.members.len()).unwrap();
        let stage = Stage::with(Plan { nodes: 0, ..plan(count) }).await;
        for (at, (_, fits)) in self.members.iter().enumerate() {
            node(&stage, &format!("member{}", at + 1), *fits).await;
        }
        let running: Vec<i64> = self.members.iter().map(|(running, _)| *running).collect();
        stage.web(i32::try_from(running.iter().sum::<i64>()).unwrap(), weights(&running)).await;
        let one = stage.leads_by_room("one").await;
        work(&stage, self.load.0);
        stage.hpa(self.bounds.0, self.bounds.1, self.spec()).await;
        stage.pass(60).await;
        let first = stage.bounds().await;
        work(&stage, self.load.1);
        stage.pass(180).await;
        one.stop().await;
        [first, stage.bounds().await]
    }
}

#[tokio::test(start_paused = true)]
async fn the_simulator_assigns_what_the_fleet_is_assigned() {
    let first = |at: usize, priority: i64| json!({"targetCluster": {"clusterNames": [format!("member{at}")]}, "priority": priority});
    let by =
        |type_: &str, list: Value| json!({"federatedHPAAssignmentType": type_, "clusterAutoscalingPreference": list});
    for scenario in [
        Scenario {
            assignment: by("Prioritized", json!([first(1, 2), first(2, 1)])),
            bounds: (8, 24),
            members: vec![(8, 10), (0, 1)],
            load: (8, 16),
        },
        Scenario {
            assignment: by("StaticWeighted", json!([])),
            bounds: (2, 20),
            members: vec![(2, 3), (2, 40)],
            load: (4, 16),
        },
        Scenario {
            assignment: by("Aggregated", json!([])),
            bounds: (4, 24),
            members: vec![(2, 6), (2, 30)],
            load: (4, 4),
        },
        Scenario {
            assignment: by("Duplicated", json!([])),
            bounds: (2, 6),
            members: vec![(2, 10), (2, 10)],
            load: (4, 8),
        },
    ] {
        assert_eq!(scenario.simulated(), scenario.lived().await, "{}", scenario.assignment);
    }
}
