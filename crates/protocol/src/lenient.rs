//! Serde helpers for peers that write `null` where they mean nothing.

use serde::{Deserialize, Deserializer};

/// Reads `null` as the type's default value.
pub(crate) fn null_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// For `skip_serializing_if`.
pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}
