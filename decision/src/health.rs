//! Conditions of the member HPAs, combined into those of a FederatedHPA (law: status never claims more than is known).
//! Pure.
//!
//! `Ready` is about setup: each HPA exists as written, its workload exists, and no other HPA scales it.
//! `ScalingActive`, `AbleToScale` and `ScalingLimited` summarize the conditions of the same name over all members.

use super::few::Few;

/// One condition of a member's HPA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HpaCondition<'a> {
    /// Its type.
    pub type_: &'a str,
    /// `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// Its reason.
    pub reason: &'a str,
    /// Its message.
    pub message: &'a str,
}

/// Whether the HPA of a member exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// It exists as written, or a write is still in flight.
    #[default]
    There,
    /// It is not written yet: the other clusters run all that `spec.maxReplicas` allows.
    Waiting,
    /// It has not been observed yet.
    Missing,
    /// It exists, but the last write has not been confirmed for long.
    Outdated,
    /// Its cluster does not answer.
    Silent,
}

/// The HPA of one member that takes part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member<'a> {
    /// Name of the cluster.
    pub cluster: &'a str,
    /// Whether the HPA exists.
    pub presence: Presence,
    /// Its conditions; empty until they have been observed.
    pub conditions: Vec<HpaCondition<'a>>,
    /// Whether the cluster should have no replicas.
    pub zero: bool,
    /// Whether other clusters have taken over its share, because it failed.
    pub away: bool,
    /// Whether it cannot scale up: its pods are unschedulable, or it is at its max and wants more.
    pub stuck: bool,
    /// What the autoscaler of its nodes says where it adds none for its pods; empty while that is not known again.
    pub no_nodes: Option<&'a str>,
}

/// Health of a member. The greater the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Healthy.
    Well,
    /// It cannot have as many replicas as it wants.
    Limited,
    /// Its HPA cannot scale now: no metrics, or no way to write replicas.
    Inactive,
    /// Its status is not known.
    Unknown,
    /// It needs repair: its HPA or its workload does not exist, or two HPAs scale it.
    Broken,
}

/// Number of clusters by health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that take part.
    pub total: usize,
    /// Their HPA exists as written, their workload exists, no other HPA scales it.
    pub ready: usize,
    /// They cannot have as many replicas as they want.
    pub limited: usize,
    /// They do not answer, or their HPA has not been observed yet.
    pub unknown: usize,
    /// They should have no replicas.
    pub scaled_to_zero: usize,
}

/// Status, reason and message of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// Reason in one word.
    pub reason: &'static str,
    /// Message in a sentence.
    pub message: String,
}

/// Types of the conditions that every HPA has.
pub const SCALING_ACTIVE: &str = "ScalingActive";
/// See [`SCALING_ACTIVE`].
pub const ABLE_TO_SCALE: &str = "AbleToScale";
/// See [`SCALING_ACTIVE`].
pub const SCALING_LIMITED: &str = "ScalingLimited";

/// Several HPAs select the same pods: none of them scales.
pub const AMBIGUOUS: &str = "AmbiguousSelector";
/// The HPA finds no workload.
const NO_TARGET: &str = "FailedGetScale";
/// Scaling is disabled while there are no replicas.
pub const DISABLED: &str = "ScalingDisabled";
/// Reasons why a member cannot have as many replicas as it wants.
pub const CEILINGS: [&str; 3] = ["TooManyReplicas", "ScaleUpLimit", NO_NODES];

/// Reasons of unhealthy conditions that the HPA controller of Kubernetes sets; the first one found on a member is
/// reported. Any other is reported as `Other`, so that metrics by reason stay bounded.
pub const REASONS: [&str; 15] = [
    AMBIGUOUS,
    "InvalidSelector",
    "InvalidMetricSourceType",
    "FailedGetResourceMetric",
    "FailedGetContainerResourceMetric",
    "FailedGetPodsMetric",
    "FailedGetObjectMetric",
    "FailedGetExternalMetric",
    NO_TARGET,
    "FailedUpdateScale",
    DISABLED,
    "TooManyReplicas",
    "ScaleUpLimit",
    "ScaleDownLimit",
    "TooFewReplicas",
];
/// Reasons of healthy conditions: of `ScalingActive`, `AbleToScale` and `ScalingLimited`.
pub const WELL: [&str; 3] = ["ValidMetricFound", "SucceededGetScale", "DesiredWithinRange"];
/// Reasons that no HPA gives.
pub const OWN: [&str; 8] = [
    MISSING,
    OUTDATED,
    HEADROOM_IN_USE,
    TARGET_NOT_FOUND,
    NO_NODES,
    UNKNOWN,
    OTHER,
    super::hpa::decide::PARTIAL_METRICS,
];
/// The HPA of a member is not there yet.
pub const MISSING: &str = "MemberHPAMissing";
/// Running replicas leave no headroom for the bounds that clusters should have.
pub const HEADROOM_IN_USE: &str = "HeadroomInUse";
/// Pods find no node, and the autoscaler adds none.
pub const NO_NODES: &str = "NoNodesAvailable";
const OUTDATED: &str = "MemberHPAOutdated";
const TARGET_NOT_FOUND: &str = "MemberTargetNotFound";
/// No status has been observed.
const UNKNOWN: &str = "MemberStatusUnknown";
/// Another reason than those of Kubernetes.
const OTHER: &str = "OtherReason";

