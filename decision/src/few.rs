//! Lists in messages: the first ten, and how many more there are; numbers of things. Pure.

use std::fmt::{self, Display, Formatter};

/// How many items are named.
pub const NAMED: usize = 10;

/// `1 node`, `2 nodes`.
#[must_use]
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    format!("{count} {noun}{}", if count == N::from(1) { "" } else { "s" })
}

/// `a, b and 4990 more`.
pub struct Few<'a, T>(pub &'a [T]);

impl<T: Display> Display for Few<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write(f, self.0, ", ")
    }
}

/// Like [`Few`], for items that contain commas: `a; b; and 4990 more`.
pub struct FewParts<'a, T>(pub &'a [T]);

impl<T: Display> Display for FewParts<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write(f, self.0, "; ")
    }
}

fn write<T: Display>(f: &mut Formatter<'_>, list: &[T], between: &str) -> fmt::Result {
    for (index, item) in list.iter().take(NAMED).enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        item.fmt(f)?;
    }
    match list.len().saturating_sub(NAMED) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_are_named_and_the_rest_is_counted() {
        let names = |count: usize| (0..count).map(|index| format!("m{index}")).collect::<Vec<_>>();
        assert_eq!(Few(&names(2)).to_string(), "m0, m1");
        assert_eq!(Few(&names(10)).to_string(), "m0, m1, m2, m3, m4, m5, m6, m7, m8, m9");
        assert_eq!(Few(&names(5000)).to_string(), "m0, m1, m2, m3, m4, m5, m6, m7, m8, m9 and 4990 more");
        assert_eq!(FewParts(&names(2)).to_string(), "m0; m1");
        assert_eq!(Few::<String>(&[]).to_string(), "");
    }
}
