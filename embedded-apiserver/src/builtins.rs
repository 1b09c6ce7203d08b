//! The schemas of the built-in kinds, from k8s-openapi, with the merge markers that it leaves out. No I/O.

use std::sync::LazyLock;

use k8s_openapi::Resource;
use k8s_openapi::api::{
    admissionregistration::v1 as admissionregistration, apps::v1 as apps, autoscaling::v1 as autoscaling_v1,
    autoscaling::v2 as autoscaling_v2, batch::v1 as batch, coordination::v1 as coordination, core::v1 as core,
    discovery::v1 as discovery, events::v1 as events, networking::v1 as networking, policy::v1 as policy,
    rbac::v1 as rbac, scheduling::v1 as scheduling, storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1 as apiregistration;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// A built-in kind.
#[derive(Clone, Debug)]
struct Kind {
    group: &'static str,
    version: &'static str,
    name: &'static str,
    definition: String,
}

struct Table {
    kinds: Vec<Kind>,
    definitions: Map<String, Value>,
}

/// Definition, member (empty: the definition itself), list type, list keys, map type, patch strategy, patch merge key,
/// default; one row for each marker in Kubernetes' own schema.
const MARKERS: &str = include_str!("markers.tsv");

fn add<K: Resource + JsonSchema>(generator: &mut SchemaGenerator, kinds: &mut Vec<Kind>) {
    generator.subschema_for::<K>();
    kinds.push(Kind { group: K::GROUP, version: K::VERSION, name: K::KIND, definition: K::schema_name().into_owned() });
}

macro_rules! kinds {
    ($generator:ident, $kinds:ident: $($kind:ty),* $(,)?) => { $(add::<$kind>(&mut $generator, &mut $kinds);)* };
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut generator = SchemaSettings::openapi3().into_generator();
    let mut kinds = Vec::new();
    kinds!(generator, kinds:
        core::Namespace, core::Event, core::Secret, core::ConfigMap, core::Pod, core::Node, core::Service,
        core::ServiceAccount, core::Endpoints, core::LimitRange, core::ResourceQuota, core::PersistentVolume,
        core::PersistentVolumeClaim, core::ReplicationController, core::PodTemplate,
        apps::Deployment, apps::StatefulSet, apps::ReplicaSet, apps::DaemonSet, apps::ControllerRevision,
        autoscaling_v1::HorizontalPodAutoscaler, autoscaling_v1::Scale, autoscaling_v2::HorizontalPodAutoscaler,
        batch::Job, batch::CronJob, coordination::Lease, events::Event, discovery::EndpointSlice,
        admissionregistration::MutatingWebhookConfiguration, admissionregistration::ValidatingWebhookConfiguration,
        apiextensions::CustomResourceDefinition, apiregistration::APIService,
        rbac::Role, rbac::RoleBinding, rbac::ClusterRole, rbac::ClusterRoleBinding,
        policy::PodDisruptionBudget, networking::Ingress, networking::IngressClass, networking::NetworkPolicy,
        scheduling::PriorityClass, storage::StorageClass,
    );
    generator.subschema_for::<meta::DeleteOptions>();
    generator.subschema_for::<meta::Status>();
    generator.subschema_for::<meta::ListMeta>();
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    for line in MARKERS.lines() {
        mark(&mut definitions, line);
    }
    for kind in &kinds {
        if let Some(Value::Object(definition)) = definitions.get_mut(&kind.definition) {
            let gvk = json!([{ "group": kind.group, "kind": kind.name, "version": kind.version }]);
            definition.insert("x-kubernetes-group-version-kind".to_owned(), gvk);
        }
    }
    Table { kinds, definitions }
});

fn mark(definitions: &mut Map<String, Value>, line: &str) {
    let mut cells = line.split('\t');
    let mut next = || cells.next().unwrap_or_default();
    let (definition, member) = (next(), next());
    let Some(mut schema) = definitions.get_mut(definition) else { return };
    if !member.is_empty() {
        let Some(found) = schema.get_mut("properties").and_then(|properties| properties.get_mut(member)) else {
            return;
        };
        schema = found;
    }
    let Some(schema) = schema.as_object_mut() else { return };
    let mut put = |key: &str, value: Value| {
        schema.insert(key.to_owned(), value);
    };
    for key in [
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "x-kubernetes-patch-strategy",
        "x-kubernetes-patch-merge-key",
        "default",
    ] {
        match next() {
            "" => {}
            keys if key == "x-kubernetes-list-map-keys" => put(key, keys.split(',').collect()),
            default if key == "default" => put(key, serde_json::from_str(default).unwrap_or_default()),
            text => put(key, text.into()),
        }
    }
}

/// The name of the definition of a built-in kind.
pub(crate) fn definition_name(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    let found = TABLE.kinds.iter().find(|known| (known.group, known.version, known.name) == (group, version, kind))?;
    Some(&found.definition)
}

/// The name of the definition of a built-in kind in any version, the newest first.
pub(crate) fn definition_name_of_kind(group: &str, kind: &str) -> Option<&'static str> {
    let found = TABLE.kinds.iter().rev().find(|known| (known.group, known.name) == (group, kind))?;
    Some(&found.definition)
}

/// A definition by its name.
pub(crate) fn definition(name: &str) -> Option<&'static Value> {
    TABLE.definitions.get(name)
}

/// A member's definition, when it is an object that is always serialized.
fn always_written(member: &Value) -> Option<&'static Value> {
    let name = member.get("$ref").or_else(|| member.pointer("/allOf/0/$ref"))?.as_str()?.rsplit('/').next()?;
    let empty = member.get("default").and_then(Value::as_object).is_some_and(Map::is_empty);
    definition(name).filter(|definition| empty && definition.get("properties").is_some())
}

/// The content of an object of a definition before anything is set: the objects and the required members that are
/// always serialized.
pub(crate) fn blank(definition: &Value) -> Value {
    let required: Vec<&str> =
        definition.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut out = Map::new();
    for (name, member) in definition.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(below) = always_written(member) {
            out.insert(name.clone(), blank(below));
        } else if required.contains(&name.as_str()) {
            out.insert(name.clone(), Value::Null);
        }
    }
    Value::Object(out)
}
