//! The ledger's law: every due instant ends as exactly one record, in all circumstances.

use std::collections::{BTreeMap, BTreeSet};

use fhpa::decision::cron::Schedule;
use fhpa::decision::cron::ledger::{Action, Agenda, Baseline, Due, History, Lateness, Rule};
use fhpa::decision::cron::settle::{Attempt, Outcome, keep_newest, settle};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

struct Given {
    schedule: Schedule,
    zone: TimeZone,
    suspended: bool,
    max_delay: Option<i64>,
    failed_limit: usize,
    replicas: i32,
}

impl Given {
    fn new(schedule: &str) -> Self {
        let schedule = Schedule::parse(schedule).unwrap();
        Self { schedule, zone: TimeZone::UTC, suspended: false, max_delay: None, failed_limit: 32, replicas: 5 }
    }

    fn rule<'a>(&'a self, name: &'a str) -> Rule<'a> {
        Rule {
            name,
            schedule: &self.schedule,
            zone: &self.zone,
            suspended: self.suspended,
            max_delay: self.max_delay.map(SignedDuration::from_secs),
            successful_limit: 32,
            failed_limit: self.failed_limit,
            action: Action { replicas: Some(self.replicas), ..Action::default() },
        }
    }
}

fn next_is(rule: &str, next: &str) -> Vec<History> {
    vec![History { rule: rule.into(), next: Some(at(next)), ..History::default() }]
}

fn executed(rule: &str, scheduled: &str, now: Timestamp) -> Attempt {
    Attempt { rule: rule.into(), scheduled: at(scheduled), at: now, outcome: Outcome::Executed(Action::default()) }
}

const IN_STEP: Baseline = Baseline { in_step: true, since: Timestamp::UNIX_EPOCH };

#[test]
fn a_new_rule_owes_nothing_from_before_it_was_written() {
    let daily = Given::new("30 8 * * *");
    let now = at("2026-11-20T12:00:00Z");
    let agenda = Agenda::at(now, &[daily.rule("up")], &[], Baseline { in_step: false, since: now });
    assert_eq!((agenda.due.len(), agenda.missed.len()), (0, 0));
    assert_eq!(agenda.next, [Some(at("2026-11-21T08:30:00Z"))]);
}

#[test]
fn a_rule_written_just_before_its_time_runs_although_the_controller_came_late() {
    let daily = Given::new("30 8 * * *");
    let since = at("2026-11-20T08:29:00Z");
    let agenda = Agenda::at(at("2026-11-20T08:30:10Z"), &[daily.rule("up")], &[], Baseline { in_step: false, since });
    assert_eq!(agenda.due[0].scheduled, at("2026-11-20T08:30:00Z"));
}

#[test]
fn a_run_missed_by_a_restart_is_made_up_until_the_next_is_due() {
    let daily = Given::new("30 8 * * *");
    let histories = next_is("up", "2026-11-20T08:30:00Z");
    let late = at("2026-11-21T08:29:59Z");
    let agenda = Agenda::at(late, &[daily.rule("up")], &histories, IN_STEP);
    assert_eq!(agenda.due[0].scheduled, at("2026-11-20T08:30:00Z"));
    assert!(agenda.missed.is_empty());

    let overtaken = Agenda::at(at("2026-11-21T08:30:00Z"), &[daily.rule("up")], &histories, IN_STEP);
    assert_eq!(overtaken.due[0].scheduled, at("2026-11-21T08:30:00Z"));
    assert_eq!(overtaken.missed[0].scheduled, at("2026-11-20T08:30:00Z"));
    assert_eq!(overtaken.missed[0].cause, Lateness::Overtaken);
}

#[test]
fn a_run_later_than_max_delay_is_recorded_as_missed() {
    let mut daily = Given::new("30 8 * * *");
    daily.max_delay = Some(60);
    let histories = next_is("up", "2026-11-20T08:30:00Z");
    let rules = [daily.rule("up")];
    let agenda = Agenda::at(at("2026-11-20T08:31:00Z"), &rules, &histories, IN_STEP);
    assert_eq!(agenda.due.len(), 1);
    let now = at("2026-11-20T08:31:01Z");
    let agenda = Agenda::at(now, &rules, &histories, IN_STEP);
    assert!(agenda.due.is_empty());
    let settled = settle(now, &rules, &histories, &agenda, &[]);
    assert_eq!(settled[0].next, Some(at("2026-11-21T08:30:00Z")));
    insta::assert_snapshot!(settled[0].failures[0].message, @"missed, later than maxDelaySeconds (60): the controller was not running or could not reach the API server");
}

