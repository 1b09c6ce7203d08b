//! Keeps the client current: polls the kubeconfig by content. The last valid client stays when new content is invalid.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::Api;
use kube::api::PostParams;
use tracing::{info, warn};

use super::kubeconfig::{Content, Origin};
use super::{Current, Error, Listed, Server, redacted};
use crate::decision::excerpt::{ERROR, excerpt};
use crate::runtime::metrics::RequestMetrics;
use crate::runtime::reload::Reload;

/// Longest wait for the answer to a probe.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the API server whether it knows the client.
///
/// # Errors
/// It refuses the credentials, or does not answer.
async fn probe(server: &Server) -> Result<(), String> {
    let reviews: Api<SelfSubjectReview> = Api::all(server.client.clone());
    let (params, review) = (PostParams::default(), SelfSubjectReview::default());
    match tokio::time::timeout(PATIENCE, reviews.create(&params, &review)).await {
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 401 | 403) => Err(status.message.clone()),
        Ok(Err(error @ (kube::Error::HyperError(_) | kube::Error::Service(_) | kube::Error::Auth(_)))) => {
            Err(redacted(error).to_string())
        }
        // Servers before Kubernetes 1.28 do not know the question, but they know the client.
        Ok(_) => Ok(()),
    }
}

/// Keeps one client current.
pub struct KubeconfigReloader {
    origin: Origin,
    /// Last checked content, valid or not.
    seen: Content,
    /// Whether that content could not be used, so that it is tried again: its API server refused it or did not answer,
    /// its plugin failed, or a file that it names is still to come.
    refused: bool,
    current: Current,
    metrics: Arc<RequestMetrics>,
}

impl KubeconfigReloader {
    pub(super) fn new(origin: Origin, seen: Content, current: Current, metrics: Arc<RequestMetrics>) -> Self {
        Self { origin, seen, refused: false, current, metrics }
    }

    /// Checks for new content at each `interval`, without end.
    pub async fn run(mut self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            match self.poll().await {
                Reload::Unchanged => {}
                Reload::Reloaded => info!("the kubeconfig has changed and is used"),
                Reload::Rejected(error) => {
                    let error = error.to_string();
                    let error = excerpt(&error, ERROR);
                    warn!(error, "the kubeconfig has changed and cannot be used; keeping the last valid one");
                }
            }
        }
    }

    /// Checks once. Content that cannot be used is not reported again until it changes. Credentials that the API server
    /// refuses, and a server that does not answer, do not replace a client that works.
    pub async fn poll(&mut self) -> Reload<Error> {
        let content = self.origin.content();
        let known = content == self.seen;
        if known && !self.refused {
            return Reload::Unchanged;
        }
        // Read before loading: the next check detects changes in between.
        self.seen = content;
        match self.origin.load().await {
            Ok(mut server) => {
                let before = Arc::clone(&self.current.borrow());
                if let Err(why) = probe(&server).await
                    && probe(&before).await.is_ok()
                {
                    return self.refuse(known, Error::Refused(server.url, why));
                }
                self.refused = false;
                self.metrics.reloads_ok.inc();
                server.listed = if server.url == before.url { before.listed.clone() } else { Some(Listed::default()) };
                self.metrics.credentials_expire(server.not_after);
                self.current.send_replace(Arc::new(server));
                Reload::Reloaded
            }
            Err(error) => self.refuse(known, error),
        }
    }

    /// Keeps the client; content that is `known` was reported already.
    fn refuse(&mut self, known: bool, error: Error) -> Reload<Error> {
        self.refused = true;
        if known {
            return Reload::Unchanged;
        }
        self.metrics.reloads_failed.inc();
        Reload::Rejected(error)
    }
}
