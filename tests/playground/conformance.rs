//! The conformance list: each line runs on the embedded server and, where one is present, on a real kube-apiserver,
//! and both must answer the same.

use http::Method;
use serde_json::{Value, json};

use crate::bed::{Answer, Bed, brief};

fn config_map(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"a": "1"}})
}

fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1.27", "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "1"}}}]}}}})
}

fn hpa(name: &str) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 5,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 70}}}]}})
}

const CRON: &str = "autoscaling.karmada.io/v1alpha1";

fn cron(name: &str) -> Value {
    json!({"apiVersion": CRON, "kind": "CronFederatedHPA", "metadata": {"name": name}, "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "rules": [{"name": "up", "schedule": "0 8 * * *", "targetReplicas": 3}]}})
}

#[tokio::test]
async fn new_objects_get_their_defaults() {
    Bed::same("defaults", "line-defaults", async |bed| {
        let made = bed.post(&bed.path("apps/v1", "deployments"), &deployment("web")).await;
        let scaler = bed.post(&bed.path("autoscaling/v2", "horizontalpodautoscalers"), &hpa("web")).await;
        let secret = json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}});
        let secret = bed.post(&bed.path("v1", "secrets"), &secret).await;
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
        let pod = bed.post(&bed.path("v1", "pods"), &pod).await;
        let mut pod = pod.steady();
        // Admission plugins of the real one add tolerations, priority and more; phase and class are of the strategy.
        let status = pod["body"]["status"].take();
        json!([made.steady(), scaler.steady(), secret.steady(), status["phase"], status["qosClass"]])
    })
    .await;
}

#[tokio::test]
async fn refusals_read_the_same() {
    Bed::same("refusals", "line-refusals", async |bed| {
        let maps = bed.path("v1", "configmaps");
        let mut said = Vec::new();
        let mut note = |answer: Answer| said.push(answer.refusal());
        bed.post(&maps, &config_map("a", json!({}))).await;
        note(bed.post(&maps, &config_map("a", json!({}))).await);
        note(bed.get(&format!("{maps}/none")).await);
        note(bed.get(&bed.path("apps/v1", "deployments/none")).await);
        note(bed.post(&maps, &json!({"metadata": {}})).await);
        note(bed.post(&maps, &config_map("Bad_Name", json!({}))).await);
        note(bed.post(&maps, &config_map("b", json!({"x": "no spaces"}))).await);
        note(bed.post("/api/v1/namespaces/absent/configmaps", &config_map("a", json!({}))).await);
        note(bed.put(&format!("{maps}/other"), &config_map("a", json!({}))).await);
        note(bed.get(&format!("{maps}?labelSelector=a%3D%3D%3Db")).await.code_only());
        note(bed.get(&format!("{maps}?fieldSelector=spec.x%3D1")).await);
        note(bed.ask(Method::POST, &maps, &[("content-type", "text/plain")], "x").await.code_only());
        note(bed.ask(Method::PATCH, &format!("{maps}/a"), &[("content-type", "text/plain")], "x").await.code_only());
        note(bed.ask(Method::POST, &format!("{maps}/a"), &[], "{}").await.code_only());
        note(
            bed.post(&bed.path("apps/v1", "deployments"), &json!({"metadata": {"name": "x"}, "spec": {}}))
                .await
                .code_only(),
        );
        let mut wrong = deployment("wrong");
        wrong["spec"]["selector"]["matchLabels"]["app"] = json!("else");
        note(bed.post(&bed.path("apps/v1", "deployments"), &wrong).await);
        let mut few = hpa("few");
        few["spec"]["maxReplicas"] = json!(0);
        note(bed.post(&bed.path("autoscaling/v2", "horizontalpodautoscalers"), &few).await);
        Value::Array(said)
    })
    .await;
}