#[test]
fn a_run_that_begins_within_ten_seconds_is_on_time_whatever_max_delay_says() {
    let mut minutely = Given::new("* * * * *");
    minutely.max_delay = Some(0);
    let histories = next_is("up", "2026-11-20T08:30:00Z");
    let rules = [minutely.rule("up")];
    let agenda = Agenda::at(at("2026-11-20T08:30:00.000000001Z"), &rules, &histories, IN_STEP);
    assert_eq!((agenda.due.len(), agenda.missed.len()), (1, 0));
    let agenda = Agenda::at(at("2026-11-20T08:30:10Z"), &rules, &histories, IN_STEP);
    assert_eq!((agenda.due.len(), agenda.missed.len()), (1, 0));
    let agenda = Agenda::at(at("2026-11-20T08:30:11Z"), &rules, &histories, IN_STEP);
    assert_eq!((agenda.due.len(), agenda.missed.len()), (0, 1));
}

#[test]
fn a_year_of_missed_minutes_costs_no_more_than_the_history_keeps() {
    let mut minutely = Given::new("* * * * *");
    minutely.failed_limit = 3;
    let histories = next_is("tick", "2025-11-20T08:30:00Z");
    let agenda = Agenda::at(at("2026-11-20T08:30:30Z"), &[minutely.rule("tick")], &histories, IN_STEP);
    assert_eq!(agenda.due[0].scheduled, at("2026-11-20T08:30:00Z"));
    let missed: Vec<String> = agenda.missed.iter().map(|missed| missed.scheduled.to_string()).collect();
    assert_eq!(missed, ["2026-11-20T08:27:00Z", "2026-11-20T08:28:00Z", "2026-11-20T08:29:00Z"]);
}

