//! JSON -> core with Go's rules: names are case-sensitive, unknown ones are skipped, the last of duplicates wins, null
//! keeps a value and clears an optional one. One pass over borrowed text. No I/O.
//!
//! Types of `api` with serde's derive do not fit: they reject a duplicate member, where Go decodes the second over the
//! first, and they own every text, where a review allocates almost nothing (`benches/allocations.rs`). The core must
//! not use `api` either, so each kind would still have a second form there.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Reads a JSON value into an existing one.
pub(crate) trait Read<'de>: Default {
    /// Longest list of such values. The bound is far above what the schemas allow; without it a body of empty objects
    /// would take a hundred times its size in memory.
    const LONGEST_LIST: usize = 10_000;

    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
}

/// Reads into an existing value.
pub(super) struct Over<'a, T>(pub(super) &'a mut T);

impl<'de, T: Read<'de>> DeserializeSeed<'de> for Over<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.read(deserializer)
    }
}

/// Reads a whole value; the entry for `serde_json` and `serde_path_to_error`.
pub(super) struct Whole<T>(pub(super) T);

impl<'de, T: Read<'de>> serde::Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = T::default();
        value.read(deserializer)?;
        Ok(Self(value))
    }
}

/// The name of a member or the key of a map.
pub(super) struct Name<'de>(pub(super) Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowed;
        impl<'de> Visitor<'de> for Borrowed {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowed)
    }
}

impl<'de, T: Read<'de>> Read<'de> for Option<T> {
    const LONGEST_LIST: usize = T::LONGEST_LIST;

    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Present<'a, T>(&'a mut Option<T>);
        impl<'de, T: Read<'de>> Visitor<'de> for Present<'_, T> {
            type Value = ();
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or null")
            }
            fn visit_none<E: Error>(self) -> Result<(), E> {
                *self.0 = None;
                Ok(())
            }
            fn visit_unit<E: Error>(self) -> Result<(), E> {
                self.visit_none()
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                self.0.get_or_insert_with(T::default).read(deserializer)
            }
        }
        deserializer.deserialize_option(Present(self))
    }
}

impl<'de, T: Read<'de>> Read<'de> for Box<T> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        (**self).read(deserializer)
    }
}

/// Elements to allocate for before any of them is read.
const RESERVED: usize = 4;

impl<'de, T: Read<'de>> Read<'de> for Vec<T> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Elements<'a, T>(&'a mut Vec<T>);
        impl<'de, T: Read<'de>> Visitor<'de> for Elements<'_, T> {
            type Value = ();
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_unit<E: Error>(self) -> Result<(), E> {
                self.0.clear();
                Ok(())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
                self.0.clear();
                self.0.reserve(RESERVED);
                loop {
                    let mut element = T::default();
                    if elements.next_element_seed(Over(&mut element))?.is_none() {
                        return Ok(());
                    }
                    if self.0.len() >= T::LONGEST_LIST {
                        let text = format_args!("invalid length, expected at most {} elements", T::LONGEST_LIST);
                        return Err(A::Error::custom(text));
                    }
                    self.0.push(element);
                }
            }
        }
        deserializer.deserialize_any(Elements(self))
    }
}

impl<'de, T: Read<'de>> Read<'de> for BTreeMap<Cow<'de, str>, T> {
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Entries<'a, 'de, T>(&'a mut BTreeMap<Cow<'de, str>, T>);
        impl<'de, T: Read<'de>> Visitor<'de> for Entries<'_, 'de, T> {
            type Value = ();
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_unit<E: Error>(self) -> Result<(), E> {
                self.0.clear();
                Ok(())
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
                while let Some(Name(key)) = entries.next_key()? {
                    let mut value = T::default();
                    entries.next_value_seed(Over(&mut value))?;
                    self.0.insert(key, value);
                }
                Ok(())
            }
        }
        deserializer.deserialize_any(Entries(self))
    }
}

/// The members of an object, read by `reads!`.
pub(super) struct Object<'a, 'de, T>(pub(super) &'a mut T, pub(super) PhantomData<&'de ()>);

/// Maps JSON members to the fields of a type. After `shape` are members that no rule reads, with the type that their
/// value must have.
macro_rules! reads {
    ($($type:ty {
        $($member:literal => $field:ident),* $(,)?
        $(; shape $($checked:literal: $shape:ty),* $(,)?)?
    })*) => {$(
        impl<'de> $crate::convert::reader::Read<'de> for $type {
            fn read<D: serde::Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_any($crate::convert::reader::Object(self, std::marker::PhantomData))
            }
        }
        impl<'de> serde::de::Visitor<'de> for $crate::convert::reader::Object<'_, 'de, $type> {
            type Value = ();
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
                Ok(())
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
                use $crate::convert::reader::{Name, Over};
                while let Some(Name(name)) = members.next_key()? {
                    match &*name {
                        $($member => members.next_value_seed(Over(&mut self.0.$field))?,)*
                        $($($checked => members.next_value_seed(Over(&mut <$shape>::default()))?,)*)?
                        _ => {
                            members.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(())
            }
        }
    )*};
}
