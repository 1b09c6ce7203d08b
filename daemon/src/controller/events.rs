//! Events of the controller: a bounded queue and a task that posts them, so that no reconcile waits. I/O: the API
//! server.
//!
//! `Events -> Poster`. Why not the recorder of `kube`: docs/decisions/0010-own-events.md.

mod poster;
mod repeats;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::runtime::leader::Leader;
use crate::runtime::metrics::ControllerMetrics;
pub use poster::Poster;
pub use repeats::{PAUSE, WINDOW};

/// `reportingController` of every event.
pub const CONTROLLER: &str = "fhpa.karmada.io/controller";

/// Most bytes of queued events: those of some hundred thousand runs of one minute.
pub const WAITING: usize = 64 << 20;

/// Most posts in flight.
const IN_FLIGHT: usize = 8;

/// Most posts in flight while many objects wait.
const IN_FLIGHT_BUSY: usize = 1;

/// Number of attempts before an event is dropped.
const TRIES: u32 = 4;

/// How long a stop waits for queued events.
const DRAIN: Duration = Duration::from_secs(5);

/// Longest `note` that the API server accepts, in bytes.
pub const NOTE: usize = 1024;

/// Longest `reportingInstance` that the API server accepts, in bytes.
const INSTANCE: usize = 128;

/// Longest part of an event's name that comes from its object: 253 minus a dot, 16 digits, and a count where repeats are
/// Events of their own.
const NAME: usize = 225;

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// An expected change.
    Normal,
    /// A problem that a user should look at.
    Warning,
}

/// The object of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reference {
    /// `autoscaling.karmada.io/v1alpha1`
    pub api_version: Cow<'static, str>,
    /// `CronFederatedHPA`
    pub kind: Cow<'static, str>,
    /// Namespace.
    pub namespace: Box<str>,
    /// Name.
    pub name: Box<str>,
    /// uid; empty when it is not known.
    pub uid: Box<str>,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Record {
    /// Type of the event.
    pub severity: Severity,
    /// Reason, in CamelCase.
    pub reason: Cow<'static, str>,
    /// Action, in CamelCase.
    pub action: &'static str,
    /// A sentence; truncated at 1024 bytes.
    pub note: String,
    /// Time of the event.
    pub at: Timestamp,
    /// The object that the event is about. The event is in its namespace.
    pub regarding: Reference,
    /// The object that was changed.
    pub related: Option<Reference>,
}

impl Record {
    /// Bytes that it uses while queued.
    #[must_use]
    pub fn weight(&self) -> usize {
        let about = |object: &Reference| {
            let texts = [&*object.api_version, &*object.kind, &*object.namespace, &*object.name, &*object.uid];
            texts.map(str::len).iter().sum::<usize>()
        };
        let objects = about(&self.regarding).saturating_add(self.related.as_ref().map_or(0, about));
        size_of::<Queued>().saturating_add(self.note.len()).saturating_add(objects)
    }
}

/// Why an event was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dropped {
    /// The queue was full.
    QueueFull,
    /// This process no longer leads.
    LeaseLost,
    /// The API server rejected it, or every attempt failed.
    Failed,
    /// The process stopped first.
    Stopped,
}

impl Dropped {
    /// Label of metrics and logs.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::LeaseLost => "lease_lost",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// Counts the result of each event.
pub trait Observer: Send + Sync {
    /// The event was stored, or counted in one that was.
    fn posted(&self);
    /// The event was dropped.
    fn dropped(&self, why: Dropped);
    /// Whether many objects wait for writes that Events must not delay.
    fn is_busy(&self) -> bool {
        false
    }
}

impl Observer for ControllerMetrics {
    fn posted(&self) {
        self.events_posted.inc();
    }

    fn dropped(&self, _: Dropped) {
        self.events_dropped.inc();
    }

    fn is_busy(&self) -> bool {
        Self::is_busy(self)
    }
}

/// Accepts events; clones feed the same queue.
#[derive(Clone)]
pub struct Events {
    queue: mpsc::UnboundedSender<Queued>,
    /// Free bytes; each event holds its own until it is posted.
    room: Arc<Semaphore>,
    observer: Arc<dyn Observer>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("free", &self.room.available_permits()).finish_non_exhaustive()
    }
}

struct Queued {
    leader: Leader,
    record: Record,
    room: OwnedSemaphorePermit,
}

impl Events {
    /// Creates a queue and the task that empties it: spawn [`Poster::run`]. `instance` is the name of this process.
    pub fn new(client: Client, instance: &str, observer: Arc<dyn Observer>) -> (Self, Poster) {
        let (queue, records) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(WAITING));
        let instance = if instance.is_empty() { "fhpa" } else { cut(instance, INSTANCE) };
        let poster = Poster::new(records, client, instance, Arc::clone(&observer));
        (Self { queue, room, observer }, poster)
    }

    /// Queues an event; drops and counts it when the queue is full. Never blocks.
    pub fn record(&self, leader: &Leader, mut record: Record) {
        let end = cut(&record.note, NOTE).len();
        record.note.truncate(end);
        record.note.shrink_to_fit();
        let weight = u32::try_from(record.weight()).unwrap_or(u32::MAX);
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(weight) else {
            return self.observer.dropped(Dropped::QueueFull);
        };
        if self.queue.send(Queued { leader: leader.clone(), record, room }).is_err() {
            self.observer.dropped(Dropped::Stopped);
        }
    }
}

/// The first `bytes` of `text`, cut at a character boundary.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}
