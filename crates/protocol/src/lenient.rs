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

/// A whole number, also where a script wrote it as `5.0`; `null` means nothing.
pub(crate) fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<Option<T>, D::Error> {
    use serde::de::Error;
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    // Up to 2^53 a float says exactly which whole number it means.
    let exact = |float: &f64| float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(float);
    let value = number.as_u64().or_else(|| number.as_f64().filter(exact).map(|float| float as u64));
    let wrong = || D::Error::custom(format!("{number} is not a whole number in range"));
    value.and_then(|value| T::try_from(value).ok()).map(Some).ok_or_else(wrong)
}
