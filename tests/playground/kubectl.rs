//! The real kubectl on the embedded server. Without kubectl on PATH these tests report this and pass.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::bed::Bed;
use crate::rig::absent;

const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.27", resources: {requests: {cpu: 100m}}}]}
"#;

const CLUSTER: &str = r"
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: member1}
spec: {syncMode: Push, region: eu}
";

/// As a controller posts it that uses the newer group: without the times of the older one.
const EVENT: &str = r#"{"apiVersion": "events.k8s.io/v1", "kind": "Event",
    "metadata": {"name": "told", "namespace": "default"}, "type": "Normal", "reason": "Assigned", "action": "Assign",
    "note": "what was told", "eventTime": "2026-11-20T08:00:00.000000Z", "reportingController": "fhpa.karmada.io/controller",
    "reportingInstance": "a", "regarding": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}}"#;

/// Runs kubectl; gives its exit code and all it printed.
fn kubectl(home: &std::path::Path, arguments: &[&str], input: &str) -> (i32, String) {
    use std::io::Write;
    let mut child = Command::new("kubectl")
        .env("KUBECONFIG", home.join("config"))
        .env("HOME", home)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code().unwrap_or(-1), text)
}

/// (arguments, input, exit code, what the output contains)
type Step<'a> = (&'a [&'a str], &'a str, i32, &'a str);

#[rustfmt::skip]
const WALK: &[Step<'_>] = &[
    (&["api-resources"], "", 0, "resourcebindings"),
    (&["apply", "-f", "-"], DEPLOYMENT, 0, "deployment.apps/web created"),
    (&["apply", "-f", "-"], DEPLOYMENT, 0, "deployment.apps/web unchanged"),
    (&["diff", "-f", "-"], DEPLOYMENT, 0, ""),
    (&["apply", "--server-side", "-f", "-"], DEPLOYMENT, 0, "deployment.apps/web serverside-applied"),
    (&["scale", "deployment", "web", "--replicas=3"], "", 0, "deployment.apps/web scaled"),
    (&["apply", "--server-side", "--field-manager=other", "-f", "-"], DEPLOYMENT, 1,
        "Apply failed with 1 conflict: conflict with \"kubectl\" with subresource \"scale\" using apps/v1: .spec.replicas"),
    (&["diff", "-f", "-"], DEPLOYMENT, 1, "-  replicas: 3\n+  replicas: 2"),
    (&["get", "deployments"], "", 0, "web    0/3"),
    (&["get", "deployments", "-o", "wide"], "", 0, "nginx:1.27"),
    (&["get", "deployment", "web", "-o", "yaml"], "", 0, "imagePullPolicy: IfNotPresent"),
    (&["patch", "deployment", "web", "-p", r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"b:1"}]}}}}"#], "", 0, "patched"),
    (&["get", "deployments", "-o", "wide"], "", 0, "side,web"),
    (&["patch", "deployment", "web", "--type=json", "-p", r#"[{"op":"replace","path":"/spec/replicas","value":7}]"#], "", 0, "patched"),
    (&["patch", "deployment", "web", "--type=merge", "-p", r#"{"spec":{"replicas":6}}"#, "--dry-run=server"], "", 0, "patched"),
    (&["get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"], "", 0, "7"),
    (&["label", "deployment", "web", "x=y"], "", 0, "labeled"),
    (&["annotate", "deployment", "web", "a=b"], "", 0, "annotated"),
    (&["describe", "deployment", "web"], "", 0, "7 desired"),
    (&["get", "deployments", "-l", "x=y", "-o", "name"], "", 0, "deployment.apps/web"),
    (&["autoscale", "deployment", "web", "--max=5"], "", 0, "autoscaled"),
    (&["get", "hpa"], "", 0, "Deployment/web"),
    (&["explain", "deployment.spec.replicas"], "", 0, "FIELD: replicas <integer>"),
    (&["explain", "cluster.spec.syncMode"], "", 0, "Whether the control plane writes to the cluster"),
    (&["apply", "-f", "-"], CLUSTER, 0, "cluster.cluster.karmada.io/member1 created"),
    (&["diff", "-f", "-"], CLUSTER, 0, ""),
    (&["patch", "cluster", "member1", "--subresource=status", "--type=merge", "-p", r#"{"status":{"kubernetesVersion":"v1.33.0","conditions":[{"type":"Ready","status":"True"}]}}"#], "", 0, "patched"),
    (&["get", "clusters"], "", 0, "member1   v1.33.0   Push   True"),
    (&["wait", "--for=condition=Ready", "cluster/member1", "--timeout=10s"], "", 0, "condition met"),
    (&["create", "namespace", "demo"], "", 0, "namespace/demo created"),
    (&["create", "configmap", "a", "-n", "demo", "--from-literal=a=b"], "", 0, "configmap/a created"),
    (&["create", "configmap", "a", "-n", "demo"], "", 1, "configmaps \"a\" already exists"),
    (&["create", "deployment", "other", "--image=nginx", "-n", "demo"], "", 0, "created"),
    (&["apply", "-f", "-"], r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"bogus":1}"#, 1, "unknown field \"bogus\""),
    (&["auth", "can-i", "create", "deployments"], "", 0, "yes"),
    (&["events"], "", 0, "No events found"),
    (&["create", "-f", "-"], EVENT, 0, "event.events.k8s.io/told created"),
    (&["get", "events", "--sort-by=.lastTimestamp"], "", 0, "Assigned   deployment/web   what was told"),
    (&["get", "events", "--sort-by=.metadata.creationTimestamp"], "", 0, "what was told"),
    (&["events"], "", 0, "what was told"),
    (&["delete", "namespace", "demo"], "", 0, "namespace \"demo\" deleted"),
    (&["get", "configmaps", "-n", "demo"], "", 0, "No resources found"),
    (&["delete", "deployment", "web", "--cascade=foreground"], "", 0, "deployment.apps \"web\" deleted"),
    (&["delete", "hpa", "web", "--cascade=orphan"], "", 0, "deleted"),
    (&["get", "deployment", "web"], "", 1, "Error from server (NotFound): deployments.apps \"web\" not found"),
];

/// Starts `kubectl get -w` and gives it with the lines that it prints.
fn watched(home: &std::path::Path, arguments: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new("kubectl")
        .env("KUBECONFIG", home.join("config"))
        .env("HOME", home)
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_prints_changes_as_they_come() {
    if Command::new("kubectl").arg("version").arg("--client").output().is_err() {
        return absent::without("kubectl", "a watch", "put it on PATH");
    }
    let bed = Bed::embedded();
    let listening = bed.listen().await;
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config"), listening.kubeconfig("playground")).unwrap();
    let path = home.path().to_owned();
    let walk = tokio::task::spawn_blocking(move || {
        kubectl(&path, &["apply", "-f", "-"], DEPLOYMENT);
        let (mut child, mut lines) = watched(&path, &["get", "deployments", "-w"]);
        let mut next = || lines.next().unwrap().unwrap().split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let mut seen = vec![next(), next()];
        kubectl(&path, &["scale", "deployment", "web", "--replicas=4"], "");
        seen.push(next());
        kubectl(&path, &["delete", "deployment", "web"], "");
        seen.push(next());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, ["NAME READY", "web 0/2", "web 0/4", "web 0/4"]);
    });
    walk.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_walks_through() {
    if Command::new("kubectl").arg("version").arg("--client").output().is_err() {
        return absent::without("kubectl", "the walk", "put it on PATH");
    }
    let bed = Bed::embedded().with_karmada().await;
    let listening = bed.listen().await;
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config"), listening.kubeconfig("playground")).unwrap();
    let path = home.path().to_owned();
    let walk = tokio::task::spawn_blocking(move || {
        for (arguments, input, code, contains) in WALK {
            let (exit, text) = kubectl(&path, arguments, input);
            assert_eq!((exit, text.contains(contains)), (*code, true), "kubectl {}\n{text}", arguments.join(" "));
        }
    });
    walk.await.unwrap();
}
