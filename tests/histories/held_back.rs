//! What histories do not do yet, and why: each line is a fault that is known. No I/O.

use super::operation::Operation;

/// An operation that is held back, and what it would meet.
pub struct HeldBack {
    pub why: &'static str,
    pub is: fn(&Operation) -> bool,
}

/// All of them.
pub const HELD_BACK: &[HeldBack] = &[];

pub fn is_held_back(operation: &Operation) -> bool {
    HELD_BACK.iter().any(|held| (held.is)(operation))
}
