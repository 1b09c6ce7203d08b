//! The beginning of a text that a client chose, for messages and logs of bounded size. No I/O.

/// Characters of an error from another component that are logged or shown; it may repeat content of a request or file.
pub const ERROR: usize = 300;

/// The first `characters` of `text`.
#[must_use]
pub fn excerpt(text: &str, characters: usize) -> &str {
    // A character has at least one byte.
    if text.len() <= characters {
        return text;
    }
    text.char_indices().nth(characters).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(excerpt("\u{e9}\u{e9}\u{e9}", 2), "\u{e9}\u{e9}");
        assert_eq!(excerpt("abc", 3), "abc");
        assert_eq!(excerpt("", 0), "");
    }
}
