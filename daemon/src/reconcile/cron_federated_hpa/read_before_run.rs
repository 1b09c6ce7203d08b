//! Reads an object again before a new leader executes runs that its predecessor may have executed: the watch of a
//! process that stood by may lag behind (docs/controller.md#new-leaders). Talks to the API server; reads only.

use jiff::Timestamp;
use kube::Client;
use kube::api::ListParams;
use kube::core::ObjectList;
use parking_lot::Mutex;

use super::cache::CronCache;
use super::entry::Entry;
use super::intake::Reader;
use crate::api::CronFederatedHPA;
use crate::controller::failure::{Asked, Failure};
use crate::controller::request::send;
use crate::decision::api_version::GROUP;
use crate::decision::cron::ledger::{Due, ON_TIME, Rule};
use crate::decision::cron::settle::{Attempt, attempt};
use crate::runtime::leader::Leader;

/// What was known when this process began to lead.
pub struct Confirmer {
    reader: Reader,
    /// The term, and when its first run was looked at.
    term: Mutex<Option<(Leader, Timestamp)>>,
}

impl Confirmer {
    /// Reads objects by `reader`.
    pub fn new(reader: Reader) -> Self {
        Self { reader, term: Mutex::default() }
    }

    /// Whether an earlier leader may have executed one of the runs `owed`, which this one never attempted.
    pub fn is_needed(
        &self,
        leader: &Leader,
        now: Timestamp,
        rules: &[Rule<'_>],
        owed: &[&Due],
        attempts: &[Attempt],
    ) -> bool {
        let since = self.since(leader, now);
        // The clock of its predecessor may have been ahead by a little.
        let is_old = |due: &Due| due.scheduled.duration_since(since) <= ON_TIME;
        let is_new =
            |due: &Due| rules.get(due.rule).is_some_and(|rule| attempt(attempts, rule.name, due.scheduled).is_none());
        owed.iter().any(|due| is_old(due) && is_new(due))
    }

    fn since(&self, leader: &Leader, now: Timestamp) -> Timestamp {
        let mut term = self.term.lock();
        match &*term {
            Some((known, since)) if known.is_same(leader) => *since,
            _ => {
                *term = Some((leader.clone(), now));
                now
            }
        }
    }

    /// Whether `entry` is as the API server has it. Otherwise the cache reports the object as changed. A list of one
    /// object needs no right that the watch does not need.
    ///
    /// # Errors
    /// When the API server rejects the request or is unreachable: nothing may run yet.
    pub async fn confirm(&self, client: &Client, cache: &CronCache, entry: &Entry) -> Result<bool, Failure> {
        let own = entry.own(&entry.key);
        let object = format!("{} {}", own.kind, entry.key);
        let asked = Asked { verb: "list", group: GROUP, resource: "cronfederatedhpas", object: &object };
        // Without a resourceVersion the answer includes every acknowledged write.
        let which = ListParams::default().fields(&format!("metadata.name={}", entry.key.name));
        let mut found: ObjectList<CronFederatedHPA> = send(client, own.requests().list(&which), asked).await?;
        let Some(object) = found.items.pop() else {
            cache.take(&entry.key);
            return Ok(false);
        };
        let read = self.reader.read(&object);
        if read.uid == entry.uid && read.version == entry.version {
            return Ok(true);
        }
        // All objects are dropped while a foreign definition prunes what is read through it.
        if cache.get(&entry.key).is_some() {
            cache.put(read);
        }
        Ok(false)
    }
}
