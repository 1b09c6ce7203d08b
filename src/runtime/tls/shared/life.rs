//! Life cycle of the CA and leaf that all replicas share: state, wanted names and time -> the next step. Pure.
//!
//! A client that trusts the registered CAs accepts every served leaf, at every moment: a new CA signs only after
//! karmada-apiserver is known to trust it, and an old one stays trusted for a day after the last replica received a
//! leaf of the new one.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::runtime::tls::issue::{SHARED_LEAF_LIFE, SKEW, after, days, renewal};

/// How long an old CA stays trusted after its last signature.
const OVERLAP: SignedDuration = days(1);
/// A leaf signed by an unregistered CA is used only when the current one expires within this time.
const LAST: SignedDuration = days(7);
/// Most trusted CAs.
pub(super) const AUTHORITIES: usize = 8;
/// Most names in a leaf.
const NAMES: usize = 100;

/// Id of a CA: its serial number, which is a hash of its key.
pub type Id = String;

/// Validity of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Start.
    pub begin: Timestamp,
    /// End.
    pub end: Timestamp,
}

impl Life {
    fn contains(&self, now: Timestamp) -> bool {
        self.begin <= now && now < self.end
    }

    /// Whether it should be renewed.
    fn is_due(&self, now: Timestamp) -> bool {
        renewal(self.begin, self.end) <= now || !self.contains(now)
    }
}

/// A trusted CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Its id.
    pub id: Id,
    /// Its validity.
    pub life: Life,
    /// Whether its key is available.
    pub can_sign: bool,
}

/// The served certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The CA that signed it, one of the trusted ones.
    pub signer: Id,
    /// Its validity.
    pub life: Life,
    /// DNS names in lower case, and IP addresses.
    pub names: BTreeSet<String>,
}

impl Leaf {
    /// When it was issued.
    fn issued(&self) -> Timestamp {
        after(self.life.begin, SKEW)
    }
}

/// Current state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedCertificate {
    /// Trusted CAs, the newest first.
    pub authorities: Vec<Authority>,
    /// The leaf; `None` when there is no valid one.
    pub leaf: Option<Leaf>,
    /// CAs that karmada-apiserver is known to trust; empty: no process registers, or none has yet.
    pub registered: BTreeSet<Id>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// No step.
    Keep,
    /// Create a CA, in front of the others.
    NewAuthority,
    /// Issue a leaf.
    NewLeaf {
        /// The CA that signs it.
        signer: Id,
        /// Its names.
        names: BTreeSet<String>,
    },
    /// Trust only these CAs from now on.
    Prune(BTreeSet<Id>),
}

/// The next step; after a few steps there are no more.
#[must_use]
pub fn next(state: &SharedCertificate, wanted: &BTreeSet<String>, now: Timestamp) -> Step {
    let Some(newest) = state.authorities.first() else { return Step::NewAuthority };
    if newest.life.is_due(now) || !newest.can_sign {
        return Step::NewAuthority;
    }
    let Some(signer) = signer(state, now) else { return Step::NewAuthority };
    let Some(leaf) = &state.leaf else {
        return Step::NewLeaf { signer: signer.id.clone(), names: wanted.clone() };
    };
    // No process has registered this CA as trusted yet.
    let early = leaf.signer != signer.id && !state.registered.is_empty() && !state.registered.contains(&signer.id);
    if early && leaf.life.contains(after(now, LAST)) {
        return prune(&state.authorities, newest, leaf, now).map_or(Step::Keep, Step::Prune);
    }
    let (due, lacks) = (leaf.life.is_due(now), !wanted.is_subset(&leaf.names));
    // Replace a leaf whose CA is not registered.
    let better = leaf.signer != signer.id && state.registered.contains(&signer.id);
    if due || lacks || better {
        let names = if due { wanted.clone() } else { both(&leaf.names, wanted) };
        return Step::NewLeaf { signer: signer.id.clone(), names };
    }
    prune(&state.authorities, newest, leaf, now).map_or(Step::Keep, Step::Prune)
}

/// During a rollout replicas want different names: a leaf for one must keep the names of another.
fn both(present: &BTreeSet<String>, wanted: &BTreeSet<String>) -> BTreeSet<String> {
    let both: BTreeSet<String> = present.union(wanted).cloned().collect();
    if both.len() > NAMES { wanted.clone() } else { both }
}

/// The CA that signs the next leaf: the newest registered one, else the signer of the current leaf, else the newest.
fn signer(state: &SharedCertificate, now: Timestamp) -> Option<&Authority> {
    let outlives = |authority: &&Authority| {
        authority.can_sign && authority.life.contains(now) && after(now, SHARED_LEAF_LIFE) <= authority.life.end
    };
    let usable = || state.authorities.iter().filter(outlives);
    let signed = |authority: &&Authority| state.leaf.as_ref().is_some_and(|leaf| leaf.signer == authority.id);
    let registered = usable().find(|authority| state.registered.contains(&authority.id));
    registered.or_else(|| usable().find(signed)).or_else(|| usable().next())
}

