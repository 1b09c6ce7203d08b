//! Watches: events from the log of a resource, as a stream of JSON lines.

use std::{collections::BTreeSet, convert::Infallible, future, pin::Pin, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};
use tokio::{
    sync::watch::{Receiver, error::RecvError},
    time::{Sleep, sleep},
};

use super::{
    super::{
        ApiServer,
        object::{self, Object, set_meta},
        reply::Reply,
        selectors::Selection,
        status::{Cause, StatusDetails, StatusError},
        store::{Change, Query},
    },
    Call,
    get::selection,
    view::View,
};

/// Most changes that are sent in one piece.
const BATCH: usize = 500;

/// How often a quiet watch gets a bookmark.
const BOOKMARK_PERIOD: Duration = Duration::from_mins(1);

struct Watch {
    server: ApiServer,
    view: View,
    namespace: String,
    selection: Selection,
    after: u64,
    first: Option<Bytes>,
    changed: Receiver<u64>,
    epoch: Receiver<u64>,
    frozen: Receiver<BTreeSet<String>>,
    bookmarks: bool,
    until: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

/// Starts a watch.
///
/// # Errors
/// For invalid options. A version that is too old is reported in the stream.
pub fn watch(call: &Call) -> Result<Reply, StatusError> {
    let store = call.server.store();
    let (changed, epoch) = (store.subscribe(&call.resource.bucket), call.server.faults().epoch());
    let from = call.options.resource_version()?;
    let initial = send_initial(call, from)?;
    let seconds = call.options.number("timeoutSeconds")?;
    let mut watch = Watch {
        server: call.server.clone(),
        view: View::of(call)?,
        namespace: call.path.namespace.clone(),
        selection: selection(call)?,
        after: from.unwrap_or_default(),
        first: None,
        changed,
        epoch,
        frozen: call.server.faults().frozen(),
        bookmarks: call.options.flag("allowWatchBookmarks"),
        until: seconds.filter(|seconds| *seconds > 0).map(|seconds| Box::pin(sleep(Duration::from_secs(seconds)))),
        ended: false,
    };
    if initial {
        watch.begin_with_present(call.options.flag("sendInitialEvents"));
    }
    let lines = stream::unfold(watch, |mut watch| async move {
        let line = watch.next().await?;
        Some((Ok::<Bytes, Infallible>(line), watch))
    });
    Ok(Reply { body: Body::from_stream(lines), ..Reply::bytes(200, Bytes::new()) })
}

/// Whether the watch begins with the existing objects.
fn send_initial(call: &Call, from: Option<u64>) -> Result<bool, StatusError> {
    let matching = call.options.get("resourceVersionMatch");
    let refused = |field: &str, detail: &str| {
        let subject = StatusDetails::new("meta.k8s.io", "ListOptions", "");
        Err(StatusError::invalid(&subject, &[Cause::forbidden(field, detail)]))
    };
    match call.options.find("sendInitialEvents") {
        None if !matching.is_empty() => refused(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        None => Ok(from.unwrap_or_default() == 0),
        Some(_) if matching != "NotOlderThan" => {
            refused("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        }
        Some(_) => Ok(call.options.flag("sendInitialEvents")),
    }
}

impl Watch {
    fn begin_with_present(&mut self, mark_end: bool) {
        let namespace = Some(self.namespace.clone()).filter(|namespace| !namespace.is_empty());
        let query = Query { namespace, selection: self.selection.clone(), ..Query::default() };
        let Ok(page) = self.server.store().list(&self.view.resource.bucket, &query) else { return };
        let mut lines = Vec::new();
        for item in &page.items {
            self.line(&mut lines, "ADDED", item);
        }
        if mark_end && self.bookmarks {
            self.bookmark(&mut lines, page.version, true);
        }
        self.after = page.version;
        self.first = (!lines.is_empty()).then(|| lines.into());
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            if self.ended {
                return None;
            }
            self.thaw().await;
            self.changed.mark_unchanged();
            if self.is_served_anew() {
                return None;
            }
            match self.collect() {
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => return Some(lines.into()),
                Err(failure) => {
                    self.ended = true;
                    return Some(event("ERROR", &failure.body()));
                }
            }
            if !self.is_served() {
                return None;
            }
            if let Some(last) = self.wait().await {
                return Some(last);
            }
        }
    }

    /// Waits while the watches of the resource are delayed.
    async fn thaw(&mut self) {
        let resource = &self.view.resource.plural;
        // The sender lives as long as the server, so the wait ends only with a change.
        let _: Result<_, RecvError> = self.frozen.wait_for(|frozen| !frozen.contains(&**resource)).await.map(|_| ());
    }

    /// Waits for a change. Returns a bookmark when one is due.
    async fn wait(&mut self) -> Option<Bytes> {
        let until = async {
            match self.until.as_mut() {
                Some(until) => until.await,
                None => future::pending().await,
            }
        };
        let bookmark = tokio::select! {
            changed = self.changed.changed() => {
                self.ended = changed.is_err();
                false
            }
            _ = self.epoch.changed() => {
                self.ended = true;
                false
            }
            () = until => {
                self.ended = true;
                true
            }
            () = sleep(BOOKMARK_PERIOD) => true,
        };
        if !(bookmark && self.bookmarks) {
            return None;
        }
        let mut lines = Vec::new();
        self.bookmark(&mut lines, self.after, false);
        Some(lines.into())
    }

    /// Whether the kind is served by another CRD than when the watch began.
    fn is_served_anew(&self) -> bool {
        let catalog = self.server.catalog();
        let resource = catalog.find(&self.view.resource.group, &self.view.resource.plural);
        resource.is_some_and(|resource| resource.since != self.view.resource.since)
    }

    fn is_served(&self) -> bool {
        let catalog = self.server.catalog();
        let resource = catalog.find(&self.view.resource.group, &self.view.resource.plural);
        resource.is_some_and(|resource| resource.version(&self.view.version.name).is_some())
    }

    fn collect(&mut self) -> Result<Vec<u8>, StatusError> {
        let mut lines = Vec::new();
        loop {
            let (changes, reached) = self
                .server
                .store()
                .changes(&self.view.resource.bucket, self.after, BATCH)
                .map_err(|compacted| StatusError::too_old(self.after, compacted.oldest))?;
            for change in &changes {
                self.tell(&mut lines, change);
            }
            self.after = reached;
            // A batch without selected changes must not end the wait.
            if !lines.is_empty() || changes.len() < BATCH {
                return Ok(lines);
            }
        }
    }

    fn is_inside(&self, object: &Object) -> bool {
        self.namespace.is_empty() || object::namespace(object.value()) == self.namespace
    }

    /// The event of a change for the selection: an object can move into and out of it.
    fn tell(&self, lines: &mut Vec<u8>, change: &Change) {
        if !self.is_inside(&change.after) {
            return;
        }
        let was = change.before.as_ref().is_some_and(|before| self.selection.matches(before.value()));
        if change.deleted {
            if was {
                self.line(lines, "DELETED", &change.after);
            }
            return;
        }
        match (was, self.selection.matches(change.after.value())) {
            (true, true) => self.line(lines, "MODIFIED", &change.after),
            (false, true) => self.line(lines, "ADDED", &change.after),
            (true, false) => {
                let mut last = change.before.as_ref().map(|before| before.value().clone()).unwrap_or_default();
                set_meta(&mut last, "resourceVersion", change.version.to_string().into());
                self.line(lines, "DELETED", &Object::new(last, change.version));
            }
            (false, false) => {}
        }
    }

    fn line(&self, lines: &mut Vec<u8>, kind: &str, object: &Object) {
        lines.extend_from_slice(b"{\"type\":\"");
        lines.extend_from_slice(kind.as_bytes());
        lines.extend_from_slice(b"\",\"object\":");
        lines.extend_from_slice(&self.view.encode(object));
        lines.extend_from_slice(b"}\n");
    }

    fn bookmark(&self, lines: &mut Vec<u8>, version: u64, ends_initial: bool) {
        lines.extend_from_slice(&event("BOOKMARK", &self.view.bookmark(version, ends_initial)));
    }
}

fn event(kind: &str, object: &Value) -> Bytes {
    format!("{}\n", json!({"type": kind, "object": object})).into()
}
