//! `package.json`: what a package calls itself, which of its files are extensions, and what it asks for.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_files::{self as files, ReadError};
use jackfield_protocol::{Capability, Isolation, Limits, OnFailure, Requires};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::parse;
use super::super::report::Diagnostic;
use super::super::stamp::Stamp;

/// The file.
pub const PACKAGE_JSON: &str = "package.json";

/// The most extensions or patterns that one list may name.
pub(super) const MAX_LISTED: usize = 256;

/// What pi lists beside extensions; a package that lists any of it has said all about itself.
const RESOURCES: [&str; 4] = ["extensions", "skills", "prompts", "themes"];

/// Packages that the host itself provides, under both of the scopes they have had.
const PROVIDED: [&str; 6] = ["typebox", "@sinclair/typebox", "pi-coding-agent", "pi-tui", "pi-ai", "pi-agent-core"];
const SCOPES: [&str; 2] = ["@earendil-works/", "@mariozechner/"];

/// Whether an import of `name` never comes from a `node_modules` directory.
pub(crate) fn is_provided(name: &str) -> bool {
    let bare = SCOPES.iter().find_map(|scope| name.strip_prefix(scope)).unwrap_or(name);
    PROVIDED.contains(&bare)
}

/// A `package.json` as far as it matters here.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) file: PathBuf,
    pub(crate) dir: PathBuf,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) main: Option<String>,
    /// `pi.extensions`, when it is a list of strings.
    pub(crate) extensions: Option<Vec<String>>,
    /// Whether `pi` lists anything, so that conventional directories do not count.
    pub(crate) lists_resources: bool,
    pub(crate) dependencies: Vec<String>,
    /// The table `jackfield`, or what is wrong with it.
    pub(crate) own: Result<Own, String>,
    pub(crate) warnings: Vec<String>,
}

/// The table `jackfield` of a `package.json`, or of a Python file.
#[derive(Debug, Clone)]
pub struct Own {
    pub(crate) capabilities: Vec<Capability>,
    pub(crate) enabled: bool,
    pub(crate) requires: Requires,
    pub(crate) limits: Limits,
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) priority: i32,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            capabilities: Vec::new(),
            enabled: true,
            requires: Requires::default(),
            limits: Limits::default(),
            on_failure: None,
            isolation: None,
            priority: 0,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawOwn {
    enabled: Option<bool>,
    requires: Requires,
    limits: Limits,
    on_failure: Option<OnFailure>,
    isolation: Option<Isolation>,
    priority: i32,
}

const OWN_KEYS: [&str; 7] = ["capabilities", "enabled", "requires", "limits", "on_failure", "isolation", "priority"];

/// A file that was read, how it looked, and what it holds.
type Last = (PathBuf, Stamp, Arc<Map<String, Value>>);

/// Reads the package in `dir`, if there is one. One that cannot be read is none, and a warning says why: its files may
/// still be extensions.
pub(crate) fn read(dir: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<Package> {
    // Many scripts in one folder have the same package above them.
    static LAST: Mutex<Option<Last>> = Mutex::new(None);
    let file = dir.join(PACKAGE_JSON);
    let outside = Stamp::of(&file);
    if outside == Stamp::Missing {
        return None;
    }
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((_, _, object)) = last.filter(|(last, before, _)| *last == file && *before == outside) {
        return Some(lower(dir, file, &object));
    }
    let text = match files::read_text(&file, files::MAX_TEXT) {
        Ok(text) => text,
        Err(ReadError::Missing) => return None,
        Err(error) => {
            diagnostics.push(Diagnostic::warn(&file, format!("package.json is ignored: {error}")));
            return None;
        }
    };
    match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(object)) => {
            let object = Arc::new(object);
            if !outside.is_racy() {
                let last = (file.clone(), outside, Arc::clone(&object));
                *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
            }
            Some(lower(dir, file, &object))
        }
        Ok(other) => {
            let message = format!("package.json is ignored: expected an object, found {}", parse::kind(&other));
            diagnostics.push(Diagnostic::warn(&file, message));
            None
        }
        Err(error) => {
            diagnostics.push(Diagnostic::warn(&file, format!("package.json is ignored: {error}")));
            None
        }
    }
}

fn lower(dir: &Path, file: PathBuf, object: &Map<String, Value>) -> Package {
    let text = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let mut warnings = Vec::new();
    let pi = object.get("pi").and_then(Value::as_object);
    let mut extensions = None;
    if let Some(listed) = pi.and_then(|pi| pi.get("extensions")) {
        extensions = strings(listed);
        match &mut extensions {
            None => warnings.push("`pi.extensions` is ignored: it is not a list of strings".to_owned()),
            Some(list) if list.len() > MAX_LISTED => {
                warnings.push(format!("only the first {MAX_LISTED} of {} `pi.extensions` are used", list.len()));
                list.truncate(MAX_LISTED);
            }
            Some(_) => {}
        }
    }
    let lists_resources =
        pi.is_some_and(|pi| RESOURCES.iter().any(|key| pi.get(*key).is_some_and(|list| strings(list).is_some())));
    let dependencies = match object.get("dependencies") {
        Some(Value::Object(dependencies)) => dependencies.keys().take(MAX_LISTED).cloned().collect(),
        _ => Vec::new(),
    };
    let own = match object.get("jackfield") {
        None => Ok(Own::default()),
        Some(Value::Object(table)) => own_table(table, &mut warnings),
        Some(other) => Err(format!("`jackfield` must be an object, found {}", parse::kind(other))),
    };
    Package {
        name: text("name"),
        version: text("version"),
        description: text("description"),
        main: text("main"),
        file,
        dir: dir.to_owned(),
        extensions,
        lists_resources,
        dependencies,
        own,
        warnings,
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|entry| entry.as_str().map(str::to_owned)).collect()
}

/// A table that cannot be understood is an error: a limit that nobody understands must not turn into none.
pub fn own_table(table: &Map<String, Value>, warnings: &mut Vec<String>) -> Result<Own, String> {
    parse::unknown_keys(table, "jackfield.", &OWN_KEYS, warnings);
    let raw = RawOwn::deserialize(Value::Object(table.clone())).map_err(|error| format!("`jackfield`: {error}"))?;
    parse::check_limits(&raw.limits).map_err(|error| format!("jackfield.{error}"))?;
    let capabilities = match table.get("capabilities") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => parse::capabilities(list, "jackfield.capabilities", warnings)?,
        Some(Value::Object(document)) => parse::capability_manifest(document, "jackfield.capabilities", warnings)?,
        Some(other) => return Err(format!("jackfield.capabilities must be an array, found {}", parse::kind(other))),
    };
    Ok(Own {
        capabilities,
        enabled: raw.enabled.unwrap_or(true),
        requires: raw.requires,
        limits: raw.limits,
        on_failure: raw.on_failure,
        isolation: raw.isolation,
        priority: raw.priority,
    })
}

impl Package {
    /// The dependencies that no `node_modules` directory at or above the package holds.
    pub(crate) fn missing_dependencies(&self) -> Vec<String> {
        let is_there = |name: &str| {
            self.dir.ancestors().filter(|above| above.file_name().is_none_or(|dir| dir != "node_modules")).any(
                |above| {
                    let place = above.join("node_modules").join(name);
                    place.is_dir()
                },
            )
        };
        let is_plain =
            |name: &&String| !name.is_empty() && !Path::new(name.as_str()).is_absolute() && !name.contains("..");
        let wanted = self.dependencies.iter().filter(|name| !is_provided(name)).filter(is_plain);
        wanted.filter(|name| !is_there(name)).cloned().collect()
    }
}
