//! Seeded random numbers for the smoke tests of the fuzz targets.

/// A generator of numbers that is the same everywhere (xorshift64).
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// Pieces put together, now and then with a byte that is changed.
    pub fn text(&mut self, pieces: &[&str], most: usize) -> Vec<u8> {
        let count = self.below(most);
        let mut bytes: Vec<u8> = (0..count).flat_map(|_| pieces[self.below(pieces.len())].bytes()).collect();
        if !bytes.is_empty() && self.below(4) == 0 {
            let at = self.below(bytes.len());
            bytes[at] = self.below(256) as u8;
        }
        bytes
    }
}
