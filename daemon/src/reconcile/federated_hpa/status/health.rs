//! Observed state of the member HPAs, as input of the health rules (status). No I/O.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::api::hpa_status::Condition;
use crate::decision::health::{HpaCondition, Member, Presence};
use crate::decision::plan::{Cause, Plan, Share, UNCONFIRMED};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::MemberHpa;
use crate::reconcile::federated_hpa::observe::{Observed, is_silent};
use crate::reconcile::federated_hpa::write_id;

/// The members with a share, and failed candidates without one, by name.
#[must_use]
pub fn members<'a>(view: &'a View, observed: &'a Observed<'_>, plan: &Plan<'a>, now: Timestamp) -> Vec<Member<'a>> {
    let holds = plan.shares.iter().filter(|share| share.target.is_some());
    let mut members: Vec<Member<'a>> = holds
        .map(|share| {
            let member_hpa = view.member_hpa(share.cluster).filter(|member_hpa| !member_hpa.deleting());
            let conditions = member_hpa.map(|member_hpa| member_hpa.conditions().iter().map(condition_of).collect());
            Member {
                cluster: share.cluster,
                presence: match member_hpa {
                    _ if is_silent(view, share.cluster) => Presence::Silent,
                    None if waits(view, share) => Presence::Waiting,
                    None => Presence::Missing,
                    Some(member_hpa) => presence(member_hpa, now),
                },
                conditions: conditions.unwrap_or_default(),
                zero: share.memory.scaled_to_zero,
                away: false,
                stuck: share.memory.scale_up_blocked.is_some(),
                no_nodes: no_nodes(observed, share),
            }
        })
        .collect();
    let held: BTreeSet<&str> = members.iter().map(|member| member.cluster).collect();
    let lost = observed.request.clusters.iter().filter(|cluster| cluster.is_candidate && is_silent(view, cluster.name));
    let lost = lost.filter(|cluster| !held.contains(cluster.name)).map(|cluster| Member {
        cluster: cluster.name,
        presence: Presence::Silent,
        away: true,
        ..Member::default()
    });
    members.extend(lost);
    members.sort_by_key(|member| member.cluster);
    members
}

fn condition_of(condition: &Condition) -> HpaCondition<'_> {
    HpaCondition {
        type_: &condition.type_,
        status: &condition.status,
        reason: condition.reason.as_deref().unwrap_or_default(),
        message: condition.message.as_deref().unwrap_or_default(),
    }
}

/// What the autoscaler of a cluster says where it adds no nodes; empty where that was found by an earlier leader.
fn no_nodes<'a>(observed: &'a Observed<'_>, share: &Share<'_>) -> Option<&'a str> {
    share.memory.scale_up_blocked.filter(|blocked| blocked.cause == Cause::NoNodes)?;
    let said = observed.no_nodes.iter().find(|(cluster, _)| *cluster == share.cluster);
    Some(said.map_or("", |(_, message)| message))
}

/// Whether a cluster has no HPA because others run the whole budget.
fn waits(view: &View, share: &Share<'_>) -> bool {
    !share.now.is_some() && view.member_hpa(share.cluster).is_none()
}

fn presence(member_hpa: &MemberHpa, now: Timestamp) -> Presence {
    if member_hpa.hpa.confirmed {
        return Presence::There;
    }
    if !member_hpa.applied && member_hpa.is_unreported() {
        return Presence::Missing;
    }
    let written = write_id::time(&member_hpa.token, now);
    let late = written.and_then(|written| written.checked_add(UNCONFIRMED).ok()).is_some_and(|due| due <= now);
    if late { Presence::Outdated } else { Presence::There }
}

/// Clusters whose bounds are not confirmed.
#[must_use]
pub fn unconfirmed<'a>(view: &View, plan: &Plan<'a>) -> Vec<&'a str> {
    let takes_part = plan.shares.iter().filter(|share| share.target.is_some() && !waits(view, share));
    let confirmed = |cluster: &str| view.member_hpa(cluster).is_some_and(|member_hpa| member_hpa.hpa.confirmed);
    takes_part.map(|share| share.cluster).filter(|cluster| !confirmed(cluster)).collect()
}
