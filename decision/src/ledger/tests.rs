//! What is promised, left and waited for.

use super::*;

const CPU: &[(&str, &str)] = &[("cpu", "1")];

fn each(request: &[(&str, &str)]) -> Demand {
    Demand::read(request.iter().copied()).unwrap()
}

fn standing(name: &str, rank: Rank) -> Standing {
    Standing { rank, priority: Reverse(0), created: None, name: name.to_owned() }
}

fn at(second: i64) -> Timestamp {
    Timestamp::constant(second, 0)
}

fn asks(asked: Replicas, current: Replicas, waiting: Replicas) -> [(&'static str, Ask); 1] {
    [("member1", Ask { asked, current, waiting })]
}

/// What `b` may have of ten free replicas.
fn left(ledger: &mut Ledger, of: &Standing, second: i64) -> Replicas {
    ledger.left("member1", of, &each(CPU), 0, (10, None), at(second))
}

#[test]
fn what_was_asked_for_is_taken_until_reports_count_it() {
    let (a, b) = (standing("a", Rank::Load), standing("b", Rank::Replace));
    let mut ledger = Ledger::default();
    ledger.ask(&a, &each(CPU), asks(7, 4, 0), |_| None, at(0));
    assert_eq!((left(&mut ledger, &b, 0), left(&mut ledger, &a, 0)), (7, 10), "its own is for the plan to count");
    // They exist, and the report may be older.
    ledger.ask(&a, &each(CPU), asks(7, 7, 0), |_| None, at(5));
    assert_eq!([5, 29, 30].map(|second| left(&mut ledger, &b, second)), [7, 7, 10]);
    ledger.ask(&a, &each(CPU), asks(7, 7, 0), |_| None, at(40));
    assert_eq!(ledger.clusters.len(), 0, "a quiet fleet keeps nothing");
    // What was not asked for was there before.
    ledger.ask(&a, &each(CPU), asks(9, 9, 0), |_| None, at(41));
    assert_eq!(left(&mut ledger, &b, 41), 10);
    ledger.ask(&a, &each(CPU), asks(12, 9, 0), |_| None, at(42));
    assert_eq!((left(&mut ledger, &b, 42), left(&mut ledger, &b, 4200)), (7, 7), "as long as it does not run");
    ledger.forget("a");
    assert_eq!(left(&mut ledger, &b, 42), 10);
}

#[test]
fn each_takes_what_its_pods_request() {
    let mut ledger = Ledger::default();
    let large = each(&[("cpu", "2"), ("memory", "1Gi")]);
    ledger.ask(&standing("a", Rank::Load), &large, asks(5, 3, 0), |_| None, at(0));
    assert_eq!(left(&mut ledger, &standing("b", Rank::Load), 0), 6, "two of two CPUs each");
    let small = each(&[("cpu", "300m")]);
    assert_eq!(
        ledger.left("member1", &standing("b", Rank::Load), &small, 0, (33, None), at(0)),
        19,
        "rounded for safety"
    );
    let other = each(&[("nvidia.com/gpu", "1")]);
    assert_eq!(ledger.left("member1", &standing("b", Rank::Load), &other, 0, (4, None), at(0)), 2, "pods count, too");
}

#[test]
fn who_comes_first_is_waited_for_by_those_behind_it() {
    let mut ledger = Ledger::default();
    let first = Standing { priority: Reverse(5), ..standing("a", Rank::Min) };
    ledger.ask(&first, &each(CPU), asks(2, 2, 4), |_| None, at(0));
    let behind = [
        standing("b", Rank::Load),
        standing("b", Rank::Min),
        Standing { priority: Reverse(9), ..standing("b", Rank::Min) },
        standing("b", Rank::Replace),
    ];
    assert_eq!(behind.map(|of| left(&mut ledger, &of, 0)), [6, 6, 10, 10]);
    let aged = |second| Standing { created: Some(at(second)), priority: Reverse(5), ..standing("b", Rank::Min) };
    let old = Standing { created: Some(at(100)), ..first.clone() };
    ledger.ask(&old, &each(CPU), asks(2, 2, 4), |_| None, at(0));
    assert_eq!([99, 101].map(|second| left(&mut ledger, &aged(second), 0)), [10, 6], "the older object comes first");
    // One pod of it does not fit: what is free is of no use to it.
    ledger.ask(&old, &each(&[("cpu", "16")]), asks(2, 2, 4), |_| None, at(0));
    assert_eq!(left(&mut ledger, &aged(101), 0), 10);
}

#[test]
fn a_promise_lasts_from_the_moment_in_which_it_was_made() {
    let of = standing("b", Rank::Load);
    let mut ledger = Ledger::default();
    // It only waits at first, is given two, and five in all when these are not in a report yet.
    ledger.ask(&standing("a", Rank::Load), &each(CPU), asks(1, 1, 3), |_| None, at(0));
    ledger.ask(&standing("a", Rank::Load), &each(CPU), asks(3, 1, 0), |_| None, at(20));
    ledger.ask(&standing("a", Rank::Load), &each(CPU), asks(3, 3, 0), |_| None, at(21));
    assert_eq!([35, 49].map(|second| left(&mut ledger, &of, second)), [8, 8]);
    ledger.ask(&standing("a", Rank::Load), &each(CPU), asks(6, 3, 0), |_| None, at(49));
    ledger.ask(&standing("a", Rank::Load), &each(CPU), asks(6, 6, 0), |_| None, at(50));
    assert_eq!([55, 78, 79].map(|second| left(&mut ledger, &of, second)), [5, 5, 10]);
}

#[test]
fn what_a_report_counts_since_is_part_of_what_was_asked_for() {
    let report = |taken: &str| {
        Summary::read(vec![("cpu", "20"), ("pods", "100")], vec![("cpu", taken), ("pods", taken)], Vec::new())
    };
    let (empty, half, full) = (report("4"), report("6"), report("8"));
    let mut ledger = Ledger::default();
    ledger.ask(&standing("a", Rank::Replace), &each(CPU), asks(2, 0, 0), |_| Some(&empty), at(0));
    ledger.ask(&standing("b", Rank::Replace), &each(CPU), asks(2, 0, 0), |_| Some(&empty), at(2));
    let left = |ledger: &mut Ledger, report: &Summary| {
        let of = standing("c", Rank::Replace);
        let free = report.available(&each(CPU));
        ledger.left("member1", &of, &each(CPU), 0, (free, Some(report)), at(10))
    };
    // Those that do not exist yet are in no report, whatever it counts.
    assert_eq!([&empty, &half].map(|report| left(&mut ledger, report)), [12, 10]);
    ledger.ask(&standing("a", Rank::Replace), &each(CPU), asks(2, 2, 0), |_| Some(&half), at(4));
    ledger.ask(&standing("b", Rank::Replace), &each(CPU), asks(2, 2, 0), |_| Some(&half), at(5));
    assert_eq!([&empty, &half, &full].map(|report| left(&mut ledger, report)), [12; 3], "twelve are left of sixteen");
}

#[test]
fn pods_of_other_sizes_take_what_they_request() {
    let read = |cpu| Summary::read(vec![("cpu", "1"), ("pods", "110")], vec![("cpu", cpu), ("pods", "5")], Vec::new());
    let (report, large) = (read("500m"), each(&[("cpu", "200m")]));
    let mut ledger = Ledger::default();
    ledger.ask(&standing("a", Rank::Replace), &each(&[("cpu", "100m")]), asks(3, 0, 0), |_| Some(&report), at(0));
    let mut left =
        |free, report| ledger.left("member1", &standing("b", Rank::Replace), &large, 0, (free, report), at(1));
    assert_eq!(left(2, Some(&report)), 1, "two hundred of five hundred thousandths");
    assert_eq!(left(2, None), 0, "a number alone does not say what it is limited by");
}

#[test]
fn what_an_object_was_given_and_no_report_counts_is_no_room_for_more_of_it() {
    let a = standing("a", Rank::Replace);
    let mut ledger = Ledger::default();
    ledger.ask(&a, &each(CPU), asks(7, 4, 0), |_| None, at(0));
    assert_eq!(left(&mut ledger, &a, 1), 10, "what does not exist yet is for the plan to count");
    let born = ledger.left("member1", &a, &each(CPU), 7, (10, None), at(1));
    assert_eq!(born, 7, "they exist, and it was not planned since");
    ledger.ask(&a, &each(CPU), asks(7, 7, 0), |_| None, at(2));
    assert_eq!([3, 32].map(|second| left(&mut ledger, &a, second)), [7, 10]);
}

#[test]
fn small_pods_that_wait_hold_no_more_than_they_need() {
    let mut ledger = Ledger::default();
    for number in 0..50 {
        let small = each(&[("cpu", "10m")]);
        ledger.ask(&standing(&format!("a{number}"), Rank::Min), &small, asks(2, 2, 1), |_| None, at(0));
    }
    let whole = Demand::read([("cpu", "1")]).unwrap();
    assert_eq!(ledger.left("member1", &standing("b", Rank::Load), &whole, 0, (60, None), at(0)), 10, "by pods");
}
