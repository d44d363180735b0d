//! `extensions.yaml`: where to look, and what not to run. Each file speaks for its own level only: a project cannot switch
//! off what the user installed.

use std::path::{Path, PathBuf};

use jackfield_files::{self as files, ReadError};
use serde::Deserialize;
use serde_yaml_ng::Value;

use super::report::Diagnostic;

/// Directories that never hold extensions of their own.
pub const IGNORED_DIRS: [&str; 5] = ["target", ".git", "node_modules", "dist", ".build"];

const DEFAULT_DEPTH: u64 = 3;
const MAX_DEPTH: u64 = 64;
const MAX_SEARCH_PATHS: usize = 64;
const MAX_DEBOUNCE_MS: u64 = 60_000;

/// What one settings file says, with the defaults where it is silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    pub(crate) enabled: bool,
    /// `None` when the file does not say.
    pub search_paths: Option<Vec<String>>,
    pub(crate) ignore_dirs: Vec<String>,
    pub(crate) disabled: Vec<String>,
    pub(crate) allowlist: Vec<String>,
    pub(crate) max_depth: usize,
    pub(crate) follow_links: bool,
    pub(crate) watch: Option<bool>,
    pub(crate) debounce_ms: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            file: None,
            enabled: true,
            search_paths: None,
            ignore_dirs: IGNORED_DIRS.map(str::to_owned).to_vec(),
            disabled: Vec::new(),
            allowlist: Vec::new(),
            max_depth: DEFAULT_DEPTH as usize,
            follow_links: false,
            watch: None,
            debounce_ms: None,
        }
    }
}

#[derive(Default, Deserialize)]
struct Outer {
    extensions: Option<Raw>,
}

#[derive(Default, Deserialize)]
struct Raw {
    enabled: Option<bool>,
    search_paths: Option<Vec<String>>,
    ignore_dirs: Option<Vec<String>>,
    disabled: Option<Vec<String>>,
    allowlist: Option<Vec<String>>,
    max_depth: Option<u64>,
    follow_links: Option<bool>,
    watch: Option<RawWatch>,
}

#[derive(Default, Deserialize)]
struct RawWatch {
    enabled: Option<bool>,
    debounce_ms: Option<u64>,
}

const KEYS: [&str; 8] =
    ["enabled", "search_paths", "ignore_dirs", "disabled", "allowlist", "max_depth", "follow_links", "watch"];

/// Reads the first of `files` that exists. What is wrong with it goes to `diagnostics`, and the defaults hold.
pub fn read(files: &[PathBuf], diagnostics: &mut Vec<Diagnostic>) -> Settings {
    let mut chosen: Option<Settings> = None;
    for file in files {
        if let Some(Settings { file: Some(first), .. }) = &chosen {
            if file.exists() {
                let message = format!("ignored: {} comes first", first.display());
                diagnostics.push(Diagnostic::warn(file, message));
            }
            continue;
        }
        let text = match files::read_text(file, files::MAX_TEXT) {
            Ok(text) => text,
            Err(ReadError::Missing) => continue,
            Err(error) => {
                let message = format!("cannot read {}: {error}; the defaults are used", file.display());
                diagnostics.push(Diagnostic::error(file, message));
                chosen = Some(Settings { file: Some(file.clone()), ..Settings::default() });
                continue;
            }
        };
        let settings = parse(&text, file, diagnostics).unwrap_or_else(|message| {
            diagnostics.push(Diagnostic::error(file, format!("{message}; the defaults are used")));
            Settings::default()
        });
        chosen = Some(Settings { file: Some(file.clone()), ..settings });
    }
    chosen.unwrap_or_default()
}

/// Reads a document and says with file and line what is wrong with it.
pub fn document(text: &str, file: &Path) -> Result<Value, String> {
    // First within bounds: what follows reads aliases as often as they are named.
    super::yaml::read(text).map_err(|error| placed(file, &error))?;
    serde_yaml_ng::from_str(text).map_err(|error| placed(file, &error))
}

pub(crate) fn placed(file: &Path, error: &serde_yaml_ng::Error) -> String {
    match error.location() {
        Some(at) => format!("{}:{}: {error}", file.display(), at.line()),
        None => format!("{}:1: {error}", file.display()),
    }
}

fn parse(text: &str, file: &Path, diagnostics: &mut Vec<Diagnostic>) -> Result<Settings, String> {
    let value = document(text, file)?;
    note_unknown_keys(&value, file, diagnostics);
    let raw = match &value {
        Value::Null => Raw::default(),
        _ => {
            serde_yaml_ng::from_str::<Outer>(text).map_err(|error| placed(file, &error))?.extensions.unwrap_or_default()
        }
    };
    let defaults = Settings::default();
    let mut bounded = |key: &str, value: u64, least: u64, most: u64| {
        let kept = value.clamp(least, most);
        if kept != value {
            let message = format!("{key}: {value} is outside {least} to {most}; {kept} is used");
            diagnostics.push(Diagnostic::warn(file, message));
        }
        kept
    };
    let max_depth = raw.max_depth.map_or(DEFAULT_DEPTH, |depth| bounded("max_depth", depth, 1, MAX_DEPTH));
    let watch = raw.watch.unwrap_or_default();
    let debounce_ms = watch.debounce_ms.map(|ms| bounded("watch.debounce_ms", ms, 1, MAX_DEBOUNCE_MS));
    let search_paths = raw.search_paths.map(|mut paths| {
        if paths.len() > MAX_SEARCH_PATHS {
            let message = format!("only the first {MAX_SEARCH_PATHS} of {} search paths are used", paths.len());
            diagnostics.push(Diagnostic::warn(file, message));
            paths.truncate(MAX_SEARCH_PATHS);
        }
        paths
    });
    Ok(Settings {
        file: None,
        enabled: raw.enabled.unwrap_or(true),
        search_paths,
        ignore_dirs: raw.ignore_dirs.unwrap_or(defaults.ignore_dirs),
        disabled: raw.disabled.unwrap_or_default(),
        allowlist: raw.allowlist.unwrap_or_default(),
        max_depth: usize::try_from(max_depth).unwrap_or(defaults.max_depth),
        follow_links: raw.follow_links.unwrap_or(false),
        watch: watch.enabled,
        debounce_ms,
    })
}

fn note_unknown_keys(value: &Value, file: &Path, diagnostics: &mut Vec<Diagnostic>) {
    let mut note = |mapping: &Value, place: &str, known: &[&str]| {
        let Value::Mapping(mapping) = mapping else { return };
        for key in mapping.keys() {
            let name = match key {
                Value::String(name) if known.contains(&name.as_str()) => continue,
                Value::String(name) => name.clone(),
                other => serde_yaml_ng::to_string(other).unwrap_or_default().trim().to_owned(),
            };
            let hint =
                if place.is_empty() && KEYS.contains(&name.as_str()) { "; it belongs below `extensions:`" } else { "" };
            diagnostics.push(Diagnostic::warn(file, format!("unknown key `{place}{name}` is ignored{hint}")));
        }
    };
    note(value, "", &["extensions"]);
    if let Some(extensions) = value.get("extensions") {
        note(extensions, "extensions.", &KEYS);
        if let Some(watch) = extensions.get("watch") {
            note(watch, "extensions.watch.", &["enabled", "debounce_ms"]);
        }
    }
}
