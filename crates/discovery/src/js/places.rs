//! The places where pi keeps extensions: a directory of its own, `settings.json` beside it, and the packages it installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jackfield_files::Home;
use jackfield_files::real_path;
use jackfield_protocol::{ExtensionId, Launch};

use super::super::level::Candidate;
use super::super::read;
use super::super::report::{Diagnostic, Extent, Found, Origin, Standing};
use super::entries::{Entry, Filter, Finder, Item};
use super::settings::{self, Settings, Source};
use super::{lower, package, patterns, reach};

/// The file that an installation leaves beside a package that came from a registry.
pub const RECORD: &str = ".jackfield-install.json";

/// What pi's places of one level hold.
#[derive(Debug, Default)]
pub struct Scan {
    /// In pi's order: what the settings name, what lies in the directory, what packages bring.
    pub(crate) found: Vec<Candidate>,
    /// The directories that were searched and exist.
    pub(crate) roots: Vec<PathBuf>,
    /// All files and directories that code comes from, and the settings.
    pub(crate) sources: Vec<PathBuf>,
}

/// pi's directory of this user: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`.
pub fn agent_dir(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let set = |name: &str| env.get(name).filter(|value| !value.is_empty());
    let home = set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from);
    match set("PI_CODING_AGENT_DIR") {
        Some(dir) => expanded(dir, home.as_deref()),
        None => home.map(|home| home.join(".pi").join("agent")),
    }
    .filter(|dir| dir.is_absolute())
}

/// `~` at the beginning means the user's home; without one it means nothing.
fn expanded(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix('~') {
        Some("") => home.map(Path::to_owned),
        Some(rest) if rest.starts_with('/') => home.map(|home| home.join(rest.trim_start_matches('/'))),
        _ => Some(PathBuf::from(path)),
    }
}

/// Searches `base`, which is `~/.pi/agent` or a project's `.pi`. Candidates are numbered from `first` on. A project cannot
/// name things in `home`, so it has none.
pub fn scan(base: &Path, home: Option<&Path>, origin: Origin, first: usize, diagnostics: &mut Vec<Diagnostic>) -> Scan {
    let Ok(base) = real_path(base) else { return Scan::default() };
    let settings = settings::read(&base.join("settings.json"), diagnostics);
    let directory = base.join("extensions");
    let mut places = Places { base, home, origin, finder: Finder { diagnostics }, seen: BTreeSet::new() };
    let mut scan = Scan::default();
    let named = places.named(&settings);
    let own = if directory.is_dir() {
        scan.roots.push(real_path(&directory).unwrap_or_else(|_| directory.clone()));
        let items = places.finder.discovered(&directory);
        let base = places.base.clone();
        let keeps = |item: &Item| patterns::keeps(item.file(), &settings.extensions, &base);
        items.into_iter().map(|item| (keeps(&item), item)).map(swap).collect()
    } else {
        Vec::new()
    };
    let packages = places.packages(&settings);
    for (item, wanted) in named.into_iter().chain(own).chain(packages) {
        if let Some(found) = places.found(item, wanted, settings.file.as_deref()) {
            // A number each keeps the order: what the settings name first comes first, whatever it is called.
            scan.found.push(Candidate { root: first + scan.found.len(), found });
        }
    }
    if !scan.found.is_empty() {
        scan.sources = sources(&scan, &places.base, settings.file);
    }
    scan
}

/// What the extensions consist of: directories whole, scripts with what they import, installed packages with all beside
/// them.
fn sources(scan: &Scan, base: &Path, settings: Option<PathBuf>) -> Vec<PathBuf> {
    let packages = base.join("npm");
    let mut sources: BTreeSet<PathBuf> = settings.into_iter().chain(scan.roots.iter().cloned()).collect();
    for Candidate { found, .. } in &scan.found {
        let entry = entry_of(found);
        if found.dir.starts_with(&packages) {
            sources.insert(packages.clone());
        } else if found.extent == Extent::Directory {
            sources.insert(found.dir.clone());
        }
        if let Some(entry) = entry.filter(|entry| found.extent == Extent::Entry || !entry.starts_with(&found.dir)) {
            sources.extend(reach::reached(&entry));
        }
    }
    let covered = |path: &PathBuf| path.ancestors().skip(1).any(|above| sources.contains(above));
    sources.iter().filter(|path| !covered(path)).cloned().collect()
}

