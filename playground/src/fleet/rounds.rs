//! Runs a fleet: rounds of all controllers, in virtual or real time. Client required.

use std::sync::atomic::Ordering;

use jiff::{SignedDuration, Timestamp};

use super::{Fault, Fleet, MOST_ROUNDS, RunningMember};
use crate::clock::after;
use crate::pass::Pass;

/// How long a change waits for further changes before the controllers run.
const GATHER: std::time::Duration = std::time::Duration::from_millis(5);
/// Pause when the controllers do not converge.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);
/// Interval after which the controllers run although nothing changed and nothing is due.
const IDLE: SignedDuration = SignedDuration::from_secs(60);
/// Name of the control plane among the members.
const CONTROL: &str = "";

impl Fleet {
    /// One round of all controllers. Those without a change and without a due time are skipped.
    ///
    /// # Errors
    /// When an API server fails.
    pub async fn round(&self) -> Result<Pass, Fault> {
        let now = self.plan.clock.now();
        let all: Vec<u64> =
            std::iter::once(self.control.store().moved()).chain(self.places.values().flat_map(look)).collect();
        let halted = self.halted.load(Ordering::SeqCst);
        let resting = if halted { Some(Pass::default()) } else { self.resting(CONTROL, &all, now) };
        let mut central = match resting {
            Some(pass) => pass,
            None => self.karmada.propagate().await?,
        };
        let mut pass = Pass::default();
        for (name, place) in &self.places {
            pass.join(self.member_pass(name, place, now).await?);
        }
        if resting.is_none() {
            central.join(self.karmada.schedule_all().await?);
            central.join(self.karmada.reflect_all().await?);
            self.rest(CONTROL, all, central);
        }
        pass.join(central);
        Ok(pass)
    }

    async fn member_pass(&self, name: &str, place: &RunningMember, now: Timestamp) -> Result<Pass, Fault> {
        let look = look(place).to_vec();
        if let Some(pass) = self.resting(name, &look, now) {
            return Ok(pass);
        }
        let pass = place.member.pass().await?;
        self.rest(name, look, pass);
        Ok(pass)
    }

    /// The last pass, when it wrote nothing and its input is unchanged.
    fn resting(&self, who: &str, look: &[u64], now: Timestamp) -> Option<Pass> {
        let rests = self.rests.lock();
        let (before, pass) = rests.get(who)?;
        (before == look && pass.due.is_none_or(|due| due > now)).then_some(*pass)
    }

    fn rest(&self, who: &str, look: Vec<u64>, pass: Pass) {
        let mut rests = self.rests.lock();
        if pass.writes == 0 {
            rests.insert(who.to_owned(), (look, pass));
        } else {
            rests.remove(who);
        }
    }

    /// Runs rounds until nothing is written any more; the time does not move. Returns when to run again.
    ///
    /// # Errors
    /// When an API server fails, or the controllers do not come to rest.
    pub async fn settle(&self) -> Result<Option<Timestamp>, Fault> {
        for _ in 0..MOST_ROUNDS {
            let pass = self.round().await?;
            if pass.writes == 0 {
                return Ok(pass.due);
            }
        }
        Err(Fault::Restless)
    }

    /// Advances a manual clock, and processes everything that becomes due.
    ///
    /// # Errors
    /// As [`Self::settle`].
    pub async fn advance(&self, by: SignedDuration) -> Result<(), Fault> {
        let clock = &self.plan.clock;
        let target = after(clock.now(), by);
        while let Some(due) = self.settle().await? {
            if due > target {
                break;
            }
            clock.move_to(due.max(after(clock.now(), SignedDuration::from_millis(1))));
        }
        clock.move_to(target);
        self.settle().await.map(|_| ())
    }

    /// Runs in real time: on every change of an API server, and when a due time arrives. Ends only by being dropped.
    pub async fn run(&self) {
        let servers = || std::iter::once(&self.control).chain(self.places.values().map(|place| &place.server));
        let mut changes: Vec<_> = servers().map(|server| server.store().changed()).collect();
        loop {
            for change in &mut changes {
                change.mark_unchanged();
            }
            let settled = self.settle().await;
            let now = self.plan.clock.now();
            let due = match settled {
                Ok(due) => due.unwrap_or_else(|| after(now, IDLE)),
                Err(error) => {
                    tracing::warn!(%error, "the playground's controllers pause");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let wait = due.duration_since(now).unsigned_abs();
            let woken = futures::future::select_all(changes.iter_mut().map(|change| Box::pin(change.changed())));
            // Both results lead to another round.
            let _: Result<_, _> = tokio::time::timeout(wait, woken).await;
            tokio::time::sleep(GATHER).await;
        }
    }

    /// Makes [`Self::run`] start another round.
    pub fn wake(&self) {
        self.control.store().wake_all();
    }
}

/// Input of a pass in a member, besides the time.
fn look(place: &RunningMember) -> [u64; 4] {
    let RunningMember { server, member } = place;
    [server.store().moved(), member.link() as u64, member.halted().into(), member.holds_pods().into()]
}
