//! Each file of `examples/` is applied as it stands, with the real kubectl, on a fresh playground, and runs.

use std::path::Path;

use super::command::{Playground, kubectl_is_there};

/// A file, its namespace, and what is waited for: context, object, path and value.
type Example = (&'static str, &'static str, &'static [(&'static str, &'static str, &'static str, &'static str)]);

const READY: &str = "{.status.conditions[?(@.type==\"Ready\")].status}";

#[rustfmt::skip]
const EXAMPLES: [Example; 5] = [
    ("business-hours", "support", &[
        ("karmada", "cronfhpa/support-desk", READY, "True"),
        ("karmada", "deployment/support-desk", "{.status.readyReplicas}", "3"),
    ]),
    ("data-centre-first", "shop", &[
        ("karmada", "fhpa/checkout", READY, "True"),
        ("karmada", "fhpa/checkout", "{.status.clusters.ready}", "3"),
        ("member1", "deployment/checkout", "{.status.readyReplicas}", "4"),
        ("member1", "hpa/checkout", "{.spec.minReplicas}", "4"),
    ]),
    ("evening-peak", "streaming", &[
        ("karmada", "fhpa/streaming", READY, "True"),
        ("karmada", "cronfhpa/streaming-peak", READY, "True"),
        ("karmada", "fhpa/streaming", "{.status.currentReplicas}", "5"),
        ("member1", "hpa/streaming", "{.spec.maxReplicas}", "34"),
    ]),
    ("one-computation", "shop", &[
        ("karmada", "fhpa/catalogue", READY, "True"),
        ("karmada", "fhpa/catalogue", "{.status.currentReplicas}", "2"),
    ]),
    ("web-shop", "shop", &[
        ("karmada", "fhpa/shop", READY, "True"),
        ("member1", "hpa/shop", "{.spec.maxReplicas}", "30"),
        ("member2", "hpa/shop", "{.spec.maxReplicas}", "10"),
        ("member1", "deployment/shop", "{.status.readyReplicas}", "2"),
        ("member2", "deployment/shop", "{.status.readyReplicas}", "1"),
    ]),
];

async fn applies_and_runs((name, namespace, waits): Example) {
    let playground = Playground::start(&[]).await;
    let space = format!("--namespace={namespace}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.yaml"));
    let file = file.to_str().unwrap();
    let (well, applied) = playground.kubectl(&["apply", "-f", file]).await;
    assert!(
        well && applied.lines().all(|line| line.starts_with("Warning: ") || line.ends_with(" created")),
        "{applied}"
    );
    for (context, object, path, value) in waits {
        let condition = format!("--for=jsonpath={path}={value}");
        let arguments = ["--context", context, &space, "wait", object, &condition, "--timeout=60s"];
        let mut done = playground.kubectl(&arguments).await;
        // kubectl does not wait for what is not there yet.
        for _ in 0..200 {
            if !done.1.contains("NotFound") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            done = playground.kubectl(&arguments).await;
        }
        assert!(done.0, "{name}: {done:?}");
    }
    let (well, again) = playground.kubectl(&["apply", "-f", file]).await;
    assert!(well && again.lines().all(|line| !line.ends_with(" created")), "{again}");
    // As everybody looks for what happened.
    let (well, told) = playground.kubectl(&["get", "events", &space, "--sort-by=.lastTimestamp"]).await;
    let happened =
        name == "business-hours" || told.lines().any(|line| line.contains("fhpa") || line.contains("federatedhpa/"));
    assert!(well && happened, "{name}: {told}");
    playground.end().await;
}

#[tokio::test]
async fn each_example_applies_as_it_stands_and_runs() {
    if !kubectl_is_there() {
        return;
    }
    futures::future::join_all(EXAMPLES.map(applies_and_runs)).await;
}
