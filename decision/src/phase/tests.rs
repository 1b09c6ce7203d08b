//! The phase of every combination of facts that matters, and what holds for all of them.

use super::ObjectPhase::*;
use super::*;

const NEW: ObjectFacts = ObjectFacts {
    whole: true,
    mode: Some(Mode::Distributed),
    suspended: false,
    held: false,
    retargeted: false,
    assigned: false,
    begun: false,
    replaces: false,
    yields: false,
    divisible: true,
};
const HELD: ObjectFacts = ObjectFacts { held: true, assigned: true, ..NEW };
const CENTRAL: Option<Mode> = Some(Mode::Centralized);

#[test]
fn the_facts_tell_the_phase() {
    let table = [
        // An object in Distributed mode, from its takeover on.
        (NEW, TakingOver),
        (ObjectFacts { divisible: false, ..NEW }, TakingOver),
        (ObjectFacts { yields: true, ..NEW }, Yielding),
        (ObjectFacts { assigned: false, ..HELD }, Divided),
        (HELD, Divided),
        (ObjectFacts { divisible: false, ..HELD }, Waiting),
        (ObjectFacts { yields: true, ..HELD }, Yielding),
        (ObjectFacts { yields: true, divisible: false, ..HELD }, Yielding),
        // Its user wants it back without a suspension: the bounds are written again.
        (ObjectFacts { begun: true, ..HELD }, Divided),
        // Another workload.
        (ObjectFacts { retargeted: true, ..HELD }, HandingBack),
        (ObjectFacts { retargeted: true, yields: true, ..HELD }, HandingBack),
        (ObjectFacts { retargeted: true, begun: true, ..HELD }, HandingBack),
        (ObjectFacts { retargeted: true, divisible: false, ..HELD }, HandingBack),
        // Another mode.
        (ObjectFacts { mode: CENTRAL, ..HELD }, HandingBack),
        (ObjectFacts { mode: CENTRAL, replaces: true, ..HELD }, Replacing),
        (ObjectFacts { mode: CENTRAL, replaces: true, retargeted: true, ..HELD }, HandingBack),
        (ObjectFacts { mode: CENTRAL, replaces: true, yields: true, ..HELD }, Replacing),
        (ObjectFacts { mode: CENTRAL, yields: true, ..HELD }, HandingBack),
        (ObjectFacts { mode: CENTRAL, ..NEW }, Centralized),
        (ObjectFacts { mode: CENTRAL, divisible: false, ..NEW }, Centralized),
        (ObjectFacts { mode: CENTRAL, yields: true, ..NEW }, Yielding),
        // Suspended.
        (ObjectFacts { suspended: true, ..NEW }, Suspended),
        (ObjectFacts { suspended: true, yields: true, ..NEW }, Suspended),
        (ObjectFacts { suspended: true, ..HELD }, Divided),
        (ObjectFacts { suspended: true, yields: true, ..HELD }, Yielding),
        (ObjectFacts { suspended: true, divisible: false, ..HELD }, Waiting),
        (ObjectFacts { suspended: true, assigned: false, ..HELD }, Suspended),
        (ObjectFacts { suspended: true, retargeted: true, ..HELD }, Suspended),
        (ObjectFacts { suspended: true, begun: true, ..HELD }, HandingBack),
        (ObjectFacts { suspended: true, begun: true, retargeted: true, ..HELD }, HandingBack),
        (ObjectFacts { suspended: true, mode: CENTRAL, ..HELD }, Suspended),
        (ObjectFacts { suspended: true, mode: CENTRAL, replaces: true, ..HELD }, Suspended),
        (ObjectFacts { suspended: true, mode: CENTRAL, begun: true, ..HELD }, HandingBack),
        (ObjectFacts { suspended: true, mode: CENTRAL, ..NEW }, Centralized),
        (ObjectFacts { suspended: true, mode: CENTRAL, yields: true, ..NEW }, Yielding),
        // The installation goes, or the object does.
        (ObjectFacts { mode: None, ..NEW }, Released),
        (ObjectFacts { mode: None, yields: true, ..NEW }, Released),
        (ObjectFacts { mode: None, ..HELD }, HandingBack),
        (ObjectFacts { mode: None, suspended: true, ..HELD }, HandingBack),
        (ObjectFacts { mode: None, replaces: true, ..HELD }, HandingBack),
        (ObjectFacts { mode: None, retargeted: true, yields: true, ..HELD }, HandingBack),
        // Fields are lost.
        (ObjectFacts { whole: false, ..HELD }, Incomplete),
        (ObjectFacts { whole: false, suspended: true, begun: true, ..HELD }, Incomplete),
        (ObjectFacts { whole: false, mode: None, ..HELD }, Incomplete),
        (ObjectFacts { whole: false, ..NEW }, Incomplete),
    ];
    for (facts, expected) in table {
        assert_eq!(phase(&facts), expected, "{facts:?}");
    }
}

/// All combinations of the facts.
fn all() -> impl Iterator<Item = ObjectFacts> {
    let modes = [None, Some(Mode::Distributed), CENTRAL];
    (0..1_u32 << 9).flat_map(move |bits| {
        let is = |at: u32| bits >> at & 1 == 1;
        modes.map(|mode| ObjectFacts {
            whole: is(0),
            mode,
            suspended: is(1),
            held: is(2),
            retargeted: is(3),
            assigned: is(4),
            begun: is(5),
            replaces: is(6),
            yields: is(7),
            divisible: is(8),
        })
    })
}

#[test]
fn only_what_holds_a_workload_divides_it_or_hands_it_back() {
    for facts in all() {
        let found = phase(&facts);
        let holds = matches!(found, Replacing | HandingBack | Waiting | Divided);
        let lacks = matches!(found, Released | Centralized | TakingOver);
        assert!(!holds || facts.held, "{facts:?}: {found:?}");
        assert!(!lacks || !facts.held, "{facts:?}: {found:?}");
    }
}

#[test]
fn a_suspended_object_takes_nothing_over_and_begins_no_hand_back() {
    for facts in all().filter(|facts| facts.whole && facts.suspended && facts.mode.is_some()) {
        let found = phase(&facts);
        assert!(!matches!(found, TakingOver | Replacing), "{facts:?}: {found:?}");
        assert!(found != HandingBack || facts.begun, "{facts:?}");
    }
}

#[test]
fn a_workload_that_nothing_else_would_scale_is_handed_back_in_every_state() {
    for facts in all().filter(|facts| facts.whole && facts.held) {
        let goes = facts.mode.is_none();
        let begun = facts.suspended && facts.begun;
        assert!(!(goes || begun) || phase(&facts) == HandingBack, "{facts:?}");
    }
}

#[test]
fn a_plan_is_made_only_for_an_object_that_is_whole_and_holds_the_workload_of_its_spec() {
    for facts in all().filter(|facts| phase(facts).plans()) {
        assert!(facts.whole && facts.held && !facts.retargeted, "{facts:?}");
    }
}

#[test]
fn the_progress_of_a_hand_back_is_kept_until_the_object_is_to_be_scaled() {
    let kept = [Incomplete, Replacing, HandingBack, Released];
    let dropped = [Suspended, Yielding, Centralized, TakingOver, Waiting, Divided];
    assert!(kept.iter().all(|phase| phase.hands_back()) && !dropped.iter().any(|phase| phase.hands_back()));
    let reached = |wanted: &ObjectPhase| all().any(|facts| phase(&facts) == *wanted);
    assert!(kept.iter().chain(&dropped).all(reached));
}
