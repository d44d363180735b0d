//! The library: Node's modules, the web's globals and pi's modules as our own JavaScript, embedded in the binary.

use std::borrow::Cow;
use std::path::PathBuf;

/// Specifier and text, in order of specifiers.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// pi's packages, which an extension gets from the host whatever lies in its `node_modules`.
const PACKAGES: [(&str, &str); 6] = [
    ("pi-coding-agent", "pi-coding-agent"),
    ("pi-tui", "pi-tui"),
    ("pi-ai", "pi-ai"),
    ("pi-agent-core", "pi-agent-core"),
    ("pi-agent", "pi-agent-core"),
    ("pi-agent-ai", "pi-ai"),
];

/// The scopes under which pi was published.
const SCOPES: [&str; 2] = ["@earendil-works/", "@mariozechner/"];

/// Where the library's text comes from.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub enum Library {
    /// From the binary.
    #[default]
    Embedded,
    /// From a folder, for work on the library itself; what is not there comes from the binary.
    Folder(PathBuf),
}

impl Library {
    /// The text of a module.
    pub(crate) fn text(&self, specifier: &str) -> Option<Cow<'static, str>> {
        let embedded = || embedded(specifier).map(Cow::Borrowed);
        match self {
            Self::Embedded => embedded(),
            Self::Folder(root) => {
                let name = match specifier.strip_prefix("node:") {
                    Some(module) => format!("node/{module}"),
                    None => specifier.strip_prefix("jackfield:")?.to_owned(),
                };
                if name.split('/').any(|part| part == "..") {
                    return None;
                }
                let own = std::fs::read_to_string(root.join(format!("{name}.js"))).ok().map(Cow::Owned);
                own.or_else(embedded)
            }
        }
    }

    /// Whether there is such a module.
    pub(crate) fn has(&self, specifier: &str) -> bool {
        match self {
            Self::Embedded => embedded(specifier).is_some(),
            Self::Folder(_) => self.text(specifier).is_some(),
        }
    }

    /// The modules that answer to `node:`, without that prefix.
    pub(crate) fn builtins(&self) -> Vec<&'static str> {
        EMBEDDED.iter().filter_map(|(name, _)| name.strip_prefix("node:")).collect()
    }

    /// The library module that an import of an extension means, if it means one.
    pub(crate) fn provided(&self, specifier: &str) -> Option<String> {
        if let Some(helper) = specifier.strip_prefix("@oxc-project/runtime/helpers/") {
            // What the compiler itself imports, for decorators.
            let name = format!("jackfield:helpers/{helper}");
            return self.has(&name).then_some(name);
        }
        if let Some(module) = specifier.strip_prefix("node:") {
            let name = format!("node:{module}");
            return self.has(&name).then_some(name);
        }
        let package = SCOPES.iter().find_map(|scope| specifier.strip_prefix(scope)).and_then(|rest| {
            PACKAGES.iter().find_map(|(name, ours)| {
                let tail = rest.strip_prefix(name)?;
                (tail.is_empty() || tail.starts_with('/')).then(|| format!("{ours}{tail}"))
            })
        });
        let typebox = ["typebox", "@sinclair/typebox"].iter().find_map(|name| {
            let tail = specifier.strip_prefix(name)?;
            (tail.is_empty() || tail.starts_with('/')).then(|| format!("typebox{tail}"))
        });
        if let Some(name) = package.or(typebox) {
            let name = format!("jackfield:pi/{}", name.trim_end_matches(".js"));
            return self.has(&name).then_some(name);
        }
        let name = format!("node:{specifier}");
        let is_bare = !specifier.starts_with(['.', '/', '#']) && !specifier.contains(':');
        (is_bare && self.has(&name)).then_some(name)
    }
}

fn embedded(specifier: &str) -> Option<&'static str> {
    let at = EMBEDDED.binary_search_by_key(&specifier, |(name, _)| name).ok()?;
    EMBEDDED.get(at).map(|(_, text)| *text)
}

/// Whether a resolved name is a library module and not a file.
pub(crate) fn is_library(name: &str) -> bool {
    name.starts_with("node:") || name.starts_with("jackfield:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_found() {
        for (name, text) in EMBEDDED {
            assert_eq!(embedded(name), Some(*text), "{name}");
        }
        assert_eq!(embedded("node:nothing"), None);
    }

    /// What a module imports is looked for only when it is used, so a wrong name would not show.
    #[test]
    fn modules_name_modules_that_exist() {
        let missing = |name: &str| name != "jackfield:host" && embedded(name).is_none();
        for (module, text) in EMBEDDED.iter().filter(|(name, _)| *name != "jackfield:boot") {
            let unit = crate::transform::transform(std::path::Path::new(module), text).expect("it is valid");
            assert!(!unit.is_async, "{module} awaits");
            for dep in unit.deps {
                assert!(!missing(&dep), "{module} imports {dep}");
            }
        }
        for name in embedded("jackfield:web/globals").expect("there").split('"') {
            assert!(!is_library(name) || !missing(name), "{name} is to have a global");
        }
    }
}