#[tokio::test]
async fn a_stale_write_conflicts() {
    Bed::same("conflicts", "line-conflict", async |bed| {
        let maps = bed.path("v1", "configmaps");
        let first = bed.post(&maps, &config_map("a", json!({}))).await;
        let path = format!("{maps}/a");
        let mut stale = first.body.clone();
        let patched = bed.patch("merge", &path, &json!({"data": {"b": "2"}})).await;
        stale["data"]["c"] = json!("3");
        let conflict = bed.put(&path, &stale).await.refusal();
        let version = json!({"metadata": {"resourceVersion": first.version()}, "data": {"d": "4"}});
        let by_patch = bed.patch("merge", &path, &version).await.refusal();
        let mut other = patched.body.clone();
        other["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
        let by_uid = bed.put(&path, &other).await.code_only().refusal();
        let unpinned = bed.put(&path, &config_map("a", json!({"x": "y"}))).await.steady();
        let same = bed.put(&path, &config_map("a", json!({"x": "y"}))).await;
        let again = bed.put(&path, &config_map("a", json!({"x": "y"}))).await;
        let custom = bed.path(CRON, "cronfederatedhpas");
        bed.post(&custom, &cron("c")).await;
        let needs_version = bed.put(&format!("{custom}/c"), &cron("c")).await.refusal();
        json!([conflict, by_patch, by_uid, unpinned, same.version() == again.version(), needs_version])
    })
    .await;
}

#[tokio::test]
async fn generations_count_what_is_wished() {
    Bed::same("generations", "line-generation", async |bed| {
        let mut numbers = Vec::new();
        let deployments = bed.path("apps/v1", "deployments");
        let customs = bed.path(CRON, "cronfederatedhpas");
        bed.post(&deployments, &deployment("web")).await;
        bed.post(&customs, &cron("c")).await;
        for (path, spec) in [
            (format!("{deployments}/web"), json!({"spec": {"replicas": 3}})),
            (
                format!("{customs}/c"),
                json!({"spec": {"rules": [{"name": "up", "schedule": "0 9 * * *", "targetReplicas": 3}]}}),
            ),
        ] {
            for (suffix, patch) in [
                ("", json!({"metadata": {"labels": {"a": "b"}}})),
                ("", spec.clone()),
                ("", spec),
                (
                    "/status",
                    json!({"status": {"observedGeneration": 1, "executionHistories": []}, "spec": {"suspend": true}}),
                ),
                ("", json!({"status": {"replicas": 9}})),
                ("", json!({"metadata": {"annotations": {"a": "b"}}})),
            ] {
                let answer = bed.patch("merge", &format!("{path}{suffix}"), &patch).await;
                numbers.push(json!([answer.code, answer.body["metadata"]["generation"], answer.body["status"]]));
            }
        }
        Value::Array(numbers)
    })
    .await;
}

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

/// On the embedded server alone: a real kube-apiserver can do this only over an etcd that reports the progress of watches, 3.5 and later.
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
async fn finalizers_hold_an_object() {
    Bed::same("finalizers", "line-finalizers", async |bed| {
        let maps = bed.path("v1", "configmaps");
        let mut map = config_map("a", json!({}));
        map["metadata"]["finalizers"] = json!(["example.com/one"]);
        bed.post(&maps, &map).await;
        let path = format!("{maps}/a");
        let marked = bed.delete(&path, &Value::Null).await.steady();
        let twice = bed.delete(&path, &Value::Null).await.code;
        let added = json!({"metadata": {"finalizers": ["example.com/one", "example.com/two"]}});
        let added = bed.patch("merge", &path, &added).await.refusal();
        let freed = bed.patch("merge", &path, &json!({"metadata": {"finalizers": null}})).await.code;
        let customs = bed.path(CRON, "cronfederatedhpas");
        let mut custom = cron("c");
        custom["metadata"]["finalizers"] = json!(["example.com/one"]);
        bed.post(&customs, &custom).await;
        let generation = bed.delete(&format!("{customs}/c"), &Value::Null).await.body["metadata"]["generation"].clone();
        json!([marked, twice, added, freed, bed.get(&path).await.code, generation])
    })
    .await;
}

#[tokio::test]
async fn deletions_answer_and_check_preconditions() {
    Bed::same("deletions", "line-delete", async |bed| {
        let maps = bed.path("v1", "configmaps");
        for name in ["a", "b", "c"] {
            bed.post(&maps, &config_map(name, json!({"own": "x"}))).await;
        }
        let uid = json!({"preconditions": {"uid": "other"}});
        let by_uid = bed.delete(&format!("{maps}/a"), &uid).await;
        let version = json!({"preconditions": {"resourceVersion": "1"}});
        let by_version = bed.delete(&format!("{maps}/a"), &version).await;
        let policy = bed.delete(&format!("{maps}/a"), &json!({"propagationPolicy": "Sideways"})).await.code_only();
        let dry = bed.delete(&format!("{maps}/a"), &json!({"dryRun": ["All"]})).await.code;
        let gone = bed.delete(&format!("{maps}/a"), &Value::Null).await.steady();
        let again = bed.delete(&format!("{maps}/a"), &Value::Null).await.refusal();
        let all = bed.ask(Method::DELETE, &format!("{maps}?labelSelector=own"), &[], "").await;
        let left = bed.get(&format!("{maps}?labelSelector=own")).await.names();
        let foreground = json!({"propagationPolicy": "Foreground"});
        bed.post(&maps, &config_map("d", json!({}))).await;
        let held = bed.delete(&format!("{maps}/d"), &foreground).await.steady();
        let reasons = |answer: &Answer| json!([answer.code, answer.body["reason"], answer.body["details"]["kind"]]);
        json!([
            reasons(&by_uid),
            reasons(&by_version),
            policy.refusal(),
            dry,
            gone,
            again,
            all.code,
            all.body["kind"],
            left,
            held
        ])
    })
    .await;
}

#[tokio::test]
async fn a_dry_run_leaves_no_trace() {
    Bed::same("dry run", "line-dry", async |bed| {
        let maps = bed.path("v1", "configmaps");
        let made = bed.post(&format!("{maps}?dryRun=All"), &config_map("a", json!({}))).await;
        let absent = bed.get(&format!("{maps}/a")).await.code;
        let first = bed.post(&maps, &config_map("a", json!({}))).await;
        let taken = bed.post(&format!("{maps}?dryRun=All"), &config_map("a", json!({}))).await.refusal();
        let patched = bed.patch("merge", &format!("{maps}/a?dryRun=All"), &json!({"data": {"b": "2"}})).await;
        let now = bed.get(&format!("{maps}/a")).await;
        let word = bed.post(&format!("{maps}?dryRun=Some"), &config_map("z", json!({}))).await.code_only();
        json!([made.steady(), absent, taken, patched.steady(), first.version() == now.version(), word.refusal()])
    })
    .await;
}

#[tokio::test]
async fn unknown_fields_warn_or_refuse() {
    Bed::same("field validation", "line-fields", async |bed| {
        let (deployments, customs) = (bed.path("apps/v1", "deployments"), bed.path(CRON, "cronfederatedhpas"));
        let mut wrong = deployment("web");
        wrong["spec"]["replica"] = json!(3);
        wrong["spec"]["template"]["spec"]["containers"][0]["imagee"] = json!("x");
        let mut custom = cron("c");
        custom["spec"]["rules"][0]["tz"] = json!("UTC");
        let mut said = Vec::new();
        for (path, object) in [(&deployments, &wrong), (&customs, &custom)] {
            said.push(bed.post(&format!("{path}?fieldValidation=Strict"), object).await.refusal());
            said.push(json!(bed.post(&format!("{path}?fieldValidation=Warn&dryRun=All"), object).await.warnings));
            said.push(json!(bed.post(&format!("{path}?fieldValidation=Ignore"), object).await.warnings));
        }
        let spec = bed.get(&format!("{customs}/c")).await.body["spec"]["rules"].clone();
        let mut broken = deployment("broken");
        broken["spec"]["replicas"] = json!("three");
        let typed = bed.post(&deployments, &broken).await;
        json!([said, spec, typed.code, typed.body["reason"]])
    })
    .await;
}

#[tokio::test]
async fn applied_fields_have_owners() {
    Bed::same("server-side apply", "line-apply", async |bed| {
        let path = bed.path("apps/v1", "deployments/web");
        let mut config = deployment("web");
        config["spec"]["replicas"] = json!(2);
        config["metadata"]["labels"] = json!({"a": "1", "b": "2"});
        let one = format!("{path}?fieldManager=one");
        let made = bed.patch("apply", &one, &config).await;
        let same = bed.patch("apply", &one, &config).await;
        let mut other = deployment("web");
        other["spec"]["replicas"] = json!(5);
        let refused = bed.patch("apply", &format!("{path}?fieldManager=two"), &other).await.refusal();
        let forced = bed.patch("apply", &format!("{path}?fieldManager=two&force=true"), &other).await;
        config["metadata"]["labels"] = json!({"a": "1"});
        let spec = config["spec"].as_object_mut().unwrap();
        spec.remove("replicas");
        let less = bed.patch("apply", &one, &config).await;
        let nameless = bed.patch("apply", &path, &config).await.refusal();
        let owners = |answer: &Answer| {
            let mut managers = answer.body["metadata"]["managedFields"].clone();
            for manager in managers.as_array_mut().unwrap() {
                manager["time"] = json!(null);
            }
            managers
        };
        json!([
            made.code,
            owners(&made),
            made.version() == same.version(),
            refused,
            forced.body["spec"]["replicas"],
            owners(&forced),
            less.body["metadata"]["labels"],
            less.body["spec"]["replicas"],
            owners(&less),
            nameless
        ])
    })
    .await;
}

#[tokio::test]
async fn patches_of_all_kinds_give_the_same() {
    Bed::same("patches", "line-patch", async |bed| {
        let path = bed.path("apps/v1", "deployments/web");
        bed.post(&bed.path("apps/v1", "deployments"), &deployment("web")).await;
        let side = json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "b:1"}]}}}});
        let added = bed.patch("strategic-merge", &path, &side).await.steady();
        let gone = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "$patch": "delete"}]}}}});
        let removed = bed.patch("strategic-merge", &path, &gone).await.steady();
        let replaced =
            bed.patch("json", &path, &json!([{"op": "replace", "path": "/spec/replicas", "value": 4}])).await;
        let test = bed.patch("json", &path, &json!([{"op": "test", "path": "/spec/replicas", "value": 9}])).await;
        let merged = bed.patch("merge", &path, &json!({"spec": {"replicas": 2, "minReadySeconds": 3}})).await;
        bed.post(&bed.path(CRON, "cronfederatedhpas"), &cron("c")).await;
        let custom = bed.patch("strategic-merge", &bed.path(CRON, "cronfederatedhpas/c"), &json!({})).await.refusal();
        json!([
            added,
            removed,
            replaced.body["spec"]["replicas"],
            test.code,
            test.body["reason"],
            merged.steady(),
            custom
        ])
    })
    .await;
}

