//! Status of the members' objects -> Works -> bindings -> templates. Client required.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::binding::BINDING_ID;
use super::clusters::ready;
use super::eviction::leaving;
use super::interpreter::Interpreter;
use super::{Karmada, condition};
use crate::json::{self, deleting, items, name, namespace, text};
use crate::member::Member;
use crate::objects::Kind;
use crate::pass::Pass;
use decision::names::execution_space;

const APPLIED: (&str, &str) = ("FullyAppliedSuccess", "All works have been successfully applied");
const NOT_APPLIED: (&str, &str) =
    ("FullyAppliedFailed", "Failed to apply all works, see status.aggregatedStatus for details");

impl Karmada {
    /// Reflects status. The last status of a cluster that is not ready stays.
    pub(super) async fn reflect(&self, interpreter: &Interpreter, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        for cluster in self.clusters().await?.iter().filter(|cluster| ready(cluster)) {
            let Some(member) = self.members.get(name(cluster)).filter(|member| !member.failed()) else { continue };
            for work in self.objects.all(&self.kinds.work, &execution_space(name(cluster))).await? {
                if !deleting(&work) {
                    pass.join(self.reflect_work(member, &work, interpreter).await?);
                }
            }
        }
        let works = self.objects.all(&self.kinds.work, "").await?;
        for binding in self.objects.all(&self.kinds.binding, "").await? {
            if !deleting(&binding) {
                let aggregated = aggregate(&binding, &works);
                pass.join(self.reflect_binding(&binding, &aggregated, now).await?);
                pass.join(self.reflect_template(&binding, &aggregated, interpreter).await?);
            }
        }
        Ok(pass)
    }

    async fn reflect_work(
        &self,
        member: &Member,
        work: &Value,
        interpreter: &Interpreter,
    ) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let mut manifests = Vec::new();
        for (ordinal, manifest) in items(work, "/spec/workload/manifests").iter().enumerate() {
            let kind = member.objects().kind(text(manifest, "/apiVersion"), text(manifest, "/kind")).await?;
            let Some(kind) = kind else { continue };
            if let Some(object) = member.objects().one(&kind, namespace(manifest), name(manifest)).await? {
                let mut entry =
                    json!({"identifier": identifier(&kind, &object, ordinal), "health": interpreter.health(&object)});
                let status = interpreter.reflect(&object);
                if !status.is_null() {
                    json::set(&mut entry, &["status"], status);
                }
                manifests.push(entry);
            }
        }
        if manifests.is_empty() || items(work, "/status/conditions").is_empty() {
            return Ok(pass);
        }
        let mut status = work.get("status").cloned().unwrap_or_else(|| json!({}));
        json::set(&mut status, &["manifestStatuses"], json!(manifests));
        pass.writes += usize::from(self.objects.set_status(&self.kinds.work, work, &status).await?);
        Ok(pass)
    }

    async fn reflect_binding(
        &self,
        binding: &Value,
        aggregated: &[Value],
        now: Timestamp,
    ) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        if items(binding, "/spec/clusters").is_empty() && items(binding, "/status/aggregatedStatus").is_empty() {
            return Ok(pass);
        }
        let targets = items(binding, "/spec/clusters").iter().map(|target| text(target, "/name"));
        let wanted: BTreeSet<&str> = targets.chain(leaving(binding)).collect();
        let applied = aggregated.iter().filter(|status| json::truth(status, "/applied"));
        let applied: BTreeSet<&str> = applied.map(|status| text(status, "/clusterName")).collect();
        let all = !wanted.is_empty() && aggregated.len() == wanted.len() && applied == wanted;
        let before = json::condition(binding, "/status/conditions", "FullyApplied");
        let fully = condition(before, "FullyApplied", all, if all { APPLIED } else { NOT_APPLIED }, now);
        let mut conditions: Vec<Value> = items(binding, "/status/conditions").to_vec();
        conditions.retain(|old| text(old, "/type") != "FullyApplied");
        conditions.push(fully);
        let mut status = binding.get("status").cloned().unwrap_or_else(|| json!({}));
        json::set(&mut status, &["conditions"], json!(conditions));
        json::set(&mut status, &["aggregatedStatus"], json!(aggregated));
        pass.writes += usize::from(self.objects.set_status(&self.kinds.binding, binding, &status).await?);
        Ok(pass)
    }

    async fn reflect_template(
        &self,
        binding: &Value,
        aggregated: &[Value],
        interpreter: &Interpreter,
    ) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let of = |field: &str| text(binding, &format!("/spec/resource/{field}"));
        if aggregated.is_empty() {
            return Ok(pass);
        }
        let Some(kind) = self.objects.kind(of("apiVersion"), of("kind")).await? else { return Ok(pass) };
        let Some(template) = self.objects.one(&kind, of("namespace"), of("name")).await? else { return Ok(pass) };
        if let Some(status) = interpreter.aggregate(&template, aggregated) {
            pass.writes += usize::from(self.objects.set_status(&kind, &template, &status).await?);
        }
        Ok(pass)
    }
}

fn identifier(kind: &Kind, object: &Value, ordinal: usize) -> Value {
    let (group, version) = kind.api_version.rsplit_once('/').unwrap_or(("", &kind.api_version));
    json!({"ordinal": ordinal, "group": group, "version": version, "kind": kind.kind, "resource": "",
        "namespace": namespace(object), "name": name(object)})
}

/// The statuses of a binding's clusters, ordered by name.
fn aggregate(binding: &Value, works: &[Arc<Value>]) -> Vec<Value> {
    let id = json::label(binding, BINDING_ID);
    let own = works.iter().filter(|work| !id.is_empty() && json::label(work, BINDING_ID) == id && !deleting(work));
    let mut entries: Vec<Value> = own
        .map(|work| {
            let cluster = namespace(work).strip_prefix("karmada-es-").unwrap_or_default();
            let applied = json::condition(work, "/status/conditions", "Applied");
            let applied_is = applied.is_some_and(|applied| text(applied, "/status") == "True");
            let first = items(work, "/status/manifestStatuses").first();
            let health = first.filter(|_| applied_is).map_or("Unknown", |first| text(first, "/health"));
            let mut entry = json!({"clusterName": cluster, "applied": applied_is, "health": health});
            if let Some(applied) = applied.filter(|_| !applied_is) {
                json::set(&mut entry, &["appliedMessage"], json!(text(applied, "/message")));
            }
            // A manifest that was not applied has no status.
            if let Some(status) = first.filter(|_| applied_is).and_then(|first| first.get("status")) {
                json::set(&mut entry, &["status"], status.clone());
            }
            entry
        })
        .collect();
    entries.sort_by(|a, b| text(a, "/clusterName").cmp(text(b, "/clusterName")));
    entries
}
