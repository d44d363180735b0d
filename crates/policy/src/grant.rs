//! Stored answers of persons, as types. The host stores them.

use std::fmt;
use std::path::PathBuf;

use jackfield_protocol::{Capability, ExtensionId};
use serde::{Deserialize, Serialize};

/// Whether a grant allows or denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The extension may do it.
    Allow,
    /// The extension may not do it, whatever else allows it.
    Deny,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        })
    }
}

/// One stored answer of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The extension that the grant is for.
    pub extension: ExtensionId,
    /// What the extension may, or may not, do.
    pub capability: Capability,
    /// Allowed or denied.
    pub effect: Effect,
    /// The project in which the grant counts; every project if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// When the person answered, as RFC 3339.
    pub granted_at: String,
    /// Short, and the same for the same extension, capability and project.
    pub id: String,
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "grant {} ({} {}", self.id, self.effect, self.capability)?;
        match &self.project {
            Some(project) => write!(f, " in {})", project.display()),
            None => f.write_str(")"),
        }
    }
}

/// A grant to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGrant {
    /// The extension that the grant is for.
    pub extension: ExtensionId,
    /// What the extension may, or may not, do.
    pub capability: Capability,
    /// Allowed or denied.
    pub effect: Effect,
    /// The directory of the project in which it counts, as the host names it; every project if nothing.
    pub project: Option<PathBuf>,
}
