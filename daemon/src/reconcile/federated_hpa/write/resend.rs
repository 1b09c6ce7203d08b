//! HPAs to write again with the bounds that they have: those that differ from the spec, those that somebody edited, those
//! whose write id has no time, and those that a cluster missed while it did not answer, also where it missed a deletion
//! (docs/design.md#on-the-wire). No I/O.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::decision::fleet::Member;
use crate::decision::plan::{Action, Bounds, HpaVersion};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::MemberHpa;
use crate::reconcile::federated_hpa::{manifest, write_id};

/// After the return of a cluster, Karmada may still apply what it missed by itself.
const FIRST: SignedDuration = SignedDuration::from_secs(10);
/// What is written so long after the return is not written again.
const LAST: SignedDuration = SignedDuration::from_mins(10);
/// The time of a condition is in whole seconds.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// The HPAs to write again at `now`: those whose content differs from the spec or was edited, whose write id has no time, or
/// that were missed, except in the clusters `written`.
#[must_use]
pub fn resends<'a>(view: &'a View, written: &BTreeSet<&str>, now: Timestamp) -> Vec<Action<'a>> {
    let [older, newer] =
        [HpaVersion::V1, HpaVersion::V2].map(|version| manifest::content(&view.federated_hpa.object, version));
    let again = |member_hpa: &'a MemberHpa| {
        let content = if member_hpa.hpa.version == HpaVersion::V1 { &older } else { &newer };
        let missed = is_missed(view, member_hpa, now);
        let differs = || {
            let edited = member_hpa.edited || *member_hpa.content != **content;
            edited || write_id::is_timeless(&member_hpa.token, now)
        };
        match member_hpa.hpa.written {
            Some(bounds) if missed || differs() => Some(same(member_hpa, bounds)),
            None if missed => Some(dying(member_hpa)),
            _ => None,
        }
    };
    let others = view.member_hpas.iter().filter(|member_hpa| !written.contains(member_hpa.cluster()));
    others.filter_map(|member_hpa| again(member_hpa)).collect()
}

/// The HPAs whose deletion a cluster missed, to write again at `now`, where nothing else is written: the workload is
/// handed back.
#[must_use]
pub fn deletions(view: &View, now: Timestamp) -> Vec<Action<'_>> {
    let missed = |member_hpa: &&Arc<MemberHpa>| member_hpa.deleting() && is_missed(view, member_hpa, now);
    view.member_hpas.iter().filter(missed).map(|member_hpa| dying(member_hpa)).collect()
}

/// Karmada deletes the HPA of a Work that is being deleted, whatever is in it: no bound is raised.
fn dying(member_hpa: &MemberHpa) -> Action<'_> {
    let replicas = member_hpa.hpa.ceiling().min(1);
    same(member_hpa, Bounds { min: replicas, max: replicas })
}

/// The HPA as it was written, with these bounds.
fn same(member_hpa: &MemberHpa, bounds: Bounds) -> Action<'_> {
    let (cluster, hpa) = (member_hpa.cluster(), member_hpa.hpa);
    Action::ApplyHpa {
        cluster,
        bounds,
        version: hpa.version,
        pending_max: hpa.ceiling(),
        scale_down_disabled: hpa.scale_down_disabled,
    }
}

/// When to write the next HPA again that a cluster missed.
#[must_use]
pub fn next(view: &View, now: Timestamp) -> Option<Timestamp> {
    view.member_hpas.iter().filter_map(|member_hpa| missed(view, member_hpa, now)).filter(|due| *due > now).min()
}

fn is_missed(view: &View, member_hpa: &MemberHpa, now: Timestamp) -> bool {
    missed(view, member_hpa, now).is_some_and(|due| due <= now)
}

fn missed(view: &View, member_hpa: &MemberHpa, now: Timestamp) -> Option<Timestamp> {
    if member_hpa.hpa.confirmed {
        return None;
    }
    let (cluster, _) = view.fleet.get(member_hpa.cluster())?;
    due(cluster, member_hpa.written_at(now)?)
}

/// When to write an HPA again that was written or deleted at `written`, without confirmation: ten seconds after the
/// cluster is back, and then after as long again each time, until ten minutes have passed. `None` where the cluster did
/// not miss it.
///
/// Karmada tries a Work again after 5 ms, then after twice as long each time, up to 1,000 s, and does not begin anew when
/// the cluster is back: what it missed would come as late again as it was away. A changed Work is applied at once; but
/// for up to a minute Karmada may still have an older copy of what the member has, and each attempt is a conflict.
fn due(cluster: &Member<'_>, written: Timestamp) -> Option<Timestamp> {
    let back = cluster.since.filter(|_| cluster.answers())?;
    let after = written.duration_since(back);
    if after < SECOND {
        return back.checked_add(FIRST).ok();
    }
    written.checked_add(after.max(FIRST)).ok().filter(|_| after < LAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::fleet::Readiness;

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    #[test]
    fn what_a_cluster_missed_is_written_after_its_return_and_then_ever_later_until_it_is_given_up() {
        let cluster = |readiness| Member { readiness, since: Some(at(1_000)), ..Member::default() };
        let there = cluster(Readiness::Ready);
        assert_eq!(due(&there, at(500)), Some(at(1_010)));
        let mut writes = vec![1_000];
        while let Some(next) = due(&there, at(*writes.last().unwrap())) {
            writes.push(next.as_second());
        }
        assert_eq!(writes, [1_000, 1_010, 1_020, 1_040, 1_080, 1_160, 1_320, 1_640]);
        assert_eq!(due(&there, at(1_003)), Some(at(1_013)), "it may be missed while the cluster returns");
        assert_eq!(due(&cluster(Readiness::NotReady(at(1_000))), at(500)), None);
        assert_eq!(due(&Member { since: None, ..there }, at(500)), None);
    }
}
