//! How long a cluster may fail before others take over from it, and what is known of its past (docs/design.md#failover). Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::taint::{NO_EXECUTE, NOT_READY, Taint, Tolerated, Toleration, UNREACHABLE, tolerated};
use super::{Member, Readiness};
use crate::decision::plan::Failed;

/// What a fleet of so many clusters is at least, of which a part can fail alone.
const FLEET: usize = 3;
/// A cluster that failed so often in a row waits no longer still.
const MOST_TIMES: u32 = 4;

/// How long clusters are waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// Toleration of a cluster whose condition `Ready` is False, where the placement names none.
    pub not_ready: SignedDuration,
    /// Toleration of a cluster whose condition `Ready` is Unknown, where the placement names none.
    pub unreachable: SignedDuration,
    /// While more than this part of the fleet is not Ready, nothing fails over.
    pub threshold: f64,
}

impl Default for Patience {
    fn default() -> Self {
        let five_minutes = SignedDuration::from_mins(5);
        Self { not_ready: five_minutes, unreachable: five_minutes, threshold: 0.5 }
    }
}

/// What is known of clusters from before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past<'a> {
    /// Those with an HPA of ours or an entry in the binding.
    pub held: BTreeSet<&'a str>,
    /// Those of which something is remembered, whether or not they hold anything.
    pub known: BTreeSet<&'a str>,
    /// When Karmada's own failover took the workload away from them.
    pub evicted: BTreeMap<&'a str, Timestamp>,
    /// Those that failed lately.
    pub failed: BTreeMap<&'a str, Failed>,
    /// When failovers were last possible again, after a pause: nobody was waited for before.
    pub resumed: Option<Timestamp>,
    /// Those that may fail now, where failovers are let through one after the other; nothing: all.
    pub may_fail: Option<BTreeSet<&'a str>>,
}

impl Patience {
    /// Whether more of the fleet than may fail is not Ready.
    #[must_use]
    pub fn pauses(&self, members: &[Member<'_>]) -> Option<(usize, usize)> {
        let all = members.len();
        let unready = members.iter().filter(|member| member.readiness != Readiness::Ready).count();
        let [part, whole] = [unready, all].map(|count| u32::try_from(count).map_or(f64::MAX, f64::from));
        (all >= FLEET && part > whole * self.threshold).then_some((unready, all))
    }

    /// Until when a taint is tolerated: as the placement says, else as long as clusters are waited for; one that failed
    /// lately twice as long each time.
    #[must_use]
    pub fn tolerated(
        &self,
        taint: &Taint<'_>,
        tolerations: &[Toleration<'_>],
        failed: Option<Failed>,
        now: Timestamp,
    ) -> Tolerated {
        let default = match &*taint.key {
            NOT_READY => self.not_ready,
            UNREACHABLE => self.unreachable,
            _ => return tolerated(taint, tolerations, now),
        };
        if taint.effect != NO_EXECUTE || tolerations.iter().any(|toleration| toleration.tolerates(taint)) {
            return tolerated(taint, tolerations, now);
        }
        let times = failed.filter(|failed| !failed.is_forgotten(now)).map_or(0, |failed| failed.times.min(MOST_TIMES));
        let patience = default.checked_mul(1_i32.checked_shl(times).unwrap_or(i32::MAX)).unwrap_or(SignedDuration::MAX);
        let end = taint.added.unwrap_or(now).checked_add(patience);
        end.map_or(Tolerated::Forever, Tolerated::Until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(ready: usize, unready: usize) -> Vec<Member<'static>> {
        let member = |readiness| Member { readiness, ..Member::default() };
        let mut all = vec![member(Readiness::Ready); ready];
        all.extend(vec![member(Readiness::NotReady(Timestamp::UNIX_EPOCH)); unready]);
        all
    }

    #[test]
    fn most_of_a_fleet_does_not_fail_at_once() {
        let pauses = |ready, unready| Patience::default().pauses(&fleet(ready, unready)).is_some();
        assert!(!pauses(0, 2) && !pauses(2, 1) && pauses(1, 2) && pauses(0, 3));
        assert!(!pauses(2, 2) && pauses(5, 6) && !pauses(1000, 1000));
    }

    #[test]
    fn a_cluster_that_flaps_is_waited_for_longer_each_time() {
        let at = |second| Timestamp::constant(second, 0);
        let taint = Taint { key: NOT_READY.into(), effect: NO_EXECUTE.into(), added: Some(at(0)), ..Taint::default() };
        let until = |failed: Option<Failed>, now| Patience::default().tolerated(&taint, &[], failed, at(now));
        let failed = |times| Some(Failed { times, last: at(0) });
        assert_eq!(until(None, 10), Tolerated::Until(at(300)));
        assert_eq!(until(failed(1), 10), Tolerated::Until(at(600)));
        assert_eq!(until(failed(9), 10), Tolerated::Until(at(4800)));
        assert_eq!(until(failed(9), 90_000), Tolerated::Until(at(300)), "long ago");
        let own = Toleration { key: NOT_READY.into(), operator: "Exists".into(), seconds: Some(30), ..<_>::default() };
        let until = Patience::default().tolerated(&taint, &[own], failed(1), at(10));
        assert_eq!(until, Tolerated::Until(at(30)), "the user's word");
    }
}
