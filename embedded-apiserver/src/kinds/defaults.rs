//! Defaults of the built-in kinds, as in kube-apiserver. No I/O.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::super::object::{as_map, at, member_mut, metadata_mut, put_at, remove, text_at};

/// Sets the defaults of a built-in kind.
pub fn apply(group: &str, version: &str, kind: &str, object: &mut Value) {
    drop_empty_metadata(object);
    match (group, kind) {
        ("", "Namespace") => namespace(object),
        ("", "Secret") => secret(object),
        ("", "Service") => service(object),
        ("", "Pod") => pod(member(object, "spec")),
        ("", "Event") => event(object, ["source", "firstTimestamp", "lastTimestamp"]),
        ("events.k8s.io", _) => {
            event(object, ["deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"]);
        }
        ("apps", _) => workload(kind, object),
        ("autoscaling", _) => autoscaler(version, object),
        ("admissionregistration.k8s.io", _) => webhooks(kind, object),
        ("apiextensions.k8s.io", _) => definition(object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(object),
        _ => {}
    }
}

fn member<'a>(object: &'a mut Value, key: &str) -> &'a mut Value {
    as_map(object).entry(key).or_insert_with(|| json!({}))
}

fn fill(object: &mut Value, key: &str, value: Value) {
    let slot = as_map(object).entry(key).or_insert(Value::Null);
    if slot.is_null() {
        *slot = value;
    }
}

fn fill_all<const N: usize>(object: &mut Value, defaults: [(&str, Value); N]) {
    for (key, value) in defaults {
        fill(object, key, value);
    }
}

fn each<'a>(object: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn drop_empty_metadata(object: &mut Value) {
    metadata_mut(object).retain(|_, value| {
        !value.as_array().is_some_and(Vec::is_empty) && !value.as_object().is_some_and(serde_json::Map::is_empty)
    });
}

fn namespace(object: &mut Value) {
    let name = text_at(object, &["metadata", "name"]).to_owned();
    if !name.is_empty() {
        put_at(object, &["metadata", "labels", "kubernetes.io/metadata.name"], name.into());
    }
}

/// Go shows these members of an Event when they are not set, and clients sort by them.
fn event(object: &mut Value, [source, first, last]: [&str; 3]) {
    fill(object, source, json!({}));
    for time in [first, last, "eventTime"] {
        fill(object, time, Value::Null);
    }
}

fn secret(object: &mut Value) {
    fill(object, "type", "Opaque".into());
    if let Some(Value::Object(plain)) = remove(object, "stringData") {
        let data = member_mut(object, "data");
        for (key, value) in plain {
            data.insert(key, STANDARD.encode(value.as_str().unwrap_or_default()).into());
        }
    }
}

fn service(object: &mut Value) {
    let spec = member(object, "spec");
    fill_all(spec, [("sessionAffinity", "None".into()), ("type", "ClusterIP".into())]);
    if text_at(spec, &["type"]) != "ExternalName" {
        fill(spec, "internalTrafficPolicy", "Cluster".into());
    }
    for port in each(spec, "ports") {
        fill(port, "protocol", "TCP".into());
        let number = port.get("port").cloned().unwrap_or_default();
        fill(port, "targetPort", number);
    }
}

fn workload(kind: &str, object: &mut Value) {
    let spec = member(object, "spec");
    match kind {
        "Deployment" => {
            fill_all(
                spec,
                [
                    ("replicas", json!(1)),
                    ("revisionHistoryLimit", json!(10)),
                    ("progressDeadlineSeconds", json!(600)),
                    ("strategy", json!({})),
                ],
            );
            rolling(member(spec, "strategy"), &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))]);
        }
        "StatefulSet" => {
            let keep = json!({"whenDeleted": "Retain", "whenScaled": "Retain"});
            fill_all(
                spec,
                [
                    ("replicas", json!(1)),
                    ("revisionHistoryLimit", json!(10)),
                    ("podManagementPolicy", "OrderedReady".into()),
                    ("persistentVolumeClaimRetentionPolicy", keep),
                ],
            );
            rolling(member(spec, "updateStrategy"), &[("partition", json!(0))]);
        }
        "DaemonSet" => {
            fill(spec, "revisionHistoryLimit", json!(10));
            rolling(member(spec, "updateStrategy"), &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))]);
        }
        _ => fill(spec, "replicas", json!(1)),
    }
    pod_spec(member(member(spec, "template"), "spec"));
}

fn rolling(strategy: &mut Value, defaults: &[(&str, Value)]) {
    fill(strategy, "type", "RollingUpdate".into());
    if text_at(strategy, &["type"]) == "RollingUpdate" {
        for (key, value) in defaults {
            fill(member(strategy, "rollingUpdate"), key, value.clone());
        }
    }
}

fn pod(spec: &mut Value) {
    pod_spec(spec);
    fill(spec, "enableServiceLinks", true.into());
    for key in ["initContainers", "containers"] {
        for container in each(spec, key) {
            let limits = at(container, &["resources", "limits"]).and_then(Value::as_object).cloned();
            for (name, limit) in limits.unwrap_or_default() {
                fill(member(member(container, "resources"), "requests"), &name, limit);
            }
        }
    }
}

