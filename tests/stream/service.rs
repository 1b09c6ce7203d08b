//! An installation with replicas behind a [`Balancer`], on a real kube-apiserver, or on the embedded one where that is
//! absent. I/O: processes, files, sockets.

use std::path::PathBuf;

use embedded_apiserver::ApiServer;
use embedded_apiserver::serve::Listening;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::balancer::Balancer;
use crate::bed::Bed;
use crate::cluster::control_plane::ControlPlane;
use crate::controller::process::Replica;
use crate::install::WebhookState;

/// Namespace of the stream.
pub const SPACE: &str = "prod";
/// Who the replicas are: with the rights of the installation's roles and no others.
const USER: &str = "fhpa";

/// Karmada's API server.
enum Plane {
    Real(Box<ControlPlane>),
    Embedded(Bed, Listening),
}

impl Plane {
    async fn new(shows: &str) -> Self {
        if let Some(plane) = ControlPlane::own(shows) {
            plane.install_karmada();
            return Self::Real(Box::new(plane));
        }
        let bed = Bed::of(ApiServer::builder()).with_karmada().await;
        let listening = bed.listen().await;
        Self::Embedded(bed, listening)
    }

    async fn client(&self) -> Client {
        match self {
            Self::Real(plane) => plane.client().await,
            Self::Embedded(bed, _) => bed.client.clone(),
        }
    }

    /// Kubeconfigs of an administrator and of the replicas.
    fn kubeconfigs(&self) -> [String; 2] {
        match self {
            Self::Real(plane) => [std::fs::read_to_string(plane.kubeconfig()).unwrap(), plane.kubeconfig_of(USER)],
            Self::Embedded(_, listening) => [listening.kubeconfig("karmada"), listening.kubeconfig("karmada")],
        }
    }
}

/// Replicas behind one address, and the API server that asks them.
pub struct Service {
    plane: Plane,
    /// Of an administrator.
    pub client: Client,
    /// Files; the kubeconfig is an administrator's.
    pub desk: WebhookState,
    /// Where the webhook is registered.
    pub balancer: Balancer,
}

impl Service {
    /// A Karmada in which nothing is installed yet.
    pub async fn new(shows: &str) -> Self {
        let plane = Plane::new(shows).await;
        let client = plane.client().await;
        for name in ["karmada-system", SPACE] {
            let space: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
            Api::all(client.clone()).create(&PostParams::default(), &space).await.unwrap();
        }
        let [administrator, limited] = plane.kubeconfigs();
        let desk = WebhookState::new(&administrator);
        std::fs::write(desk.file("limited"), limited).unwrap();
        Self { plane, client, desk, balancer: Balancer::start().await }
    }

    /// Whether the API server is a real one.
    pub fn is_real(&self) -> bool {
        matches!(self.plane, Plane::Real(_))
    }

    /// Runs `fhpa install` for the replicas' user; `more` says where the webhook is.
    pub async fn install(&self, more: &[&str]) {
        let outcome = self.desk.fhpa("install", &[&["--user", USER][..], more].concat()).await;
        assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
        if let Plane::Real(plane) = &self.plane {
            plane.established();
        }
    }

    /// Starts a replica of `fhpa run` as the chart does, and waits until it is ready and connections go there.
    pub async fn replica(&self, name: &str, more: &[&str]) -> Replica {
        let drain = shutdown_delay();
        let fixed = ["--listen", "127.0.0.1:0", "--shutdown-delay", &drain];
        let more = [&fixed[..], more].concat();
        let replica = Replica::spawn("run", &self.desk.file("limited"), name, &more, PathBuf::new()).await;
        replica.is_ready().await;
        self.balancer.add(replica.webhook.unwrap(), replica.admin).await;
        replica
    }

    /// SIGTERM; what is in flight, and what still comes, is answered until the end.
    pub async fn end(&self, mut replica: Replica) {
        replica.signal("TERM").await;
        assert_eq!(replica.ends().await, Some(0));
        self.balancer.remove(replica.admin);
    }
}

/// How long a replica of the chart takes reviews after SIGTERM.
fn shutdown_delay() -> String {
    let values: Value = serde_saphyr::from_str(include_str!("../../charts/fhpa/values.yaml")).unwrap();
    values["webhook"]["shutdownDelay"].as_str().unwrap().to_owned()
}
