//! A CronFederatedHPA, compact: its valid rules and its history. No I/O.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;

use super::crd_fields::FieldState;
use crate::api::hpa_status::Condition;
use crate::controller::key::Key;
use crate::controller::owned_api::Own;
use crate::controller::table::Item;
use crate::decision::cron::ledger::{Baseline, History};
use crate::decision::cron::settle::Attempt;
use crate::decision::validation::runnable::Runnable;
use crate::reconcile::scale_target::TargetRef;

/// An observed object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its namespace and name.
    pub key: Key,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// `metadata.resourceVersion`
    pub version: Box<str>,
    /// `metadata.generation`
    pub generation: i64,
    /// When the spec was last written.
    pub written: Timestamp,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its target.
    pub target: Arc<Target>,
    /// Its valid rules.
    pub runnable: Arc<Runnable>,
    /// Its status.
    pub remembered: Remembered,
    /// Whether fields of it were lost.
    pub fields: FieldState,
    /// Whether it has any annotation.
    pub annotated: bool,
    /// Runs that this process executed on the target, and that have no record in the status yet.
    pub unrecorded: Box<[Attempt]>,
}

/// The target of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Its namespace, which is that of the object.
    pub namespace: Arc<str>,
    /// `apiVersion`
    pub api_version: Arc<str>,
    /// `kind`
    pub kind: Arc<str>,
    /// `name`
    pub name: Arc<str>,
}

/// A target as a key: the API version does not matter.
#[derive(Clone, Debug)]
pub struct TargetKey(Arc<Target>);

impl TargetKey {
    fn parts(&self) -> [&str; 4] {
        let Target { namespace, api_version, kind, name } = &*self.0;
        let group = api_version.split_once('/').map(|(group, _)| group).unwrap_or_default();
        [namespace, group, kind, name]
    }
}

impl PartialEq for TargetKey {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for TargetKey {}

impl PartialOrd for TargetKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TargetKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

/// Content of a status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remembered {
    /// `observedGeneration`
    pub generation: Option<i64>,
    /// `executionHistories`
    pub histories: Vec<History>,
    /// `conditions`
    pub conditions: Vec<Condition>,
}

impl Remembered {
    /// Whether a run of `attempt` or a later one of its rule has a record.
    fn records(&self, attempt: &Attempt) -> bool {
        let history = self.histories.iter().find(|history| history.rule == attempt.rule);
        history.is_some_and(|history| history.newest() >= attempt.scheduled)
    }
}

impl Entry {
    /// Reference to the target of the object called `key`.
    #[must_use]
    pub fn target<'a>(&'a self, key: &'a Key) -> TargetRef<'a> {
        let Target { namespace: _, api_version, kind, name } = &*self.target;
        TargetRef { namespace: &key.namespace, api_version, kind, name }
    }

    /// Its target, for looking up other objects with the same one.
    #[must_use]
    pub fn subject(&self) -> TargetKey {
        TargetKey(Arc::clone(&self.target))
    }

    /// The object called `key`.
    #[must_use]
    pub fn own<'a>(&'a self, key: &'a Key) -> Own<'a> {
        Own { kind: "CronFederatedHPA", key, uid: &self.uid, version: &self.version }
    }

    /// How far the status is valid for the spec at `now`.
    #[must_use]
    pub fn baseline(&self, now: Timestamp) -> Baseline {
        Baseline { in_step: self.remembered.generation == Some(self.generation), since: self.written.min(now) }
    }
}

impl Item for Entry {
    type IndexKey = TargetKey;
    fn key(&self) -> &Key {
        &self.key
    }
    fn uid(&self) -> &str {
        &self.uid
    }
    fn version(&self) -> &str {
        &self.version
    }
    fn about(&self) -> Option<TargetKey> {
        Some(self.subject())
    }
    fn inherit(&mut self, known: &Self) {
        if self.uid == known.uid && self.subject() == known.subject() {
            let is_left = |attempt: &&Attempt| !self.remembered.records(attempt);
            self.unrecorded = known.unrecorded.iter().filter(is_left).cloned().collect();
        }
    }
}