impl<'a> Member<'a> {
    fn condition(&self, type_: &str) -> Option<&HpaCondition<'a>> {
        // The last conditions of a cluster that does not answer are out of date.
        self.conditions.iter().find(|condition| condition.type_ == type_ && self.presence != Presence::Silent)
    }

    fn with_status(&self, type_: &str, status: &str) -> Option<&HpaCondition<'a>> {
        self.condition(type_).filter(|condition| condition.status == status)
    }

    /// Whether it should have an HPA with conditions.
    fn should_report(&self) -> bool {
        !self.away && self.presence != Presence::Waiting
    }

    fn is_ambiguous(&self) -> bool {
        self.with_status(SCALING_ACTIVE, "False").is_some_and(|condition| condition.reason == AMBIGUOUS)
    }

    fn lacks_target(&self) -> bool {
        self.with_status(ABLE_TO_SCALE, "False").is_some_and(|condition| condition.reason == NO_TARGET)
    }

    fn is_limited(&self) -> bool {
        self.stuck
            || self.with_status(SCALING_LIMITED, "True").is_some_and(|condition| CEILINGS.contains(&condition.reason))
    }

    /// The condition `type_` when it is unhealthy. An HPA at zero replicas does not scale, and need not.
    fn is_bad(&self, type_: &str) -> Option<&HpaCondition<'a>> {
        self.with_status(type_, "False").filter(|condition| !(self.zero && condition.reason == DISABLED))
    }

    /// Its health.
    #[must_use]
    pub fn grade(&self) -> Grade {
        let broken = matches!(self.presence, Presence::Missing | Presence::Outdated);
        if broken || self.is_ambiguous() || self.lacks_target() {
            Grade::Broken
        } else if self.presence == Presence::Waiting {
            Grade::Limited
        } else if self.presence == Presence::Silent || self.conditions.is_empty() {
            Grade::Unknown
        } else if self.is_bad(SCALING_ACTIVE).or_else(|| self.is_bad(ABLE_TO_SCALE)).is_some() {
            Grade::Inactive
        } else if self.is_limited() {
            Grade::Limited
        } else {
            Grade::Well
        }
    }
}

