//! What the plan decides on 100,000 requests that are made anew by seed, as digests: a change of its form changes none.
//!
//! Half of the requests come from fleets that live on with what was decided before; the others are such requests with
//! facts changed at random, and requests that no plan led to. A change of behaviour writes the digests anew with
//! `UPDATE_PLANS=1`. Every tenth line is compared, and all of them with `FHPA_PLANS=all`.

use std::fmt::Write as _;
use std::path::PathBuf;

use decision::hpa::behavior::{Policy as ScalingPolicy, Rules, Select, Unit};
use decision::plan::{Action, Bounds, Memory, Plan, Purge, Request, ScaleUp, plan};
use jiff::{SignedDuration, Timestamp};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::fleet::{NOW, any_request, fresh};
use super::world::World;
use crate::random::Random;

/// Lines of the fixture.
const LINES: u64 = 100;
/// Fleets of a line.
const FLEETS: u64 = 10;
/// Rounds of a fleet: each plans twice.
const ROUNDS: usize = 45;
/// Requests for each fleet that no plan led to.
const ODD: usize = 10;

/// A digest (FNV-1a) of everything that was decided.
struct Digest(u64);

impl Digest {
    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn seconds(at: Option<Timestamp>) -> i64 {
    at.map_or(-1, Timestamp::as_second)
}

fn memory(memory: &Memory) -> String {
    let Memory {
        scale_up_blocked: stuck,
        moved,
        covered_replicas: helped,
        assist,
        scale_ups,
        scaled_to_zero: zero,
        replacement_min: floor,
        lost,
        other_replicas: others,
        evicted,
        failures: failed,
    } = memory;
    format!(
        "{:?} {:?} {helped} {:?} {:?} {zero} {:?} {:?} {others:?} {} {:?}",
        stuck.map(|stuck| (stuck.cause.code(), seconds(Some(stuck.since)))),
        moved.map(|moved| (memory.donated().is_some(), seconds(Some(moved.at())))),
        assist.map(|assist| (assist.replicas, seconds(Some(assist.since)))),
        scale_ups.iter().map(|ScaleUp { replicas, at }| (replicas, seconds(at))).collect::<Vec<_>>(),
        floor.map(|floor| (floor.replicas, floor.uncovered, seconds(Some(floor.since)))),
        lost.map(|lost| (lost.replicas, lost.uncovered, seconds(Some(lost.since)))),
        seconds(*evicted),
        failed.map(|failed| (failed.times, seconds(Some(failed.last)))),
    )
}

fn action(action: &Action<'_>) -> String {
    match action {
        Action::ApplyHpa { cluster, bounds, version: _, pending_max: outstanding, scale_down_disabled: held } => {
            format!("apply {cluster} {bounds} {outstanding} {held}")
        }
        Action::UpdateBinding { entries, evictions } => {
            let entries: Vec<_> = entries.iter().map(|entry| (entry.cluster, entry.replicas)).collect();
            let evictions: Vec<_> = evictions.iter().map(|one| (one.cluster, one.replicas, purge(one.purge))).collect();
            format!("bind {entries:?} {evictions:?}")
        }
        Action::Scale { cluster, replicas, reported } => format!("scale {cluster} {replicas} {reported}"),
        Action::DeleteHpa { cluster } => format!("delete {cluster}"),
    }
}

const fn purge(purge: Purge) -> u8 {
    match purge {
        Purge::Gracefully => 0,
        Purge::Directly => 1,
        Purge::Never => 2,
    }
}

/// A plan in words that no change of names reaches.
fn told(plan: &Plan<'_>) -> String {
    let mut told = format!(
        "{} {} {} {}\n",
        plan.assignment_hash,
        seconds(plan.next),
        seconds(plan.idle_since),
        seconds(plan.last_rebalanced)
    );
    for share in &plan.shares {
        let hold = share.hold.map_or_else(String::new, |hold| format!("{} {hold}", hold.code()));
        let reason = share.reason;
        let (target, now) = (share.target, share.now);
        let memory = memory(&share.memory);
        writeln!(told, "{} {target} {now} {} {reason} {hold} {memory}", share.cluster, reason.code()).unwrap();
    }
    let entries = |entries: &[decision::plan::Entry<'_>]| {
        entries.iter().map(|entry| format!("{}={} ", entry.cluster, entry.replicas)).collect::<String>()
    };
    writeln!(told, "{} {:?}", entries(&plan.binding), plan.followed.as_deref().map(entries)).unwrap();
    for step in &plan.steps {
        writeln!(told, "{} {} {} {}", action(&step.action), wait(step.wait), step.why.code(), step.why).unwrap();
    }
    for note in &plan.notes {
        writeln!(told, "{} {note}", note.code()).unwrap();
    }
    told
}

const fn wait(wait: decision::plan::Wait) -> u8 {
    use decision::plan::Wait;
    match wait {
        Wait::Nothing => 0,
        Wait::Lowered => 1,
        Wait::Replaced => 2,
        Wait::Shrunk => 3,
        Wait::Gone => 4,
    }
}

/// Facts that a fleet does not bring about by itself.
fn change(request: &mut Request<'static>, random: &mut Random) {
    let ago = |random: &mut Random| Some(NOW + SignedDuration::from_secs(random.below(3_600) as i64 - 600));
    for cluster in &mut request.clusters {
        match random.below(16) {
            0 => cluster.rolling = true,
            1 => cluster.scaled_recently = true,
            2 => cluster.back_recently = true,
            3 => cluster.not_karmadas = true,
            4 => cluster.deleted = true,
            5 => cluster.current = None,
            6 => cluster.reach.scale = false,
            7 => cluster.reach.own_zero = true,
            8 => cluster.usage_limit = Some(random.below(20) as u32),
            9 => cluster.memory.other_replicas = Some(random.below(30) as u32),
            10 => cluster.memory.evicted = ago(random),
            _ => {}
        }
        if random.below(2) == 0 {
            cluster.hpa_current = cluster.current.map(|current| current + random.below(3) as u32);
        }
    }
    match random.below(12) {
        0 => request.suspended = true,
        1 => request.scale_assist = false,
        2 => request.rescheduled = ago(random),
        3 => request.unplanned = true,
        4 => request.acts_since = ago(random),
        5 => request.assignment_hash = None,
        6 => request.entries_followed = ago(random),
        7 => request.scaling_to_zero = true,
        8 => request.replacement = None,
        9 => request.scale_down_tolerance = Some(0.0),
        _ => {}
    }
    request.entries_count = random.below(2) == 0;
    if random.below(3) == 0 {
        let policies = vec![
            ScalingPolicy { unit: Unit::Pods, value: 1 + random.below(6) as i32, period_seconds: 15 },
            ScalingPolicy { unit: Unit::Percent, value: 50, period_seconds: 60 },
        ];
        request.scale_up = Some(Rules { window_seconds: None, select: Select::Max, policies, tolerance: None });
    }
}

/// What happens to a fleet in one round.
fn happen(world: &mut World, random: &mut Random) {
    let names = world.names();
    let name = names[random.below(names.len())];
    match random.below(12) {
        0 | 1 => world.happen(random),
        2 => {
            world.reconcile(random.below(4));
        }
        3 => world.work = Some(random.below(9_000) as u64),
        4 => world.members.get_mut(name).unwrap().room = Some(random.below(30) as u32),
        5 | 6 => {
            world.pass(15);
            world.sync();
        }
        7 => world.pass(random.below(600) as i64),
        8 => world.calm(),
        _ => world.deliver(name),
    }
}

/// Draws from strategies by seed.
struct Draws(TestRunner);

impl Draws {
    fn by(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)))
    }

    fn draw<T>(&mut self, strategy: impl Strategy<Value = T>) -> T {
        strategy.new_tree(&mut self.0).unwrap().current()
    }
}

