//! The items of a JSON list, one by one as its bytes arrive: a list of a hundred thousand is never held whole. No I/O.
//!
//! serde_json and other crates that read JSON in pieces pull from a blocking reader; a response of an asynchronous client
//! is pushed. So this file finds only where an item begins and ends, and serde_json decodes it.

use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error as _};
use serde_json::Error;

/// Most bytes of one item.
const ITEM: usize = 1 << 20;

/// Reads `{"items": [...]}`; other members are skipped.
#[derive(Debug)]
pub struct Items<T> {
    /// The text of the item, or of the last string outside of items, as far as it has arrived.
    text: Vec<u8>,
    /// Open objects and arrays.
    depth: usize,
    position: Position,
    item: PhantomData<fn() -> T>,
}

/// Where the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Before or between members and items, or within a member that is skipped.
    Between,
    /// In a string, and after a backslash.
    String { escaped: bool },
    /// After the key `items`.
    Key,
    /// In the list; and in a string there, and after a backslash there.
    List { string: bool, escaped: bool },
    /// After the list.
    Behind,
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Self { text: Vec::new(), depth: 0, position: Position::Between, item: PhantomData }
    }
}

impl<T: DeserializeOwned> Items<T> {
    /// Takes the next bytes; each item that is complete goes to `each`.
    ///
    /// # Errors
    /// The bytes are no list, or an item cannot be decoded.
    pub fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(T)) -> Result<(), Error> {
        bytes.iter().try_for_each(|byte| match self.position {
            Position::Between => self.between(*byte),
            Position::String { escaped } => self.string(*byte, escaped),
            Position::Key => self.key(*byte),
            Position::List { string, escaped } => self.list(*byte, string, escaped, &mut each),
            Position::Behind => Ok(()),
        })
    }

    /// Ends the list.
    ///
    /// # Errors
    /// It is not complete.
    pub fn end(self) -> Result<(), Error> {
        let complete = self.position == Position::Behind || (self.position == Position::Between && self.depth == 0);
        if complete { Ok(()) } else { Err(Error::custom("the list ends too early")) }
    }

    fn between(&mut self, byte: u8) -> Result<(), Error> {
        match byte {
            b'"' => {
                self.text.clear();
                self.position = Position::String { escaped: false };
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.close()?,
            b':' if self.depth == 1 && self.text == b"items" => self.position = Position::Key,
            _ if self.depth == 0 && !byte.is_ascii_whitespace() => return Err(Error::custom("it is no list")),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| Error::custom("it is no list"))?;
        Ok(())
    }

    fn string(&mut self, byte: u8, escaped: bool) -> Result<(), Error> {
        match byte {
            b'"' if !escaped => self.position = Position::Between,
            _ => {
                self.position = Position::String { escaped: byte == b'\\' && !escaped };
                // Only keys are compared.
                if self.depth == 1 {
                    self.push(byte)?;
                }
            }
        }
        Ok(())
    }

    /// `null` is an empty list.
    fn key(&mut self, byte: u8) -> Result<(), Error> {
        match byte {
            b'[' => {
                self.text.clear();
                self.depth = 0;
                self.position = Position::List { string: false, escaped: false };
                Ok(())
            }
            b'n' | b'u' | b'l' => Ok(()),
            b',' | b'}' => {
                self.text.clear();
                self.position = Position::Between;
                if byte == b'}' { self.close() } else { Ok(()) }
            }
            _ if byte.is_ascii_whitespace() => Ok(()),
            _ => Err(Error::custom("items is no list")),
        }
    }

    fn list(&mut self, byte: u8, string: bool, escaped: bool, each: &mut impl FnMut(T)) -> Result<(), Error> {
        if string {
            let string = byte != b'"' || escaped;
            self.position = Position::List { string, escaped: byte == b'\\' && !escaped && string };
            return self.push(byte);
        }
        match byte {
            b']' if self.depth == 0 => {
                self.item(each)?;
                self.position = Position::Behind;
                return Ok(());
            }
            b',' if self.depth == 0 => return self.item(each),
            b'"' => self.position = Position::List { string: true, escaped: false },
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.close()?,
            _ if self.depth == 0 && byte.is_ascii_whitespace() => return Ok(()),
            _ => {}
        }
        self.push(byte)
    }

    fn push(&mut self, byte: u8) -> Result<(), Error> {
        if self.text.len() >= ITEM {
            return Err(Error::custom("an item is too large"));
        }
        self.text.push(byte);
        Ok(())
    }

    fn item(&mut self, each: &mut impl FnMut(T)) -> Result<(), Error> {
        if !self.text.is_empty() {
            each(serde_json::from_slice(&self.text)?);
            self.text.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// The items, where every so many bytes arrive together.
    fn read(text: &str, each: usize) -> Result<Vec<Value>, String> {
        let (mut items, mut found) = (Items::default(), Vec::new());
        for bytes in text.as_bytes().chunks(each) {
            items.feed(bytes, |item| found.push(item)).map_err(|error| error.to_string())?;
        }
        items.end().map_err(|error| error.to_string())?;
        Ok(found)
    }

    #[test]
    fn items_are_read_wherever_the_bytes_are_cut() {
        let list = json!({"kind": "List", "metadata": {"items": [1], "a\"items": "items"}, "items": [
            {"name": "a\"]},{", "list": [[{}], "\\"], "none": null}, {}, {"name": "ü"}], "items2": [{"not": "this"}]});
        for text in [list.to_string(), serde_json::to_string_pretty(&list).unwrap()] {
            for each in [1, 2, 3, 7, 1000] {
                assert_eq!(read(&text, each).as_ref(), Ok(list["items"].as_array().unwrap()), "{each} {text}");
            }
        }
    }

    #[test]
    fn a_list_may_be_empty_and_must_be_complete() {
        for empty in [r#"{"items": []}"#, r#"{"items":null}"#, r#"{"items":null,"kind":"List"}"#, r#"{"kind":"List"}"#]
        {
            assert_eq!(read(empty, 1), Ok(Vec::new()), "{empty}");
        }
        for broken in [r#"{"items":[{}"#, r#"{"items":"#, r#"{"items":"text"}"#, r#"{"items":[{"a":}]}"#, "text", "}"] {
            assert!(read(broken, 1).is_err(), "{broken}");
        }
        let long = format!(r#"{{"items":["{}"]}}"#, "a".repeat(ITEM));
        assert!(read(&long, 4096).unwrap_err().contains("too large"));
    }

    proptest! {
        #[test]
        fn random_bytes_are_never_a_panic(text in "[\\[\\]{}\",:\\\\ itemsnul0]{0,60}") {
            let read = read(&text, 3);
            if let Ok(Value::Object(whole)) = serde_json::from_str::<Value>(&text)
                && let (Some(Value::Array(items)), Ok(read)) = (whole.get("items"), read)
                && text.matches("items").count() == 1
            {
                prop_assert_eq!(&read, items);
            }
        }
    }
}