#[tokio::test]
async fn a_scale_is_read_and_written() {
    Bed::same("scale", "line-scale", async |bed| {
        bed.post(&bed.path("apps/v1", "deployments"), &deployment("web")).await;
        let path = bed.path("apps/v1", "deployments/web/scale");
        let now = bed.get(&path).await;
        let mut wanted = now.body.clone();
        wanted["spec"]["replicas"] = json!(4);
        let put = bed.put(&path, &wanted).await.steady();
        let stale = bed.put(&path, &wanted).await.refusal();
        let patched = bed.patch("merge", &path, &json!({"spec": {"replicas": 0}})).await.steady();
        let negative = bed.patch("merge", &path, &json!({"spec": {"replicas": -1}})).await.refusal();
        let object = bed.get(&bed.path("apps/v1", "deployments/web")).await;
        json!([
            now.steady(),
            put,
            stale,
            patched,
            negative,
            object.body["spec"]["replicas"],
            object.body["metadata"]["generation"]
        ])
    })
    .await;
}

#[tokio::test]
async fn custom_objects_are_held_to_their_schema() {
    Bed::same("schema", "line-schema", async |bed| {
        let customs = bed.path(CRON, "cronfederatedhpas");
        let mut said = Vec::new();
        said.push(bed.post(&customs, &cron("ok")).await.steady());
        for (pointer, value) in [
            ("/spec/rules/0/schedule", json!(5)),
            ("/spec/rules/0/name", json!("")),
            ("/spec/rules/0/targetReplicas", json!("three")),
            ("/spec/scaleTargetRef", json!({"kind": "Deployment"})),
            ("/spec/rules", json!(null)),
        ] {
            let mut object = cron("bad");
            *object.pointer_mut(pointer).unwrap() = value;
            said.push(bed.post(&customs, &object).await.refusal());
        }
        let kindless = json!({"apiVersion": CRON, "metadata": {"name": "x"}});
        said.push(json!(bed.post(&customs, &kindless).await.code));
        Value::Array(said)
    })
    .await;
}

