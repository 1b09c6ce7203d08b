//! Works with HPAs for clusters, and their reflected status. No I/O.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::time::Instant;

use super::hpa_status;
use crate::api::Work;
use crate::api::hpa::MetricSpec;
use crate::api::hpa_status::{Condition, HorizontalPodAutoscalerStatus, MetricStatus};
use crate::api::work::WorkCondition;
use crate::controller::intern::{self, Shared};
use crate::controller::key::Key;
use crate::controller::table::Item;
use crate::convert;
use crate::decision::health::{AMBIGUOUS, DISABLED, SCALING_ACTIVE};
use crate::decision::load::Load;
use crate::decision::names::EXECUTION_SPACE;
use crate::decision::plan::{Bounds, Hpa, HpaVersion};
use crate::decision::split::Replicas;
use crate::reconcile::federated_hpa::{autoscaling_v1, names, ownership, write_id};

/// Condition of an HPA whose controller scales to zero.
const SCALED_TO_ZERO: &str = "ScaledToZero";

/// For how long the load in a member's response counts.
const CURRENT: SignedDuration = SignedDuration::from_secs(60);

/// Response of a member about an HPA that has the write id.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The write id.
    pub mark: Box<str>,
    /// Its status.
    pub status: Arc<HorizontalPodAutoscalerStatus>,
    /// Its load.
    pub load: Option<Load>,
    /// When the response arrived.
    pub received: Instant,
    /// When it was stored.
    pub at: Timestamp,
    /// The replicas that Karmada reported at that time: when these change, the response is out of date.
    pub beside: Reported,
}

/// `currentReplicas` and `desiredReplicas` as Karmada reports them.
pub type Reported = (Option<i32>, Option<i32>);

/// What most do not have: together it takes one pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unusual {
    /// Karmada's message, when it could not apply the HPA.
    refused: Option<Box<str>>,
    /// Since when the Work is being deleted.
    deleted: Option<Timestamp>,
}

impl Unusual {
    fn of(work: &Work) -> Option<Box<Self>> {
        let refused = applied(work).filter(|condition| condition.status == "False");
        let refused = refused.map(|condition| condition.message.as_str().into());
        let deleted = work.metadata.deletion_timestamp.as_ref().map(|time| time.0);
        (refused.is_some() || deleted.is_some()).then(|| Box::new(Self { refused, deleted }))
    }
}

/// A Work with the HPA for a cluster, and its reflected status.
#[derive(Clone, Debug)]
pub struct MemberHpa {
    /// Namespace and name of the Work.
    pub key: Key,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// `metadata.resourceVersion`
    pub version: Box<str>,
    /// The FederatedHPA it belongs to.
    pub owner: Option<Arc<Key>>,
    /// The written HPA, for the plan.
    pub hpa: Hpa,
    /// The write id.
    pub token: Box<str>,
    /// The workload that the HPA scales, as `apiVersion kind name`.
    pub workload: Arc<str>,
    /// Digest of everything except the bounds, as it was written.
    pub content: Arc<str>,
    /// Digest of what the Work asks the cluster for.
    asked: u64,
    /// Whether that changed since the write with this id was first seen: each write of fhpa has an id of its own.
    pub edited: bool,
    /// The status that Karmada reports of the HPA in the cluster.
    pub status: Arc<HorizontalPodAutoscalerStatus>,
    /// The load in that status; `None` until the write is confirmed.
    pub load: Option<Load>,
    /// The response of the cluster itself; only where Karmada does not report the write id.
    pub reading: Option<Box<Reading>>,
    unusual: Option<Box<Unusual>>,
    /// Whether Karmada reports the HPA as applied.
    pub applied: bool,
}

