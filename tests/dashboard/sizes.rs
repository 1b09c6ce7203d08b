//! Sizes of pages of a large fleet.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Stand;
use super::markup::Document;
use crate::status::Desk;
use crate::status::objects::{cluster, hpa, member};

/// Largest page, in bytes.
const PAGE: usize = 300_000;

/// A fleet in which every object has bounds in every cluster.
async fn fleet(objects: usize, clusters: usize) -> Stand {
    let desk = Desk::new().await;
    let names: Vec<String> = (0..clusters).map(|at| format!("cluster-{at:03}")).collect();
    for name in &names {
        desk.bring(&cluster(name, "True")).await;
    }
    let share = |name: &String| {
        json!({"clusterName": name, "minReplicas": 100, "maxReplicas": 1000, "reason": "StaticWeighted",
        "scaleUpBlockedReason": "Unschedulable", "scaleUpBlockedTime": "2026-11-20T08:00:00Z"})
    };
    let shares: Vec<Value> = names.iter().map(share).collect();
    let members: Vec<Value> = names.iter().map(|name| member(name, 900, 1000, 90)).collect();
    let status = json!({"currentReplicas": 90_000, "desiredReplicas": 99_000, "clusterHPADesired": shares, "aggregatedStatus": members});
    for at in 0..objects {
        desk.bring(&hpa(&format!("web-{at:03}"), json!({"maxReplicas": 100_000}), status.clone())).await;
    }
    Stand::of(desk).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_a_large_fleet_has_a_bounded_size_and_leads_to_the_rest() {
    let stand = fleet(70, 110).await;
    let first = stand.page("/").await;
    assert!(first.len() < PAGE, "{} bytes", first.len());
    let shape = |page: &str| {
        let document = Document::read(page);
        let mut counts = BTreeMap::new();
        for element in document.elements() {
            *counts.entry(element.name.clone()).or_insert(0) += 1;
        }
        (counts["tr"] - 1, counts["td"])
    };
    assert_eq!(shape(&first), (50, 50 * 102), "50 objects, 100 clusters, and two columns on the whole");
    assert!(first.contains("1–50 of 70") && first.contains("clusters 1–100 of 110"), "{}", &first[..4000]);
    let second = stand.page("/?page=2&clusters=2").await;
    assert_eq!(shape(&second), (20, 20 * 12));
    let object = stand.page("/objects/shop/web-000").await;
    assert!(object.len() < PAGE, "{} bytes", object.len());
    let one = stand.page("/clusters/cluster-000").await;
    assert!(one.len() < PAGE, "{} bytes", one.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_chosen_and_sorted() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    let names = async |query: &str| -> Vec<String> {
        let page = stand.page(&format!("/?{query}")).await;
        let links = page.split("<a href=\"/objects/shop/").skip(1);
        links.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    assert_eq!(names("").await, ["api", "web"]);
    assert_eq!(names("sort=replicas").await, ["web", "api"]);
    assert_eq!(names("sort=pressure").await, ["api", "web"]);
    assert_eq!((names("state=at-max").await, names("state=not-ready").await), (vec!["api".into()], vec!["api".into()]));
    assert_eq!((names("q=WE").await, names("q=none").await.len()), (vec!["web".to_owned()], 0));
    assert_eq!((names("namespace=shop").await.len(), names("namespace=other").await.len()), (2, 0));
}
