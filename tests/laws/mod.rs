//! The laws, as code that checks a stream of states and reports the broken law, with the moment and the objects.
//!
//! A [`Laws`] receives every [`Change`] of an object, in the control plane and in the members: in stories and histories
//! of the embedded fleet from the store's observer, in the suite on a real Karmada from watches. It does not know the
//! source of the states: objects are plain JSON. It does no I/O.
//!
//! The writer of a field is read from `metadata.managedFields`: a client that changes a field owns it.

mod absence;
mod acceptance;
mod bounded;
mod budget;
mod cron;
pub mod embedded;
mod lane;
mod leaving;
mod letting;
mod looking;
mod managed;
mod pods;
mod rest;
mod room;
mod streams;
mod truth;
mod whole;
mod world;
mod writers;

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

pub use rest::Rest;
pub use world::{Name, World};

/// The state of one object changed.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub at: Timestamp,
    /// Name of the member cluster; empty: the control plane.
    pub place: &'a str,
    pub kind: &'a str,
    /// Nothing: it is new.
    pub before: Option<&'a Value>,
    /// Nothing: it is gone.
    pub after: Option<&'a Value>,
}

impl Change<'_> {
    fn object(&self) -> &Value {
        self.after.or(self.before).expect("a change is of something")
    }

    fn in_control(&self) -> bool {
        self.place.is_empty()
    }

    /// `Work karmada-es-member1/web-123`, in a member `Deployment prod/web in member1`.
    fn about(&self) -> String {
        let (kind, name) = (self.kind, Name::of(self.object()));
        if self.in_control() { format!("{kind} {name}") } else { format!("{kind} {name} in {}", self.place) }
    }
}

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub at: Timestamp,
    /// Number and name, as in docs/design.md#laws.
    pub law: &'static str,
    pub objects: String,
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, law, objects, why } = self;
        write!(f, "{at} law {law} is broken by {objects}: {why}")
    }
}

/// What a law is told, and where it says what broke it.
pub struct Court<'a> {
    pub world: &'a World,
    pub terms: &'a Terms,
    /// For how long somebody could have acted.
    pub worked: SignedDuration,
    law: &'static str,
    broken: &'a mut Vec<Broken>,
}

impl Court<'_> {
    fn breaks(&mut self, objects: impl fmt::Display, why: impl fmt::Display) {
        let (objects, why) = (objects.to_string(), why.to_string());
        self.broken.push(Broken { at: self.world.now, law: self.law, objects, why });
    }
}

/// What the installation under test allows, and how much time things may take there.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Kinds that can be scaled, as `apps/v1 Deployment`.
    pub kinds: Vec<String>,
    /// Between a write of a Work and its arrival in the member.
    pub queue: SignedDuration,
    /// Between a change of something and a status that tells of it.
    pub telling: SignedDuration,
    /// Between a deletion or another end of a FederatedHPA and the release of all that it held.
    pub release: SignedDuration,
    /// Writes of one object by fhpa within a minute.
    pub writes_a_minute: usize,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            kinds: ["apps/v1 Deployment", "apps/v1 StatefulSet"].map(str::to_owned).to_vec(),
            queue: SignedDuration::from_secs(60),
            // Karmada sees only after a minute that a cluster is cut off.
            telling: SignedDuration::from_secs(75),
            release: SignedDuration::from_mins(5),
            writes_a_minute: 60,
        }
    }
}

/// One law, with what it remembers.
trait Law: Send {
    fn name(&self) -> &'static str;

    /// An object changed; the world is as it is after it.
    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>);

    /// Time went by.
    fn passed(&mut self, _: &mut Court<'_>) {}
}

/// Looks at a stream of states.
pub struct Laws {
    world: World,
    terms: Terms,
    laws: Vec<Box<dyn Law>>,
    broken: Vec<Broken>,
    worked: SignedDuration,
    acts: bool,
    rest: Rest,
    states: u64,
}

impl Laws {
    /// All laws, from `now` on.
    pub fn new(now: Timestamp, terms: Terms) -> Self {
        let laws: Vec<Box<dyn Law>> = vec![
            Box::<acceptance::RunsWhatItAccepts>::default(),
            Box::<budget::Budget>::default(),
            Box::<pods::Pods>::default(),
            Box::<leaving::KeepsTheMinOfWhatLeaves>::default(),
            Box::<writers::OneWriter>::default(),
            Box::<absence::SurvivesItsAbsence>::default(),
            Box::<cron::ExactlyOnce>::default(),
            Box::<looking::LooksBeforeItTakes>::default(),
            Box::<letting::LetsGo>::default(),
            Box::<truth::TellsTheTruth>::default(),
            Box::<whole::WholeObjects>::default(),
            Box::<lane::StaysInItsLane>::default(),
            Box::<bounded::Bounded>::default(),
            Box::<room::Room>::default(),
        ];
        Self {
            world: World::new(now),
            terms,
            laws,
            broken: Vec::new(),
            worked: SignedDuration::ZERO,
            acts: true,
            rest: Rest::new(now),
            states: 0,
        }
    }

    /// An object changed.
    pub fn saw(&mut self, change: &Change<'_>) {
        self.pass(change.at);
        self.states += 1;
        self.world.take_in(change);
        self.rest.saw(change, &self.world);
        let Self { world, terms, laws, broken, worked, .. } = self;
        for law in laws {
            let mut court = Court { world, terms, worked: *worked, law: law.name(), broken };
            law.saw(change, &mut court);
        }
    }

    /// Time went by until `now`.
    pub fn passed(&mut self, now: Timestamp) {
        self.pass(now);
        let Self { world, terms, laws, broken, worked, .. } = self;
        for law in laws {
            let mut court = Court { world, terms, worked: *worked, law: law.name(), broken };
            law.passed(&mut court);
        }
    }

    fn pass(&mut self, now: Timestamp) {
        let by = now.duration_since(self.world.now).max(SignedDuration::ZERO);
        if self.acts {
            self.worked = self.worked.saturating_add(by);
        }
        self.world.now = now.max(self.world.now);
    }

    /// Whether somebody can act from `now` on: a replica that leads and is answered. Deadlines count only such time.
    pub fn acts(&mut self, now: Timestamp, acts: bool) {
        self.pass(now);
        if acts && !self.acts {
            self.world.acts_since = self.world.now;
        }
        self.acts = acts;
    }

    /// Whether the webhook answers from `now` on.
    pub fn reviews(&mut self, now: Timestamp, reviews: bool) {
        self.pass(now);
        self.world.reviews = reviews;
        self.passed(now);
    }

    /// The clock of somebody who acts jumps by so many seconds.
    pub fn clock_jumped(&mut self, by: i64) {
        self.world.jumps.push((self.world.now, SignedDuration::from_secs(by.max(0))));
    }

    /// Inputs stay as they are from now on: what goes to and fro is noted from here.
    pub fn freeze(&mut self) {
        self.rest = Rest::new(self.world.now);
    }

    /// What was written since the inputs were frozen.
    pub fn rest(&self) -> &Rest {
        &self.rest
    }

    /// States that the laws looked at.
    pub fn states(&self) -> u64 {
        self.states
    }

    /// The world as it was last seen.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What was broken since this was last asked.
    pub fn broken(&mut self) -> Vec<Broken> {
        std::mem::take(&mut self.broken)
    }
}

/// Whether `manager` is one of fhpa's.
fn is_ours(manager: &str) -> bool {
    manager.starts_with("fhpa")
}
