//! Writes HPAs again with the bounds that they have: those that differ from the spec, and those that a cluster missed
//! while it did not answer (docs/design.md#on-the-wire).

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::apply::{Applier, ApplyContext};
use crate::controller::failure::WriteError;
use crate::decision::fleet::Member;
use crate::decision::plan::{Action, HpaVersion};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::MemberHpa;
use crate::reconcile::federated_hpa::{manifest, write_id};

/// After the return of a cluster, Karmada may still apply what it missed by itself.
const PATIENCE: SignedDuration = SignedDuration::from_secs(10);
/// The time of a condition is in whole seconds.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

impl Applier {
    /// Writes the HPAs whose content differs from the spec or that were missed, except in the clusters `written`.
    /// Returns whether it wrote any.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub async fn rewrite(&self, about: ApplyContext<'_>, written: &BTreeSet<&str>) -> Result<bool, WriteError> {
        let (view, now) = (about.view, (self.clock)());
        let contents =
            [HpaVersion::V1, HpaVersion::V2].map(|version| manifest::content(&view.federated_hpa.object, version));
        let [older, newer] = &contents;
        let mut wrote = false;
        for member_hpa in view.member_hpas.iter().filter(|member_hpa| !written.contains(member_hpa.cluster())) {
            let Some(bounds) = member_hpa.hpa.written else { continue };
            let version = member_hpa.hpa.version;
            let content = if version == HpaVersion::V1 { older } else { newer };
            let missed = || missed(view, member_hpa).is_some_and(|due| due <= now);
            if *member_hpa.content == **content && !missed() {
                continue;
            }
            let outstanding = member_hpa.hpa.ceiling();
            let held = member_hpa.hpa.held;
            let action = Action::ApplyHpa { cluster: member_hpa.cluster(), bounds, version, outstanding, held };
            self.apply(about, &action).await?;
            wrote = true;
        }
        Ok(wrote)
    }
}

/// When to write the next HPA again that a cluster missed.
#[must_use]
pub fn next(view: &View, now: Timestamp) -> Option<Timestamp> {
    view.member_hpas.iter().filter_map(|member_hpa| missed(view, member_hpa)).filter(|due| *due > now).min()
}

fn missed(view: &View, member_hpa: &MemberHpa) -> Option<Timestamp> {
    if member_hpa.hpa.confirmed || member_hpa.deleting {
        return None;
    }
    let (cluster, _) = view.fleet.get(member_hpa.cluster())?;
    due(cluster, write_id::time(&member_hpa.token)?)
}

/// When to write an HPA again that was written at `written` and is not confirmed; `None` where the cluster did not miss
/// it.
///
/// Karmada tries a Work again after 5 ms, then after twice as long each time, up to 1,000 s, and does not begin anew when
/// the cluster is back: what it missed would come as late again as it was away. A changed Work is applied at once.
fn due(cluster: &Member<'_>, written: Timestamp) -> Option<Timestamp> {
    let back = cluster.since.filter(|_| cluster.answers())?;
    let missed = written < back.checked_add(SECOND).ok()?;
    back.checked_add(PATIENCE).ok().filter(|_| missed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::fleet::Readiness;

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    #[test]
    fn only_what_was_written_before_a_cluster_was_back_is_written_again() {
        let cluster = |readiness| Member { readiness, since: Some(at(100)), ..Member::default() };
        let there = cluster(Readiness::Ready);
        let dues = [50, 100, 101, 110].map(|written| due(&there, at(written)));
        assert_eq!(dues, [Some(at(110)), Some(at(110)), None, None]);
        assert_eq!(due(&cluster(Readiness::NotReady(at(100))), at(50)), None);
        assert_eq!(due(&Member { since: None, ..there }, at(50)), None);
    }
}