fn pod_spec(spec: &mut Value) {
    fill_all(
        spec,
        [
            ("restartPolicy", "Always".into()),
            ("terminationGracePeriodSeconds", json!(30)),
            ("dnsPolicy", "ClusterFirst".into()),
            ("securityContext", json!({})),
            ("schedulerName", "default-scheduler".into()),
        ],
    );
    if let Some(account) = at(spec, &["serviceAccountName"]).cloned() {
        fill(spec, "serviceAccount", account);
    }
    for key in ["initContainers", "containers"] {
        for one in each(spec, key) {
            container(one);
        }
    }
    for volume in each(spec, "volumes") {
        for source in ["configMap", "secret", "projected", "downwardAPI"] {
            if let Some(source) = volume.get_mut(source).filter(|source| source.is_object()) {
                fill(source, "defaultMode", json!(420));
            }
        }
    }
}

fn container(container: &mut Value) {
    let image = text_at(container, &["image"]);
    let tag = image.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    let pull = if image.contains('@') || tag.is_some_and(|tag| tag != "latest") { "IfNotPresent" } else { "Always" };
    fill_all(
        container,
        [
            ("terminationMessagePath", "/dev/termination-log".into()),
            ("terminationMessagePolicy", "File".into()),
            ("imagePullPolicy", pull.into()),
            ("resources", json!({})),
        ],
    );
    for port in each(container, "ports") {
        fill(port, "protocol", "TCP".into());
    }
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(key).filter(|probe| probe.is_object()) {
            let numbers =
                [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)];
            for (name, number) in numbers {
                fill(probe, name, json!(number));
            }
            if let Some(get) = probe.get_mut("httpGet").filter(|get| get.is_object()) {
                fill_all(get, [("scheme", "HTTP".into()), ("path", "/".into())]);
            }
        }
    }
    for variable in each(container, "env") {
        let field = variable.get_mut("valueFrom").and_then(|from| from.get_mut("fieldRef"));
        if let Some(field) = field.filter(|field| field.is_object()) {
            fill(field, "apiVersion", "v1".into());
        }
    }
}

fn autoscaler(version: &str, object: &mut Value) {
    let spec = member(object, "spec");
    fill(spec, "minReplicas", json!(1));
    if version == "v1" {
        return;
    }
    let cpu = json!([{"type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]);
    if at(spec, &["metrics"]).and_then(Value::as_array).is_none_or(Vec::is_empty) {
        put_at(spec, &["metrics"], cpu);
    }
    let Some(behavior) = spec.get_mut("behavior").filter(|behavior| behavior.is_object()) else { return };
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    let up = member(behavior, "scaleUp");
    fill_all(
        up,
        [
            ("stabilizationWindowSeconds", json!(0)),
            ("selectPolicy", "Max".into()),
            ("policies", json!([pods, percent])),
        ],
    );
    let down = member(behavior, "scaleDown");
    fill_all(down, [("selectPolicy", "Max".into()), ("policies", json!([percent]))]);
}

fn webhooks(kind: &str, object: &mut Value) {
    for webhook in each(object, "webhooks") {
        fill_all(
            webhook,
            [
                ("failurePolicy", "Fail".into()),
                ("matchPolicy", "Equivalent".into()),
                ("namespaceSelector", json!({})),
                ("objectSelector", json!({})),
                ("timeoutSeconds", json!(10)),
            ],
        );
        if kind == "MutatingWebhookConfiguration" {
            fill(webhook, "reinvocationPolicy", "Never".into());
        }
        for rule in each(webhook, "rules") {
            fill(rule, "scope", "*".into());
        }
        let service = webhook.get_mut("clientConfig").and_then(|config| config.get_mut("service"));
        if let Some(service) = service.filter(|service| service.is_object()) {
            fill(service, "port", json!(443));
        }
    }
}

fn definition(object: &mut Value) {
    let spec = member(object, "spec");
    fill(spec, "conversion", json!({"strategy": "None"}));
    let kind = text_at(spec, &["names", "kind"]).to_owned();
    let names = member(spec, "names");
    fill_all(names, [("singular", kind.to_lowercase().into()), ("listKind", format!("{kind}List").into())]);
    for version in each(spec, "versions") {
        for column in each(version, "additionalPrinterColumns") {
            if column.get("priority").and_then(Value::as_i64) == Some(0) {
                remove(column, "priority");
            }
        }
    }
}

fn binding(object: &mut Value) {
    fill(member(object, "roleRef"), "apiGroup", "rbac.authorization.k8s.io".into());
    for subject in each(object, "subjects") {
        if matches!(text_at(subject, &["kind"]), "User" | "Group") {
            fill(subject, "apiGroup", "rbac.authorization.k8s.io".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_gets_the_defaults_of_kubernetes() {
        let mut deployment = json!({"metadata": {"name": "a", "labels": {}}, "spec": {"template": {"spec": {
            "containers": [{"name": "a", "image": "r:5000/nginx", "ports": [{"containerPort": 1}]}]}}}});
        apply("apps", "v1", "Deployment", &mut deployment);
        assert_eq!(at(&deployment, &["metadata"]), Some(&json!({"name": "a"})));
        let spec = at(&deployment, &["spec"]).unwrap();
        assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxSurge": "25%", "maxUnavailable": "25%"}));
        let container = &spec["template"]["spec"]["containers"][0];
        assert_eq!(
            (&container["imagePullPolicy"], &container["ports"][0]["protocol"]),
            (&json!("Always"), &json!("TCP"))
        );
    }
}
