//! Worked examples (docs/design.md#worked-examples) with pods that run on nodes. Each pod requests one core, so that
//! the cores of a member are the replicas that fit.

use serde_json::{Value, json};

use crate::kubelet;
use crate::stand::{Stand, deployment, federated, policy};

/// Millicores of one replica here.
const CORE: u32 = 1000;

/// A member with its cores and what the binding gives it first.
pub struct Place {
    pub name: &'static str,
    pub cores: u32,
    pub entry: u32,
}

/// One example: what is there first, what is asked for, and what follows.
pub struct Example {
    pub name: &'static str,
    pub places: Vec<Place>,
    pub bounds: (u32, u32),
    pub spec: Value,
    /// Bounds of the members' HPAs.
    pub expected: Vec<(u64, u64)>,
    /// Replicas of their entries in the binding, where the example names them.
    pub entries: &'static [u64],
}

pub fn preference(type_: &str, of: &[(&str, &str, u32)]) -> Value {
    let one = |(cluster, key, value): &(&str, &str, u32)| {
        let mut preference = json!({"targetCluster": {"clusterNames": [cluster]}});
        preference[*key] = json!(value);
        preference
    };
    let preferences: Vec<Value> = of.iter().map(one).collect();
    json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": type_, "clusterAutoscalingPreference": preferences}})
}

pub async fn size(stand: &Stand, member: &str, cores: u32) {
    kubelet::nodes(&stand.lab.member(member).plane.client, member, 1, cores).await;
}

