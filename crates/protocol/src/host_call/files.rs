//! `fs`: files, by `op`.

use serde::{Deserialize, Serialize};

use crate::Power;
use crate::lenient::{is_false, null_default, whole};

/// How a file is opened for writing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WriteFlag {
    /// Replaces the file at once or not at all.
    #[default]
    #[serde(rename = "w")]
    Replace,
    /// Adds to its end; makes it if need be.
    #[serde(rename = "a")]
    Append,
    /// Makes it; fails if it is there.
    #[serde(rename = "wx")]
    Create,
    /// Makes it to add to its end; fails if it is there.
    #[serde(rename = "ax")]
    CreateAppend,
    /// Writes into a file that is there, from `offset` on.
    #[serde(rename = "r+")]
    InPlace,
}

/// `fs`, by `op`. A path is absolute, or relative to the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum FsOp {
    /// Content as text, or base64 with `encoding: "base64"`.
    Read {
        /// Which file.
        path: String,
        /// `utf8` (default) or `base64`.
        #[serde(default)]
        encoding: Option<String>,
        /// The first byte; the file's first without it.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        /// How many bytes at most; all without it.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        length: Option<u64>,
    },
    /// Replaces a file atomically, or writes as `flag` says.
    Write {
        /// Which file.
        path: String,
        /// The content.
        content: String,
        /// `utf8` (default) or `base64`.
        #[serde(default)]
        encoding: Option<String>,
        /// Permission bits of a file that is made.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
        /// How it is opened; with an `offset` alone, in place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flag: Option<WriteFlag>,
        /// Where writing in place begins.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
    },
    /// Names, kinds and sizes.
    List {
        /// Which folder.
        path: String,
    },
    /// Kind, size, times, owner and the like.
    Stat {
        /// Which file.
        path: String,
        /// Of what a link points at (default), or with `false` of the link itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follow: Option<bool>,
    },
    /// Makes a folder.
    Mkdir {
        /// Which folder.
        path: String,
        /// Its parents too (default); it may be there already then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recursive: Option<bool>,
        /// Permission bits of folders that are made.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// Removes a file, a link or a folder.
    Remove {
        /// Which.
        path: String,
        /// A folder with all that is in it.
        #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
        recursive: bool,
        /// What is not there is no error.
        #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
        force: bool,
    },
    /// Gives a file another name.
    Rename {
        /// Which.
        path: String,
        /// The new name; what is there is replaced.
        to: String,
    },
    /// Copies a file, or with `recursive` a folder.
    Copy {
        /// Which.
        path: String,
        /// Where to.
        to: String,
        /// Fails if it is there.
        #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
        exclusive: bool,
        /// Folders too, with all that is in them.
        #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
        recursive: bool,
    },
    /// Makes a link.
    Link {
        /// The link.
        path: String,
        /// What it points at.
        target: String,
        /// By name (default), or with `false` to the file itself.
        #[serde(default = "yes", deserialize_with = "null_yes")]
        symbolic: bool,
    },
    /// What a link says.
    Readlink {
        /// The link.
        path: String,
    },
    /// The path without links and `..`.
    Realpath {
        /// Which file.
        path: String,
    },
    /// Sets permission bits.
    Chmod {
        /// Which file.
        path: String,
        /// The bits.
        #[serde(deserialize_with = "whole_number")]
        mode: u32,
    },
    /// Sets times.
    Utimes {
        /// Which file.
        path: String,
        /// Of the last access, in milliseconds since 1970.
        accessed_ms: f64,
        /// Of the last change, in milliseconds since 1970.
        modified_ms: f64,
    },
    /// Cuts or extends a file.
    Truncate {
        /// Which file.
        path: String,
        /// Its new size.
        #[serde(default, deserialize_with = "whole_number")]
        length: u64,
    },
    /// Whether it is there and may be used.
    Access {
        /// Which file.
        path: String,
        /// Any of `r`, `w` and `x`; without them only whether it is there.
        #[serde(default, deserialize_with = "null_default")]
        mode: String,
    },
    /// Makes a new folder for passing things.
    Mkdtemp {
        /// How its name begins; six characters are added.
        path: String,
    },
    /// Tells what changes in a file or folder until it is given up. Only as a stream.
    Watch {
        /// Which.
        path: String,
        /// Also in folders below.
        #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
        recursive: bool,
    },
}

fn yes() -> bool {
    true
}

fn null_yes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(true))
}

fn whole_number<'de, D: serde::Deserializer<'de>, T: TryFrom<u64> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(whole(deserializer)?.unwrap_or_default())
}

impl FsOp {
    /// The path it touches.
    pub fn path(&self) -> &str {
        match self {
            Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::List { path }
            | Self::Stat { path, .. }
            | Self::Mkdir { path, .. }
            | Self::Remove { path, .. }
            | Self::Rename { path, .. }
            | Self::Copy { path, .. }
            | Self::Link { path, .. }
            | Self::Readlink { path }
            | Self::Realpath { path }
            | Self::Chmod { path, .. }
            | Self::Utimes { path, .. }
            | Self::Truncate { path, .. }
            | Self::Access { path, .. }
            | Self::Mkdtemp { path }
            | Self::Watch { path, .. } => path,
        }
    }

    /// For the gate, which puts the resolved path in place of the claimed one.
    pub fn path_mut(&mut self) -> &mut String {
        match self {
            Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::List { path }
            | Self::Stat { path, .. }
            | Self::Mkdir { path, .. }
            | Self::Remove { path, .. }
            | Self::Rename { path, .. }
            | Self::Copy { path, .. }
            | Self::Link { path, .. }
            | Self::Readlink { path }
            | Self::Realpath { path }
            | Self::Chmod { path, .. }
            | Self::Utimes { path, .. }
            | Self::Truncate { path, .. }
            | Self::Access { path, .. }
            | Self::Mkdtemp { path }
            | Self::Watch { path, .. } => path,
        }
    }

    /// The other path of an operation that has two, with the powers that it needs there beside those for the first.
    pub fn other(&self) -> Option<(&str, &'static [Power])> {
        match self {
            Self::Rename { to, .. } | Self::Copy { to, .. } => Some((to, &[Power::Write])),
            Self::Link { target, symbolic: true, .. } => Some((target, &[Power::Read])),
            // The same file under a second name: whoever may use one may use the other.
            Self::Link { target, symbolic: false, .. } => Some((target, &[Power::Read, Power::Write])),
            _ => None,
        }
    }

    pub(crate) fn power(&self) -> Power {
        match self {
            Self::Read { .. }
            | Self::List { .. }
            | Self::Stat { .. }
            | Self::Copy { .. }
            | Self::Readlink { .. }
            | Self::Realpath { .. }
            | Self::Access { .. }
            | Self::Watch { .. } => Power::Read,
            Self::Write { .. }
            | Self::Mkdir { .. }
            | Self::Remove { .. }
            | Self::Rename { .. }
            | Self::Link { .. }
            | Self::Chmod { .. }
            | Self::Utimes { .. }
            | Self::Truncate { .. }
            | Self::Mkdtemp { .. } => Power::Write,
        }
    }
}
