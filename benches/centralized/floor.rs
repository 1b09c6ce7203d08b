//! The floor: the lists of metrics that every period needs, decoded and forgotten. Ends when its standard input does.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use fhpa::api::metrics::{List, PodMetrics};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::population::{MEMBERS, namespace};

/// Of the controller, by default.
const PERIOD: Duration = Duration::from_secs(15);

pub async fn run(kubeconfig: PathBuf, namespaces: usize) {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    tokio::spawn(async move {
        loop {
            for (member, at) in MEMBERS.iter().flat_map(|member| (0..namespaces).map(move |at| (member, at))) {
                let list = format!("apis/metrics.k8s.io/v1beta1/namespaces/{}/pods", namespace(at));
                let path = format!("/apis/cluster.karmada.io/v1alpha1/clusters/{member}/proxy/{list}");
                let request = http::Request::get(path).body(Vec::new()).unwrap();
                let read: List<PodMetrics> = client.request(request).await.unwrap();
                assert!(!read.items.is_empty());
            }
            tokio::time::sleep(PERIOD).await;
        }
    });
    println!("begun");
    let told = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    told.await.unwrap().unwrap();
}
