//! A Karmada on the embedded API server, and the files of its operator.

use embedded_apiserver::ApiServer;
use embedded_apiserver::serve::Listening;
use serde_json::{Value, json};

use super::{DEFINITIONS, WebhookState, webhooks};
use crate::bed::Bed;

/// A Karmada as its own installation leaves it, but for its webhooks.
pub struct Stand {
    pub bed: Bed,
    pub desk: WebhookState,
    _listening: Listening,
}

impl Stand {
    pub async fn new() -> Self {
        let bed = Bed::of(ApiServer::builder()).with_karmada().await;
        for definition in DEFINITIONS {
            bed.server().create(&serde_saphyr::from_str(definition).unwrap()).await.unwrap();
        }
        for name in ["karmada-system", "prod"] {
            let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            bed.server().create(&space).await.unwrap();
        }
        let listening = bed.listen().await;
        let desk = WebhookState::new(&listening.kubeconfig("karmada"));
        Self { bed, desk, _listening: listening }
    }

    pub async fn with_webhooks() -> Self {
        let stand = Self::new().await;
        for configuration in webhooks() {
            stand.bed.server().create(&configuration).await.unwrap();
        }
        stand
    }

    pub async fn get(&self, path: &str) -> Value {
        let answer = self.bed.get(path).await;
        assert_eq!(answer.code, 200, "{path}: {answer:?}");
        answer.body
    }
}