/// The script of an extension that is one.
pub fn entry_of(found: &Found) -> Option<PathBuf> {
    match &found.manifest.launch {
        Launch::Js { entry } => Some(found.dir.join(entry)),
        Launch::Process { .. }
        | Launch::Python { .. }
        | Launch::Wasm { .. }
        | Launch::Mcp(_)
        | Launch::Unsupported { .. } => None,
    }
}

struct Places<'a> {
    base: PathBuf,
    home: Option<&'a Path>,
    origin: Origin,
    finder: Finder<'a>,
    /// Real paths, so that a second name for the same script is no second extension.
    seen: BTreeSet<PathBuf>,
}

impl Places<'_> {
    fn resolve(&mut self, path: &str, settings: Option<&Path>) -> Option<PathBuf> {
        let resolved = expanded(path.trim(), self.home).map(|path| self.base.join(path));
        let there = resolved.filter(|path| path.exists());
        if there.is_none() {
            let message = format!("`{path}` leads nowhere and is ignored");
            let about = settings.unwrap_or(&self.base).to_owned();
            self.finder.diagnostics.push(Diagnostic::warn(&about, message));
        }
        there
    }

    /// What `extensions` in the settings names.
    fn named(&mut self, settings: &Settings) -> Vec<(Item, bool)> {
        let is_pattern = |entry: &&String| patterns::is_override(entry) || patterns::is_glob(entry);
        let patterns: Vec<String> = settings.extensions.iter().filter(is_pattern).cloned().collect();
        let mut items = Vec::new();
        for entry in settings.extensions.iter().filter(|entry| !is_pattern(entry)) {
            if entry.starts_with("builtin:") {
                continue;
            }
            let Some(path) = self.resolve(entry, settings.file.as_deref()) else { continue };
            if path.is_dir() {
                items.extend(self.finder.discovered(&path));
            } else {
                items.extend(self.script(&path));
            }
        }
        let base = self.base.clone();
        items.into_iter().map(|item| (patterns::chooses(item.file(), &patterns, &base), item)).map(swap).collect()
    }

    fn script(&mut self, path: &Path) -> Option<Item> {
        if reach::is_script(path) {
            let real = real_path(path).unwrap_or_else(|_| path.to_owned());
            return Some(Item::Script(self.finder.of_file(&real)));
        }
        let message = format!("{} is ignored: it is no script ({})", path.display(), reach::ENDINGS.join(", "));
        self.finder.diagnostics.push(Diagnostic::warn(path, message));
        None
    }

    fn packages(&mut self, settings: &Settings) -> Vec<(Item, bool)> {
        let mut items = Vec::new();
        for (source, filter) in &settings.packages {
            items.extend(self.package(source, filter.as_ref(), settings.file.as_deref()));
        }
        items
    }

    fn package(&mut self, source: &Source, filter: Option<&Filter>, settings: Option<&Path>) -> Vec<(Item, bool)> {
        let about = settings.unwrap_or(&self.base).to_owned();
        let (dir, shown, advice) = match source {
            Source::Npm { name } => {
                let dir = self.base.join("npm").join("node_modules").join(name);
                (dir, format!("npm:{name}"), format!("`jackfield ext install npm:{name}` or `pi install npm:{name}`"))
            }
            Source::Git { host, path } => {
                let dir = self.base.join("git").join(host).join(path);
                (dir, format!("git:{host}/{path}"), format!("`pi install git:{host}/{path}`"))
            }
            Source::Local(path) => {
                let Some(path) = self.resolve(path, settings) else { return Vec::new() };
                if !path.is_dir() {
                    return self.script(&path).into_iter().map(|item| (item, true)).collect();
                }
                let shown = path.display().to_string();
                (path, shown, String::new())
            }
        };
        if !dir.is_dir() {
            let message = format!("package {shown} is not installed; run {advice}");
            self.finder.diagnostics.push(Diagnostic::warn(&about, message));
            return Vec::new();
        }
        if let Some(items) = self.finder.of_package(&dir, filter) {
            return items;
        }
        let items = self.finder.module(&dir);
        if items.is_none() {
            let message = format!("package {shown} holds no extension: no `pi.extensions`, no `extensions/`, no index");
            self.finder.diagnostics.push(Diagnostic::warn(&dir, message));
        }
        items.into_iter().flatten().map(|item| (item, true)).collect()
    }

    /// Reads an item, unless it was there before under any name.
    fn found(&mut self, item: Item, wanted: bool, settings: Option<&Path>) -> Option<Found> {
        let real = real_path(item.file()).unwrap_or_else(|_| item.file().to_owned());
        if !self.seen.insert(real) {
            return None;
        }
        let mut found = read_item(&item, self.origin, self.finder.diagnostics);
        if !wanted && found.is_active() {
            let file = settings.unwrap_or(&self.base).display().to_string();
            found.standing = Standing::Disabled { reason: format!("{file} leaves it out") };
        }
        Some(found)
    }
}

