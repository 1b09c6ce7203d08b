//! `fhpa status` on an embedded API server with objects as a controller leaves them.

mod command;
pub mod drill;
pub mod errors;
mod model;
pub mod objects;
mod terminal;
mod watch;

use embedded_apiserver::ApiServer;
use embedded_apiserver::serve::Listening;
use serde_json::{Value, json};

use crate::bed::Bed;
use crate::cli::command::{Outcome, fhpa};
use crate::crds::DEFINITIONS;

/// A control plane that listens, and a kubeconfig for it.
pub struct Desk {
    pub bed: Bed,
    directory: tempfile::TempDir,
    _listening: Listening,
}

impl Desk {
    /// Without any definition.
    pub async fn bare() -> Self {
        let bed = Bed::of(ApiServer::builder());
        let listening = bed.listen().await;
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("kubeconfig"), listening.kubeconfig("karmada")).unwrap();
        Self { bed, directory, _listening: listening }
    }

    /// With the definitions of both kinds, and two namespaces.
    pub async fn new() -> Self {
        let desk = Self::bare().await;
        for definition in fhpa::api::crd::all().unwrap() {
            desk.create(definition).await;
        }
        for definition in fhpa::playground::karmada::definitions().unwrap() {
            desk.create(definition).await;
        }
        for name in ["shop", "other"] {
            desk.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
        }
        desk
    }

    /// With a shop: two FederatedHPAs, one of them with its clusters, and a CronFederatedHPA.
    pub async fn with_shop() -> Self {
        let desk = Self::new().await;
        for object in objects::shop() {
            desk.bring(&object).await;
        }
        desk
    }

    pub async fn create(&self, object: &Value) {
        self.bed.server().create(object).await.unwrap();
    }

    /// Creates an object with its status.
    pub async fn bring(&self, object: &Value) {
        self.create(object).await;
        if object.get("status").is_some() {
            let path = objects::path(object);
            let answer = self.bed.patch("merge", &format!("{path}/status"), &json!({"status": object["status"]})).await;
            assert_eq!(answer.code, 200, "{answer:?}");
        }
    }

    pub fn kubeconfig(&self) -> String {
        self.directory.path().join("kubeconfig").display().to_string()
    }

    /// Runs `fhpa status` beside the server.
    pub async fn status(&self, more: &[&str]) -> Outcome {
        let mut arguments = vec!["status".to_owned(), "--kubeconfig".to_owned(), self.kubeconfig()];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        let run = move || fhpa(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        tokio::task::spawn_blocking(run).await.unwrap()
    }

    /// What is printed where nothing is wrong.
    pub async fn shown(&self, more: &[&str]) -> String {
        let outcome = self.status(more).await;
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""));
        outcome.stdout
    }
}

/// Karmada's own definitions, which no fhpa has replaced.
pub fn upstream() -> Vec<Value> {
    DEFINITIONS.iter().map(|text| serde_saphyr::from_str(text).unwrap()).collect()
}
