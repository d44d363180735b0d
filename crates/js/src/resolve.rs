//! Which file an import means, by the rules of the loader that pi uses, and whether the extension may load it.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use oxc_resolver::{ResolveError, ResolveOptions, Resolver};

use crate::library::{Library, is_library};

/// How a module was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ask {
    Import,
    Require,
}

/// Resolves the imports of one extension.
pub(crate) struct Resolution {
    library: Library,
    /// For `import` and for `require`; made when a file is first looked for, because many extensions import nothing but
    /// what the host provides.
    resolvers: OnceCell<(Resolver, Resolver)>,
    root: PathBuf,
    inside: bool,
    seen: HashMap<(PathBuf, String, Ask), String>,
}

/// Endings that may be left out, in the order in which they are tried.
const ENDINGS: [&str; 11] = [".js", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".jsx", ".json", ".node", ".wasm"];

impl Resolution {
    /// For the extension that owns what lies below `root`. With `inside` it may name what is internal to the library.
    pub(crate) fn new(library: Library, root: PathBuf, inside: bool) -> Self {
        Self { library, resolvers: OnceCell::new(), root, inside, seen: HashMap::new() }
    }

    fn resolvers(&self) -> &(Resolver, Resolver) {
        self.resolvers.get_or_init(Self::made)
    }

    fn made() -> (Resolver, Resolver) {
        let own = |conditions: [&str; 2]| ResolveOptions {
            condition_names: conditions.iter().map(|name| (*name).to_owned()).collect(),
            extensions: ENDINGS.iter().map(|ending| (*ending).to_owned()).collect(),
            extension_alias: [
                (".js", vec![".js", ".ts", ".tsx"]),
                (".mjs", vec![".mjs", ".mts"]),
                (".cjs", vec![".cjs", ".cts"]),
                (".jsx", vec![".jsx", ".tsx"]),
            ]
            .into_iter()
            .map(|(from, to)| (from.to_owned(), to.into_iter().map(str::to_owned).collect()))
            .collect(),
            main_fields: vec!["main".to_owned()],
            main_files: vec!["index".to_owned()],
            ..ResolveOptions::default()
        };
        let import = Resolver::new(own(["node", "import"]));
        let require = import.clone_with_options(own(["node", "require"]));
        (import, require)
    }

    /// The library module or file that `specifier` means in `parent`.
    ///
    /// # Errors
    /// For people: what is missing, who asked for it and what would help.
    pub(crate) fn resolve(&mut self, specifier: &str, parent: &str, ask: Ask) -> Result<String, String> {
        if is_library(parent) {
            // The library names its own modules; only `jackfield:host` is not a file.
            return match self.library.provided(specifier) {
                Some(name) => Ok(name),
                None if specifier == "jackfield:host" || self.library.has(specifier) => Ok(specifier.to_owned()),
                None => Err(format!("Cannot find module '{specifier}' of the library, imported from {parent}")),
            };
        }
        if let Some(name) = self.library.provided(specifier)
            && (self.inside || !name.starts_with("node:internal/"))
        {
            return Ok(name);
        }
        if specifier.starts_with("jackfield:") {
            if self.inside && (specifier == "jackfield:host" || self.library.has(specifier)) {
                return Ok(specifier.to_owned());
            }
            return Err(format!("Cannot find module '{specifier}' imported from {parent}: it is internal to the host"));
        }
        if let Some(module) = specifier.strip_prefix("node:") {
            return Err(format!(
                "Cannot find module 'node:{module}' imported from {parent}: the host has no such module"
            ));
        }
        let folder = Path::new(parent).parent().unwrap_or(Path::new("/")).to_path_buf();
        let key = (folder, specifier.to_owned(), ask);
        if let Some(known) = self.seen.get(&key) {
            return Ok(known.clone());
        }
        let found = self.find(&key.0, specifier, ask).map_err(|error| self.explain(specifier, parent, &error))?;
        let found = found.to_str().ok_or_else(|| format!("{} is not a name in UTF-8", found.display()))?.to_owned();
        self.seen.insert(key, found.clone());
        Ok(found)
    }

