//! Finds `request.uid` in a body that is invalid, truncated or too large to keep. No I/O.
//!
//! A byte scan that knows only strings and nesting of JSON, fed in pieces of any size.

/// Most bytes of a string that are kept; a longer one is neither a known name nor a uid.
const LONGEST: usize = 1024;

/// A scan in progress.
#[derive(Debug, Default)]
pub struct UidScan {
    depth: usize,
    place: UidPosition,
    /// The last string; absent when it was too long to keep.
    token: Option<Vec<u8>>,
    after_colon: bool,
    in_request: bool,
    at_uid: bool,
    found: Option<String>,
}

/// Position of the next byte.
#[derive(Clone, Copy, Debug, Default)]
enum UidPosition {
    #[default]
    Outside,
    InString,
    AfterBackslash,
}

impl UidScan {
    /// The uid in `body`, when it has one that is not empty. The last of several, as in Go's decoder.
    #[must_use]
    pub fn of(body: &[u8]) -> Option<String> {
        let mut scan = Self::default();
        scan.feed(body);
        scan.found()
    }

    /// The uid found so far.
    #[must_use]
    pub fn found(self) -> Option<String> {
        self.found.filter(|uid| !uid.is_empty())
    }

    /// Scans the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.place = match (self.place, byte) {
                (UidPosition::Outside, b'"') => {
                    self.token = Some(self.token.take().map_or_else(Vec::new, emptied));
                    UidPosition::InString
                }
                (UidPosition::Outside, _) => {
                    self.outside_string(byte);
                    UidPosition::Outside
                }
                (UidPosition::InString, b'"') => {
                    self.string_ended();
                    UidPosition::Outside
                }
                (UidPosition::InString, b'\\') => {
                    self.keep(byte);
                    UidPosition::AfterBackslash
                }
                (UidPosition::InString | UidPosition::AfterBackslash, _) => {
                    self.keep(byte);
                    UidPosition::InString
                }
            };
        }
    }

    fn keep(&mut self, byte: u8) {
        let wanted = self.depth == 1 || self.depth == 2;
        match &mut self.token {
            Some(token) if wanted && token.len() < LONGEST => token.push(byte),
            _ => self.token = None,
        }
    }

    fn string_ended(&mut self) {
        if self.after_colon && self.depth == 2 && self.in_request && self.at_uid {
            self.found = self.token.as_deref().map(unquoted);
        }
    }

    fn outside_string(&mut self, byte: u8) {
        match byte {
            b':' => {
                match self.depth {
                    1 => self.in_request = self.token.as_deref() == Some(b"request"),
                    2 => self.at_uid = self.token.as_deref() == Some(b"uid"),
                    _ => {}
                }
                self.after_colon = true;
            }
            b',' => self.after_colon = false,
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                self.after_colon = false;
                self.at_uid = false;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.after_colon = false;
            }
            _ => {}
        }
    }
}

fn emptied(mut token: Vec<u8>) -> Vec<u8> {
    token.clear();
    token
}

/// The text between quotes with its escapes resolved, as far as they can be.
fn unquoted(token: &[u8]) -> String {
    let quoted = [b"\"", token, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_else(|_| String::from_utf8_lossy(token).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::UidScan;

    #[test]
    fn only_the_uid_of_the_request_counts() {
        let body = br#"{"uid":"no","request":{"object":{"metadata":{"uid":"no"}},"userInfo":{"uid":"no"},"x":"uid","uid":"yes"},"response":{"uid":"no"}}"#;
        assert_eq!(UidScan::of(body).as_deref(), Some("yes"));
        assert_eq!(UidScan::of(br#"{"request":{"uid":""}}"#), None);
        assert_eq!(UidScan::of(br#"{"request":{"uid":5}}"#), None);
        assert_eq!(UidScan::of(br#"{"request":{"uid":"\u00e9\" "}}"#).as_deref(), Some("\u{e9}\" "));
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same_uid(cut in 0_usize..60, tail in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut body = br#"{"a":[{"b":"}"}],"request":{"k":{},"uid":"u-1","o":{"#.to_vec();
            let head = body.len();
            body.extend(tail);
            let mut scan = UidScan::default();
            let (left, right) = body.split_at(cut.min(head));
            scan.feed(left);
            scan.feed(right);
            assert_eq!(scan.found, UidScan::of(&body));
        }
    }
}
