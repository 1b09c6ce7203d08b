//! The hash of an assignment's inputs, as it is stored (docs/design.md#initial-assignment). Pure.

use std::fmt;
use std::str::FromStr;

use crate::fnv::Fnv64;

/// A hash of the user's bounds, the policy and the user's settings for the selected clusters.
///
/// Measurements (capacity, replicas) are not part of it: a change there causes no new assignment. Failed clusters are
/// part of it, because failure and return have rules of their own. The hash is the same in every version and on every
/// machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AssignmentHash(u64);

/// A digest while it is computed.
#[derive(Default)]
pub(super) struct Digest(Fnv64);

impl Digest {
    pub(super) fn number(&mut self, number: u64) {
        // The length first, so that different lists of numbers and names have different digests.
        let bytes = number.to_le_bytes();
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
        self.0.byte(u8::try_from(used).unwrap_or(u8::MAX));
        bytes.iter().take(used).for_each(|byte| self.0.byte(*byte));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        text.bytes().for_each(|byte| self.0.byte(byte));
    }

    pub(super) fn hash(&self) -> AssignmentHash {
        AssignmentHash(self.0.value())
    }
}

impl fmt::Display for AssignmentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for AssignmentHash {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}