    fn find(&self, folder: &Path, specifier: &str, ask: Ask) -> Result<PathBuf, ResolveError> {
        let specifier = specifier.strip_prefix("file://").unwrap_or(specifier);
        // A query makes no other file.
        let plain = match specifier.split_once('?') {
            Some((plain, _)) if specifier.starts_with(['.', '/']) => plain,
            _ => specifier,
        };
        let (import, require) = self.resolvers();
        let (first, second) = match ask {
            Ask::Import => (import, require),
            Ask::Require => (require, import),
        };
        match first.resolve(folder, plain) {
            Ok(found) => Ok(found.into_path_buf()),
            // A package that offers only the other kind is taken as it is.
            Err(error) => second.resolve(folder, plain).map(|found| found.into_path_buf()).map_err(|_| error),
        }
    }

    fn explain(&self, specifier: &str, parent: &str, error: &ResolveError) -> String {
        if let Some((scheme, _)) = specifier.split_once(':').filter(|(scheme, _)| !scheme.contains('/')) {
            return format!("Cannot import '{specifier}' from {parent}: there is no loader for `{scheme}:`");
        }
        let is_package = !specifier.starts_with(['.', '/', '#']);
        match error {
            ResolveError::NotFound(_) | ResolveError::MatchedAliasNotFound(..) if is_package => {
                let package: Vec<&str> =
                    specifier.splitn(3, '/').take(if specifier.starts_with('@') { 2 } else { 1 }).collect();
                let package = package.join("/");
                let root =
                    if self.root.is_dir() { self.root.as_path() } else { self.root.parent().unwrap_or(&self.root) };
                let root = root.display();
                format!(
                    "Cannot find module '{specifier}' imported from {parent}; `npm install {package}` in {root} would help"
                )
            }
            ResolveError::NotFound(_) => format!("Cannot find module '{specifier}' imported from {parent}"),
            other => format!("Cannot find module '{specifier}' imported from {parent}: {other}"),
        }
    }

    /// Whether loading this file needs no permission: it is the extension's own or a package that its folders hold.
    pub(crate) fn is_own(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
            || path.ancestors().any(|folder| {
                folder.file_name().is_some_and(|name| name == "node_modules")
                    && folder.parent().is_some_and(|above| self.root.starts_with(above))
            })
    }
}

/// What belongs to the extension whose factory is in `entry` and that was found in `dir`: its folder, or that of the nearest
/// `package.json`. A package inside of `node_modules` keeps to itself, a script in one of pi's folders does not own the
/// credentials that lie above it, and nothing owns the home directory of the user.
pub(crate) fn root_of(entry: &Path, dir: &Path, home: &Path) -> PathBuf {
    let folder = entry.parent().unwrap_or(Path::new("/"));
    let own = if entry.starts_with(dir) { dir } else { folder };
    if home.starts_with(own) {
        return entry.to_path_buf();
    }
    if entry.components().any(|part| part.as_os_str() == ".pi") {
        return own.to_path_buf();
    }
    for above in folder.ancestors().take(4) {
        if above.file_name().is_some_and(|name| name == "node_modules") || home.starts_with(above) {
            break;
        }
        if above.join("package.json").is_file() {
            return if above.starts_with(own) { own } else { above }.to_path_buf();
        }
    }
    own.to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_owns_its_folder_and_not_what_lies_around_it() {
        let place = tempfile::tempdir().expect("a folder");
        let home = place.path().canonicalize().expect("a path");
        let file = |name: &str| {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(&path, "{}").expect("written");
            path
        };
        for name in ["package.json", ".pi/agent/package.json", "work/pkg/package.json"] {
            file(name);
        }
        let own = |entry: &str, dir: &str| {
            let root = root_of(&file(entry), &home.join(dir), &home);
            root.strip_prefix(&home).expect("below the home").to_str().expect("text").to_owned()
        };
        assert_eq!(own("loose.ts", ""), "loose.ts");
        assert_eq!(own(".pi/agent/extensions/a.ts", ".pi/agent/extensions"), ".pi/agent/extensions");
        assert_eq!(own(".pi/agent/extensions/b/src/i.ts", ".pi/agent/extensions/b"), ".pi/agent/extensions/b");
        assert_eq!(own("work/pkg/src/i.ts", "work/pkg/src"), "work/pkg");
        assert_eq!(own("work/pkg/src/i.ts", "work/pkg"), "work/pkg");
        assert_eq!(own("work/alone/i.ts", "work/alone"), "work/alone");
    }
}
