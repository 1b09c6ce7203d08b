//! Tells when collections change, at most once a second. Talks to the API server; only reads.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use kube::Client;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::{ListMeta, Request};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Shortest time between two changes.
const PACE: Duration = Duration::from_secs(1);
/// How long a watch that failed waits. Meanwhile its collection is taken for changed at each attempt.
const PAUSE: Duration = Duration::from_secs(5);

/// Watches of collections, while this exists.
pub(super) struct Changes {
    changed: Arc<Notify>,
    _watches: JoinSet<()>,
}

impl Changes {
    /// Watches the collections at `paths`.
    pub(super) fn of(client: &Client, paths: &[String]) -> Self {
        let changed = Arc::new(Notify::new());
        let mut watches = JoinSet::new();
        for path in paths {
            let watch = Watch { client: client.clone(), path: path.clone(), changed: Arc::clone(&changed) };
            watches.spawn(watch.run());
        }
        Self { changed, _watches: watches }
    }

    /// Waits for the next change.
    pub(super) async fn next(&self) {
        sleep(PACE).await;
        self.changed.notified().await;
    }
}

struct Watch {
    client: Client,
    path: String,
    changed: Arc<Notify>,
}

/// The version of a list.
#[derive(Deserialize)]
struct Version {
    #[serde(default)]
    metadata: ListMeta,
}

impl Watch {
    async fn run(self) {
        loop {
            let pause = if self.follow().await.is_ok() { PACE } else { PAUSE };
            sleep(pause).await;
        }
    }

    /// Watches from now until the watch ends.
    async fn follow(&self) -> Result<(), kube::Error> {
        let requests = Request::new(&self.path);
        let list = requests.list(&ListParams::default().limit(1)).map_err(kube::Error::BuildRequest)?;
        let listed = self.client.request::<Version>(list).await;
        // There may have been a change since the last watch ended.
        self.changed.notify_one();
        let version = listed?.metadata.resource_version.unwrap_or_default();
        let watch = requests.watch(&WatchParams::default(), &version).map_err(kube::Error::BuildRequest)?;
        let mut events = std::pin::pin!(self.client.request_events::<IgnoredAny>(watch).await?);
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(_) => break,
                WatchEvent::Added(_) | WatchEvent::Modified(_) | WatchEvent::Deleted(_) => self.changed.notify_one(),
            }
        }
        Ok(())
    }
}
