//! Lets the leader act only on complete objects: while foreign CRDs are served, and until all objects were listed
//! since, no controller is told to lead (docs/design.md#law-10-act-only-on-whole-objects). Reports it with Events.

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tracing::warn;

use crate::api::served::DEFINITIONS;
use crate::controller::events::{Events, Record, Reference, Severity};
use crate::runtime::clock::WallClock;
use crate::runtime::leader::Leader;
use crate::runtime::watch::Served;

/// Gate between the Lease and the controllers.
pub struct Gate {
    /// Whose CRDs are served.
    pub served: watch::Receiver<Served>,
    /// Sends Events.
    pub events: Events,
    /// The time of day.
    pub clock: WallClock,
}

impl Gate {
    /// Forwards the leadership to `acts` while objects are complete. Returns when `stop` is true, or the sender of the
    /// leadership is gone.
    pub async fn run(
        self,
        mut leadership: watch::Receiver<Option<Leader>>,
        acts: watch::Sender<Option<Leader>>,
        mut stop: watch::Receiver<bool>,
    ) {
        let Self { mut served, events, clock } = self;
        let mut frozen: Option<(Timestamp, String)> = None;
        loop {
            let leader = leadership.borrow_and_update().clone();
            let (whole, why) = {
                let served = served.borrow_and_update();
                (served.whole(), served.frozen())
            };
            if leader.is_none() {
                frozen = None;
            }
            if let (None, Some(why), true) = (&frozen, why, leader.is_some()) {
                frozen = Some(((clock)(), why));
            }
            if whole
                && let Some(leader) = &leader
                && let Some((since, why)) = frozen.take()
            {
                thawed(leader, &events, (clock)(), since, &why);
            }
            let next = leader.filter(|_| whole);
            acts.send_if_modified(|known| {
                let same = match (&*known, &next) {
                    (Some(known), Some(next)) => known.is_same(next),
                    (None, None) => true,
                    _ => false,
                };
                *known = next;
                !same
            });
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                changed = leadership.changed() => if changed.is_err() {
                    return;
                },
                changed = served.changed() => if changed.is_err() {
                    // The watch of the CRDs has ended: their state is unknown.
                    acts.send_replace(None);
                    return;
                },
            }
        }
    }
}

/// Reports for how long the controllers were paused, and why.
fn thawed(leader: &Leader, events: &Events, now: Timestamp, since: Timestamp, why: &str) {
    let seconds = now.duration_since(since).max(SignedDuration::ZERO).as_secs();
    let note = format!(
        "the definitions are fhpa's again; for {seconds} s no FederatedHPA and CronFederatedHPA was read or written, and runs that \
         were due are made up now ({why})"
    );
    warn!("{note}");
    for name in DEFINITIONS {
        let regarding = Reference {
            api_version: "apiextensions.k8s.io/v1".into(),
            kind: "CustomResourceDefinition".into(),
            namespace: Box::default(),
            name: name.into(),
            uid: Box::default(),
        };
        let (severity, reason, note) = (Severity::Warning, "DefinitionsRestored".into(), note.clone());
        events.record(leader, Record { severity, reason, action: "Freeze", note, at: now, regarding, related: None });
    }
}
