//! What many objects cost, with the periods and limits that Karmada, Kubernetes and fhpa have by default.

mod beside;
mod crowd;
mod divided;
mod meter;

use crate::both::CORES;
use crate::observer::Observer;
use crate::stand::Stand;

/// For how long requests are counted: four periods.
const WINDOW: u64 = 60;
/// From the moment at which everything runs until it is measured.
const REST: u64 = 45;
/// Longest time until what was asked of so many objects is done.
const PATIENCE: u64 = 600;
/// Nodes of each member: each takes 200 pods.
const NODES: usize = 4;

/// One namespace has 1, 50 and 200 objects, of Karmada's own controller.
pub async fn theirs_in_one_namespace(stand: &mut Stand) {
    beside::theirs(stand, 1, &[1, 50, 200]).await;
}

/// Ten namespaces have 50 and 200 objects.
pub async fn theirs_in_ten_namespaces(stand: &mut Stand) {
    beside::theirs(stand, 10, &[50, 200]).await;
}

/// One namespace has 1, 50 and 200 objects, of fhpa in mode Centralized.
pub async fn ours_in_one_namespace(stand: &mut Stand) {
    beside::ours(stand, 1, &[1, 50, 200]).await;
}

/// Ten namespaces have 50 and 200 objects.
pub async fn ours_in_ten_namespaces(stand: &mut Stand) {
    beside::ours(stand, 10, &[50, 200]).await;
}

/// 200 FederatedHPAs are applied, for workloads that run in three members.
pub async fn divided(stand: &mut Stand) {
    divided::measure(stand, &[]).await;
}

/// The same, where Karmada's clients and queues take more at a time than they do by default.
pub async fn divided_without_limits(stand: &mut Stand) {
    let limits = [
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        "--cluster-api-qps=1000",
        "--cluster-api-burst=2000",
        "--rate-limiter-qps=1000",
        "--rate-limiter-bucket-size=2000",
        "--concurrent-work-syncs=20",
    ];
    divided::measure(stand, &limits).await;
}

/// Room for the pods, and nobody who judges each change beside what is measured.
async fn prepare(stand: &mut Stand) {
    stand.observer = Observer::idle();
    for member in &stand.lab.members {
        crate::both::wanted::nodes(&member.plane.client, member.name(), NODES, CORES).await;
    }
}
