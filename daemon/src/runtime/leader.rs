//! Holds the Lease in karmada-apiserver: `decision::lease` decides who leads, this module reads and writes it.
//!
//! A [`Leader`] is the permission to write while the Lease is held.
//!
//! Libraries for a Lease tell a process that it leads, but do not stop a write that began before the Lease was lost.
//! Here each write needs a [`Leader`], which ends before another process can lead.

pub mod activity;
mod content;
pub mod handover;
mod presence;
mod term;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use self::content::{annotate, freeze, is_frozen, record};
pub use self::presence::Presence;
use self::term::{Clocks, RenewalTime};
pub use self::term::{Leader, LeaseLost};
use super::{clock, identity};
use crate::decision::excerpt::{ERROR, excerpt};
use crate::decision::freeze::FROZEN;
use crate::decision::lease::{self, ObservedLease, RESERVED, Step, Timings, VERSION};

/// How long an API server that has just started may forbid what its roles allow.
const LOADING: Duration = Duration::from_secs(10);
/// What that is.
const LOADS: &str = "an API server that has just started has not read its roles yet";

/// Identity of this process and its Lease.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Name of the Lease.
    pub lease: String,
    /// Unique among the competing processes, for example the name of the pod with a random suffix.
    pub identity: String,
    /// Durations of the election.
    pub timings: Timings,
}

