//! Reads: pages, selectors, watches, tables, discovery.

use serde_json::{Value, json};

use super::{CRON, config_map, cron, deployment, hpa};
use crate::bed::{Bed, brief};

#[tokio::test]
async fn lists_come_in_pages() {
    Bed::same("pages", "line-pages", async |bed| {
        let maps = bed.path("v1", "configmaps");
        for name in ["a", "b", "c", "d", "e"] {
            bed.post(&maps, &config_map(name, json!({"odd": (name < "c").to_string()}))).await;
        }
        let own = "labelSelector=odd";
        let mut pages = Vec::new();
        let mut token = String::new();
        loop {
            let page = bed.get(&format!("{maps}?limit=2&{own}&continue={token}")).await;
            // What is deleted after the first page is still in the later ones.
            bed.delete(&format!("{maps}/d"), &Value::Null).await;
            pages.push(json!([page.names(), page.body["metadata"]["remainingItemCount"]]));
            token = page.body["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            if token.is_empty() {
                break;
            }
        }
        let broken = bed.get(&format!("{maps}?limit=2&continue=xyz")).await;
        let both = bed.get(&format!("{maps}?resourceVersionMatch=Exact")).await.refusal();
        json!([pages, broken.code, broken.body["reason"], both,])
    })
    .await;
}

#[tokio::test]
async fn selectors_choose_the_same() {
    Bed::same("selectors", "line-selectors", async |bed| {
        let maps = bed.path("v1", "configmaps");
        for (name, labels) in
            [("a", json!({"app": "web"})), ("b", json!({"app": "db", "x": "y"})), ("c", json!({"z": ""}))]
        {
            bed.post(&maps, &config_map(name, labels)).await;
        }
        let mut chosen = Vec::new();
        for selector in [
            "labelSelector=app%3Dweb",
            "labelSelector=app!%3Dweb",
            "labelSelector=app%20in%20(web,db)",
            "labelSelector=app%20notin%20(web)",
            "labelSelector=app",
            "labelSelector=!app",
            "labelSelector=app,x",
            "labelSelector=z%3D",
            "fieldSelector=metadata.name%3Db",
            "fieldSelector=metadata.name!%3Db",
        ] {
            let mut names = bed.get(&format!("{maps}?{selector}")).await.names();
            names.retain(|name| name != "kube-root-ca.crt");
            chosen.push(json!([selector, names]));
        }
        Value::Array(chosen)
    })
    .await;
}

#[tokio::test]
async fn watches_tell_what_moves_in_and_out() {
    Bed::same("watches", "line-watch", async |bed| {
        let maps = bed.path("v1", "configmaps");
        bed.post(&maps, &config_map("old", json!({"app": "web"}))).await;
        let version = bed.get(&maps).await.version();
        let mut all = bed.watch(&format!("{maps}?watch=true&resourceVersion={version}")).await;
        let mut web = bed.watch(&format!("{maps}?watch=true&resourceVersion={version}&labelSelector=app%3Dweb")).await;
        let mut named =
            bed.watch(&format!("{maps}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dold")).await;
        bed.post(&maps, &config_map("new", json!({"app": "db"}))).await;
        for app in ["web", "db"] {
            bed.patch("merge", &format!("{maps}/new"), &json!({"metadata": {"labels": {"app": app}}})).await;
        }
        bed.patch("merge", &format!("{maps}/old"), &json!({"data": {"b": "2"}})).await;
        bed.delete(&format!("{maps}/old"), &Value::Null).await;
        let (all, web, named) = (all.next(5).await, web.next(4).await, named.next(3).await);
        // Resumption: what comes after the second event, once more.
        let from = all[1]["object"]["metadata"]["resourceVersion"].as_str().unwrap();
        let again = bed.events(&format!("{maps}?watch=true&resourceVersion={from}"), 3).await;
        json!([brief(&all), brief(&web), brief(&named), brief(&again)])
    })
    .await;
}

#[tokio::test]
async fn a_watch_begins_and_ends_as_asked() {
    Bed::same("the ends of a watch", "line-ends", async |bed| {
        let maps = bed.path("v1", "configmaps");
        bed.post(&maps, &config_map("a", json!({"own": "x"}))).await;
        let ended = bed.events(&format!("{maps}?watch=true&timeoutSeconds=1&labelSelector=own"), 5).await;
        let refused = bed.get(&format!("{maps}?watch=true&sendInitialEvents=true")).await.refusal();
        json!([brief(&ended), refused])
    })
    .await;
}