#[tokio::test]
async fn one_autoscaler_shows_in_two_versions() {
    Bed::same("conversion", "line-versions", async |bed| {
        let mut object = hpa("web");
        object["spec"]["metrics"].as_array_mut().unwrap().push(json!({"type": "Pods", "pods": {
            "metric": {"name": "qps"}, "target": {"type": "AverageValue", "averageValue": "10"}}}));
        object["spec"]["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
        bed.post(&bed.path("autoscaling/v2", "horizontalpodautoscalers"), &object).await;
        let mut old = bed.get(&bed.path("autoscaling/v1", "horizontalpodautoscalers/web")).await.steady();
        // The annotations hold JSON whose order of keys means nothing.
        for value in old["body"]["metadata"]["annotations"].as_object_mut().unwrap().values_mut() {
            *value = serde_json::from_str(value.as_str().unwrap()).unwrap();
        }
        let patch = json!({"spec": {"targetCPUUtilizationPercentage": 50}});
        bed.patch("merge", &bed.path("autoscaling/v1", "horizontalpodautoscalers/web"), &patch).await;
        let new = bed.get(&bed.path("autoscaling/v2", "horizontalpodautoscalers/web")).await.steady();
        json!([old, new])
    })
    .await;
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

impl Answer {
    /// For refusals whose words come from a parser of its own.
    fn code_only(mut self) -> Self {
        self.body = json!({"reason": self.body["reason"]});
        self
    }
}