impl MemberHpa {
    /// The entry of an object.
    #[must_use]
    pub fn of(work: &Work) -> Self {
        static OWNERS: LazyLock<Shared<Key>> = LazyLock::new(Shared::default);
        let metadata = &work.metadata;
        let annotation = |name: &str| metadata.annotations.as_ref().and_then(|all| all.get(name));
        let manifest = work.spec.workload.manifests.first().unwrap_or(&Value::Null);
        let number = |path: &str| manifest.pointer(path).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let bounds = Bounds {
            min: number("/spec/minReplicas").unwrap_or(1),
            max: number("/spec/maxReplicas").unwrap_or_default(),
        };
        let old = manifest.get("apiVersion").and_then(Value::as_str) == Some("autoscaling/v1");
        let mark = manifest.pointer("/metadata/annotations").and_then(|all| all.get(names::WRITE_ID));
        let token = mark.and_then(Value::as_str).unwrap_or_default();
        let status = work.status.manifest_statuses.first().map_or(&Value::Null, |entry| &entry.status);
        let confirmed =
            !token.is_empty() && status.get(names::REFLECTED_WRITE_ID).and_then(Value::as_str) == Some(token);
        let outstanding = annotation(names::OUTSTANDING).and_then(|text| text.parse().ok()).unwrap_or(bounds.max);
        let deleting = metadata.deletion_timestamp.is_some();
        let version = if old { HpaVersion::V1 } else { HpaVersion::V2 };
        let hpa = if deleting {
            let ceiling = if confirmed { bounds.max } else { outstanding.max(bounds.max) };
            Hpa { written: None, version, confirmed: false, pending_max: ceiling, scale_down_disabled: false }
        } else {
            let held = annotation(names::HELD).is_some_and(|held| held == "true");
            Hpa { written: Some(bounds), version, confirmed, pending_max: outstanding, scale_down_disabled: held }
        };
        let owner = ownership::owner(metadata, manifest);
        // What is written again has its owner again.
        let borne = annotation(names::OWNER).and_then(|_| annotation(names::CONTENT));
        let content = borne.map(String::as_str).unwrap_or_default();
        let status = reported(status, old);
        let load = (confirmed && !deleting).then(|| load_of(manifest, &status, old)).flatten();
        Self {
            key: Key::of(metadata),
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: metadata.resource_version.as_deref().unwrap_or_default().into(),
            owner: owner.map(|(namespace, name)| OWNERS.keep(Key::shared(namespace, name))),
            hpa,
            token: token.into(),
            workload: intern::text(&workload(manifest)),
            content: intern::text(content),
            asked: digest(manifest),
            edited: false,
            status: hpa_status::shared(status),
            load,
            reading: None,
            unusual: Unusual::of(work),
            applied: applied(work).is_some_and(|condition| condition.status == "True"),
        }
    }
}

fn workload(manifest: &Value) -> String {
    let of = |field: &str| manifest.pointer(&format!("/spec/scaleTargetRef/{field}")).and_then(Value::as_str);
    ["apiVersion", "kind", "name"].map(|field| of(field).unwrap_or_default()).join(" ")
}

/// Digest of what scales in an HPA. Karmada's webhook adds labels and annotations of its own, whenever a Work is written.
fn digest(manifest: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    ["apiVersion", "spec"].map(|part| manifest.get(part)).hash(&mut hasher);
    let annotations = manifest.pointer("/metadata/annotations");
    let words = [autoscaling_v1::METRICS, autoscaling_v1::BEHAVIOR];
    words.map(|name| annotations.and_then(|all| all.get(name))).hash(&mut hasher);
    hasher.finish()
}

fn applied(work: &Work) -> Option<&WorkCondition> {
    work.status.conditions.iter().find(|condition| condition.type_ == "Applied")
}

/// The status that Karmada reflects of an HPA, converted to the newer API.
fn reported(reflected: &Value, old: bool) -> HorizontalPodAutoscalerStatus {
    let mut status = HorizontalPodAutoscalerStatus::deserialize(reflected).unwrap_or_default();
    if old {
        let text = |name: &str| reflected.get(name).and_then(Value::as_str);
        let cpu = reflected.get("currentCPUUtilizationPercentage").and_then(Value::as_i64);
        let (current, conditions) = (text(names::REFLECTED_METRICS), text(names::REFLECTED_CONDITIONS));
        let cpu = cpu.and_then(|percent| i32::try_from(percent).ok());
        autoscaling_v1::Reported { current, conditions, cpu }.complete(&mut status);
    }
    status
}