/// On the embedded server alone: a real kube-apiserver can do this only over an etcd that reports the progress of
/// watches, 3.5 and later.
#[tokio::test]
async fn a_watch_can_mark_the_end_of_the_present() {
    let bed = Bed::embedded();
    let maps = bed.path("v1", "configmaps");
    bed.post(&maps, &config_map("a", json!({}))).await;
    let options = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let events = bed.events(&format!("{maps}?{options}"), 2).await;
    assert_eq!(brief(&events), ["ADDED a", "BOOKMARK "]);
    assert_eq!(events[1]["object"]["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
}

/// Both keep no history of a kind from before it was served.
#[tokio::test]
async fn a_watch_from_before_the_kind_was_there_expires() {
    Bed::same("410 of a watch", "line-gone", async |bed| {
        let customs = bed.path(CRON, "cronfederatedhpas");
        let mut events = bed.events(&format!("{customs}?watch=true&resourceVersion=1"), 2).await;
        let now = bed.get(&customs).await.version();
        for event in &mut events {
            // The versions differ from run to run.
            let message = event["object"]["message"].as_str().unwrap_or_default();
            event["object"]["message"] = json!(message.split_once(" (").map(|(message, _)| message));
        }
        let mut rest = bed.watch(&format!("{customs}?watch=true&resourceVersion={now}")).await;
        bed.post(&customs, &cron("c")).await;
        json!([events, brief(&rest.next(1).await)])
    })
    .await;
}

/// On the embedded server alone: a real kube-apiserver refuses old pages only once etcd is compacted, which it asks for
/// every five minutes and which would break the pages of all lines that share it. The embedded one does so on demand.
#[tokio::test]
async fn a_watch_and_a_page_from_too_far_back_expire() {
    let bed = Bed::embedded();
    let maps = bed.path("v1", "configmaps");
    for name in ["a", "b", "c"] {
        bed.post(&maps, &config_map(name, json!({}))).await;
    }
    let page = bed.get(&format!("{maps}?limit=1")).await;
    bed.delete(&format!("{maps}/c"), &Value::Null).await;
    bed.server().store().compact();
    let event = bed.events(&format!("{maps}?watch=true&resourceVersion=2"), 1).await.remove(0);
    assert_eq!((&event["type"], &event["object"]["reason"]), (&json!("ERROR"), &json!("Expired")));
    assert!(event["object"]["message"].as_str().unwrap().starts_with("too old resource version: 2 ("));
    let token = page.body["metadata"]["continue"].as_str().unwrap();
    let expired = bed.get(&format!("{maps}?limit=1&continue={token}")).await;
    assert_eq!((expired.code, &expired.body["reason"]), (410, &json!("Expired")));
    let token = expired.body["metadata"]["continue"].as_str().unwrap();
    assert_eq!(bed.get(&format!("{maps}?continue={token}")).await.names(), ["b"], "an inconsistent rest is offered");
}

#[tokio::test]
async fn tables_have_the_same_columns_and_cells() {
    Bed::same("tables", "line-tables", async |bed| {
        bed.post(&bed.path("apps/v1", "deployments"), &deployment("web")).await;
        bed.post(&bed.path("autoscaling/v2", "horizontalpodautoscalers"), &hpa("web")).await;
        bed.post(&bed.path("v1", "configmaps"), &config_map("a", json!({}))).await;
        bed.post(&bed.path(CRON, "cronfederatedhpas"), &cron("c")).await;
        let mut tables = Vec::new();
        for path in [
            bed.path("apps/v1", "deployments"),
            bed.path("autoscaling/v2", "horizontalpodautoscalers"),
            bed.path("v1", "configmaps/a"),
            bed.path("v1", "secrets"),
            bed.path(CRON, "cronfederatedhpas"),
        ] {
            let table = bed.table(&path).await;
            let columns = table.body["columnDefinitions"].as_array().unwrap();
            let heads: Vec<Value> = columns
                .iter()
                .map(|column| json!([column["name"], column["type"], column["format"], column["priority"]]))
                .collect();
            let ages: Vec<bool> =
                columns.iter().map(|column| column["name"] == "Age" || column["name"] == "AGE").collect();
            let rows = table.body["rows"].as_array().cloned().unwrap_or_default();
            let cells = |row: &Value| -> Vec<Value> {
                let cells = row["cells"].as_array().unwrap().iter().zip(&ages);
                cells.filter(|(_, age)| !**age).map(|(cell, _)| cell.clone()).collect()
            };
            tables.push(json!([heads, rows.iter().map(cells).collect::<Vec<_>>()]));
        }
        Value::Array(tables)
    })
    .await;
}

#[tokio::test]
async fn discovery_lists_the_kinds_in_the_same_way() {
    Bed::same("discovery", "line-discovery", async |bed| {
        let mut found = Vec::new();
        for (path, names) in [
            ("/api/v1", &["configmaps", "namespaces", "nodes", "secrets"][..]),
            ("/apis/apps/v1", &["deployments", "deployments/scale", "deployments/status", "statefulsets"]),
            ("/apis/autoscaling/v2", &["horizontalpodautoscalers"]),
            (
                "/apis/autoscaling.karmada.io/v1alpha1",
                &["cronfederatedhpas", "cronfederatedhpas/status", "federatedhpas"],
            ),
        ] {
            let list = bed.get(path).await;
            for name in names {
                let resources = list.body["resources"].as_array().unwrap();
                let mut entry = resources.iter().find(|one| one["name"] == *name).cloned().unwrap_or_default();
                if let Some(map) = entry.as_object_mut() {
                    map.remove("storageVersionHash");
                }
                found.push(entry);
            }
        }
        Value::Array(found)
    })
    .await;
}
