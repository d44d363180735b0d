//! jackfield's policy: decides whether a need is met, put to a person or refused, and makes the permit.
//!
//! The crate is pure: it reads no file and no clock and holds no state. It asks no person; the host does, and treats
//! [`Verdict::Ask`] as a refusal where there is no person. Deny beats ask beats allow.
//!
//! Modules in reading order:
//! - `lib`: modes, the policy, the question ([`Request`]) and the verdict.
//! - `rules`: the rules in the order in which the policy considers them.
//! - `decision`: the outcome; [`Permit`], which only an allowing [`Decision`] makes.
//! - `grant`: stored answers of persons, as types.
//! - `config`: reads the table `[policy]` of `config.toml`.

mod config;
mod decision;
mod grant;
mod rules;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use jackfield_protocol::{Capability, ExtensionId, Need, Power};
use serde::{Deserialize, Serialize};

pub use self::config::PolicyError;
pub use self::decision::{Decision, Permit, Step};
pub use self::grant::{Effect, Grant, NewGrant};

/// What happens to a need that no rule, grant or default speaks about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It is refused.
    Strict,
    /// A person is asked.
    #[default]
    Prompt,
    /// It is met, and recorded.
    Permissive,
}

impl Mode {
    /// Every mode, the strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Prompt, Self::Permissive];

    /// The mode as it is written in a configuration file and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Prompt => "prompt",
            Self::Permissive => "permissive",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown policy mode {0:?}; the modes are strict, prompt, permissive")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// The rules of one host, from the table `[policy]` of its configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// What happens when nothing else decides.
    pub mode: Mode,
    /// Powers every extension has without being asked about, except in strict mode.
    pub default_caps: Vec<Power>,
    /// Powers no extension ever has, whatever is granted.
    pub deny_caps: Vec<Power>,
    /// How much memory an extension may use, for runtimes that can limit it.
    pub max_memory_mb: Option<u64>,
    /// Globs of tools that an agent may use in strict mode.
    pub allow_tools: Vec<String>,
    /// Globs of tools that nobody may use.
    pub deny_tools: Vec<String>,
}

/// Who uses a tool through a face.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// A person, for instance at the command line.
    Person,
    /// An agent, on behalf of a model.
    Agent,
}

impl Caller {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
        }
    }
}

/// Who wants something.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// An extension, through a host call.
    Extension {
        /// What its manifest asks for; empty when it declares nothing at all.
        declared: &'a [Capability],
    },
    /// A person or an agent that uses a tool through a face.
    Caller(Caller),
}

/// What the host hands to an extension that registered for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery<'a> {
    /// A slash command, by name.
    Command(&'a str),
    /// A hook, by its point.
    Hook(&'a str),
    /// An event that the extension may answer, by name.
    Event(&'a str),
    /// A keyboard shortcut.
    Shortcut(&'a str),
}

impl Delivery<'_> {
    /// The method of the need that a permit for it has.
    pub fn method(self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Hook(_) => "hook",
            Self::Event(_) => "event",
            Self::Shortcut(_) => "shortcut",
        }
    }
}

impl fmt::Display for Delivery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Command(name) | Self::Hook(name) | Self::Event(name) | Self::Shortcut(name)) = self;
        write!(f, "{} {name}", self.method())
    }
}

/// One question to the policy.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The extension that asks, or that owns the tool which a caller uses.
    pub extension: &'a ExtensionId,
    /// Who wants it.
    pub subject: Subject<'a>,
    /// The power and the resource that are asked for.
    pub need: &'a Need,
    /// The grants that apply to the extension in this project. For a [`Caller`]: those of the tool's owner.
    pub grants: &'a [Grant],
    /// Whose the file is that the need is about, where that matters.
    pub place: Place,
}

/// Whose a file is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// Nobody's in particular, or it is not about a file.
    #[default]
    Open,
    /// The extension's own, named for a person; it may be used without a grant.
    Own(&'static str),
    /// The host's own, named for a person; no grant covers it.
    Kept(&'static str),
}

/// What is to happen, ordered from the strictest to the loosest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The need is refused.
    Deny,
    /// A person is asked; without a person the need is refused.
    Ask,
    /// The need is met.
    Allow,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        })
    }
}