/// The load of the workload of the HPA.
fn load_of(manifest: &Value, status: &HorizontalPodAutoscalerStatus, old: bool) -> Option<Load> {
    let metrics = if old {
        autoscaling_v1::metrics(manifest)
    } else {
        let metrics = manifest.pointer("/spec/metrics").map(Vec::<MetricSpec>::deserialize).transpose().ok()?;
        metrics.unwrap_or_default()
    };
    let reported = status.current_metrics.as_deref().unwrap_or_default();
    convert::scaling::load(&metrics, reported)
}

impl MemberHpa {
    /// Karmada's message when it could not apply the HPA.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.unusual.as_ref()?.refused.as_deref()
    }

    /// Name of the cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        self.key.namespace.strip_prefix(EXECUTION_SPACE).unwrap_or_default()
    }

    /// Whether it is being deleted.
    #[must_use]
    pub fn deleting(&self) -> bool {
        self.deleted().is_some()
    }

    fn deleted(&self) -> Option<Timestamp> {
        self.unusual.as_ref()?.deleted
    }

    /// When it was written or deleted, whichever was later; `None` where that is not known at `now`.
    #[must_use]
    pub fn written_at(&self, now: Timestamp) -> Option<Timestamp> {
        write_id::time(&self.token, now).max(self.deleted())
    }

    /// The replicas that Karmada reports.
    #[must_use]
    pub fn reported(&self) -> Reported {
        (self.status.current_replicas, self.status.desired_replicas)
    }

    /// Stores a response of the member: the write with that id is in effect there.
    pub fn read(&mut self, reading: Reading) {
        self.hpa.confirmed = !self.deleting() && reading.mark == self.token;
        self.reading = Some(Box::new(reading));
    }

    /// The reported status, completed from the response of the member.
    #[must_use]
    pub fn shown(&self) -> Arc<HorizontalPodAutoscalerStatus> {
        let Some(read) = self.reading.as_ref().map(|reading| &reading.status) else { return Arc::clone(&self.status) };
        let reported = HorizontalPodAutoscalerStatus::clone(&self.status);
        Arc::new(HorizontalPodAutoscalerStatus {
            observed_generation: reported.observed_generation.or(read.observed_generation),
            last_scale_time: reported.last_scale_time.or_else(|| read.last_scale_time.clone()),
            current_replicas: reported.current_replicas.or(read.current_replicas),
            desired_replicas: reported.desired_replicas.or(read.desired_replicas),
            current_metrics: reported.current_metrics.or_else(|| read.current_metrics.clone()),
            conditions: reported.conditions.or_else(|| read.conditions.clone()),
        })
    }

    /// The conditions of the combined status.
    #[must_use]
    pub fn conditions(&self) -> &[Condition] {
        let read = || self.reading.as_ref().and_then(|reading| reading.status.conditions.as_deref());
        self.status.conditions.as_deref().or_else(read).unwrap_or_default()
    }

    /// The metrics of the combined status.
    #[must_use]
    pub fn metrics(&self) -> &[MetricStatus] {
        let read = || self.reading.as_ref().and_then(|reading| reading.status.current_metrics.as_deref());
        self.status.current_metrics.as_deref().or_else(read).unwrap_or_default()
    }

    /// Current replicas of the combined status.
    #[must_use]
    pub fn current(&self) -> Option<i32> {
        let read = || self.reading.as_ref().and_then(|reading| reading.status.current_replicas);
        self.status.current_replicas.or_else(read)
    }

    /// Whether the HPA scales to zero and from zero by itself. Its controller reports a condition about that where it does
    /// (Kubernetes 1.37); a member whose API takes `minReplicas: 0` may still have a controller that does not.
    #[must_use]
    pub fn scales_to_zero(&self) -> bool {
        self.conditions().iter().any(|condition| condition.type_ == SCALED_TO_ZERO)
    }

    /// Whether the HPA does not scale because no replicas are requested.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.is_inactive(DISABLED)
    }

    /// Whether the HPA does not scale because another one selects the same pods.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.is_inactive(AMBIGUOUS)
    }

    /// Whether the HPA does not scale for the reason that Kubernetes names so.
    fn is_inactive(&self, reason: &str) -> bool {
        let active = self.conditions().iter().find(|condition| condition.type_ == SCALING_ACTIVE);
        active.is_some_and(|active| active.status == "False" && active.reason.as_deref() == Some(reason))
    }

    /// Desired replicas of the combined status.
    #[must_use]
    pub fn wish(&self) -> Option<i32> {
        let read = || self.reading.as_ref().and_then(|reading| reading.status.desired_replicas);
        self.status.desired_replicas.or_else(read)
    }

    /// Last scale time of the combined status.
    #[must_use]
    pub fn last_scale_time(&self) -> Option<Timestamp> {
        let read = || self.reading.as_ref().and_then(|reading| reading.status.last_scale_time.as_ref());
        self.status.last_scale_time.as_ref().or_else(read).map(|time| time.0)
    }

    /// Whether no status of the HPA is known.
    #[must_use]
    pub fn is_unreported(&self) -> bool {
        self.reading.is_none() && *self.status == HorizontalPodAutoscalerStatus::default()
    }

    /// The load, once the write is confirmed. A response of the member soon expires.
    #[must_use]
    pub fn load(&self, now: Timestamp) -> Option<Load> {
        let young = |reading: &&Reading| now.duration_since(reading.at) < CURRENT;
        let read = || self.reading.as_deref().filter(young).and_then(|reading| reading.load);
        self.load.or_else(read).filter(|_| self.hpa.confirmed)
    }

    /// Whether another reconcile would decide alike: only measurements differ, and only slightly.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let flags = |member_hpa: &Self| (member_hpa.deleting(), member_hpa.applied, member_hpa.edited);
        let rest = |one: &Self| (one.hpa, flags(one), one.reported(), one.pressure());
        rest(self) == rest(other) && self.words() == other.words() && self.kinds().eq(other.kinds())
    }

    fn words(&self) -> (&str, &str, &str, Option<&str>) {
        (&self.uid, &self.token, &self.content, self.refused())
    }

    /// Type and status of the reported conditions.
    fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        self.status.conditions.iter().flatten().map(|one| (&*one.type_, &*one.status))
    }

    /// The load with the precision of decisions: below target, about at target, or this many replicas above.
    fn pressure(&self) -> Option<(bool, Replicas)> {
        let load = self.load?;
        let running = self.status.current_replicas.and_then(|current| Replicas::try_from(current).ok());
        // A tolerance of the user may be less than the usual one.
        let wanted = if load.is_above_by(0) { load.wanted(running.unwrap_or_default().max(1)) } else { 0 };
        Some((load.is_below(), wanted))
    }
}

impl Item for MemberHpa {
    type IndexKey = Arc<Key>;
    fn key(&self) -> &Key {
        &self.key
    }
    fn uid(&self) -> &str {
        &self.uid
    }
    fn version(&self) -> &str {
        &self.version
    }
    fn about(&self) -> Option<Arc<Key>> {
        self.owner.clone()
    }
    /// A response of the member is valid until the next write, and is shown until that is confirmed. The limit of its
    /// HPA stays valid until the HPA is gone.
    fn inherit(&mut self, known: &Self) {
        let is_same_write = self.uid == known.uid && self.token == known.token;
        self.edited = is_same_write && (known.edited || self.asked != known.asked);
        let Some(reading) = known.reading.clone().filter(|_| self.uid == known.uid && !self.hpa.confirmed) else {
            return;
        };
        if self.deleting() && reading.mark == self.token {
            self.hpa.pending_max = known.hpa.written.map_or(known.hpa.pending_max, |bounds| bounds.max);
        }
        self.read(*reading);
    }
}
