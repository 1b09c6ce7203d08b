//! Halts the controllers while the leader must not act: an operator froze it (docs/controller.md#freeze), or foreign
//! CRDs are served, or not all objects were listed since (docs/design.md#law-10-act-only-on-whole-objects). No controller
//! is told to lead then. Reports it with a metric, in the log, and Events.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tracing::warn;

use crate::api::served::DEFINITIONS;
use crate::controller::events::{Events, Record, Reference, Severity};
use crate::decision::freeze::{Cause, Freeze};
use crate::runtime::clock::WallClock;
use crate::runtime::leader::Leader;
use crate::runtime::metrics::ControllerMetrics;
use crate::runtime::watch::Served;

/// Gate between the Lease and the controllers.
pub struct Gate {
    /// Whose CRDs are served.
    pub served: watch::Receiver<Served>,
    /// Reason of the operator's flag that freezes the controllers.
    pub freeze: Option<String>,
    /// Sends Events.
    pub events: Events,
    /// The counters.
    pub metrics: Arc<ControllerMetrics>,
    /// The time of day.
    pub clock: WallClock,
}

/// What a halt was reported with, and since when.
#[derive(Default)]
struct Reported {
    definitions: Option<(Timestamp, String)>,
    freeze: Option<(Timestamp, Freeze)>,
}

impl Gate {
    /// Forwards the leadership to `acts` while the leader may act. Returns when `stop` is true, or the sender of the
    /// leadership is gone.
    pub async fn run(
        mut self,
        mut leadership: watch::Receiver<Option<Leader>>,
        acts: watch::Sender<Option<Leader>>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut reported = Reported::default();
        let mut halted = true;
        let mut resumed = 0_u32;
        loop {
            let leader = leadership.borrow_and_update().clone();
            let mut annotation = leader.as_ref().map(Leader::freeze);
            let freeze = annotation
                .as_mut()
                .and_then(|annotation| Freeze::of(annotation.borrow_and_update().as_deref(), self.freeze.as_deref()));
            let (whole, why) = {
                let served = self.served.borrow_and_update();
                (served.whole(), served.frozen())
            };
            let may = whole && freeze.is_none();
            if may && halted {
                resumed = resumed.saturating_add(1);
            }
            halted = !may;
            let now = (self.clock)();
            pass(&acts, leader.as_ref().filter(|_| may).map(|leader| leader.resumed(resumed, now)));
            if let Some(leader) = &leader {
                leader.confirm(freeze.clone());
                self.definitions(leader, &mut reported.definitions, whole, why.as_deref());
                self.frozen(&mut reported.freeze, freeze.as_ref());
            } else {
                reported = Reported::default();
            }
            let leads = leader.is_some();
            self.metrics.frozen(Cause::Definitions, leads && why.is_some());
            for cause in [Cause::Annotation, Cause::Flag] {
                self.metrics.frozen(cause, freeze.as_ref().is_some_and(|freeze| freeze.cause == cause));
            }
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                changed = leadership.changed() => if changed.is_err() {
                    return;
                },
                changed = self.served.changed() => if changed.is_err() {
                    // The watch of the CRDs has ended: their state is unknown.
                    acts.send_replace(None);
                    return;
                },
                () = changes(annotation) => {}
            }
        }
    }

    /// Reports foreign CRDs once they are gone.
    fn definitions(&self, leader: &Leader, known: &mut Option<(Timestamp, String)>, whole: bool, why: Option<&str>) {
        let now = (self.clock)();
        if let (None, Some(why)) = (&known, why) {
            *known = Some((now, why.to_owned()));
        }
        if whole && let Some((since, why)) = known.take() {
            thawed(leader, &self.events, now, since, &why);
        }
    }

    /// Reports a freeze when it begins, changes and ends.
    fn frozen(&self, known: &mut Option<(Timestamp, Freeze)>, freeze: Option<&Freeze>) {
        if known.as_ref().map(|(_, freeze)| freeze) == freeze {
            return;
        }
        let now = (self.clock)();
        match (freeze, known.take()) {
            (Some(freeze), before) => {
                let (by, reason) = (freeze.cause.label(), &freeze.reason);
                warn!(
                    by,
                    reason, "FederatedHPAs and CronFederatedHPAs are frozen by an operator, members keep scaling"
                );
                *known = Some((before.map_or(now, |(since, _)| since), freeze.clone()));
            }
            (None, Some((since, freeze))) => {
                let (by, reason, seconds) = (freeze.cause.label(), &freeze.reason, seconds(since, now));
                warn!(by, reason, seconds, "the freeze has ended; late runs are executed now");
            }
            (None, None) => {}
        }
    }
}

/// Tells the controllers that they may act, or not, when that changed.
fn pass(acts: &watch::Sender<Option<Leader>>, next: Option<Leader>) {
    acts.send_if_modified(|known| {
        let same = match (&*known, &next) {
            (Some(known), Some(next)) => known.is_same(next),
            (None, None) => true,
            _ => false,
        };
        if !same {
            *known = next;
        }
        !same
    });
}

/// Returns when the annotation changed; never without a leader.
async fn changes(annotation: Option<watch::Receiver<Option<String>>>) {
    if let Some(mut annotation) = annotation
        && annotation.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

fn seconds(since: Timestamp, now: Timestamp) -> i64 {
    now.duration_since(since).max(SignedDuration::ZERO).as_secs()
}

/// Reports for how long the controllers were halted by foreign CRDs, and why.
fn thawed(leader: &Leader, events: &Events, now: Timestamp, since: Timestamp, why: &str) {
    let seconds = seconds(since, now);
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
