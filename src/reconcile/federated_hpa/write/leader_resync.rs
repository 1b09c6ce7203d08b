//! Reads the stored Works before the first write of a new leader, so that a write of its predecessor that no watch has
//! delivered yet counts (docs/design.md#law-2-stay-within-the-budget). Talks to the API server; reads only.

use kube::Client;
use kube::api::ListParams;
use kube::core::{ObjectList, Request};
use tokio::sync::Mutex;
use tracing::info;

use crate::api::Work;
use crate::controller::failure::{Asked, Failure};
use crate::controller::request::send;
use crate::reconcile::federated_hpa::cache::Cache;
use crate::runtime::leader::Leader;
use crate::runtime::watch::{MANAGED_BY, OURS};

/// Most Works of one response.
const PAGE: u32 = 500;

/// The term for which Works were read.
#[derive(Debug, Default)]
pub struct LeaderResync(Mutex<Option<Leader>>);

impl LeaderResync {
    /// Reads all Works of fhpa, once in each term; concurrent callers wait for it.
    ///
    /// # Errors
    /// When the API server rejects the request or is unreachable: no write is allowed yet.
    pub async fn read(&self, client: &Client, cache: &Cache, leader: &Leader) -> Result<(), Failure> {
        let mut term = self.0.lock().await;
        if term.as_ref().is_some_and(|known| known.is_same(leader)) {
            return Ok(());
        }
        let reading = cache.read_works();
        let mut works: usize = 0;
        let mut next = None;
        loop {
            // Without resourceVersion the response includes every acknowledged write.
            let page = self::page(client, next.as_deref()).await?;
            works = works.saturating_add(page.items.len());
            for work in &page.items {
                reading.put(work);
            }
            next = page.metadata.continue_.filter(|token| !token.is_empty());
            if next.is_none() {
                break;
            }
        }
        info!(works, "listing Works before the first write of this term");
        *term = Some(leader.clone());
        Ok(())
    }
}

async fn page(client: &Client, next: Option<&str>) -> Result<ObjectList<Work>, Failure> {
    let mut ours = ListParams::default().labels(&format!("{MANAGED_BY}={OURS}")).limit(PAGE);
    if let Some(token) = next {
        ours = ours.continue_token(token);
    }
    let asked = Asked { verb: "list", group: "work.karmada.io", resource: "works", object: &"Works" };
    send(client, Request::new("/apis/work.karmada.io/v1alpha1/works").list(&ours), asked).await
}
