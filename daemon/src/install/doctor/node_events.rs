//! Check whether the Events of members can be read, by which help knows whether nodes come. Talks to members through
//! the API server.

use futures::future::join_all;
use serde_json::Value;

use super::members::{ask, is_ready, name};
use super::objects::key;
use super::{CheckState, Context, Finding, LOOKED_AT};
use crate::decision::defaults::Mode;
use crate::decision::few::Few;
use crate::reconcile::federated_hpa::observe::members::proxied;

const CHECK: &str = "node events";

/// Whether the members tell what their autoscalers say of pods; `None` where no object waits for nodes.
pub(super) async fn node_events(context: &Context, hpas: &[Value], clusters: &[Value]) -> Option<Finding> {
    let waiting: Vec<String> = hpas.iter().filter(|hpa| waits(hpa)).map(key).collect();
    if waiting.is_empty() {
        return None;
    }
    let asked = clusters.iter().filter(|cluster| is_ready(cluster) && !pulls(cluster)).map(name).take(LOOKED_AT);
    let answers = join_all(
        asked.map(|member| async move { (member, ask(context, proxied(member, "/api/v1/events?limit=1")).await) }),
    )
    .await;
    let is_refused = |answer: &Result<(), (u16, String)>| matches!(answer, Err((401 | 403, _)));
    let refused: Vec<&str> =
        answers.iter().filter(|(_, answer)| is_refused(answer)).map(|(member, _)| *member).collect();
    if refused.is_empty() {
        return Some(Finding::ok(CHECK, format!("can be read, for {}", Few(&waiting))));
    }
    let seen = format!(
        "refused to this user in {}: help for pods that find no node waits for all of autoscaleMultiClusterDelay there, also \
         where the autoscaler adds no nodes, for {}",
        Few(&refused),
        Few(&waiting)
    );
    let to_do = "the processes need the roles of `fhpa install --output - --member-rbac` there (list events); doctor asks as \
                 the user of this kubeconfig";
    Some(Finding::new(CHECK, CheckState::Warn, seen, to_do))
}

/// Whether others wait before they help its clusters.
fn waits(hpa: &Value) -> bool {
    let spec = |field: &str| hpa.pointer(&format!("/spec/{field}"));
    let helps = spec("scaleAssist").and_then(Value::as_bool).unwrap_or(true);
    let delay = spec("autoscaleMultiClusterDelay").and_then(Value::as_i64).unwrap_or_default();
    spec("mode").and_then(Value::as_str) == Some(Mode::Distributed.name()) && helps && delay > 0
}

fn pulls(cluster: &Value) -> bool {
    cluster.pointer("/spec/syncMode").and_then(Value::as_str) == Some("Pull")
}
