//! Discovery: the paths that are not about objects. No I/O.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    ApiServer, openapi,
    reply::Reply,
    resources::{Catalog, Resource, Version, priority},
};

const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Media type of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers a path that is not about objects.
pub fn answer(server: &ApiServer, path: &str, accept: &str) -> Option<Reply> {
    let catalog = server.catalog();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let aggregated =
        accept.split(',').any(|media| media.contains("as=APIGroupDiscoveryList") && media.contains("v=v2;"))
            || accept.contains("v=v2;as=APIGroupDiscoveryList");
    let value = match parts.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => return Some(Reply::text(200, "ok")),
        ["version"] => version(&server.kubernetes()),
        ["api"] if aggregated => return Some(discovery_list(&catalog, true)),
        ["apis"] if aggregated => return Some(discovery_list(&catalog, false)),
        ["api"] => json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]}),
        ["api", version] => resource_list(&catalog, "", version)?,
        ["apis"] => {
            let groups: Vec<Value> =
                groups(&catalog).iter().map(|(name, versions)| group(name, versions, false)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        ["apis", name] => groups(&catalog).get(*name).map(|versions| group(name, versions, true))?,
        ["apis", group, version] => resource_list(&catalog, group, version)?,
        ["openapi", "v3"] => openapi_index(&catalog),
        ["openapi", "v3", "api", version] => openapi_document(&catalog, "", version)?,
        ["openapi", "v3", "apis", group, version] => openapi_document(&catalog, group, version)?,
        _ => return None,
    };
    Some(Reply::value(200, value))
}

fn version(kubernetes: &str) -> Value {
    let mut numbers = kubernetes.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    json!({"major": major, "minor": minor, "gitVersion": kubernetes, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "linux/amd64"})
}

/// Paths of the OpenAPI documents.
fn openapi_index(catalog: &Catalog) -> Value {
    let mut paths = json!({});
    let mut add = |group: &str, version: &str| {
        // Without a fingerprint: the documents are built on request, and clients read them again.
        let place = openapi::place(group, version);
        let url = format!("/openapi/v3/{place}");
        super::object::put_at(&mut paths, &[&place], json!({"serverRelativeURL": url}));
    };
    add("", "v1");
    for (group, versions) in groups(catalog) {
        for version in versions {
            add(&group, &version);
        }
    }
    json!({"paths": paths})
}

fn openapi_document(catalog: &Catalog, group: &str, version: &str) -> Option<Value> {
    let served = served(catalog, group, version);
    let names: Vec<Vec<&str>> = served
        .iter()
        .map(|(resource, version)| subresources(resource, version).into_iter().map(|one| one.0).collect())
        .collect();
    let kinds: Vec<openapi::Served<'_>> = served
        .iter()
        .zip(&names)
        .map(|((resource, version), subresources)| openapi::Served {
            kind: &resource.kind,
            resource: &resource.plural,
            namespaced: resource.namespaced,
            subresources,
            schema: version.raw_schema.as_deref(),
        })
        .collect();
    (!kinds.is_empty()).then(|| openapi::document(group, version, &kinds))
}

/// Named groups and their versions, the preferred one first.
fn groups(catalog: &Catalog) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for resource in catalog.iter().filter(|resource| !resource.group.is_empty()) {
        let versions = groups.entry(resource.group.clone()).or_default();
        for version in &resource.versions {
            if !versions.contains(&version.name) {
                versions.push(version.name.clone());
            }
        }
    }
    for versions in groups.values_mut() {
        versions.sort_by_key(|name| std::cmp::Reverse(priority(name)));
    }
    groups
}

fn group(name: &str, versions: &[String], alone: bool) -> Value {
    let entry = |version: &String| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let all: Vec<Value> = versions.iter().map(entry).collect();
    let mut group = json!({"name": name, "versions": all, "preferredVersion": all.first()});
    if alone {
        super::object::put_at(&mut group, &["kind"], "APIGroup".into());
        super::object::put_at(&mut group, &["apiVersion"], "v1".into());
    }
    group
}

