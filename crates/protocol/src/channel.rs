//! Channels: ways by which messages of people come in and answers go out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::lenient::null_default;

/// A channel, as the extension registered it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelSpec {
    /// Its name.
    pub name: String,
    /// For people.
    #[serde(default)]
    pub description: String,
}

/// A message that came in on a channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelMessage {
    /// What was said.
    #[serde(default, deserialize_with = "null_default")]
    pub text: String,
    /// By whom, in the channel's own words.
    #[serde(default, deserialize_with = "null_default")]
    pub sender: String,
    /// Where.
    #[serde(default, deserialize_with = "null_default")]
    pub channel: String,
    /// What else the channel says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// What the channel needs to answer it; comes back as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

/// What is asked of a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ChannelOp {
    /// Be ready to receive and send.
    Connect,
    /// Wait for the next message.
    Receive,
    /// Send an answer.
    Send {
        /// The message that it answers.
        message: Box<ChannelMessage>,
        /// The answer.
        text: String,
    },
    /// No more is wanted.
    Disconnect,
}

impl ChannelOp {
    /// The word on the wire.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Receive => "receive",
            Self::Send { .. } => "send",
            Self::Disconnect => "disconnect",
        }
    }
}
