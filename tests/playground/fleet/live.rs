//! The same in real time, with controllers that run by themselves.

use std::sync::Arc;
use std::time::Duration;

use fhpa::playground::clock::Clock;
use fhpa::playground::fleet::{Fleet, Plan};
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::await_condition;
use serde_json::json;

use super::{deployment, plan, policy};

async fn ready(deployments: &Api<Deployment>, replicas: i32) {
    let enough = move |found: Option<&Deployment>| {
        let status = found.and_then(|found| found.status.as_ref());
        status.and_then(|status| status.ready_replicas).unwrap_or_default() == replicas
    };
    let waited =
        tokio::time::timeout(Duration::from_secs(60), await_condition(deployments.clone(), "web", enough)).await;
    waited.expect("the replicas are ready in time").unwrap();
}

#[tokio::test]
async fn changes_are_followed_when_they_come() {
    let mut plan = Plan { clock: Clock::real(), ..plan() };
    plan.member.ready_delay = SignedDuration::ZERO;
    let fleet = Arc::new(Fleet::build(plan).await.unwrap());
    let running = tokio::spawn({
        let fleet = fleet.clone();
        async move { fleet.run().await }
    });
    fleet.control().create(&policy(&[1, 1])).await.unwrap();
    fleet.control().create(&deployment("web", 4, "100m")).await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(fleet.control().client(), "default");
    ready(&deployments, 4).await;
    let six = Patch::Merge(json!({"spec": {"replicas": 6}}));
    deployments.patch("web", &PatchParams::default(), &six).await.unwrap();
    ready(&deployments, 6).await;
    running.abort();
}
