//! Checks for other autoscalers of the workloads that FederatedHPAs scale, in karmada-apiserver and in members. Talks
//! to the API server, and to members through it.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::members::{is_ready, name};
use super::objects::unread;
use super::{CheckState, Context, Finding, LOOKED_AT};
use crate::api::FederatedHPA;
use crate::api::scaler::{PlainHPA, ScaledObject};
use crate::convert::{self, Scaler};
use crate::decision::few::Few;
use crate::decision::related_objects::Target;
use crate::install::apply::list;
use crate::reconcile::federated_hpa::names::WRITE_ID;
use crate::reconcile::federated_hpa::observe::members::proxied;

const CHECK: &str = "other autoscalers";
/// Every version of Kubernetes serves the older API.
const HPAS: &str = "/apis/autoscaling/v1/horizontalpodautoscalers";
const SCALED_OBJECTS: &str = "/apis/keda.sh/v1alpha1/scaledobjects";

/// Whether nothing else scales the workloads of these FederatedHPAs.
pub(super) async fn scalers(context: &Context, hpas: &[Value], clusters: &[Value]) -> Finding {
    let targets = targets(hpas);
    if targets.is_empty() {
        return Finding::ok(CHECK, "there are no FederatedHPAs");
    }
    let plain = list(&context.client, HPAS, "autoscaling", "horizontalpodautoscalers");
    let keda = list(&context.client, SCALED_OBJECTS, "keda.sh", "scaledobjects");
    let (plain, keda) = match futures::join!(plain, keda) {
        (Ok(plain), Ok(keda)) => (plain, keda),
        (Err(failure), _) | (_, Err(failure)) => return unread(CHECK, failure),
    };
    let mut found = others::<PlainHPA>(&plain, &targets);
    found.extend(others::<ScaledObject>(&keda, &targets));
    let ready = clusters.iter().filter(|cluster| is_ready(cluster)).map(name).take(LOOKED_AT);
    let answers = join_all(ready.map(|member| async move {
        let path = proxied(member, HPAS);
        (member, list(&context.client, &path, "autoscaling", "horizontalpodautoscalers").await)
    }))
    .await;
    let mut silent = Vec::new();
    for (member, answer) in &answers {
        match answer {
            Ok(hpas) => {
                found.extend(others::<PlainHPA>(hpas, &targets).into_iter().map(|one| format!("{one} in {member}")));
            }
            Err(_) => silent.push(*member),
        }
    }
    if !found.is_empty() {
        let to_do = "delete them, or annotate the FederatedHPA with fhpa.karmada.io/adopt-hpa: \"true\" to have HPAs of members \
                     taken over: two autoscalers on one workload stop each other";
        return Finding::fail(CHECK, Few(&found).to_string(), to_do);
    }
    if !silent.is_empty() {
        let seen = format!("the HPAs of {} cannot be read", Few(&silent));
        return Finding::new(
            CHECK,
            CheckState::Skipped,
            seen,
            "ask with an administrator's kubeconfig, when they answer",
        );
    }
    Finding::ok(CHECK, format!("none on the workloads of {} FederatedHPAs", hpas.len()))
}

fn targets(hpas: &[Value]) -> BTreeSet<Target> {
    let decoded = hpas.iter().filter_map(|hpa| serde_json::from_value::<FederatedHPA>(hpa.clone()).ok());
    decoded.map(|hpa| convert::target(hpa.metadata.namespace.as_deref(), &hpa.spec.scale_target_ref)).collect()
}

/// Those of these objects that scale one of `targets` and are not fhpa's.
fn others<K: Scaler + DeserializeOwned>(objects: &[Value], targets: &BTreeSet<Target>) -> Vec<String> {
    let ours = |object: &&Value| {
        object.pointer("/metadata/annotations").is_some_and(|annotations| annotations.get(WRITE_ID).is_some())
    };
    let decoded = objects.iter().filter(|object| !ours(object));
    let known = decoded.filter_map(|object| serde_json::from_value::<K>(object.clone()).ok()?.known());
    let on_one = known.filter(|known| targets.contains(&known.target));
    on_one.map(|known| format!("{} {}/{}", known.kind.name(), known.target.namespace, known.name)).collect()
}
