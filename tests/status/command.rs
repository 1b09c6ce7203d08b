//! What is printed.

use serde_json::{Value, json};

use super::Desk;
use super::objects::{ago, cluster, hpa, member, timeless};
use crate::structure::sources::root;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_show_what_is_printed() {
    let desk = Desk::with_shop().await;
    let document = std::fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let mut blocks = 0;
    for block in document.split("```console\n$ fhpa status").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        let (arguments, output) = block.split_once('\n').unwrap();
        let words: Vec<&str> = arguments.split_whitespace().collect();
        assert_eq!(desk.shown(&words).await, output, "fhpa status{arguments}");
        blocks += 1;
    }
    assert_eq!(blocks, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_get_what_people_get_with_names_that_stay() {
    let desk = Desk::with_shop().await;
    let all: Value = serde_json::from_str(&desk.shown(&["-A", "-o", "json"]).await).unwrap();
    let names: Vec<&Value> = all["federatedHPAs"].as_array().unwrap().iter().map(|hpa| &hpa["name"]).collect();
    assert_eq!(names, ["api", "web"]);
    assert_eq!(all["cronFederatedHPAs"][0]["nextRun"]["rule"], "morning");
    assert_eq!((&all["federatedHPAs"][0]["atMax"], &all["unread"]), (&json!(true), &json!([])));
    let one = desk.shown(&["web", "-n", "shop", "-o", "json"]).await;
    let one: Value = serde_json::from_str(&one).unwrap();
    let names: Vec<&String> = one.as_object().unwrap().keys().collect();
    insta::assert_snapshot!(format!("{names:?}"));
    insta::assert_snapshot!(timeless(one["clusters"].clone()));
    let yaml: Value = serde_saphyr::from_str(&desk.shown(&["web", "-n", "shop", "-o", "yaml"]).await).unwrap();
    assert_eq!(yaml, one);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_does_not_answer_is_named() {
    let desk = Desk::with_shop().await;
    let gone = json!({"status": {"conditions": [cluster("member1", "False")["status"]["conditions"][0]]}});
    let path = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/status";
    assert_eq!(desk.bed.patch("merge", path, &gone).await.code, 200);
    let shown = desk.shown(&["web", "-n", "shop"]).await;
    assert!(shown.contains("ClusterNotReady: Karmada does not reach this cluster"), "{shown}");
}

/// A fleet with `blocked` of `count` clusters that cannot scale up.
async fn fleet(count: usize, blocked: usize) -> Desk {
    let desk = Desk::new().await;
    let share = |at: usize| {
        let mut share =
            json!({"clusterName": format!("m{at:03}"), "minReplicas": 1, "maxReplicas": 9, "reason": "StaticWeighted"});
        if at >= count - blocked {
            share["scaleUpBlockedReason"] = "TooManyReplicas".into();
            share["scaleUpBlockedTime"] = ago(24).into();
        }
        share
    };
    let status = json!({"observedGeneration": 1, "currentReplicas": count, "desiredReplicas": count,
        "clusterHPADesired": (0..count).map(share).collect::<Vec<_>>(),
        "aggregatedStatus": (0..count).map(|at| member(&format!("m{at:03}"), 1, 1, 30)).collect::<Vec<_>>()});
    desk.bring(&hpa("web", json!({"maxReplicas": 2700}), status)).await;
    desk
}

/// The clusters of a table, and the line below it.
fn rows(shown: &str) -> (Vec<&str>, Vec<&str>) {
    let names = shown.lines().filter_map(|line| line.split(' ').next());
    let names = names.filter(|name| name.len() == 4 && name.starts_with('m'));
    (names.collect(), shown.lines().filter(|line| line.starts_with("and ")).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_clusters_those_with_something_to_say_come_first() {
    let desk = fleet(300, 3).await;
    let shown = desk.shown(&["web", "-n", "shop"]).await;
    let (names, more) = rows(&shown);
    assert_eq!((names.len(), &names[..4]), (40, &["m297", "m298", "m299", "m000"][..]));
    assert_eq!(more, ["and 260 more, all as they should be (--all-clusters shows each)"]);
    let shown = desk.shown(&["web", "-n", "shop", "--all-clusters"]).await;
    let (names, more) = rows(&shown);
    assert_eq!((names.len(), names[0], more.len()), (300, "m000", 0));
    let desk = fleet(100, 60).await;
    let shown = desk.shown(&["web", "-n", "shop"]).await;
    let more = "and 60 more, 20 of them not as they should be (--all-clusters shows each)";
    assert_eq!(rows(&shown).1, [more]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_and_an_empty_namespace_says_so() {
    let desk = Desk::with_shop().await;
    let before = desk.bed.server().store().version();
    assert_eq!(
        desk.shown(&["-n", "other"]).await,
        "there are no FederatedHPAs and no CronFederatedHPAs in this namespace (-A shows those of all)\n"
    );
    for more in [&["-A"][..], &["web", "-n", "shop"]] {
        desk.shown(more).await;
    }
    assert_eq!(desk.bed.server().store().version(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn colours_are_for_those_who_ask() {
    let desk = Desk::with_shop().await;
    let plain = desk.shown(&["-n", "shop"]).await;
    let colored = desk.shown(&["-n", "shop", "--color", "always"]).await;
    assert!(!plain.contains('\x1b') && colored.contains("\x1b[1;32mTrue\x1b[0m"), "{colored}");
}

/// Runs the binary as a plugin of kubectl.
fn plugin(arguments: &[&str]) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let plugin = directory.path().join("kubectl-fhpa");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fhpa"), &plugin).unwrap();
    let output = std::process::Command::new(&plugin).args(arguments).env_remove("KUBECONFIG").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn as_a_plugin_it_goes_by_the_name_of_kubectl() {
    let (help, _) = plugin(&["status", "--help"]);
    assert!(help.contains("Usage: kubectl fhpa status [OPTIONS] [NAME|NAMESPACE/NAME]"), "{help}");
    assert!(help.contains("    kubectl fhpa status -A -w\n"), "{help}");
    let (_, refused) = plugin(&["status", "--nothing"]);
    assert!(refused.contains("Usage: kubectl fhpa status"), "{refused}");
    let (_, unusable) = plugin(&["status", "--kubeconfig", "/nowhere"]);
    assert!(unusable.starts_with("kubectl fhpa status: kubeconfig: "), "{unusable}");
    let (valid, _) = plugin(&["cron", "@daily", "-n", "1", "-o", "json"]);
    assert!(valid.contains("\"expression\": \"@daily\""), "{valid}");
}

#[test]
fn the_manifest_of_the_plugin_is_of_this_version() {
    let text = std::fs::read_to_string(root().join("docs/krew.yaml")).unwrap();
    let plugin: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(plugin["spec"]["version"], concat!("v", env!("CARGO_PKG_VERSION")));
    assert_eq!((&plugin["metadata"]["name"], &plugin["spec"]["platforms"][0]["bin"]), (&json!("fhpa"), &json!("fhpa")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chart_has_a_bar_for_each_cluster() {
    let desk = Desk::with_shop().await;
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let svg = file("web.svg");
    let shown = desk.shown(&["web", "-n", "shop", "--chart", &svg]).await;
    assert!(shown.contains("member2"), "the table is printed all the same: {shown}");
    let drawn = std::fs::read_to_string(&svg).unwrap();
    let text = |part: &str| assert!(drawn.contains(part), "no {part}: {drawn}");
    text("xmlns=\"http://www.w3.org/2000/svg\"");
    text(">FederatedHPA shop/web</text>");
    text("10 of 3–14 replicas, target 10, Ready=True MemberHPAsReady at 20");
    text(">4 of 1–4, target 4</text>");
    text("class=\"run blocked\"");
    text(">Unschedulable: its pods find no node; others run");
    assert_eq!(drawn.matches("class=\"room\"").count(), 3, "{drawn}");
    let refused = desk.status(&["web", "-n", "shop", "--chart", "web.jpg"]).await;
    assert!(refused.code == 2 && refused.stderr.contains("charts are drawn as SVG or PNG"), "{}", refused.stderr);
    let lost = desk.status(&["web", "-n", "shop", "--chart", &file("none/web.svg")]).await;
    assert!(lost.code == 2 && lost.stderr.contains("No such file or directory"), "{} {}", lost.code, lost.stderr);
    let nameless = desk.status(&["-n", "shop", "--chart", &svg]).await;
    assert_eq!(nameless.code, 2, "{}", nameless.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chart_of_a_running_object_is_drawn_as_png_where_fonts_are() {
    let desk = Desk::with_shop().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("web.png");
    let outcome = desk.status(&["web", "-n", "shop", "--chart", file.to_str().unwrap()]).await;
    if outcome.stderr.contains("no font is installed") {
        return crate::rig::absent::without("fonts", "a chart as PNG", "install a font");
    }
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""));
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"), "{} bytes", bytes.len());
    let width = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
    assert_eq!(width, 1920, "two pixels for each unit");
}

/// The end of what `kubectl describe` prints: from the counts of clusters on.
async fn described(desk: &Desk) -> Option<Vec<String>> {
    let mut kubectl = tokio::process::Command::new("kubectl");
    kubectl.args(["--kubeconfig", &desk.kubeconfig(), "describe", "federatedhpas", "web", "-n", "shop"]);
    let output = match kubectl.output().await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().skip_while(|line| line.trim_end() != "  Clusters:").map(str::to_owned);
    Some(lines.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_description_ends_with_counts_conditions_and_events_whatever_the_number_of_clusters() {
    for count in [3, 300] {
        let desk = fleet(count, 1).await;
        let path = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/shop/federatedhpas/web/status";
        let counts = json!({"total": count, "ready": count, "limited": 1, "unknown": 0, "scaledToZero": 0});
        let condition = super::objects::condition("Ready", "True", "MemberHPAsReady", "as it was written", 5);
        let status = json!({"status": {"clusters": counts, "conditions": [condition]}});
        assert_eq!(desk.bed.patch("merge", path, &status).await.code, 200);
        let stored = desk.bed.get(path.trim_end_matches("/status")).await.body;
        let mut event = super::objects::event("a", "Assigned", "the bounds were divided", 3);
        event["regarding"]["uid"] = stored["metadata"]["uid"].clone();
        desk.bring(&event).await;
        let Some(end) = described(&desk).await else {
            return crate::rig::absent::without("kubectl", "descriptions", "install kubectl");
        };
        let text = end.join("\n");
        assert!(end.len() < 30, "{count}: {text}");
        for part in
            [&format!("Total:           {count}"), "MemberHPAsReady", "Desired Replicas:", "the bounds were divided"]
        {
            assert!(text.contains(part), "{count}, {part}: {text}");
        }
    }
}
