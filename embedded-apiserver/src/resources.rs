//! The served kinds: a table of built-in ones, and those of CustomResourceDefinitions. No I/O.

mod definition;
pub mod typed;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use self::typed::Normalise;
use super::{fields::ListKinds, schema::Structural, status::qualified};

pub use self::definition::{from_definition, priority};

/// Paths of the values of the scale subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// `.spec.replicas`.
    pub spec: String,
    /// `.status.replicas`.
    pub status: String,
    /// `.status.labelSelector`, text; built-in kinds use `.spec.selector`, an object.
    pub selector: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Debug, Clone)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// JSON path without braces.
    pub path: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// 0 is always shown; greater ones only with `-o wide`.
    pub priority: i64,
}

/// One served version of a kind.
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1`.
    pub name: String,
    /// Whether `status` is a subresource.
    pub status: bool,
    /// Whether `scale` is a subresource, with its paths.
    pub scale: Option<ScalePaths>,
    /// Columns of a custom resource.
    pub columns: Vec<Column>,
    /// Schema of a custom resource.
    pub schema: Option<Arc<Structural>>,
    /// The same schema, as written.
    pub raw_schema: Option<Arc<Value>>,
    lists: OnceLock<Arc<ListKinds>>,
    /// Fields that field selectors may name.
    pub selectable: Vec<String>,
    /// Reads a built-in kind by its type.
    pub normalise: Option<Normalise>,
}

/// How a kind behaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an own switch of the kind's strategy")]
pub struct Behaviour {
    /// Whether it has `metadata.generation`.
    pub generation: bool,
    /// Whether a PUT without resourceVersion is accepted.
    pub unconditional: bool,
    /// Whether a PUT of a missing object creates it.
    pub create_on_update: bool,
    /// Whether DELETE responds with the object.
    pub returns_deleted: bool,
    /// Whether it comes from a CustomResourceDefinition.
    pub custom: bool,
    /// Whether it only supports POST, and is not stored.
    pub review: bool,
}

/// A kind.
#[derive(Debug, Clone)]
pub struct Resource {
    /// API group; empty for core.
    pub group: String,
    /// `deployments`.
    pub plural: String,
    /// `deployment`.
    pub singular: String,
    /// `Deployment`.
    pub kind: String,
    /// `DeploymentList`.
    pub list_kind: String,
    /// `deploy`.
    pub short_names: Vec<String>,
    /// `all`.
    pub categories: Vec<String>,
    /// Whether objects are namespaced.
    pub namespaced: bool,
    /// Key of the store's bucket; two groups may share one (events).
    pub bucket: Arc<str>,
    /// Served versions, the preferred one first.
    pub versions: Vec<Arc<Version>>,
    /// `apiVersion` in the store.
    pub stored_as: String,
    /// How the kind behaves.
    pub behaviour: Behaviour,
    /// `spec` of the CustomResourceDefinition; null for built-in kinds.
    pub defined: Arc<Value>,
    /// Resource version of the store at which the CRD last changed: older objects were written with another schema.
    pub since: u64,
}

impl Resource {
    /// `apps/v1`.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// How lists of a version are merged in server-side apply; compiled at first use.
    pub fn lists(&self, version: &Version) -> Arc<ListKinds> {
        let build = || match &version.raw_schema {
            Some(schema) => Arc::new(ListKinds::custom(schema).with_status_subresource(version.status)),
            None => ListKinds::builtin(&self.group, &version.name, &self.kind)
                .unwrap_or_else(|| Arc::new(ListKinds::custom(&Value::Null))),
        };
        version.lists.get_or_init(build).clone()
    }

    /// A served version by name.
    pub fn version(&self, name: &str) -> Option<&Arc<Version>> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// `deployments.apps`.
    pub fn qualified(&self) -> String {
        qualified(&self.plural, &self.group)
    }
}

/// All kinds, by group and plural name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    resources: BTreeMap<(String, String), Arc<Resource>>,
}

impl Catalog {
    /// The built-in kinds.
    pub fn builtin() -> Self {
        let mut catalog = Self::default();
        for row in BUILTIN {
            catalog.add(row.resource());
        }
        catalog
    }

    /// Adds a kind, or replaces its previous form.
    pub fn add(&mut self, resource: Resource) {
        self.resources.insert((resource.group.clone(), resource.plural.clone()), Arc::new(resource));
    }

    /// Serves HPAs as in newer or older versions of Kubernetes.
    pub fn serve_autoscalers(&mut self, newer: bool) {
        for row in BUILTIN.iter().filter(|row| row.group == "autoscaling") {
            let mut resource = row.resource();
            resource.versions.retain(|version| newer || version.name == "v1");
            self.add(resource);
        }
    }

    /// Removes a kind.
    pub fn remove(&mut self, group: &str, plural: &str) {
        self.resources.remove(&(group.to_owned(), plural.to_owned()));
    }

    /// A kind by group and plural name.
    pub fn find(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.get(&(group.to_owned(), plural.to_owned()))
    }

    /// A kind by the `apiVersion` and `kind` of an object.
    pub fn find_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.resources.values().find(|resource| resource.group == group && resource.kind == kind)
    }

    /// The kind whose objects are in a bucket.
    pub fn of_bucket(&self, bucket: &str) -> Option<&Arc<Resource>> {
        self.resources.values().find(|resource| *resource.bucket == *bucket)
    }

    /// All kinds, in order of group and plural name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }
}

struct Row {
    group: &'static str,
    versions: &'static [&'static str],
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
    short: &'static str,
    all: bool,
    /// Letters: s status, r scale, g generation, c conditional update only, n create on update, d deletes respond with
    /// the object, R review.
    marks: &'static str,
}

#[allow(clippy::too_many_arguments, reason = "a row of a table")]
const fn row(
    group: &'static str,
    versions: &'static [&'static str],
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
    short: &'static str,
    all: bool,
    marks: &'static str,
) -> Row {
    Row { group, versions, plural, kind, namespaced, short, all, marks }
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

#[rustfmt::skip]
const BUILTIN: &[Row] = &[
    row("", &["v1"], "configmaps", "ConfigMap", true, "cm", false, ""),
    row("", &["v1"], "endpoints", "Endpoints", true, "ep", false, "n"),
    row("", &["v1"], "events", "Event", true, "ev", false, "n"),
    row("", &["v1"], "namespaces", "Namespace", false, "ns", false, "s"),
    row("", &["v1"], "nodes", "Node", false, "no", false, "s"),
    row("", &["v1"], "pods", "Pod", true, "po", true, "sdg"),
    row("", &["v1"], "replicationcontrollers", "ReplicationController", true, "rc", true, "srg"),
    row("", &["v1"], "secrets", "Secret", true, "", false, ""),
    row("", &["v1"], "serviceaccounts", "ServiceAccount", true, "sa", false, "d"),
    row("", &["v1"], "services", "Service", true, "svc", true, "sd"),
    row(ADMISSION, &["v1"], "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false, "", false, "gc"),
    row(ADMISSION, &["v1"], "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false, "", false, "gc"),
    row("apiextensions.k8s.io", &["v1"], "customresourcedefinitions", "CustomResourceDefinition", false, "crd,crds", false, "sgc"),
    row("apps", &["v1"], "daemonsets", "DaemonSet", true, "ds", true, "sg"),
    row("apps", &["v1"], "deployments", "Deployment", true, "deploy", true, "srg"),
    row("apps", &["v1"], "replicasets", "ReplicaSet", true, "rs", true, "srg"),
    row("apps", &["v1"], "statefulsets", "StatefulSet", true, "sts", true, "srg"),
    row("authorization.k8s.io", &["v1"], "selfsubjectaccessreviews", "SelfSubjectAccessReview", false, "", false, "R"),
    row("autoscaling", &["v2", "v1"], "horizontalpodautoscalers", "HorizontalPodAutoscaler", true, "hpa", true, "s"),
    row("coordination.k8s.io", &["v1"], "leases", "Lease", true, "", false, "cn"),
    row("events.k8s.io", &["v1"], "events", "Event", true, "ev", false, "n"),
    row(RBAC, &["v1"], "clusterrolebindings", "ClusterRoleBinding", false, "", false, ""),
    row(RBAC, &["v1"], "clusterroles", "ClusterRole", false, "", false, ""),
    row(RBAC, &["v1"], "rolebindings", "RoleBinding", true, "", false, ""),
    row(RBAC, &["v1"], "roles", "Role", true, "", false, ""),
];

impl Row {
    fn resource(&self) -> Resource {
        let has = |mark: char| self.marks.contains(mark);
        let scale = has('r').then(|| ScalePaths {
            spec: ".spec.replicas".into(),
            status: ".status.replicas".into(),
            selector: None,
        });
        let versions = self.versions.iter().map(|name| Arc::new(self.version(name, scale.clone()))).collect();
        let group = if self.group == "events.k8s.io" { "" } else { self.group };
        let preferred = self.versions.first().copied().unwrap_or("v1");
        Resource {
            group: self.group.into(),
            plural: self.plural.into(),
            singular: self.kind.to_lowercase(),
            kind: self.kind.into(),
            list_kind: format!("{}List", self.kind),
            short_names: self.short.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            categories: if self.all { vec!["all".into()] } else { Vec::new() },
            namespaced: self.namespaced,
            bucket: qualified(self.plural, group).into(),
            versions,
            stored_as: if group.is_empty() { preferred.into() } else { format!("{group}/{preferred}") },
            behaviour: Behaviour {
                generation: has('g'),
                unconditional: !has('c'),
                create_on_update: has('n'),
                returns_deleted: has('d'),
                custom: false,
                review: has('R'),
            },
            defined: Arc::default(),
            since: 0,
        }
    }

    fn version(&self, name: &str, scale: Option<ScalePaths>) -> Version {
        Version {
            name: name.to_owned(),
            status: self.marks.contains('s'),
            scale,
            columns: Vec::new(),
            schema: None,
            raw_schema: None,
            lists: OnceLock::new(),
            selectable: Vec::new(),
            normalise: typed::normaliser(self.group, name, self.kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_groups_of_events_share_one_store() {
        let catalog = Catalog::builtin();
        assert_eq!(catalog.find("", "events").unwrap().bucket, catalog.find("events.k8s.io", "events").unwrap().bucket);
    }
}
