//! Uids and name suffixes, random or from a seed. No I/O.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::atomic::{AtomicU64, Ordering},
};

/// Letters of generated names: no vowels, none that is easily misread.
const LETTERS: &[char] = &[
    'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'z', '2', '4', '5',
    '6', '7', '8', '9',
];

/// A source of uids and suffixes.
#[derive(Debug)]
pub struct Identity {
    state: AtomicU64,
}

impl Identity {
    /// From a seed, or random.
    pub fn new(seed: Option<u64>) -> Self {
        Self { state: AtomicU64::new(seed.unwrap_or_else(|| RandomState::new().build_hasher().finish())) }
    }

    /// Splitmix64: a hashed counter.
    fn next(&self) -> u64 {
        let mut z = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A UUID of version 4.
    pub fn uid(&self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | (b >> 48) & 0x3fff,
            b & 0xffff_ffff_ffff
        )
    }

    /// Five letters for `generateName`.
    pub fn suffix(&self) -> String {
        let mut bits = self.next();
        let count = LETTERS.len() as u64;
        let mut letter = || {
            let at = usize::try_from(bits % count).unwrap_or_default();
            bits /= count;
            LETTERS.get(at).copied().unwrap_or('x')
        };
        (0..5).map(|_| letter()).collect()
    }
}
