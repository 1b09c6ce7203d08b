//! FNV-1a hashes, of 32 and 64 bits. Pure.
//!
//! Objects store these hashes and names contain them, so they must be the same in every version and on every machine:
//! with other values every Work would get another name, and every assignment would be computed anew. Hashers that may
//! change, such as those of `std`, cannot be used.

/// The hash of a text, 32 bits.
#[must_use]
pub fn fnv32(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A 64-bit hash that receives one byte after another.
#[derive(Clone, Copy, Debug)]
pub struct Fnv64(u64);

impl Default for Fnv64 {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv64 {
    /// Adds a byte.
    pub fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// The hash of all bytes so far.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Fnv64, fnv32};

    #[test]
    fn the_values_are_those_of_its_authors() {
        let of = |text: &str| {
            let mut hash = Fnv64::default();
            text.bytes().for_each(|byte| hash.byte(byte));
            (fnv32(text), hash.value())
        };
        assert_eq!(of(""), (0x811c_9dc5, 0xcbf2_9ce4_8422_2325));
        assert_eq!(of("a"), (0xe40c_292c, 0xaf63_dc4c_8601_ec8c));
        assert_eq!(of("foobar"), (0xbf9c_f968, 0x8594_4171_f739_67e8));
    }
}