pub fn cores_of(name: &str, replicas: u32) -> Value {
    let mut object = deployment(name, replicas);
    object["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(format!("{CORE}m"));
    object
}

/// Load that makes a member want so many replicas at a target of half a core.
pub fn wants(stand: &Stand, member: &str, app: &str, replicas: u32) {
    stand.lab.member(member).pods.load(app, |load| load.total = replicas * CORE / 2);
}

/// Sets the example up. Where nothing runs first the FederatedHPA is there before its workload.
pub async fn given(stand: &Stand, example: &Example) {
    let Example { name, places, bounds: (min, max), spec, .. } = example;
    for place in places {
        size(stand, place.name, place.cores).await;
        wants(stand, place.name, name, place.entry.max(1));
    }
    stand.soon("Karmada tells of empty clusters of these sizes", async |stand| tells(stand, places, false).await).await;
    let names: Vec<&str> = places.iter().map(|place| place.name).collect();
    let mut policy = policy(name, "Deployment", &names);
    let running: u32 = places.iter().map(|place| place.entry).sum();
    if running == 0 {
        stand.apply("federatedhpas", &federated(name, *min, *max, spec.clone())).await;
    } else {
        let weights = places
            .iter()
            .filter(|place| place.entry > 0)
            .map(|place| json!({"targetCluster": {"clusterNames": [place.name]}, "weight": place.entry}));
        let weights: Vec<Value> = weights.collect();
        policy["spec"]["placement"]["replicaScheduling"]["weightPreference"]["staticWeightList"] = json!(weights);
    }
    stand.apply("deployments", &cores_of(name, running.max(1))).await;
    stand.apply("propagationpolicies", &policy).await;
    if running > 0 {
        stand.soon("Karmada divides first", async |stand| stand.observer.ready(name) == running as usize).await;
        stand.soon("Karmada tells of what runs", async |stand| tells(stand, places, true).await).await;
        stand.apply("federatedhpas", &federated(name, *min, *max, spec.clone())).await;
    }
}

/// Whether Karmada tells of clusters of these sizes, in which what they are to run runs, or nothing.
async fn tells(stand: &Stand, places: &[Place], running: bool) -> bool {
    for place in places {
        let used = if running { place.entry * CORE / 1000 } else { 0 };
        if !stand.has(place.name, place.cores, used).await {
            return false;
        }
    }
    true
}

async fn entries_of(stand: &Stand, example: &Example) -> Vec<u64> {
    let binding = stand.binding(example.name).await.unwrap();
    let entries = binding["spec"]["clusters"].as_array().cloned().unwrap_or_default();
    let entry =
        |place: &Place| entries.iter().find(|entry| entry["name"] == place.name).map(|entry| &entry["replicas"]);
    example.places.iter().filter_map(|place| entry(place)?.as_u64()).collect()
}

pub async fn then(stand: &Stand, example: &Example) {
    let found = async || {
        let mut found = Vec::new();
        for place in &example.places {
            found.push(stand.bounds(place.name, example.name).await.unwrap_or_default());
        }
        found
    };
    let until = fhpa::runtime::clock::steady() + crate::stand::SOON;
    while fhpa::runtime::clock::steady() < until && found().await != example.expected {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    assert_eq!(found().await, example.expected, "{}", example.name);
    let mut entries = entries_of(stand, example).await;
    while fhpa::runtime::clock::steady() < until && !example.entries.is_empty() && entries != example.entries {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        entries = entries_of(stand, example).await;
    }
    assert!(example.entries.is_empty() || entries == example.entries, "{}: {entries:?}", example.name);
}

pub async fn ends(stand: &Stand, name: &str) {
    stand.clear(name).await;
    for member in crate::stand::MEMBERS {
        size(stand, member, crate::lab::CORES).await;
    }
}

/// The assignments by policy.
pub async fn assignments(stand: &mut Stand) {
    let place = |name, cores, entry| Place { name, cores, entry };
    let weights = preference(
        "StaticWeighted",
        &[("member1", "staticWeight", 1), ("member2", "staticWeight", 2), ("member3", "staticWeight", 3)],
    );
    let priorities = preference("Prioritized", &[("member1", "priority", 2), ("member2", "priority", 1)]);
    let examples = [
        Example {
            name: "g1",
            places: vec![place("member1", 20, 11), place("member2", 20, 11)],
            bounds: (3, 10),
            spec: preference("Duplicated", &[]),
            expected: vec![(3, 10), (3, 10)],
            entries: &[10, 10],
        },
        Example {
            name: "g3",
            places: vec![place("member1", 20, 0), place("member2", 20, 1), place("member3", 20, 2)],
            bounds: (2, 10),
            spec: weights.clone(),
            expected: vec![(1, 1), (1, 4), (1, 5)],
            entries: &[1, 1, 2],
        },
        Example {
            name: "g4",
            places: vec![place("member1", 20, 1), place("member2", 20, 4), place("member3", 20, 0)],
            bounds: (2, 10),
            spec: weights,
            expected: vec![(1, 1), (1, 4), (1, 5)],
            entries: &[1, 4, 1],
        },
        Example {
            name: "g5",
            places: vec![place("member1", 1, 0), place("member2", 5, 0), place("member3", 2, 0)],
            bounds: (8, 24),
            spec: preference("DynamicWeighted", &[]),
            expected: vec![(1, 3), (5, 15), (2, 6)],
            entries: &[],
        },
        Example {
            name: "g6",
            places: vec![place("member1", 8, 0), place("member2", 2, 0), place("member3", 2, 0)],
            bounds: (8, 24),
            spec: preference("Aggregated", &[]),
            expected: vec![(8, 20), (1, 2), (1, 2)],
            entries: &[],
        },
        Example {
            name: "g7",
            places: vec![place("member1", 35, 15), place("member2", 1, 0)],
            bounds: (8, 24),
            spec: priorities,
            expected: vec![(8, 23), (1, 1)],
            entries: &[15, 1],
        },
    ];
    for example in &examples {
        given(stand, example).await;
        then(stand, example).await;
        ends(stand, example.name).await;
    }
}

/// G8: six of sixteen pods find no node, and the lower priority runs them.
pub async fn pods_without_a_node_are_run_by_the_next_priority(stand: &mut Stand) {
    let name = "g8";
    let example = Example {
        name,
        places: vec![Place { name: "member1", cores: 35, entry: 10 }, Place { name: "member2", cores: 1, entry: 0 }],
        bounds: (8, 24),
        spec: preference("Prioritized", &[("member1", "priority", 2), ("member2", "priority", 1)]),
        expected: vec![(8, 23), (1, 1)],
        entries: &[],
    };
    given(stand, &example).await;
    then(stand, &example).await;
    // No more than the ten fit from now on, and there is room elsewhere.
    size(stand, "member1", 10).await;
    size(stand, "member2", 40).await;
    wants(stand, "member1", name, 16);
    stand
        .soon("the next priority runs what finds no node", async |stand| {
            stand.observer.ready_in("member1", name) == 10 && stand.observer.ready(name) >= 16
        })
        .await;
    assert!(stand.bounds("member1", name).await.unwrap().1 <= 16, "its max comes down to what is ready");
    ends(stand, name).await;
}

/// A file of `examples/`, its namespace, and its workload.
const FILES: [(&str, &str, &str); 5] = [
    ("business-hours", "support", "support-desk"),
    ("data-centre-first", "shop", "checkout"),
    ("evening-peak", "streaming", "streaming"),
    ("one-computation", "shop", "catalogue"),
    ("web-shop", "shop", "shop"),
];

/// Runs the real kubectl on the control plane as the administrator.
fn kubectl(stand: &Stand, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("kubectl");
    command.arg("--kubeconfig").arg(stand.lab.karmada.kubeconfig()).args(arguments);
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "kubectl {arguments:?}: {text}");
    text
}

/// `min..max` of the HPA of each member, and its ready pods: `2..30 2, 1..10 1, - 0`.
async fn told(stand: &Stand, space: &str, name: &str) -> String {
    let mut all = Vec::new();
    for member in crate::stand::MEMBERS {
        let plane = &stand.lab.member(member).plane;
        let hpas = plane.api("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", Some(space));
        let spec = hpas.get_opt(name).await.unwrap().map(|hpa| hpa.data["spec"].clone());
        let bounds = spec.map_or("-".to_owned(), |spec| format!("{}..{}", spec["minReplicas"], spec["maxReplicas"]));
        all.push(format!("{bounds} {}", stand.observer.ready_in(member, name)));
    }
    all.join(", ")
}

/// Each file of `examples/` applies as it stands, and runs.
pub async fn files_apply_as_they_stand(stand: &mut Stand) {
    if std::process::Command::new("kubectl").args(["version", "--client"]).output().is_err() {
        return crate::rig::absent::without("kubectl", "the examples on a real Karmada", "put it on PATH");
    }
    for (file, space, name) in FILES {
        // Without validation, as a kube-apiserver that was built by hand may have no OpenAPI.
        let said = kubectl(stand, &["apply", "--validate=false", "-f", &format!("examples/{file}.yaml")]);
        assert!(said.contains("created"), "{said}");
        let scaler = if file == "business-hours" { "cronfhpa" } else { "fhpa" };
        let ready = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
        let is_ready = async |stand: &Stand| kubectl(stand, &["get", scaler, name, "-n", space, "-o", ready]) == "True";
        stand.soon(&format!("{file} is ready"), is_ready).await;
        let expected = async |stand: &Stand| {
            let told = told(stand, space, name).await;
            match file {
                "business-hours" | "one-computation" => {
                    stand.observer.ready(name) == if file == "business-hours" { 3 } else { 2 }
                }
                "web-shop" => told == "2..30 2, 1..10 1, - 0",
                "data-centre-first" => told.starts_with("4..") && stand.observer.ready_in("member1", name) == 4,
                _ => told.starts_with("2..34 ") && stand.observer.ready(name) == 5,
            }
        };
        let holds = crate::lab::in_time(crate::stand::SOON, &mut async || expected(stand).await).await;
        assert!(holds, "{file}: {}", told(stand, space, name).await);
        if scaler == "fhpa" {
            let events = kubectl(stand, &["get", "events", "-n", space, "--sort-by=.lastTimestamp"]);
            assert!(events.lines().any(|line| line.contains(&format!("federatedhpa/{name}"))), "{events}");
            let last = "jsonpath={.items[?(@.involvedObject.kind==\"FederatedHPA\")].lastTimestamp}";
            let last = kubectl(stand, &["get", "events", "-n", space, "-o", last]);
            assert!(last.starts_with("20"), "{last}");
        }
        println!("{file}: {}", told(stand, space, name).await);
    }
    // The scalers first: what they scale is handed back.
    for (_, space, _) in FILES {
        kubectl(stand, &["delete", "cronfhpa,fhpa", "--all", "-n", space, "--timeout=120s"]);
    }
    for space in ["shop", "streaming", "support"] {
        kubectl(stand, &["delete", "deployments,propagationpolicies", "--all", "-n", space, "--timeout=120s"]);
        kubectl(stand, &["delete", "namespace", space, "--wait=false"]);
    }
    for (_, _, name) in FILES {
        stand.soon("its pods go", async |stand| stand.observer.ready(name) == 0).await;
    }
}
