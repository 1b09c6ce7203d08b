//! The files of `examples/`, applied as they stand.

use crate::both::{MEMBERS, SOON, World as _, in_time};
use crate::stand::Stand;

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
    for member in MEMBERS {
        let hpas = stand.api(member, "HorizontalPodAutoscaler", space);
        let spec = hpas.get_opt(name).await.unwrap().map(|hpa| hpa.data["spec"].clone());
        let bounds = spec.map_or("-".to_owned(), |spec| format!("{}..{}", spec["minReplicas"], spec["maxReplicas"]));
        all.push(format!("{bounds} {}", stand.ready_in(member, name)));
    }
    all.join(", ")
}

/// Each file of `examples/` applies as it stands, and runs.
pub async fn the_files_of_examples_apply_as_they_stand(stand: &mut Stand) {
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
                    stand.ready(name) == if file == "business-hours" { 3 } else { 2 }
                }
                "web-shop" => told == "2..30 2, 1..10 1, - 0",
                "data-centre-first" => told.starts_with("4..") && stand.ready_in("member1", name) == 4,
                _ => told.starts_with("2..34 ") && stand.ready(name) == 5,
            }
        };
        let holds = in_time(SOON, &mut async || expected(stand).await).await;
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
        stand.soon("its pods go", async |stand| stand.ready(name) == 0).await;
    }
}
