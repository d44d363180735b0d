//! JSON that is passed on as it was written.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// JSON text exactly as a peer wrote it: unknown fields, the order of keys and large numbers survive. It is kept as text
/// within other JSON, so whoever keeps it need not understand it.
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wire(#[cfg_attr(feature = "schema", schemars(with = "String"))] Arc<str>);

impl Wire {
    /// The text, which must be JSON: whoever makes one has read it as such.
    pub fn new(json: impl Into<Arc<str>>) -> Self {
        Self(json.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Wire {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Wire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}
