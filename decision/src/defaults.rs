//! Defaults that admission adds to an object (docs/validation.md#reviews). Pure.
//!
//! Only absent members are added, so that a second pass over the result adds nothing.

use serde_json::{Value, json};

use super::api_version::ApiVersion;
use super::finding::Warning;
use super::kinds;
use super::names::{RETAIN_REPLICAS, SUSPENDED_FOR, pointer_token};
use super::related_objects::{KnownFederatedHPA, RelatedObjects, Target};
use super::subject::federated_hpa::FederatedHPASpec;
use super::subject::hpa::{Behavior, ScalingRules};
use super::subject::{CronFederatedHPA, FederatedHPA, ResourceBinding, Rule};

/// How a FederatedHPA works (docs/design.md#the-two-modes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Member clusters scale by HPAs of their own.
    #[default]
    Distributed,
    /// One calculation for all clusters.
    Centralized,
}

impl Mode {
    /// The names of all modes.
    pub const NAMES: [&'static str; 2] = ["Distributed", "Centralized"];

    /// Its name in `spec.mode`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Distributed => "Distributed",
            Self::Centralized => "Centralized",
        }
    }

    /// The mode of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Distributed, Self::Centralized].into_iter().find(|mode| mode.name() == name)
    }

    /// The mode that `spec` names; without a name Distributed, where it sets a field that only this mode has.
    #[must_use]
    pub fn stated(spec: &FederatedHPASpec<'_>) -> Option<Self> {
        let implied = || spec.distributed_fields().next().map(|_| Self::Distributed);
        spec.mode.as_deref().and_then(Self::parse).or_else(implied)
    }
}

/// One member to add to an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Addition {
    /// JSON pointer of the new member; its parent exists.
    pub pointer: String,
    /// Its value.
    pub value: Value,
}

impl Addition {
    fn new(pointer: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { pointer: pointer.into(), value: value.into() }
    }

    /// A member of the map at `pointer`, whose parent exists, and which itself may not be `there`.
    pub fn member(pointer: &str, there: bool, name: &str, value: &str) -> Self {
        if there {
            Self::new(format!("{pointer}/{}", pointer_token(name)), value)
        } else {
            Self::new(pointer, json!({name: value}))
        }
    }
}

/// Default of `minReplicas` of a FederatedHPA.
pub const MIN_REPLICAS: i32 = 1;
/// Default of the history limits of a rule of a CronFederatedHPA, for executed and failed runs.
pub const HISTORY_LIMIT: i32 = 3;

/// The members that a FederatedHPA lacks; `mode` is written where it names none.
#[must_use]
pub fn federated_hpa(hpa: &FederatedHPA<'_>, mode: Mode) -> Vec<Addition> {
    let mut additions = Vec::new();
    let Some(spec) = &hpa.spec else {
        additions.push(Addition::new(
            "/spec",
            json!({"minReplicas": MIN_REPLICAS, "metrics": default_metrics(), "mode": mode.name()}),
        ));
        return additions;
    };
    if spec.min_replicas.is_none() {
        additions.push(Addition::new("/spec/minReplicas", MIN_REPLICAS));
    }
    if spec.metrics.is_empty() {
        additions.push(Addition::new("/spec/metrics", default_metrics()));
    }
    if let Some(behavior) = &spec.behavior {
        complete_behavior(behavior, &mut additions);
    }
    if spec.mode.is_none() {
        additions.push(Addition::new("/spec/mode", mode.name()));
    }
    additions
}

/// Removes the addition of the mode, for callers that do not know whether the object sets one.
pub fn leave_mode(additions: &mut Vec<Addition>) {
    additions.retain(|addition| addition.pointer != "/spec/mode");
}

/// 80% of the CPU requests.
fn default_metrics() -> Value {
    json!([{
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }])
}

/// Completes both directions, as Kubernetes does for an HPA: up without delay by 4 pods or 100% in 15 s, down by 100%
/// in 15 s after a window that the member cluster chooses.
fn complete_behavior(behavior: &Behavior<'_>, additions: &mut Vec<Addition>) {
    let percent = || json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = || json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    let (up, down) = (|| json!([pods(), percent()]), || json!([percent()]));
    complete_rules("/spec/behavior/scaleUp", behavior.scale_up.as_ref(), Some(0), up, additions);
    complete_rules("/spec/behavior/scaleDown", behavior.scale_down.as_ref(), None, down, additions);
}

fn complete_rules(
    pointer: &str,
    rules: Option<&ScalingRules<'_>>,
    window: Option<i32>,
    policies: impl FnOnce() -> Value,
    additions: &mut Vec<Addition>,
) {
    let Some(rules) = rules else {
        let mut whole = json!({"selectPolicy": "Max", "policies": policies()});
        if let (Some(window), Some(members)) = (window, whole.as_object_mut()) {
            members.insert("stabilizationWindowSeconds".to_owned(), window.into());
        }
        additions.push(Addition::new(pointer, whole));
        return;
    };
    if let (None, Some(window)) = (rules.stabilization_window_seconds, window) {
        additions.push(Addition::new(format!("{pointer}/stabilizationWindowSeconds"), window));
    }
    if rules.select_policy.is_none() {
        additions.push(Addition::new(format!("{pointer}/selectPolicy"), "Max"));
    }
    if rules.policies.is_none() {
        additions.push(Addition::new(format!("{pointer}/policies"), policies()));
    }
}

