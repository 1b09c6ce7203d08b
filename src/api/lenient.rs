//! Decodes like Go's encoding/json. No I/O.

use serde::{Deserialize, Deserializer};

/// Reads null as the type's zero value.
///
/// # Errors
/// Those of `T`.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}