fn swap((wanted, item): (bool, Item)) -> (Item, bool) {
    (item, wanted)
}

/// Reads what stands for one extension. Scripts are known by their real paths, because that is where their imports lead
/// from.
fn read_item(item: &Item, origin: Origin, diagnostics: &mut Vec<Diagnostic>) -> Found {
    match item {
        Item::Manifest { dir, manifest } => read::found(dir, manifest, origin, diagnostics),
        Item::Script(entry) => {
            let file = real_path(&entry.file).unwrap_or_else(|_| entry.file.clone());
            let dir = match (entry.extent, file.parent()) {
                (Extent::Entry, Some(parent)) => parent.to_owned(),
                _ => real_path(&entry.dir).unwrap_or_else(|_| entry.dir.clone()),
            };
            // A loose script that is a link is what the link is called.
            let mut found = lower::found(&Entry { file, dir, ..entry.clone() }, origin, diagnostics);
            if entry.extent == Extent::Entry
                && entry.package.is_none()
                && let Some(id) =
                    entry.file.file_stem().and_then(|stem| ExtensionId::sanitized(&stem.to_string_lossy()))
                && id.as_str() != "index"
            {
                std::sync::Arc::make_mut(&mut found.manifest).id = id;
            }
            found
        }
    }
}

/// What a path on the command line means when it is not a manifest: a script, a package, or a directory with an index.
pub fn named_by_flag(path: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<Found>> {
    let mut finder = Finder { diagnostics };
    let items = if path.is_dir() {
        match finder.of_package(path, None) {
            Some(items) if !items.is_empty() => items.into_iter().map(|(item, _)| item).collect(),
            _ => finder.module(path)?,
        }
    } else if reach::is_script(path) {
        vec![Item::Script(finder.of_file(path))]
    } else {
        return None;
    };
    let found = items.iter().map(|item| read_item(item, Origin::Flag, diagnostics)).collect();
    Some(found)
}

/// Whether the package in `dir` says which of its scripts are extensions.
pub fn lists_extensions(dir: &Path) -> bool {
    let package = package::read(dir, &mut Vec::new());
    package.is_some_and(|package| package.extensions.is_some_and(|list| !list.is_empty()))
}

/// What the package in `dir` calls itself.
pub fn package_name(dir: &Path) -> Option<String> {
    package::read(dir, &mut Vec::new())?.name
}

/// The extensions of a package directory that lies among those of the host: one that lists them, or one that was installed
/// from a registry. Links stay as they are.
pub fn in_package_dir(dir: &Path, origin: Origin, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<Found>> {
    if !lists_extensions(dir) && !dir.join(RECORD).is_file() {
        return None;
    }
    let mut finder = Finder { diagnostics };
    let items = match finder.of_package(dir, None) {
        Some(items) if !items.is_empty() => items.into_iter().map(|(item, _)| item).collect(),
        _ => finder.module(dir)?,
    };
    let found = |item: &Item| match item {
        Item::Manifest { dir, manifest } => read::found(dir, manifest, origin, diagnostics),
        Item::Script(entry) => lower::found(entry, origin, diagnostics),
    };
    let found: Vec<Found> = items.iter().map(found).collect();
    (!found.is_empty()).then_some(found)
}

/// The directory of an installed package of the npm registry: the host's own, else pi's.
pub fn installed_package(name: &str, home: &Home, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let own = ExtensionId::sanitized(name).map(|id| home.extensions().join(id.as_str()));
    let pis = agent_dir(env).map(|agent| agent.join("npm").join("node_modules").join(name));
    own.into_iter()
        .chain(pis)
        .find(|dir| package::read(dir, &mut Vec::new()).is_some_and(|package| package.name.as_deref() == Some(name)))
}