/// The members that a CronFederatedHPA lacks.
#[must_use]
pub fn cron_federated_hpa(cron: &CronFederatedHPA<'_>) -> Vec<Addition> {
    let mut additions = Vec::new();
    for (index, rule) in cron.spec.rules.iter().enumerate() {
        // The rule may be null, which has no members to add to; validation rejects it.
        if *rule == Rule::default() {
            continue;
        }
        let mut add = |member: &str, value: Value| {
            additions.push(Addition::new(format!("/spec/rules/{index}/{member}"), value));
        };
        if rule.suspend.is_none() {
            add("suspend", false.into());
        }
        if rule.successful_history_limit.is_none() {
            add("successfulHistoryLimit", HISTORY_LIMIT.into());
        }
        if rule.failed_history_limit.is_none() {
            add("failedHistoryLimit", HISTORY_LIMIT.into());
        }
    }
    additions
}

/// The FederatedHPA whose workload `target` is, of those that `counts`: a Distributed one that scales it, or one that has
/// taken it over and hands it back.
fn holder(
    target: &Target,
    related_objects: &dyn RelatedObjects,
    counts: impl Fn(&KnownFederatedHPA) -> bool,
) -> Option<KnownFederatedHPA> {
    let scales = |hpa: &KnownFederatedHPA| hpa.distributed && counts(hpa);
    let scaling = related_objects.federated_hpas_on(target).into_iter().find(scales);
    scaling.or_else(|| related_objects.holder_of(target).filter(counts))
}

/// Suspends Karmada's scheduler for a new binding whose workload is that of a Distributed FederatedHPA that can divide it
/// (docs/validation.md#reviews), or is being handed back, and marks the binding with the name of that FederatedHPA.
/// Other members of the suspension stay, and so does a binding that is already suspended.
#[must_use]
pub fn resource_binding(binding: &ResourceBinding<'_>, related_objects: &dyn RelatedObjects) -> Vec<Addition> {
    let Some(spec) = &binding.spec else { return Vec::new() };
    let resource = &spec.resource;
    let Some(version) = ApiVersion::parse(&resource.api_version) else { return Vec::new() };
    let target = Target {
        namespace: resource.namespace.to_string(),
        group: version.group.to_owned(),
        kind: resource.kind.to_string(),
        name: resource.name.to_string(),
    };
    // A suspended one would not divide the binding that Karmada's scheduler may not, and one that is deleted only where
    // it still has to hand it back.
    let divides =
        |hpa: &KnownFederatedHPA| !hpa.suspended && (!hpa.deleting || hpa.taken_over.as_ref() == Some(&target));
    let Some(hpa) = holder(&target, related_objects, divides) else { return Vec::new() };
    // While it is not known whether the workload can be taken over, Karmada's scheduler divides it.
    let Some(retention) = related_objects.retention(&resource.api_version, &resource.kind) else { return Vec::new() };
    if kinds::divisible(&resource.api_version, &resource.kind, Some(retention)).is_err() {
        return Vec::new();
    }
    let suspension = match &spec.suspension {
        None => Addition::new("/spec/suspension", json!({"scheduling": true})),
        Some(suspension) if suspension.scheduling == Some(true) => return Vec::new(),
        Some(_) => Addition::new("/spec/suspension/scheduling", true),
    };
    let annotated = !binding.metadata.annotations.is_empty();
    vec![suspension, Addition::member("/metadata/annotations", annotated, SUSPENDED_FOR, &hpa.name)]
}

/// A workload of any kind, as far as its label needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// `apps/v1`
    pub api_version: String,
    /// `Deployment`
    pub kind: String,
    /// Whether it has labels.
    pub labelled: bool,
}

/// The label with which members keep the replicas of a workload that a Distributed FederatedHPA scales
/// (docs/design.md#on-the-wire), or has taken over and does not scale any more: the controller removes the label when the
/// workload is handed back. With what its writer is told.
#[must_use]
pub fn retention(
    workload: &Workload,
    namespace: &str,
    name: &str,
    related_objects: &dyn RelatedObjects,
) -> Option<(Addition, Warning)> {
    let version = ApiVersion::parse(&workload.api_version)?;
    let target = Target {
        namespace: namespace.to_owned(),
        group: version.group.to_owned(),
        kind: workload.kind.clone(),
        name: name.to_owned(),
    };
    let hpa = holder(&target, related_objects, |_| true)?;
    let label = Addition::member("/metadata/labels", workload.labelled, RETAIN_REPLICAS, "true");
    let text = format!(
        "FederatedHPA {namespace}/{} scales this workload in member clusters: {RETAIN_REPLICAS} stays, and fhpa removes it \
         when that is deleted or hands the workload back; keep it out of manifests",
        hpa.name
    );
    Some((label, Warning::shortened("metadata.labels".to_owned(), text, "retention")))
}
