//! Leader election by a Lease, as a decision on the last observed record (docs/controller.md#the-controller). Pure.
//!
//! The other holder is judged by how long its record has not changed on the local steady clock, never by the times that
//! it wrote: its wall clock may be minutes off. Every write is a compare-and-swap, so of two candidates with the same
//! decision only one succeeds.

use std::time::Duration;

/// Annotation of the Lease: the version and revision of the process that holds it.
pub const VERSION: &str = "fhpa.karmada.io/version";

/// Duration of a reserved Lease, the longest that one can have: it ends when the Lease is freed or deleted. No controller
/// reserves one.
pub const RESERVED: Duration = Duration::from_secs(2_147_483_647);

/// A moment on the process's steady clock: the time since an arbitrary start. Never goes back.
pub type Steady = Duration;

/// Durations of leader election; the defaults are those of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// A record that has not changed for this long may be taken over.
    pub lease: Duration,
    /// A leader that could not renew for this long stops acting. Less than `lease`.
    pub renew_deadline: Duration,
    /// Time between two attempts. Less than `renew_deadline`.
    pub retry: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self { lease: Duration::from_secs(15), renew_deadline: Duration::from_secs(10), retry: Duration::from_secs(2) }
    }
}

impl Timings {
    /// Checks that a leader stops acting before another may start.
    ///
    /// # Errors
    /// One sentence that names the time that must be greater.
    pub fn check(self) -> Result<Self, &'static str> {
        if self.retry.is_zero() {
            return Err("the retry period must be greater than 0");
        }
        if self.renew_deadline <= self.retry {
            return Err("the renew deadline must be greater than the retry period");
        }
        if self.lease <= self.renew_deadline {
            return Err("the lease duration must be greater than the renew deadline");
        }
        Ok(self)
    }
}

/// Content of a Lease, without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Identity of the holder; empty when the Lease was released.
    pub holder: String,
    /// `spec.leaseDurationSeconds` as the holder wrote it.
    pub lease: Duration,
    /// `metadata.resourceVersion`: changes with every write.
    pub version: String,
}

/// The last observed record, and when it was first observed in this form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedLease {
    /// The record; `None` when there was no Lease.
    pub record: Option<Record>,
    /// When it was first observed in this form.
    pub since: Steady,
    /// The record before the Lease was deleted, when there is none now.
    pub deleted: Option<Record>,
}

impl ObservedLease {
    /// Updates with the record just read. An unchanged record keeps the time it was first observed.
    #[must_use]
    pub fn update(previous: Option<Self>, record: Option<Record>, now: Steady) -> Self {
        match previous {
            Some(seen) if seen.record == record => seen,
            Some(seen) if record.is_none() => Self { record, since: now, deleted: seen.record },
            _ => Self::new(record, now),
        }
    }