/// Why an attempt to hold the Lease failed.
#[derive(Debug, thiserror::Error)]
enum TryError {
    #[error("the API server did not answer in time")]
    TimedOut,
    #[error("another process wrote the Lease first")]
    Conflict,
    #[error(transparent)]
    Api(#[from] kube::Error),
}

/// Competes for the Lease until `stop` is true, and sends every change to `leadership`. On stop it releases the Lease,
/// after all receivers of `leadership` were notified.
pub async fn compete(
    api: Api<Lease>,
    candidate: Candidate,
    leadership: watch::Sender<Option<Leader>>,
    stop: watch::Receiver<bool>,
) {
    compete_seen(api, candidate, leadership, Arc::default(), stop).await;
}

/// As [`compete`]; `presence` tells at any time whether somebody acts.
pub async fn compete_seen(
    api: Api<Lease>,
    candidate: Candidate,
    leadership: watch::Sender<Option<Leader>>,
    presence: Arc<Presence>,
    mut stop: watch::Receiver<bool>,
) {
    let start = clock::steady();
    let clocks = Clocks::read();
    let mut contest = Contest {
        api,
        candidate,
        start,
        clocks,
        presence,
        seen: None,
        lease: None,
        leader: None,
        claims: false,
        trouble: None,
        reached: false,
        forbidden: None,
    };
    loop {
        let pause = tokio::select! {
            pause = contest.turn(&leadership) => pause,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        tokio::select! {
            () = sleep(pause) => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    contest.release(&leadership).await;
}

struct Contest {
    api: Api<Lease>,
    candidate: Candidate,
    start: Instant,
    clocks: Clocks,
    presence: Arc<Presence>,
    seen: Option<ObservedLease>,
    /// The Lease as it was last read or written.
    lease: Option<Lease>,
    leader: Option<Leader>,
    /// Whether a write that acquires the Lease is in flight, or its result is unknown.
    claims: bool,
    /// Last logged problem, while it lasts.
    trouble: Option<&'static str>,
    /// Whether the Lease was ever read.
    reached: bool,
    /// Since when reads or writes of the Lease are forbidden.
    forbidden: Option<Duration>,
}

impl Contest {
    fn now(&self) -> Duration {
        clock::steady().saturating_duration_since(self.start)
    }

    /// One attempt; returns how long to wait for the next.
    async fn turn(&mut self, leadership: &watch::Sender<Option<Leader>>) -> Duration {
        let timings = self.candidate.timings;
        if self.leader.as_ref().is_some_and(|leader| leader.check().is_err()) {
            self.stand_down(leadership, "the Lease ran out while this machine was suspended, or its clock was set");
        }
        let result = match timeout(self.patience(), self.attempt(leadership)).await {
            Ok(result) => result,
            Err(_) => Err(TryError::TimedOut),
        };
        let pause = match result {
            Ok(pause) => {
                self.reached = true;
                self.forbidden = None;
                if self.trouble.take().is_some() {
                    info!(lease = self.candidate.lease, "the Lease is reachable again");
                }
                pause
            }
            Err(error) => {
                // The known state may be old: read before the next write.
                self.lease = None;
                self.complain(&error);
                if matches!(error, TryError::Conflict) { Duration::ZERO } else { timings.retry }
            }
        };
        if self.leader.as_ref().is_some_and(|leader| leader.check().is_err()) {
            self.stand_down(leadership, "the Lease could not be renewed in time");
        }
        self.leader.as_ref().map_or(pause, |leader| pause.min(self.rest(leader)))
    }

    /// Logs a problem and its solution, once until it changes.
    fn complain(&mut self, error: &TryError) {
        let loads = matches!(error, TryError::Api(kube::Error::Api(status)) if status.code == 403) && self.may_load();
        let (lease, place) = (&self.candidate.lease, self.api.resource_url());
        let advice = match error {
            TryError::Conflict => {
                debug!(place, lease, "another process wrote the Lease first");
                return;
            }
            TryError::Api(kube::Error::Api(_)) if loads => {
                if self.trouble.replace(LOADS) != Some(LOADS) {
                    info!(place, lease, "the Lease is forbidden for the moment; retrying; {LOADS}");
                }
                return;
            }
            TryError::Api(kube::Error::Api(status)) => advice(status.code),
            TryError::Api(_) | TryError::TimedOut => "is the API server of the kubeconfig up and reachable?",
        };
        if self.trouble.replace(advice) == Some(advice) {
            debug!(%error, place, lease, "the Lease is still unreachable");
        } else {
            let error = error.to_string();
            let error = excerpt(&error, ERROR);
            warn!(error, place, lease, "failed to acquire or read the Lease; retrying; {advice}");
        }
    }

    /// Whether a refusal may end by itself: an API server that has just started answers before it has read its roles.
    fn may_load(&mut self) -> bool {
        let now = self.now();
        let since = *self.forbidden.get_or_insert(now);
        loads(self.reached, now.saturating_sub(since))
    }

    /// How long an attempt may take: a leader's no longer than it may act.
    fn patience(&self) -> Duration {
        self.leader.as_ref().map_or(self.candidate.timings.renew_deadline, |leader| self.rest(leader))
    }

    /// The answer to one request of an attempt. It is not waited for longer than half of the deadline, so that another
    /// attempt is left where a connection is dead.
    async fn answer<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Result<T, TryError> {
        let Timings { renew_deadline, retry, .. } = self.candidate.timings;
        let answer = timeout((renew_deadline / 2).max(retry), request).await.map_err(|_| TryError::TimedOut)?;
        answer.map_err(|error| if is_conflict(&error) { TryError::Conflict } else { error.into() })
    }

    /// How long it may act.
    fn rest(&self, leader: &Leader) -> Duration {
        leader.until().saturating_sub(self.now()).max(Duration::from_millis(1))
    }

    async fn attempt(&mut self, leadership: &watch::Sender<Option<Leader>>) -> Result<Duration, TryError> {
        let lease = match self.lease.take() {
            Some(lease) if self.leader.is_some() => Some(lease),
            _ => self.answer(self.api.get_opt(&self.candidate.lease)).await?,
        };
        // At once: the renewal that follows may fail.
        if let (Some(leader), Some(lease)) = (&self.leader, &lease) {
            leader.freezes(freeze(lease));
        }
        let (now, ahead) = (self.now(), self.clocks.ahead());
        let seen = ObservedLease::update(self.seen.take(), lease.as_ref().map(record), now);
        let step = lease::step(&self.candidate.identity, self.candidate.timings, &seen, now);
        self.seen = Some(seen);
        self.show(lease.as_ref());
        self.claims = !matches!(step, Step::Wait(_));
        let written = match step {
            Step::Wait(pause) => {
                if self.leader.is_some() {
                    self.stand_down(leadership, "another process holds the Lease");
                }
                return Ok(pause);
            }
            Step::Create => {
                let lease = self.held(None);
                self.answer(self.api.create(&PostParams::default(), &lease)).await
            }
            Step::TakeOver { .. } | Step::Renew { .. } => {
                let lease = self.held(lease);
                self.answer(self.api.replace(&self.candidate.lease, &PostParams::default(), &lease)).await
            }
        };
        let lease = written?;
        self.seen = Some(ObservedLease::new(Some(record(&lease)), now));
        self.show(Some(&lease));
        let freeze = freeze(&lease);
        self.lease = Some(lease);
        self.lead(RenewalTime { steady: now, ahead }, freeze, leadership);
        Ok(self.candidate.timings.retry)
    }

    /// Tells the reviews whether somebody acts.
    fn show(&self, lease: Option<&Lease>) {
        let frozen = lease.is_some_and(is_frozen);
        let seen = self.seen.as_ref().filter(|_| !frozen);
        let until = seen.and_then(|seen| lease::led_until(self.candidate.timings, seen));
        self.presence.lasts(until.and_then(|until| self.start.checked_add(until)));
    }

    /// The Lease with this process as its holder, and otherwise as it was read: annotations of others stay. Its
    /// resourceVersion makes the write a compare-and-swap.
    fn held(&self, lease: Option<Lease>) -> Lease {
        let now = MicroTime(clock::wall());
        let mut lease = lease.unwrap_or_else(|| Lease {
            metadata: ObjectMeta { name: Some(self.candidate.lease.clone()), ..ObjectMeta::default() },
            spec: None,
        });
        // Whoever reserved the Lease for itself keeps it reserved, should it be killed.
        let before = record(&lease);
        let reserved = before.holder == self.candidate.identity && before.lease >= RESERVED;
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        if spec.holder_identity.as_deref() != Some(self.candidate.identity.as_str()) {
            let is_new = spec.holder_identity.is_none();
            let transitions = spec.lease_transitions.unwrap_or_default();
            spec.lease_transitions = Some(if is_new { transitions } else { transitions.saturating_add(1) });
            spec.acquire_time = Some(now.clone());
            spec.holder_identity = Some(self.candidate.identity.clone());
        }
        // Whole seconds, rounded up, and never 0, which API servers reject.
        let time = self.candidate.timings.lease;
        let seconds = i32::try_from(time.as_secs() + u64::from(time.subsec_nanos() > 0)).ok();
        spec.lease_duration_seconds = if reserved { spec.lease_duration_seconds } else { seconds };
        spec.renew_time = Some(now);
        let frozen = self.leader.as_ref().and_then(Leader::confirmed);
        annotate(&mut lease.metadata, FROZEN, frozen.map(|freeze| freeze.confirmation()));
        annotate(&mut lease.metadata, VERSION, Some(identity::VERSION.clone()));
        lease
    }

    fn lead(&mut self, renewal: RenewalTime, freeze: Option<String>, leadership: &watch::Sender<Option<Leader>>) {
        let timings = self.candidate.timings;
        if let Some(leader) = &self.leader {
            leader.extend(timings, renewal);
            leader.freezes(freeze);
        } else {
            info!(identity = self.candidate.identity, lease = self.candidate.lease, "became leader");
            let leader = Leader::begin(self.start, self.clocks, timings, renewal, freeze);
            self.leader = Some(leader.clone());
            leadership.send_replace(Some(leader));
        }
    }

    fn stand_down(&mut self, leadership: &watch::Sender<Option<Leader>>, why: &str) {
        if let Some(leader) = self.leader.take() {
            leader.end();
            leadership.send_replace(None);
            warn!(identity = self.candidate.identity, lease = self.candidate.lease, "lost leadership: {why}");
        }
    }

    /// Stops leading and releases the Lease at once.
    async fn release(mut self, leadership: &watch::Sender<Option<Leader>>) {
        match self.leader.take() {
            Some(leader) => {
                leader.end();
                leadership.send_replace(None);
            }
            // An aborted claim may have been stored.
            None if self.claims => self.lease = None,
            None => return,
        }
        let name = self.candidate.lease.clone();
        match timeout(self.candidate.timings.retry, self.give_up()).await {
            Ok(Ok(())) => info!(lease = name, "released the Lease"),
            Ok(Err(error)) => warn!(%error, lease = name, "failed to release the Lease"),
            Err(_) => warn!(lease = name, "timed out while releasing the Lease"),
        }
    }

    async fn give_up(&mut self) -> Result<(), kube::Error> {
        let lease = match self.lease.take() {
            Some(lease) => Some(lease),
            // An aborted write may have been stored.
            None => self.api.get_opt(&self.candidate.lease).await?,
        };
        let Some(mut lease) = lease.filter(|lease| record(lease).holder == self.candidate.identity) else {
            return Ok(());
        };
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(clock::wall()));
        annotate(&mut lease.metadata, FROZEN, None);
        annotate(&mut lease.metadata, VERSION, None);
        self.api.replace(&self.candidate.lease, &PostParams::default(), &lease).await.map(|_| ())
    }
}

/// Whether a Lease that was `reached` before, and has been forbidden for so long, may be so while roles are loaded.
fn loads(reached: bool, forbidden: Duration) -> bool {
    reached && forbidden < LOADING
}

/// Advice for a response with this status.
fn advice(code: u16) -> &'static str {
    match code {
        401 => "the credentials of the kubeconfig are not accepted",
        403 => {
            "the user of the kubeconfig needs the verbs get, create and update on leases of API group coordination.k8s.io \
             in this namespace"
        }
        404 => "the namespace does not exist: create it, or choose another one with --lease-namespace",
        _ => "see the log of the API server",
    }
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lease_that_was_reached_before_may_be_forbidden_for_a_moment() {
        assert!(loads(true, Duration::ZERO) && loads(true, LOADING / 2));
        assert!(!loads(true, LOADING) && !loads(false, Duration::ZERO));
    }
}
