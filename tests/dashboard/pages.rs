//! What each page shows.

use serde_json::json;

use super::Stand;
use super::markup::Document;
use crate::status::Desk;
use crate::status::objects::{ago, binding, cluster, event, hours, hpa};

/// The cells of each row of all tables.
fn rows(page: &str) -> Vec<Vec<String>> {
    let document = Document::read(page);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for element in document.of(&["tr", "th", "td"]) {
        match (&*element.name, rows.last_mut()) {
            ("tr", _) => rows.push(Vec::new()),
            (_, Some(row)) => row.push(element.text.split_whitespace().collect::<Vec<_>>().join(" ")),
            _ => {}
        }
    }
    rows
}

fn row(page: &str, name: &str) -> Vec<String> {
    rows(page)
        .into_iter()
        .find(|row| row.first().is_some_and(|first| first.starts_with(name)))
        .unwrap_or_else(|| panic!("no {name}: {page}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fleet_is_a_matrix_of_objects_and_clusters() {
    let stand = Stand::shop().await;
    let page = stand.page("/").await;
    assert_eq!(rows(&page)[0], ["FederatedHPA", "All", "Ready", "member1", "member2", "member3"]);
    assert_eq!(row(&page, "shop/web"), ["shop/webDeployment/web", "10/14", "True", "2/4", "4/4 !", "4/6"]);
    let api = row(&page, "shop/api");
    assert_eq!((&*api[1], api[2].starts_with("FalseUpstreamControllersRunning"), &*api[3]), ("8/8 max", true, ""));
    let text = |part: &str| assert!(page.contains(part), "no {part}: {page}");
    text("<strong>2</strong> FederatedHPAs");
    text("<strong>1</strong> at their max");
    text("<strong>2</strong> need attention");
    text("<td class=\"p5\">4/4 <b>!</b></td>");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_shown_with_its_clusters_conditions_and_decisions() {
    let stand = Stand::shop().await;
    let page = stand.page("/objects/shop/web").await;
    let member2 = row(&page, "member2");
    assert_eq!(member2[2..9], ["1", "4", "4", "2", "4", "0", "–"].map(str::to_owned));
    assert_eq!(member2[9], "cpu 90% / 60%");
    assert!(member2[10].starts_with("Unschedulable: its pods find no node; others run 2 in its place"), "{member2:?}");
    let text = |part: &str| assert!(page.contains(part), "no {part}: {page}");
    text("aria-label=\"replicas 4, target 4, min 1, max 4\"");
    text("What to do: </strong>nothing while others help; else raise maxReplicas");
    text("member2 1..4, member3 1..6: unused max was moved (2 times)");
    text("WaitingForMembers");
    text("<a href=\"/cron/shop/hours\">hours</a>, rule morning, min 6, max 20");
    text("class=\"current\" d=\"M");
    text("/what-if?object=shop%2Fweb");
    // What was decided before the dashboard began is not on its chart.
    let decided = "<title>ScaleUpBlocked: member2 cannot scale: its pods are unschedulable</title>";
    assert!(!page.contains(decided) && page.contains(">now</text>") && !page.contains("−60 min"), "{page}");
    stand.desk.bring(&event("e", "ClusterRecovered", "member2 scales again", 0)).await;
    stand
        .until("/objects/shop/web", |page| page.contains("<title>ClusterRecovered: member2 scales again</title>"))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_what_status_shows() {
    let stand = Stand::shop().await;
    let page = stand.page("/objects/shop/web").await;
    let status: serde_json::Value =
        serde_json::from_str(&stand.desk.shown(&["web", "-n", "shop", "-o", "json"]).await).unwrap();
    for cluster in status["clusters"].as_array().unwrap() {
        let number = |name: &str| cluster[name].as_i64().map_or("–".to_owned(), |number| number.to_string());
        let shown = row(&page, cluster["name"].as_str().unwrap());
        let names = ["minReplicas", "maxReplicas", "replicas", "readyReplicas", "desiredReplicas"];
        assert_eq!(shown[2..7], names.map(number), "{cluster}");
    }
    for condition in status["conditions"].as_array().unwrap() {
        assert!(page.contains(condition["reason"].as_str().unwrap()), "{condition}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_shown_with_its_room_taints_and_users() {
    let desk = Desk::with_shop().await;
    let mut far = cluster("far", "False");
    far["spec"] = json!({"syncMode": "Pull", "provider": "own", "region": "north",
        "taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": ago(5)}]});
    far["status"]["kubernetesVersion"] = "v1.33.1".into();
    far["status"]["resourceSummary"] = json!({"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
        "allocated": {"cpu": "6", "memory": "8Gi", "pods": "11"}});
    desk.bring(&far).await;
    let mut bound = binding("cart", &[("far", 3, 1)]);
    bound["spec"]["replicaRequirements"] = json!({"resourceRequest": {"cpu": "500m"}});
    bound["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "far", "reason": "TaintUntolerated",
        "message": "", "producer": "TaintManager"}]);
    desk.bring(&bound).await;
    let share = json!({"clusterName": "far", "minReplicas": 1, "maxReplicas": 9, "reason": "StaticWeighted"});
    desk.bring(&hpa(
        "cart",
        json!({}),
        json!({"currentReplicas": 3, "desiredReplicas": 3, "clusterHPADesired": [share]}),
    ))
    .await;
    let stand = Stand::of(desk).await;
    let page = stand.page("/clusters/far").await;
    let text = |part: &str| assert!(page.contains(part), "no {part}: {page}");
    text("Karmada does not reach this cluster");
    text("6 of 8");
    text("8Gi of 32Gi");
    text("<code>cluster.karmada.io/not-ready:NoExecute</code> since");
    text("Deployment shop/cart: TaintUntolerated");
    assert_eq!(row(&page, "shop/cart")[2..7], ["1", "9", "3", "1", "–"].map(str::to_owned));
    let all = stand.page("/clusters").await;
    assert_eq!(row(&all, "far")[2], "own, north");
    assert_eq!(row(&all, "member1").last().unwrap(), "1");
    let object = stand.page("/objects/shop/cart").await;
    assert_eq!(row(&object, "far")[7..9], ["6", "4"].map(str::to_owned), "room within its max, and what fits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_calendar_shows_runs_in_the_zone_of_the_rule_and_what_has_run() {
    let desk = Desk::with_shop().await;
    let mut cron = hours();
    cron["metadata"]["name"] = "night".into();
    cron["spec"]["rules"] = json!([
        {"name": "daily", "schedule": "30 2 * * *", "timeZone": "Asia/Tokyo", "targetMinReplicas": 4},
        {"name": "often", "schedule": "*/5 * * * *", "timeZone": "UTC", "targetMinReplicas": 5},
        {"name": "off", "schedule": "0 4 * * *", "timeZone": "UTC", "targetMinReplicas": 6, "suspend": true}]);
    let late = json!({"scheduleTime": ago(60), "executionTime": ago(50), "appliedMinReplicas": 4});
    let missed =
        json!({"scheduleTime": ago(70), "executionTime": ago(65), "message": "missed: it was due for too long"});
    cron["status"]["executionHistories"] =
        json!([{"ruleName": "daily", "successfulExecutions": [late], "failedExecutions": [missed]}]);
    desk.bring(&cron).await;
    let stand = Stand::of(desk).await;
    let page = stand.page("/cron/shop/night").await;
    let text = |part: &str| assert!(page.contains(part), "no {part}: {page}");
    assert_eq!(page.matches(">02:30</time> <small>+09:00").count(), 7);
    text("There are more runs in these days than are shown.");
    text("It is suspended.");
    text("min 4, 600 s late");
    text("not run: missed: it was due for too long");
    let all = stand.page("/cron").await;
    assert_eq!(row(&all, "shop/hours")[4], "1 of 3 rules");
    assert!(row(&all, "shop/night")[3].contains("rule daily"), "{all}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_findings_of_doctor_are_kept_with_their_age() {
    let stand = Stand::shop().await;
    assert!(stand.page("/doctor").await.contains("They have not run yet."));
    let answer = stand.get("/doctor?run=now").await;
    assert_eq!((answer.code, answer.header("location")), (303, Some("/doctor")));
    let page = stand.get("/doctor").await.body;
    assert!(page.contains("Last run: <time"), "{page}");
    let kubeconfig = stand.desk.kubeconfig();
    let doctor = move || crate::cli::command::fhpa(&["doctor", "--kubeconfig", &kubeconfig, "-o", "json"]).stdout;
    let doctor: serde_json::Value = serde_json::from_str(&tokio::task::spawn_blocking(doctor).await.unwrap()).unwrap();
    let expected: Vec<&str> = doctor.as_array().unwrap().iter().map(|one| one["check"].as_str().unwrap()).collect();
    let shown: Vec<String> = rows(&page).into_iter().skip(1).map(|row| row[1].clone()).collect();
    assert_eq!(shown, expected);
}
