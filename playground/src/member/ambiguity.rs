//! HPAs that select the same pods: as in kube-controller-manager, none of them scales. No I/O.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::MemberView;
use crate::json::{deleting, members, name, namespace, text};
use decision::hpa::decide::{Condition, Decision};

/// The decision of the HPA `object` of `target` when others of `all` select the same pods; `None` when none does.
pub(super) fn ambiguous(seen: &MemberView, all: &[Arc<Value>], object: &Value, target: &Value) -> Option<Decision> {
    let own = pods(seen, target);
    let selects = |other: &&Arc<Value>| {
        let same = namespace(other) == namespace(object) && !deleting(other);
        same && seen.target_of(other).is_some_and(|other| !pods(seen, other).is_disjoint(&own))
    };
    let rivals: Vec<String> =
        all.iter().filter(selects).map(|other| format!("{}/{}", namespace(other), name(other))).collect();
    if rivals.len() < 2 {
        return None;
    }
    let labels = members(target, "/spec/selector/matchLabels");
    let selector: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    let message =
        format!("pods by selector {} are controlled by multiple HPAs: [{}]", selector.join(","), rivals.join(" "));
    let condition = Condition { kind: "ScalingActive", status: false, reason: "AmbiguousSelector", message };
    Some(Decision { conditions: vec![condition], ..Decision::default() })
}

fn pods<'a>(seen: &'a MemberView, target: &'a Value) -> BTreeSet<&'a str> {
    seen.pods_of(target).map(|pod| text(pod, "/metadata/uid")).collect()
}
