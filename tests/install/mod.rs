//! `fhpa install` and `fhpa uninstall`, on the embedded API server and on a real one.

mod doctor;
mod embedded;
pub mod guard;
mod node_events;
mod output;
mod real;
mod rounds;
mod stand;

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::bed::webhook::certificate;
use crate::cli::command::{Outcome, fhpa};
pub use crate::crds::DEFINITIONS;

/// Karmada's webhook configurations, with some CA. They are not served here: what an installation meets is left out.
pub fn webhooks() -> Vec<Value> {
    let ca = STANDARD.encode(certificate("karmada-webhook.karmada-system.svc").1);
    let text = include_str!("../fixtures/karmada/webhooks.yaml").replace("{{caBundle}}", &ca);
    let mut configurations = documents(&text);
    for configuration in &mut configurations {
        let webhooks = configuration["webhooks"].as_array_mut().unwrap();
        webhooks.retain(|webhook| webhook["name"] != "resourceinterpretercustomization.karmada.io");
    }
    configurations
}

/// The documents of a file.
pub fn documents(text: &str) -> Vec<Value> {
    let parts = text.split("\n---\n").filter(|part| !part.trim().trim_start_matches("---").trim().is_empty());
    parts.map(|part| serde_saphyr::from_str(part).unwrap()).collect()
}

/// Files that an operator has.
pub struct WebhookState {
    directory: tempfile::TempDir,
}

impl WebhookState {
    pub fn new(kubeconfig: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("kubeconfig"), kubeconfig).unwrap();
        std::fs::write(directory.path().join("ca.crt"), certificate("fhpa.karmada-system.svc").1).unwrap();
        Self { directory }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs the binary beside the servers of the test.
    pub async fn fhpa(&self, command: &str, more: &[&str]) -> Outcome {
        let kubeconfig = self.file("kubeconfig").display().to_string();
        let mut arguments = vec![command.to_owned(), "--kubeconfig".to_owned(), kubeconfig];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        let run = move || fhpa(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        tokio::task::spawn_blocking(run).await.unwrap()
    }

    /// `fhpa install` with a webhook.
    pub async fn install(&self, more: &[&str]) -> Outcome {
        let ca = self.file("ca.crt").display().to_string();
        let url = ["--url", "https://fhpa.karmada-system.svc:443/", "--ca-file", &ca, "--user", "fhpa"];
        self.fhpa("install", &[&url[..], more].concat()).await
    }
}