#[test]
fn rules_of_one_instant_run_in_their_order_and_the_last_one_wins() {
    let (mut first, mut second) = (Given::new("0 9 * * *"), Given::new("0 9 * * *"));
    (first.replicas, second.replicas) = (3, 7);
    let rules = [first.rule("a"), second.rule("b")];
    let histories = [next_is("a", "2026-11-20T09:00:00Z"), next_is("b", "2026-11-20T09:00:00Z")].concat();
    let agenda = Agenda::at(at("2026-11-20T09:00:00Z"), &rules, &histories, IN_STEP);
    assert_eq!(agenda.due.iter().map(|due| due.rule).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(agenda.action(&rules).unwrap().replicas, Some(7));
}

#[test]
fn what_is_made_up_late_ends_with_the_newest_instant_whatever_the_order_of_the_rules() {
    let (mut evening, mut morning) = (Given::new("0 20 * * *"), Given::new("0 8 * * *"));
    (evening.replicas, morning.replicas) = (1, 100);
    let rules = [evening.rule("down"), morning.rule("up")];
    let histories = [next_is("down", "2026-11-19T20:00:00Z"), next_is("up", "2026-11-20T08:00:00Z")].concat();
    let agenda = Agenda::at(at("2026-11-20T08:05:00Z"), &rules, &histories, IN_STEP);
    assert_eq!(agenda.due.len(), 2);
    assert_eq!(agenda.action(&rules).unwrap().replicas, Some(100));
}

#[test]
fn an_edit_to_a_denser_schedule_does_not_wait_for_the_old_entry() {
    let monthly = Given::new("0 0 1 * *");
    let histories = next_is("up", "2027-01-01T00:00:00Z");
    let now = at("2026-11-20T12:00:00Z");
    let agenda = Agenda::at(now, &[monthly.rule("up")], &histories, Baseline { in_step: false, since: now });
    assert_eq!(agenda.next, [Some(at("2026-12-01T00:00:00Z"))]);
}

#[test]
fn a_suspended_rule_owes_nothing_and_shows_no_next_run() {
    let mut daily = Given::new("30 8 * * *");
    daily.suspended = true;
    let histories = next_is("up", "2026-11-20T08:30:00Z");
    let now = at("2026-11-20T09:00:00Z");
    let rules = [daily.rule("up")];
    let agenda = Agenda::at(now, &rules, &histories, Baseline { in_step: false, since: now });
    assert_eq!(agenda, Agenda { next: vec![None], ..Agenda::default() });
    assert_eq!(settle(now, &rules, &histories, &agenda, &[])[0].next, None);
}

/// What a daily rule remembers after a leader worked at `ahead`, and its agenda at `now` on a clock that is right.
fn after_a_clock_at(ahead: &str, scheduled: &str, now: &str) -> (Vec<History>, Agenda) {
    let daily = Given::new("30 8 * * *");
    let rules = [daily.rule("up")];
    let histories = next_is("up", "2026-11-20T08:30:00Z");
    let ahead = at(ahead);
    let agenda = Agenda::at(ahead, &rules, &histories, IN_STEP);
    let settled = settle(ahead, &rules, &histories, &agenda, &[executed("up", scheduled, ahead)]);
    let agenda = Agenda::at(at(now), &rules, &settled, IN_STEP);
    (settle(at(now), &rules, &settled, &agenda, &[]), agenda)
}

#[test]
fn a_clock_that_is_a_little_ahead_repeats_nothing() {
    let (_, agenda) = after_a_clock_at("2026-11-20T08:31:00Z", "2026-11-20T08:30:00Z", "2026-11-20T08:26:00Z");
    assert!(agenda.due.is_empty() && agenda.missed.is_empty());
    assert_eq!(agenda.next, [Some(at("2026-11-21T08:30:00Z"))]);
}

#[test]
fn a_clock_that_ran_ahead_by_days_does_not_silence_a_rule_until_then() {
    let (settled, agenda) = after_a_clock_at("2026-11-22T10:00:00Z", "2026-11-22T08:30:00Z", "2026-11-20T10:00:00Z");
    assert!(agenda.due.is_empty() && agenda.missed.is_empty());
    assert_eq!(agenda.next, [Some(at("2026-11-21T08:30:00Z"))]);
    // The instants to come have no records, so that each gets one; what is past keeps its own.
    let recorded: Vec<String> = scheduled(&settled[0]).iter().map(ToString::to_string).collect();
    assert_eq!((settled[0].next, recorded), (agenda.next[0], vec!["2026-11-20T08:30:00Z".to_owned()]));
}

#[test]
fn a_next_run_that_no_clock_near_this_one_could_name_is_computed_again_without_any_record() {
    let hourly = Given::new("0 * * * *");
    let next = |stored: &str| {
        let agenda = Agenda::at(at("2026-11-20T08:50:00Z"), &[hourly.rule("up")], &next_is("up", stored), IN_STEP);
        agenda.next[0]
    };
    assert_eq!(next("2028-11-20T09:00:00Z"), Some(at("2026-11-20T09:00:00Z")));
    // A clock that is ten minutes ahead had its run of nine o'clock.
    assert_eq!(next("2026-11-20T10:00:00Z"), Some(at("2026-11-20T10:00:00Z")));
}

#[test]
fn renamed_and_removed_rules_drop_their_history() {
    let daily = Given::new("30 8 * * *");
    let histories = [next_is("old", "2026-11-20T08:30:00Z"), next_is("gone", "2026-11-20T08:30:00Z")].concat();
    let now = at("2026-11-20T09:00:00Z");
    let rules = [daily.rule("new")];
    let agenda = Agenda::at(now, &rules, &histories, Baseline { in_step: false, since: now });
    let settled = settle(now, &rules, &histories, &agenda, &[]);
    assert_eq!(settled.iter().map(|history| &*history.rule).collect::<Vec<_>>(), ["new"]);
}

#[derive(Clone, Debug)]
enum Event {
    /// Nobody acts for so many seconds.
    Down(i64),
    /// The leader works off what is due, and the write succeeds.
    Work,
    /// The leader executes and dies before it records.
    ExecuteAndDie,
    /// The target cannot be written.
    Fail,
    /// The user changes the schedule of rule 0 to the n-th of the list.
    Edit(usize),
    /// The user suspends or resumes rule 1.
    Toggle,
}

const SCHEDULES: [&str; 5] = ["0 * * * *", "*/30 * * * *", "15 6-18/2 * * *", "0 0 * * 1-5", "45 5 * * *"];

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (1_i64..4 * 3600).prop_map(Event::Down),
        3 => Just(Event::Work),
        1 => Just(Event::ExecuteAndDie),
        1 => Just(Event::Fail),
        1 => (0..SCHEDULES.len()).prop_map(Event::Edit),
        1 => Just(Event::Toggle),
    ]
}

struct Story {
    now: Timestamp,
    rules: [Given; 2],
    /// When each rule last began to count.
    since: [Timestamp; 2],
    edited: Timestamp,
    in_step: bool,
    histories: Vec<History>,
    /// Instants of each rule with a record, with how many records were made.
    records: BTreeMap<(usize, Timestamp), u32>,
}

