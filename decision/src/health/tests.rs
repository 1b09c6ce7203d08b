//! Conditions of members, combined: each problem alone and together with others.

use super::*;

const NO_METRICS: HpaCondition<'_> = condition(SCALING_ACTIVE, "False", "FailedGetResourceMetric");

const fn condition<'a>(type_: &'a str, status: &'a str, reason: &'a str) -> HpaCondition<'a> {
    HpaCondition { type_, status, reason, message: "why" }
}

fn well(cluster: &str) -> Member<'_> {
    let conditions = vec![
        condition(ABLE_TO_SCALE, "True", "ReadyForNewScale"),
        condition(SCALING_ACTIVE, "True", "ValidMetricFound"),
        condition(SCALING_LIMITED, "False", "DesiredWithinRange"),
    ];
    Member { cluster, conditions, ..Member::default() }
}

fn but<'a>(cluster: &'a str, condition: HpaCondition<'a>) -> Member<'a> {
    let mut member = well(cluster);
    member.conditions.retain(|other| other.type_ != condition.type_);
    member.conditions.push(condition);
    member
}

fn said(members: &[Member<'_>]) -> Vec<String> {
    let all =
        verdicts(members).map(|(type_, said)| format!("{type_}={} {}: {}", said.status, said.reason, said.message));
    let broken = broken(members).map(|said| format!("Ready={} {}", said.status, said.reason));
    all.into_iter().filter(|line| line.contains(" in ") || line.contains("no member")).chain(broken).collect()
}

#[test]
fn a_cluster_whose_autoscaler_adds_no_nodes_says_so_first() {
    let full = condition(SCALING_LIMITED, "True", "TooManyReplicas");
    let members = [
        Member { no_nodes: Some(""), ..well("a") },
        but("b", full),
        Member { no_nodes: Some("1 max node \"group\"\u{202e} size\nreached"), ..well("c") },
        Member { no_nodes: Some("old"), presence: Presence::Silent, ..well("d") },
    ];
    let limited = &verdicts(&members)[2].1;
    assert_eq!((limited.status, limited.reason), ("True", "NoNodesAvailable"));
    let quoted =
        r#"in a, c: pods find no node, and the autoscaler adds none: "1 max node \"group\"\u{202e} size\nreached""#;
    assert_eq!(limited.message, quoted);
    let alone = &verdicts(&members[..1])[2].1;
    assert_eq!(alone.message, "in a: pods find no node, and the autoscaler adds none");
}

#[test]
fn members_that_do_well_say_nothing_bad() {
    let members = [well("a"), well("b")];
    assert_eq!(said(&members), [""; 0]);
    assert_eq!(verdicts(&members).map(|(_, said)| said.status), ["True", "True", "False"]);
    assert_eq!(counts(&members), Counts { total: 2, ready: 2, ..Counts::default() });
}

#[test]
fn the_worst_reason_is_told_with_those_who_give_it() {
    let members = [but("a", condition(SCALING_ACTIVE, "False", "Odd")), but("b", NO_METRICS), but("c", NO_METRICS)];
    assert_eq!(said(&members), ["ScalingActive=False FailedGetResourceMetric: in b, c: why"]);
    assert_eq!(said(&members[..1]), ["ScalingActive=False OtherReason: in a: why"]);
    assert_eq!(members.each_ref().map(Member::grade), [Grade::Inactive; 3]);
}

#[test]
fn what_is_not_known_is_not_said_to_be_well() {
    let silent = Member { presence: Presence::Silent, ..well("b") };
    let unheard = Member { conditions: Vec::new(), ..well("c") };
    assert_eq!(verdicts(&[well("a"), silent.clone()])[0].1.status, "Unknown");
    assert_eq!(verdicts(&[well("a"), unheard.clone()])[2].1.status, "Unknown");
    assert_eq!(verdicts(&[silent.clone(), but("c", NO_METRICS)])[0].1.reason, "FailedGetResourceMetric");
    let away = Member { away: true, ..silent.clone() };
    assert_eq!(verdicts(&[well("a"), away.clone()])[0].1.status, "True");
    assert_eq!(counts(&[well("a"), away]), Counts { total: 2, ready: 1, unknown: 1, ..Counts::default() });
    assert_eq!(counts(&[silent, unheard]), Counts { total: 2, ready: 1, unknown: 2, ..Counts::default() });
}

#[test]
fn ready_is_about_how_things_are_put_together() {
    assert_eq!(broken(&[but("a", NO_METRICS)]), None);
    for (member, reason) in [
        (Member { presence: Presence::Missing, ..well("a") }, "MemberHPAMissing"),
        (Member { presence: Presence::Outdated, ..well("a") }, "MemberHPAOutdated"),
        (but("a", condition(ABLE_TO_SCALE, "False", "FailedGetScale")), "MemberTargetNotFound"),
        (but("a", condition(SCALING_ACTIVE, "False", "AmbiguousSelector")), "AmbiguousSelector"),
    ] {
        assert_eq!(broken(&[well("b"), member.clone()]).unwrap().reason, reason);
        assert_eq!((member.grade(), counts(&[member]).ready), (Grade::Broken, 0));
    }
}

#[test]
fn a_cluster_that_is_to_have_no_replicas_is_well() {
    let asleep = Member { zero: true, ..but("a", condition(SCALING_ACTIVE, "False", DISABLED)) };
    assert_eq!(asleep.grade(), Grade::Well);
    assert_eq!(verdicts(&[well("b"), asleep.clone()])[0].1.status, "True");
    let all = &verdicts(std::slice::from_ref(&asleep))[0].1;
    assert_eq!((all.status, all.reason), ("False", DISABLED));
    assert_eq!(counts(&[asleep]).scaled_to_zero, 1);
}

#[test]
fn a_limit_is_one_that_keeps_replicas_back() {
    let low = but("a", condition(SCALING_LIMITED, "True", "TooFewReplicas"));
    let high = but("b", condition(SCALING_LIMITED, "True", "TooManyReplicas"));
    assert_eq!([&low, &high].map(Member::grade), [Grade::Well, Grade::Limited]);
    assert_eq!(verdicts(&[low, high])[2].1.message, "in b: why");
}

#[test]
fn a_cluster_that_waits_for_headroom_is_limited_and_the_others_scale() {
    let waits = Member { cluster: "b", presence: Presence::Waiting, ..Member::default() };
    assert_eq!(broken(std::slice::from_ref(&waits)).unwrap().reason, "HeadroomInUse");
    assert_eq!(waits.grade(), Grade::Limited);
    let both = [well("a"), waits];
    assert_eq!(verdicts(&both).map(|(_, said)| said.status), ["True", "True", "False"]);
    assert_eq!(counts(&both), Counts { total: 2, ready: 1, limited: 1, ..Counts::default() });
}