/// Counts.
#[must_use]
pub fn counts(members: &[Member<'_>]) -> Counts {
    let count = |is: &dyn Fn(&Member<'_>) -> bool| members.iter().filter(|member| is(member)).count();
    Counts {
        total: members.len(),
        ready: count(&|member| member.presence == Presence::There && member.grade() != Grade::Broken),
        limited: count(&|member| match member.presence {
            Presence::There => member.is_limited(),
            Presence::Waiting => true,
            Presence::Missing | Presence::Outdated | Presence::Silent => false,
        }),
        unknown: count(&|member| match member.presence {
            Presence::Waiting => false,
            Presence::Silent | Presence::Missing => true,
            Presence::There | Presence::Outdated => member.conditions.is_empty(),
        }),
        scaled_to_zero: count(&|member| member.zero),
    }
}

fn those<'a>(members: &[Member<'a>], is: impl Fn(&Member<'a>) -> bool) -> Vec<&'a str> {
    members.iter().filter(|member| is(member)).map(|member| member.cluster).collect()
}

/// What keeps the members from being set up as they should; `None` when nothing does.
#[must_use]
pub fn broken(members: &[Member<'_>]) -> Option<Verdict> {
    let kinds: [(&'static str, Vec<&str>, &str); 5] = [
        (
            AMBIGUOUS,
            those(members, Member::is_ambiguous),
            "the pods are selected by another HPA as well, so that neither scales: delete the other HPA there, or have \
             the selectors of the workloads differ",
        ),
        (
            MISSING,
            those(members, |member| member.presence == Presence::Missing),
            "the HPA is not there yet: Karmada has still to bring it; where that lasts, look at the Works of these clusters",
        ),
        (
            OUTDATED,
            those(members, |member| member.presence == Presence::Outdated),
            "the HPA is not known to be as it was written: see whether Karmada's Works of these clusters are applied",
        ),
        (
            TARGET_NOT_FOUND,
            those(members, Member::lacks_target),
            "the HPA finds no workload to scale: see whether the workload was propagated there",
        ),
        (
            HEADROOM_IN_USE,
            those(members, |member| member.presence == Presence::Waiting),
            "there is no HPA, because the other clusters run all that spec.maxReplicas allows: raise it, or wait until the load falls",
        ),
    ];
    let (reason, clusters, what) = kinds.into_iter().find(|(_, clusters, _)| !clusters.is_empty())?;
    let message = format!("in {}: {what}", Few(&clusters));
    Some(Verdict { status: "False", reason, message })
}

/// `ScalingActive`, `AbleToScale` and `ScalingLimited`, in this order.
#[must_use]
pub fn verdicts(members: &[Member<'_>]) -> [(&'static str, Verdict); 3] {
    let [active, able, _] = WELL;
    let active = (active, "the HPAs of all member clusters compute their replicas from the metrics");
    let able = (able, "the HPAs of all member clusters can read and write the replicas of their workload");
    [
        (SCALING_ACTIVE, good(members, SCALING_ACTIVE, active)),
        (ABLE_TO_SCALE, good(members, ABLE_TO_SCALE, able)),
        (SCALING_LIMITED, limited(members)),
    ]
}

/// A condition that is `True` when all members are healthy.
fn good(members: &[Member<'_>], type_: &'static str, well: (&'static str, &str)) -> Verdict {
    let bad = members.iter().filter_map(|member| Some((member.cluster, *member.is_bad(type_)?)));
    if let Some(verdict) = worst(bad, "False") {
        return verdict;
    }
    if let Some(verdict) = unknown(members, type_) {
        return verdict;
    }
    let mut speaking = members.iter().filter(|member| member.should_report()).peekable();
    if speaking.peek().is_some() && speaking.all(|member| member.with_status(type_, "True").is_none()) {
        let message = "no member cluster has replicas, so that there is nothing to measure".to_owned();
        return Verdict { status: "False", reason: DISABLED, message };
    }
    Verdict { status: "True", reason: well.0, message: well.1.to_owned() }
}

/// Whether any HPA wants more or fewer replicas than it may have, or has some for which there are no nodes.
fn limited(members: &[Member<'_>]) -> Verdict {
    if let Some(verdict) = without_nodes(members) {
        return verdict;
    }
    let at_limit =
        members.iter().filter_map(|member| Some((member.cluster, *member.with_status(SCALING_LIMITED, "True")?)));
    if let Some(verdict) = worst(at_limit, "True") {
        return verdict;
    }
    // An HPA that computes nothing has no valid `ScalingLimited`.
    let silent: Vec<&str> = members
        .iter()
        .filter(|member| member.conditions.is_empty() && member.should_report())
        .map(|member| member.cluster)
        .collect();
    if !silent.is_empty() {
        return not_heard(&silent);
    }
    let message = "the HPAs of all member clusters have the replicas that they want".to_owned();
    let [.., within] = WELL;
    Verdict { status: "False", reason: within, message }
}

/// The clusters whose autoscaler adds no nodes, and what the first of them says. A tenant may have written that, too.
fn without_nodes(members: &[Member<'_>]) -> Option<Verdict> {
    let answers = members.iter().filter(|member| member.presence != Presence::Silent);
    let (clusters, says): (Vec<&str>, Vec<&str>) =
        answers.filter_map(|member| Some((member.cluster, member.no_nodes?))).unzip();
    let quoted = says.iter().find(|says| !says.is_empty()).map(|says| format!(": {says:?}")).unwrap_or_default();
    let message = format!("in {}: pods find no node, and the autoscaler adds none{quoted}", Few(&clusters));
    (!clusters.is_empty()).then_some(Verdict { status: "True", reason: NO_NODES, message })
}

fn unknown(members: &[Member<'_>], type_: &str) -> Option<Verdict> {
    let silent = |member: &&Member<'_>| {
        !member.zero
            && member.should_report()
            && member.condition(type_).is_none_or(|condition| condition.status == "Unknown")
    };
    let silent: Vec<&str> = members.iter().filter(silent).map(|member| member.cluster).collect();
    (!silent.is_empty()).then(|| not_heard(&silent))
}

fn not_heard(clusters: &[&str]) -> Verdict {
    let message = format!("the HPA has no current status in {}", Few(clusters));
    Verdict { status: "Unknown", reason: UNKNOWN, message }
}

/// The reason that sorts first, with the clusters that have it and the message of one of them.
fn worst<'a>(conditions: impl Iterator<Item = (&'a str, HpaCondition<'a>)>, status: &'static str) -> Option<Verdict> {
    let rank = |condition: &HpaCondition<'_>| {
        REASONS.iter().position(|reason| *reason == condition.reason).unwrap_or(REASONS.len())
    };
    let all: Vec<(&str, HpaCondition<'_>)> = conditions.collect();
    let first = all.iter().map(|(_, condition)| rank(condition)).min()?;
    let those: Vec<&(&str, HpaCondition<'_>)> = all.iter().filter(|(_, condition)| rank(condition) == first).collect();
    let clusters: Vec<&str> = those.iter().map(|(cluster, _)| *cluster).collect();
    let words = those.first().map_or("", |(_, condition)| condition.message);
    let reason = REASONS.get(first).copied().unwrap_or(OTHER);
    Some(Verdict { status, reason, message: format!("in {}: {words}", Few(&clusters)) })
}

#[cfg(test)]
mod tests;