/// The CAs to keep; `None` when all stay.
fn prune(authorities: &[Authority], newest: &Authority, leaf: &Leaf, now: Timestamp) -> Option<BTreeSet<Id>> {
    let over = leaf.signer == newest.id && after(leaf.issued(), OVERLAP) <= now;
    let stays = |authority: &&Authority| {
        authority.id == newest.id || authority.id == leaf.signer || (!over && now < authority.life.end)
    };
    let kept: BTreeSet<Id> = authorities.iter().filter(stays).map(|authority| authority.id.clone()).collect();
    (kept.len() < authorities.len()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::Timestamp;

    use super::{Authority, Leaf, Life, SHARED_LEAF_LIFE, SKEW, SharedCertificate, Step, after, days, next};
    use crate::runtime::tls::issue::CA_LIFE;

    fn day(number: i64) -> Timestamp {
        after("2026-11-20T12:00:00Z".parse().unwrap(), days(number))
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn life(made: i64, life: jiff::SignedDuration) -> Life {
        Life { begin: day(made) - SKEW, end: after(day(made), life) }
    }

    fn authority(id: &str, made: i64) -> Authority {
        Authority { id: id.to_owned(), life: life(made, CA_LIFE), can_sign: true }
    }

    fn leaf(signer: &str, made: i64) -> Leaf {
        Leaf { signer: signer.to_owned(), life: life(made, SHARED_LEAF_LIFE), names: names(&["a"]) }
    }

    fn state(authorities: &[(&str, i64)], leaf: impl Into<Option<Leaf>>, registered: &[&str]) -> SharedCertificate {
        let authorities = authorities.iter().map(|(id, made)| authority(id, *made)).collect();
        SharedCertificate { authorities, leaf: leaf.into(), registered: names(registered) }
    }

    fn at(state: &SharedCertificate, now: i64) -> Step {
        next(state, &names(&["a"]), day(now))
    }

    fn signed_by(signer: &str) -> Step {
        Step::NewLeaf { signer: signer.to_owned(), names: names(&["a"]) }
    }

    #[test]
    fn out_of_nothing_come_a_ca_and_a_leaf() {
        assert_eq!(at(&SharedCertificate::default(), 0), Step::NewAuthority);
        assert_eq!(at(&state(&[("one", 0)], None, &[]), 0), signed_by("one"));
        assert_eq!(at(&state(&[("one", 0)], leaf("one", 0), &[]), 0), Step::Keep);
    }

    #[test]
    fn a_leaf_is_renewed_at_two_thirds_of_its_life() {
        let held = state(&[("one", 0)], leaf("one", 0), &["one"]);
        assert_eq!(at(&held, 59), Step::Keep);
        assert_eq!(at(&held, 60), signed_by("one"));
    }

    #[test]
    fn a_new_ca_signs_only_after_it_is_registered() {
        let old = state(&[("one", -2500)], leaf("one", 0), &["one"]);
        assert_eq!(at(&old, 1), Step::NewAuthority);
        let rolled = |registered| state(&[("two", 1), ("one", -2500)], leaf("one", 0), registered);
        assert_eq!(at(&rolled(&["one"]), 1), Step::Keep);
        assert_eq!(at(&rolled(&["one"]), 70), signed_by("one"));
        assert_eq!(at(&rolled(&["one", "two"]), 1), signed_by("two"));
    }

    #[test]
    fn an_old_ca_is_trusted_for_a_day_after_it_signs_nothing_any_more() {
        let held = state(&[("two", 1), ("one", -2500)], leaf("two", 3), &["one", "two"]);
        assert_eq!(at(&held, 3), Step::Keep);
        assert_eq!(at(&held, 4), Step::Prune(names(&["two"])));
    }

    #[test]
    fn without_registration_the_old_ca_signs_as_long_as_it_outlives_the_leaf() {
        let held = |made, registered| state(&[("two", 2500), ("one", 0)], leaf("one", made), registered);
        for registered in [&[][..], &["one"]] {
            assert_eq!(at(&held(3499, registered), 3560), signed_by("one"));
        }
        assert_eq!(at(&held(3501, &[]), 3561), signed_by("two"));
        assert_eq!(at(&held(3501, &["one"]), 3583), Step::Keep, "it may still be registered");
        assert_eq!(at(&held(3501, &["one"]), 3584), signed_by("two"));
    }

    #[test]
    fn replicas_that_want_different_names_do_not_take_them_from_each_other() {
        let held = state(&[("one", 0)], leaf("one", 0), &["one"]);
        let (mine, all) = (names(&["b"]), names(&["a", "b"]));
        assert_eq!(next(&held, &mine, day(1)), Step::NewLeaf { signer: "one".to_owned(), names: all.clone() });
        let mut grown = held;
        grown.leaf.as_mut().unwrap().names = all;
        assert_eq!(next(&grown, &mine, day(1)), Step::Keep);
        assert_eq!(at(&grown, 1), Step::Keep);
        assert_eq!(at(&grown, 61), signed_by("one"), "a renewal asks for what is wanted only");
    }

    #[test]
    fn a_ca_without_its_key_is_replaced_and_stays_trusted() {
        let mut held = state(&[("one", 0)], leaf("one", 0), &["one"]);
        held.authorities[0].can_sign = false;
        assert_eq!(at(&held, 1), Step::NewAuthority);
        held.authorities.insert(0, authority("two", 1));
        assert_eq!(at(&held, 1), Step::Keep);
        held.registered = names(&["one", "two"]);
        assert_eq!(at(&held, 1), signed_by("two"));
    }

    #[test]
    fn what_was_made_by_a_clock_far_ahead_is_not_used() {
        let ahead = state(&[("one", 400)], leaf("one", 400), &["one"]);
        assert_eq!(at(&ahead, 0), Step::NewAuthority);
    }
}