fn served<'a>(catalog: &'a Catalog, group: &str, version: &str) -> Vec<(&'a Resource, &'a Version)> {
    let of_group = catalog.iter().filter(|resource| resource.group == group);
    of_group.filter_map(|resource| Some((&**resource, &**resource.version(version)?))).collect()
}

/// (name, group, version, kind, verbs) of the subresources.
fn subresources(resource: &Resource, version: &Version) -> Vec<(&'static str, &'static str, &'static str, String)> {
    let mut all = Vec::new();
    if version.scale.is_some() {
        all.push(("scale", "autoscaling", "v1", "Scale".to_owned()));
    }
    if version.status {
        all.push(("status", "", "", resource.kind.clone()));
    }
    all
}

const SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];

/// In the order in which kube-apiserver lists them for custom kinds.
const CUSTOM_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

fn verbs(resource: &Resource) -> Vec<&'static str> {
    let all = if resource.behaviour.custom { CUSTOM_VERBS } else { VERBS };
    let keeps = |verb: &&str| match resource.kind.as_str() {
        "Namespace" => *verb != "deletecollection",
        _ => !resource.behaviour.review || *verb == "create",
    };
    all.iter().copied().filter(keeps).collect()
}

fn resource_list(catalog: &Catalog, group: &str, version: &str) -> Option<Value> {
    let served = served(catalog, group, version);
    if served.is_empty() {
        return None;
    }
    let mut resources = Vec::new();
    for (resource, version) in served {
        let mut entry = json!({"name": resource.plural, "singularName": resource.singular,
            "namespaced": resource.namespaced, "kind": resource.kind, "verbs": verbs(resource)});
        for (key, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
            if !list.is_empty() {
                super::object::put_at(&mut entry, &[key], json!(list));
            }
        }
        resources.push(entry);
        for (name, group, group_version, kind) in subresources(resource, version) {
            let mut entry = json!({"name": format!("{}/{name}", resource.plural), "singularName": "",
                "namespaced": resource.namespaced, "kind": kind, "verbs": SUBRESOURCE_VERBS});
            if !group.is_empty() {
                super::object::put_at(&mut entry, &["group"], group.into());
                super::object::put_at(&mut entry, &["version"], group_version.into());
            }
            resources.push(entry);
        }
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}))
}

fn discovery_list(catalog: &Catalog, core: bool) -> Reply {
    let names = if core { BTreeMap::from([(String::new(), vec!["v1".to_owned()])]) } else { groups(catalog) };
    let items: Vec<Value> = names.iter().map(|(group, versions)| discovery_group(catalog, group, versions)).collect();
    let value = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    Reply { media_type: AGGREGATED, ..Reply::value(200, value) }
}

fn discovery_group(catalog: &Catalog, group: &str, versions: &[String]) -> Value {
    let of_version = |version: &String| {
        let resources: Vec<Value> = served(catalog, group, version)
            .iter()
            .map(|(resource, served)| discovery_resource(resource, served))
            .collect();
        json!({"version": version, "freshness": "Current", "resources": resources})
    };
    let versions: Vec<Value> = versions.iter().map(of_version).collect();
    let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
    json!({"metadata": metadata, "versions": versions})
}

fn discovery_resource(resource: &Resource, version: &Version) -> Value {
    let kind = json!({"group": resource.group, "version": version.name, "kind": resource.kind});
    let subresources: Vec<Value> = subresources(resource, version)
        .into_iter()
        .map(|(name, group, group_version, kind_name)| {
            let kind = if group.is_empty() {
                kind.clone()
            } else {
                json!({"group": group, "version": group_version, "kind": kind_name})
            };
            json!({"subresource": name, "responseKind": kind, "verbs": SUBRESOURCE_VERBS})
        })
        .collect();
    let mut entry = json!({"resource": resource.plural, "responseKind": kind,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular, "verbs": verbs(resource)});
    for (key, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            super::object::put_at(&mut entry, &[key], json!(list));
        }
    }
    if !subresources.is_empty() {
        super::object::put_at(&mut entry, &["subresources"], subresources.into());
    }
    entry
}