/// Plans for one fleet; returns how often.
fn live(seed: u64, digest: &mut Digest) -> usize {
    let mut draws = Draws::by(seed);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut request = draws.draw(fresh());
    (request.now, request.window) = (NOW, SignedDuration::from_secs(300));
    request.period = Some(SignedDuration::from_secs(60)).filter(|_| random.below(2) == 0);
    request.delay = SignedDuration::from_secs([0, 15, 60][random.below(3)]);
    request.total = Bounds { max: request.total.max + random.below(60) as u32, ..request.total };
    let mut world = World::new(request);
    world.work = Some(random.below(6_000) as u64);
    for member in world.members.values_mut() {
        member.room = Some(random.below(40) as u32).filter(|_| random.below(2) == 0);
    }
    for _ in 0..ROUNDS {
        happen(&mut world, &mut random);
        let mut request = world.observe();
        digest.add(&told(&plan(&request)));
        if random.below(3) > 0 {
            world.reconcile(usize::MAX);
        }
        change(&mut request, &mut random);
        digest.add(&told(&plan(&request)));
    }
    for _ in 0..ODD {
        let mut request = draws.draw(any_request());
        change(&mut request, &mut random);
        digest.add(&told(&plan(&request)));
    }
    2 * ROUNDS + ODD
}

fn line(line: u64) -> (String, usize) {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    let plans = (line * FLEETS..(line + 1) * FLEETS).map(|seed| live(seed, &mut digest)).sum();
    (format!("{line} {:016x}", digest.0), plans)
}

#[test]
fn what_the_plan_decides_on_recorded_requests_is_what_it_decided() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/plans.txt"));
    let write = std::env::var_os("UPDATE_PLANS").is_some();
    let every = if write || std::env::var("FHPA_PLANS").is_ok_and(|which| which == "all") { 1 } else { 10 };
    let (lines, plans): (Vec<String>, Vec<usize>) = (0..LINES).step_by(every).map(line).unzip();
    assert_eq!(plans.iter().sum::<usize>(), 100_000 / every);
    if write {
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    let recorded: Vec<&str> = recorded.lines().step_by(every).collect();
    let differ: Vec<&String> =
        lines.iter().zip(recorded).filter(|(now, before)| now != before).map(|(now, _)| now).collect();
    assert!(differ.is_empty(), "the plan decides otherwise; by line and digest: {differ:?}");
}
