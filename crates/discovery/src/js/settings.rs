//! pi's `settings.json`, as far as it names extensions.

use std::path::{Path, PathBuf};

use jackfield_files::{self as files, ReadError};
use serde_json::Value;

use super::super::parse;
use super::super::report::Diagnostic;
use super::entries::Filter;
use super::package::MAX_LISTED;

/// What one file says.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The file, if there is one.
    pub(super) file: Option<PathBuf>,
    pub(super) extensions: Vec<String>,
    pub(super) packages: Vec<(Source, Option<Filter>)>,
}

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A package of the npm registry.
    Npm { name: String },
    /// A repository: host and path.
    Git { host: String, path: String },
    /// A path.
    Local(String),
}

impl Source {
    /// Reads a source as pi writes it. Nothing for one that would lead out of the place where packages are.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(spec) = text.strip_prefix("npm:") {
            let name = npm_name(spec.trim())?;
            return Some(Self::Npm { name: name.to_owned() });
        }
        let (prefixed, address) = match text.strip_prefix("git:") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let has_scheme = ["https://", "http://", "ssh://", "git://"].iter().any(|scheme| address.starts_with(scheme));
        if !prefixed && !has_scheme {
            return (!text.is_empty()).then(|| Self::Local(text.to_owned()));
        }
        let (host, path) = if let Some(rest) = address.strip_prefix("git@") {
            rest.split_once(':')?
        } else {
            let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
            let rest = rest.split_once('@').filter(|(user, _)| !user.contains('/')).map_or(rest, |(_, rest)| rest);
            rest.split_once('/')?
        };
        let host = host.split(':').next().unwrap_or(host);
        // A reference after `@`, or after `#`, names a commit and not another place.
        let path = path.split(['@', '#']).next().unwrap_or(path);
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let is_plain =
            |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', '\0', '%']);
        let fits = is_plain(host) && path.split('/').all(is_plain) && path.contains('/');
        fits.then(|| Self::Git { host: host.to_owned(), path: path.to_owned() })
    }
}

/// The name in `name@version`, if it is one that npm accepts as a path below `node_modules`.
pub fn npm_name(spec: &str) -> Option<&str> {
    let at = spec.char_indices().skip(1).find(|(_, c)| *c == '@').map_or(spec.len(), |(at, _)| at);
    let name = spec.get(..at)?;
    let bare = match name.strip_prefix('@') {
        Some(scoped) => {
            let (scope, bare) = scoped.split_once('/')?;
            is_npm_word(scope).then_some(bare)?
        }
        None => name,
    };
    is_npm_word(bare).then_some(name)
}

fn is_npm_word(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(['.', '-'])
        && word.len() <= 214
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '~'))
}

/// Reads `file`. What is wrong with it goes to `diagnostics`, and the rest of it counts.
pub(super) fn read(file: &Path, diagnostics: &mut Vec<Diagnostic>) -> Settings {
    let text = match files::read_text(file, files::MAX_TEXT) {
        Ok(text) => text,
        Err(ReadError::Missing) => return Settings::default(),
        Err(error) => {
            diagnostics.push(Diagnostic::warn(file, format!("pi's settings are ignored: {error}")));
            return Settings { file: Some(file.to_owned()), ..Settings::default() };
        }
    };
    let mut warn = |message: String| diagnostics.push(Diagnostic::warn(file, message));
    let mut settings = Settings { file: Some(file.to_owned()), ..Settings::default() };
    let object = match serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(object)) => object,
        Ok(other) => {
            warn(format!("pi's settings are ignored: expected an object, found {}", parse::kind(&other)));
            return settings;
        }
        Err(error) => {
            warn(format!("pi's settings are ignored: {error}"));
            return settings;
        }
    };
    if let Some(listed) = object.get("extensions") {
        match listed.as_array() {
            Some(list) => {
                settings.extensions =
                    list.iter().filter_map(Value::as_str).take(MAX_LISTED).map(str::to_owned).collect();
                if settings.extensions.len() < list.len() {
                    warn(format!("of `extensions` only the first {MAX_LISTED} strings are used"));
                }
            }
            None => warn("`extensions` is ignored: it is not a list of paths".to_owned()),
        }
    }
    if let Some(listed) = object.get("packages") {
        match listed.as_array() {
            Some(list) => {
                for (index, value) in list.iter().take(MAX_LISTED).enumerate() {
                    match package(value) {
                        Some(package) => settings.packages.push(package),
                        None => warn(format!("packages[{index}] is ignored: it names no source that can be used")),
                    }
                }
            }
            None => warn("`packages` is ignored: it is not a list".to_owned()),
        }
    }
    settings
}

fn package(value: &Value) -> Option<(Source, Option<Filter>)> {
    if let Some(text) = value.as_str() {
        return Some((Source::parse(text)?, None));
    }
    let source = Source::parse(value.get("source")?.as_str()?)?;
    let patterns = value
        .get("extensions")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).take(MAX_LISTED).map(str::to_owned).collect());
    let nothing_by_itself = value.get("autoload").and_then(Value::as_bool) == Some(false);
    Some((source, Some(Filter { patterns, nothing_by_itself })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_as_pi_writes_them() {
        let git = |host: &str, path: &str| Some(Source::Git { host: host.to_owned(), path: path.to_owned() });
        let npm = |name: &str| Some(Source::Npm { name: name.to_owned() });
        let local = |path: &str| Some(Source::Local(path.to_owned()));
        let cases = [
            ("npm:foo", npm("foo")),
            ("npm:foo@1.2.3", npm("foo")),
            ("npm:@a/b@^1", npm("@a/b")),
            ("npm:../x", None),
            ("npm:@a/../x", None),
            ("npm:", None),
            ("npm:@a", None),
            ("git:h.org/a/b@v1", git("h.org", "a/b")),
            ("git:git@h.org:a/b.git", git("h.org", "a/b")),
            ("https://h.org/a/b.git", git("h.org", "a/b")),
            ("ssh://git@h.org:22/a/b#main", git("h.org", "a/b")),
            ("git:h.org/../../x", None),
            ("git:h.org/a", None),
            ("./x", local("./x")),
            ("x/y", local("x/y")),
            ("", None),
        ];
        for (text, source) in cases {
            assert_eq!(Source::parse(text), source, "{text}");
        }
    }
}