const NAMES: [&str; 2] = ["a", "b"];

impl Story {
    fn new() -> Self {
        let now = at("2026-03-28T20:10:00Z");
        let mut rules = [Given::new(SCHEDULES[0]), Given::new(SCHEDULES[1])];
        rules[0].zone = TimeZone::get("Europe/Berlin").unwrap();
        rules[1].max_delay = Some(900);
        Self { now, rules, since: [now; 2], edited: now, in_step: false, histories: vec![], records: BTreeMap::new() }
    }

    fn turn(&mut self, executed: bool, recorded: bool) {
        let rules = [self.rules[0].rule(NAMES[0]), self.rules[1].rule(NAMES[1])];
        let baseline = Baseline { in_step: self.in_step, since: self.edited };
        let agenda = Agenda::at(self.now, &rules, &self.histories, baseline);
        if !recorded {
            return;
        }
        let at = self.now;
        let attempt = |due: &Due| Attempt {
            rule: NAMES[due.rule].into(),
            scheduled: due.scheduled,
            at,
            outcome: if executed { Outcome::Executed(Action::default()) } else { Outcome::Postponed("busy".into()) },
        };
        let attempts: Vec<Attempt> = agenda.due.iter().map(attempt).collect();
        let settled = settle(self.now, &rules, &self.histories, &agenda, &attempts);
        for (index, history) in settled.iter().enumerate() {
            let before = self.histories.iter().find(|before| before.rule == history.rule);
            let old: BTreeSet<Timestamp> = before.map(scheduled).unwrap_or_default().into_iter().collect();
            for instant in scheduled(history).into_iter().filter(|instant| !old.contains(instant)) {
                *self.records.entry((index, instant)).or_default() += 1;
            }
        }
        self.histories = settled;
        self.in_step = true;
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Down(seconds) => self.now += SignedDuration::from_secs(*seconds),
            Event::Work => self.turn(true, true),
            Event::ExecuteAndDie => self.turn(true, false),
            Event::Fail => self.turn(false, true),
            Event::Edit(to) => {
                // The living controller sees the edit after it has worked off what was due.
                self.turn(true, true);
                self.rules[0].schedule = Schedule::parse(SCHEDULES[*to]).unwrap();
                self.begin(0);
            }
            Event::Toggle => {
                self.turn(true, true);
                self.rules[1].suspended = !self.rules[1].suspended;
                self.begin(1);
            }
        }
    }

    fn begin(&mut self, rule: usize) {
        self.since[rule] = self.now;
        self.edited = self.now;
        self.in_step = false;
    }

    fn owed(&self, rule: usize) -> Vec<Timestamp> {
        let given = &self.rules[rule];
        let mut owed = Vec::new();
        let mut from = self.since[rule];
        while let Some(next) = given.schedule.next_after(&given.zone, from).filter(|next| *next <= self.now) {
            owed.push(next);
            from = next;
        }
        if given.suspended { Vec::new() } else { owed }
    }
}

fn scheduled(history: &History) -> Vec<Timestamp> {
    let executed = history.executions.iter().map(|execution| execution.scheduled);
    executed.chain(history.failures.iter().map(|failure| failure.scheduled)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_due_instant_ends_as_exactly_one_record(events in prop::collection::vec(event(), 1..40)) {
        let mut story = Story::new();
        for event in &events {
            story.apply(event);
        }
        story.turn(true, true);
        for ((rule, instant), records) in &story.records {
            prop_assert_eq!(*records, 1, "rule {} at {}", rule, instant);
        }
        for rule in 0..2 {
            // What was missed beyond the kept failures falls out of the history by its limit.
            let owed = story.owed(rule);
            for instant in owed.iter().rev().take(32) {
                prop_assert!(story.records.contains_key(&(rule, *instant)), "rule {rule} lost {instant}");
            }
        }
    }
}

#[test]
fn of_attempts_that_cannot_be_recorded_the_newest_of_each_rule_are_kept() {
    let attempt = |(rule, minute): &(&str, u32)| {
        executed(rule, &format!("2026-11-20T08:{minute:02}:00Z"), at("2026-11-20T09:00:00Z"))
    };
    let mut attempts: Vec<Attempt> = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5)].iter().map(attempt).collect();
    keep_newest(&mut attempts, 2);
    let kept: Vec<Attempt> = [("b", 2), ("a", 3), ("a", 4), ("b", 5)].iter().map(attempt).collect();
    assert_eq!(attempts, kept);
}
