//! Decades of CA and leaf in virtual time, with replicas that lag, a registration that lags, and users who delete or
//! damage the Secret: a client that trusts the registered CAs accepts every served leaf.

use std::collections::{BTreeMap, BTreeSet};

use fhpa::runtime::tls::shared::content::{Content, Found};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{NAME, accepts, authorities, names, noon};

const REPLICAS: usize = 3;
/// No replica looks later than this.
const LAG: SignedDuration = SignedDuration::from_secs(60);

#[derive(Clone, Debug)]
enum Act {
    Poll(usize),
    Restart(usize),
    Register,
    Delete,
    Spoil(&'static str),
    Pause(i64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..REPLICAS).prop_map(Act::Poll),
        1 => (0..REPLICAS).prop_map(Act::Restart),
        4 => Just(Act::Register),
        1 => Just(Act::Delete),
        1 => prop::sample::select(vec!["tls.crt", "tls.key", "ca.crt", "ca.key"]).prop_map(Act::Spoil),
        12 => (1..25_i64).prop_map(Act::Pause),
    ]
}

#[derive(Clone, Default)]
struct Replica {
    memory: Option<Content>,
    looked: Timestamp,
}

struct World {
    now: Timestamp,
    secret: Option<BTreeMap<String, Vec<u8>>>,
    replicas: Vec<Replica>,
    /// What karmada-apiserver trusts.
    bundle: Vec<u8>,
    authorities: BTreeSet<String>,
    leaves: usize,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            now: noon(),
            secret: None,
            replicas: vec![Replica::default(); REPLICAS],
            bundle: Vec::new(),
            authorities: BTreeSet::new(),
            leaves: 0,
        };
        world.all_poll();
        world.act(&Act::Register);
        world
    }

    fn found(&self) -> Found {
        let Some(secret) = &self.secret else { return Found::Absent };
        Content::read(secret).map_or_else(Found::Broken, Found::Held)
    }

    fn write(&mut self, content: &Content) {
        self.authorities.extend(authorities(&content.bundle()));
        self.secret = Some(content.entries());
    }

    /// Reads; writes what is due; reads what others wrote first.
    fn poll(&mut self, index: usize) {
        let found = self.found();
        let memory = self.replicas[index].memory.clone();
        let due = found.due(memory.as_ref(), &names(&[NAME]), self.now).unwrap();
        if let Some(due) = due {
            self.leaves += usize::from(memory.as_ref().and_then(Content::pair) != due.pair());
            self.write(&due);
        }
        let Found::Held(held) = self.found() else { panic!("nothing usable was written") };
        assert!(held.due_is_none(self.now), "it does not come to rest");
        self.replicas[index] = Replica { memory: Some(held), looked: self.now };
    }

    fn all_poll(&mut self) {
        (0..REPLICAS).for_each(|index| self.poll(index));
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Poll(index) => self.poll(*index),
            Act::Restart(index) => {
                // Who knows nothing cannot mend what is spoilt.
                if matches!(self.found(), Found::Held(held) if held.pair().is_some()) {
                    self.replicas[*index].memory = None;
                    self.poll(*index);
                }
            }
            // The leader goes by what it last read.
            Act::Register => self.bundle = self.replicas[0].memory.as_ref().unwrap().bundle(),
            Act::Delete => self.secret = None,
            Act::Spoil(entry) => {
                if let Some(secret) = &mut self.secret {
                    secret.insert((*entry).to_owned(), b"spoilt".to_vec());
                }
            }
            Act::Pause(days) => {
                // The leader registers what it reads within moments.
                self.all_poll();
                self.act(&Act::Register);
                self.now += SignedDuration::from_hours(24 * days);
                self.all_poll();
            }
        }
    }

    fn time_goes(&mut self) {
        self.now += SignedDuration::from_secs(4);
        for index in 0..REPLICAS {
            if self.now.duration_since(self.replicas[index].looked) > LAG {
                self.poll(index);
            }
        }
    }

    fn holds(&self, after: &Act) {
        for (index, replica) in self.replicas.iter().enumerate() {
            let pair = replica.memory.as_ref().and_then(Content::pair).expect("something is served");
            let accepted = accepts(&self.bundle, pair, NAME, self.now);
            assert_eq!(accepted, Ok(()), "replica {index} at {} after {after:?}", self.now);
        }
    }
}

trait Rests {
    fn due_is_none(&self, now: Timestamp) -> bool;
}

impl Rests for Content {
    fn due_is_none(&self, now: Timestamp) -> bool {
        Found::Held(self.clone()).due(Some(self), &names(&[NAME]), now).unwrap().is_none()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn whoever_trusts_what_is_registered_accepts_what_is_served(acts in prop::collection::vec(act(), 50..300)) {
        let mut world = World::new();
        for act in acts {
            world.act(&act);
            world.holds(&act);
            world.time_goes();
            world.holds(&act);
        }
    }
}

#[test]
fn thirty_years_bring_new_leaves_and_new_cas_and_no_failure() {
    let mut world = World::new();
    for _ in 0..30 * 36 {
        for act in [Act::Poll(1), Act::Pause(10)] {
            world.act(&act);
            world.holds(&act);
        }
    }
    let kept = authorities(&world.bundle).len();
    assert_eq!((world.authorities.len(), kept), (4, 2), "a CA follows another before that ends");
    assert!((150..220).contains(&world.leaves), "{} leaves", world.leaves);
}
