//! Writes: rejections, conflicts, generations, deletions, patches.

use http::Method;
use serde_json::{Value, json};

use super::{CRON, config_map, cron, deployment, hpa};
use crate::bed::{Answer, Bed};

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
        let made = bed.post(&custom, &cron("c")).await;
        let needs_version = bed.put(&format!("{custom}/c"), &cron("c")).await.refusal();
        bed.patch("merge", &format!("{custom}/c"), &json!({"metadata": {"labels": {"a": "b"}}})).await;
        let status = json!({"apiVersion": CRON, "kind": "CronFederatedHPA", "status": {"suspendedRules": 0},
            "metadata": {"name": "c", "resourceVersion": made.version()}});
        let status = bed.patch("apply", &format!("{custom}/c/status?fieldManager=m&force=true"), &status).await;
        let by_status = status.refusal();
        json!([conflict, by_patch, by_uid, unpinned, same.version() == again.version(), needs_version, by_status])
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
            let list = managers.as_array_mut().unwrap();
            list.iter_mut().for_each(|manager| manager["time"] = json!(null));
            // They come in the order of their times, which are whole seconds: whether one passes decides it.
            list.sort_by_key(|manager| manager["manager"].to_string());
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