    /// A record observed for the first time.
    #[must_use]
    pub const fn new(record: Option<Record>, now: Steady) -> Self {
        Self { record, since: now, deleted: None }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create the Lease with this process as its holder.
    Create,
    /// Write this process as the new holder, provided that the record still has `version`. Counts as a transition.
    TakeOver {
        /// The expected version.
        version: String,
    },
    /// Renew the own record, provided that it still has `version`.
    Renew {
        /// The expected version.
        version: String,
    },
    /// Another process leads; check again after this long.
    Wait(Duration),
}

/// The next step at `now` of a candidate or leader called `identity`.
///
/// A released Lease (empty holder) is taken at once; that of another holder when its record has not changed for the
/// longer of the own lease duration and the one that it declares. The last holder of a deleted Lease may still act: the
/// same time must pass since the deletion was observed.
#[must_use]
pub fn step(identity: &str, timings: Timings, seen: &ObservedLease, now: Steady) -> Step {
    let expired = |record: &Record| {
        let left = seen.since.saturating_add(timings.lease.max(record.lease)).saturating_sub(now);
        if left.is_zero() { Ok(()) } else { Err(Step::Wait(left.min(timings.retry))) }
    };
    let is_foreign = |record: &Record| !record.holder.is_empty() && record.holder != identity;
    let Some(record) = &seen.record else {
        let may_act = |deleted: &&Record| is_foreign(deleted) && deleted.lease < RESERVED;
        let holder = seen.deleted.as_ref().filter(may_act);
        return holder.map_or(Ok(()), expired).err().unwrap_or(Step::Create);
    };
    let version = record.version.clone();
    if record.holder == identity {
        return Step::Renew { version };
    }
    if !is_foreign(record) {
        return Step::TakeOver { version };
    }
    expired(record).err().unwrap_or(Step::TakeOver { version })
}

/// Until when somebody leads, if no later renewal is observed; `None` where nobody does. Whoever reserves the Lease
/// removes fhpa, and takes nothing over.
#[must_use]
pub fn led_until(timings: Timings, seen: &ObservedLease) -> Option<Steady> {
    let leads = |record: &&Record| !record.holder.is_empty() && record.lease < RESERVED;
    let record = seen.record.as_ref().filter(leads)?;
    Some(seen.since.saturating_add(timings.lease.max(record.lease)))
}

/// Until when a leader may act whose last successful renewal was sent at `sent`. The time counts from the request, not
/// from the response: the server may have stored it just after it was sent.
#[must_use]
pub fn acts_until(timings: Timings, sent: Steady) -> Steady {
    sent.saturating_add(timings.renew_deadline)
}

/// Until when a write of such a leader may be in flight: from then on another process may act.
#[must_use]
pub fn expires(timings: Timings, sent: Steady) -> Steady {
    sent.saturating_add(timings.lease)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Steady = Duration::from_secs(1000);

    fn foreign(version: &str) -> Record {
        Record { holder: "other".into(), lease: Duration::from_secs(15), version: version.into() }
    }

    fn after(seconds: u64) -> Steady {
        NOW + Duration::from_secs(seconds)
    }

    #[test]
    fn without_a_lease_it_is_created() {
        let seen = ObservedLease::update(None, None, NOW);
        assert_eq!(step("me", Timings::default(), &seen, NOW), Step::Create);
    }

    #[test]
    fn a_living_leader_is_left_alone_for_the_whole_lease() {
        let seen = ObservedLease::update(None, Some(foreign("1")), NOW);
        assert_eq!(step("me", Timings::default(), &seen, after(14)), Step::Wait(Duration::from_secs(1)));
        assert_eq!(step("me", Timings::default(), &seen, after(15)), Step::TakeOver { version: "1".into() });
    }

    #[test]
    fn a_renewal_starts_the_wait_again_whatever_the_clocks_say() {
        let seen = ObservedLease::update(None, Some(foreign("1")), NOW);
        let seen = ObservedLease::update(Some(seen), Some(foreign("2")), after(14));
        assert_eq!(step("me", Timings::default(), &seen, after(16)), Step::Wait(Duration::from_secs(2)));
        let same = ObservedLease::update(Some(seen.clone()), Some(foreign("2")), after(20));
        assert_eq!(same, seen);
    }

    #[test]
    fn a_longer_lease_that_the_holder_declares_is_respected() {
        let record = Some(Record { holder: "other".into(), lease: Duration::from_mins(1), version: "1".into() });
        let seen = ObservedLease::update(None, record, NOW);
        assert!(matches!(step("me", Timings::default(), &seen, after(59)), Step::Wait(_)));
        assert!(matches!(step("me", Timings::default(), &seen, after(60)), Step::TakeOver { .. }));
    }

    #[test]
    fn a_reserved_lease_is_free_when_it_is_deleted_and_not_before() {
        let reserved = Record { lease: RESERVED, ..foreign("1") };
        let seen = ObservedLease::update(None, Some(reserved), NOW);
        let years = NOW + Duration::from_hours(10 * 365 * 24);
        assert!(matches!(step("me", Timings::default(), &seen, years), Step::Wait(_)));
        let seen = ObservedLease::update(Some(seen), None, years);
        assert_eq!(step("me", Timings::default(), &seen, years), Step::Create);
    }

    #[test]
    fn a_released_lease_is_taken_at_once_and_our_own_is_renewed() {
        let released = Some(Record { holder: String::new(), lease: Duration::from_secs(1), version: "7".into() });
        assert_eq!(
            step("me", Timings::default(), &ObservedLease::update(None, released, NOW), NOW),
            Step::TakeOver { version: "7".into() }
        );
        let own = Some(Record { holder: "me".into(), lease: Duration::from_secs(15), version: "8".into() });
        assert_eq!(
            step("me", Timings::default(), &ObservedLease::update(None, own, NOW), NOW),
            Step::Renew { version: "8".into() }
        );
    }

    #[test]
    fn a_lease_that_was_deleted_is_made_anew_when_its_holder_cannot_act_any_more() {
        let seen = ObservedLease::update(None, Some(foreign("1")), NOW);
        let gone = ObservedLease::update(Some(seen), None, after(5));
        assert_eq!(step("me", Timings::default(), &gone, after(5)), Step::Wait(Duration::from_secs(2)));
        let gone = ObservedLease::update(Some(gone), None, after(19));
        assert_eq!(step("me", Timings::default(), &gone, after(19)), Step::Wait(Duration::from_secs(1)));
        assert_eq!(step("me", Timings::default(), &gone, after(20)), Step::Create);
        // The holder need not wait for itself, and a released Lease need not be waited for.
        assert_eq!(step("other", Timings::default(), &gone, after(6)), Step::Create);
        let released = Record { holder: String::new(), ..foreign("2") };
        let gone = ObservedLease::update(Some(ObservedLease::new(Some(released), NOW)), None, after(1));
        assert_eq!(step("me", Timings::default(), &gone, after(1)), Step::Create);
    }

    #[test]
    fn somebody_leads_while_a_lease_is_renewed_that_is_neither_free_nor_reserved() {
        let until = |record: Option<Record>| led_until(Timings::default(), &ObservedLease::update(None, record, NOW));
        assert_eq!(until(Some(foreign("1"))), Some(after(15)));
        assert_eq!(until(Some(Record { lease: Duration::from_mins(1), ..foreign("1") })), Some(after(60)));
        for free in [Some(Record { holder: String::new(), ..foreign("1") }), None] {
            assert_eq!(until(free), None);
        }
        assert_eq!(until(Some(Record { lease: RESERVED, ..foreign("1") })), None);
    }

    #[test]
    fn a_write_under_way_ends_before_anybody_else_may_start() {
        let timings = Timings::default();
        assert!(acts_until(timings, NOW) < expires(timings, NOW));
        let seen = ObservedLease::new(Some(foreign("1")), NOW);
        let before = expires(timings, NOW).saturating_sub(Duration::from_nanos(1));
        assert!(matches!(step("me", timings, &seen, before), Step::Wait(_)));
    }

    #[test]
    fn a_leader_stops_before_anybody_else_may_start() {
        let timings = Timings::default().check().unwrap();
        let sent = NOW;
        let first_seen_by_other = sent;
        assert!(acts_until(timings, sent) < first_seen_by_other + timings.lease);
        assert!(Timings { renew_deadline: Duration::from_secs(15), ..Timings::default() }.check().is_err());
        assert!(Timings { retry: Duration::from_secs(10), ..Timings::default() }.check().is_err());
        assert!(Timings { retry: Duration::ZERO, ..Timings::default() }.check().is_err());
    }
}
