//! Reads FederatedHPAs, ResourceBindings, Clusters and Works before the first write of a new leader, so that no watch
//! that lags behind hides what its predecessor knew or wrote (docs/controller.md#new-leaders). Talks to the API server;
//! reads only.

use kube::api::{DynamicObject, ListParams};
use kube::core::{ObjectList, Request};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::controller::failure::{Asked, Failure};
use crate::controller::request::send;
use crate::decision::backoff;
use crate::reconcile::federated_hpa::cache::Cache;
use crate::reconcile::federated_hpa::cache::relist::ListHandler;
use crate::runtime::clock::steady;
use crate::runtime::leader::Leader;
use crate::runtime::watch::{MANAGED_BY, OURS};

/// Most objects of one response.
const PAGE: u32 = 500;

/// What was read, and what failed.
#[derive(Debug, Default)]
pub struct LeaderResync(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The term for which everything was read.
    term: Option<Leader>,
    /// The last failure, how many there were in a row, and until when nothing is read again.
    failed: Option<(Failure, u32, Instant)>,
}

impl State {
    /// The known failure while its wait lasts.
    fn waits(&self) -> Option<Failure> {
        self.failed.as_ref().filter(|(.., until)| *until > steady()).map(|(failure, ..)| failure.clone())
    }

    /// All objects share one wait: each of them would list everything again.
    fn fail(&mut self, failure: &Failure) {
        let failures = self.failed.as_ref().map_or(0, |(_, failures, _)| *failures).saturating_add(1);
        warn!(%failure, failures, "failed to list what a new leader reads; nothing is written until that succeeds");
        let wait = backoff::wait(failure.class, failures, &"resync", failure.retry_after);
        let until = steady().checked_add(wait);
        self.failed = until.map(|until| (failure.clone(), failures, until));
    }
}

impl LeaderResync {
    /// Reads everything, once in each term; concurrent callers wait for it, and share its failure for a while.
    ///
    /// # Errors
    /// When the API server rejects a request or is unreachable: no write is allowed yet.
    pub async fn read(&self, client: &Client, cache: &Cache, leader: &Leader) -> Result<(), Failure> {
        let mut state = self.0.lock().await;
        if state.term.as_ref().is_some_and(|known| known.is_same(leader)) {
            return Ok(());
        }
        if let Some(failure) = state.waits() {
            return Err(failure);
        }
        match list_all(client, cache).await {
            Ok(()) => *state = State { term: Some(leader.clone()), failed: None },
            Err(failure) => {
                state.fail(&failure);
                return Err(failure);
            }
        }
        Ok(())
    }
}

async fn list_all(client: &Client, cache: &Cache) -> Result<(), Failure> {
    let reading = cache.read();
    let (all, ours) = (ListParams::default(), ListParams::default().labels(&format!("{MANAGED_BY}={OURS}")));
    let (federated_hpas, bindings, clusters, works) = tokio::try_join!(
        list(client, all.clone(), reading.federated_hpas()),
        list(client, all.clone(), reading.bindings()),
        list(client, all, reading.clusters()),
        list(client, ours, reading.works()),
    )?;
    info!(federated_hpas, bindings, clusters, works, "listed all objects before the first write of this term");
    Ok(())
}

/// Reads all objects of a kind. Without a resourceVersion the response includes every acknowledged write. Returns their
/// number.
async fn list<K>(client: &Client, which: ListParams, mut handler: impl ListHandler<K>) -> Result<usize, Failure>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let (group, plural, kind) = (K::group(&()), K::plural(&()), format!("{}s", K::kind(&())));
    let asked = Asked { verb: "list", group: &group, resource: &plural, object: &kind };
    let requests = Request::new(K::url_path(&(), None));
    let mut which = which.limit(PAGE);
    let (mut count, mut revision) = (0_usize, None);
    loop {
        let page: ObjectList<DynamicObject> = send(client, requests.list(&which), asked).await?;
        count = count.saturating_add(page.items.len());
        for object in page.items {
            let uid = object.metadata.uid.clone().unwrap_or_default();
            // Untyped, so that one object that cannot be decoded does not keep the leader from all others.
            match object.try_parse::<K>() {
                Ok(object) => handler.put(&object),
                Err(_) => handler.undecodable(&uid),
            }
        }
        let first = page.metadata.resource_version.unwrap_or_default();
        let revision = revision.get_or_insert(first);
        which.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if which.continue_token.is_none() {
            handler.end(revision);
            return Ok(count);
        }
    }
}
