//! Which scripts of a directory or a package are extensions.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use jackfield_files::real_path;

use super::super::read::MANIFEST_NAMES;
use super::super::report::{Diagnostic, Extent};
use super::ignored::Ignored;
use super::package::{self, Package};
use super::{patterns, reach};

/// The most children of one directory that are looked at.
const MAX_CHILDREN: usize = 10_000;

/// A package may list a directory that holds packages; it ends here.
const MAX_NESTING: usize = 3;

/// The conventional directory of a package that lists nothing.
const CONVENTIONAL: &str = "extensions";
const OTHER_RESOURCES: [&str; 3] = ["skills", "prompts", "themes"];

/// A script that is an extension.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) file: PathBuf,
    /// The directory that it belongs to.
    pub(crate) dir: PathBuf,
    /// The package that speaks for it.
    pub(crate) package: Option<Rc<Package>>,
    /// Whether the package has others.
    pub(crate) several: bool,
    pub(crate) extent: Extent,
}

/// What stands for one extension.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Script(Entry),
    /// A directory with a manifest of its own.
    Manifest {
        dir: PathBuf,
        manifest: PathBuf,
    },
}

impl Item {
    /// The file that the patterns of settings speak of.
    pub(super) fn file(&self) -> &Path {
        match self {
            Self::Script(entry) => &entry.file,
            Self::Manifest { manifest, .. } => manifest,
        }
    }
}

/// Which extensions of a package its user wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) patterns: Option<Vec<String>>,
    /// Nothing loads that no pattern names.
    pub(super) nothing_by_itself: bool,
}

/// Looks at directories and notes what it saw.
pub(crate) struct Finder<'a> {
    pub(crate) diagnostics: &'a mut Vec<Diagnostic>,
}

impl Finder<'_> {
    /// A script that someone named: part of the package that lists it, or a thing of its own.
    pub(crate) fn of_file(&mut self, file: &Path) -> Entry {
        let dir = file.parent().unwrap_or(Path::new("/")).to_owned();
        let mut beside = None;
        for (level, above) in dir.ancestors().take(4).enumerate() {
            let Some(package) = package::read(above, self.diagnostics).map(Rc::new) else { continue };
            let listed = self.listed(&package, 0);
            if listed.iter().any(|script| same(script, file)) {
                let several = listed.len() > 1;
                let extent = Extent::Directory;
                return Entry { file: file.to_owned(), dir: above.to_owned(), package: Some(package), several, extent };
            }
            if level == 0 {
                beside = Some(package);
            }
            break;
        }
        Entry { file: file.to_owned(), dir, package: beside, several: false, extent: Extent::Entry }
    }

    /// What a directory is by itself: a manifest, the list of its package, or its index.
    pub(crate) fn own(&mut self, dir: &Path) -> Option<Vec<Item>> {
        self.own_at(dir, 0)
    }

    fn own_at(&mut self, dir: &Path, nesting: usize) -> Option<Vec<Item>> {
        if let Some(manifest) = MANIFEST_NAMES.iter().map(|name| dir.join(name)).find(|path| path.is_file()) {
            return Some(vec![Item::Manifest { dir: dir.to_owned(), manifest }]);
        }
        let package = package::read(dir, self.diagnostics).map(Rc::new);
        if let Some(package) = package.as_ref().filter(|package| has_list(package)) {
            let scripts = self.listed(package, nesting);
            if !scripts.is_empty() {
                return Some(of_package(scripts, package));
            }
            self.note_nothing_listed(package);
        }
        let index = ["index.ts", "index.js"].iter().map(|name| dir.join(name)).find(|path| path.is_file())?;
        Some(vec![Item::Script(Entry {
            file: index,
            dir: dir.to_owned(),
            package,
            several: false,
            extent: Extent::Directory,
        })])
    }

    /// The extensions of a directory of extensions: what it is by itself, else each script and each directory that is one.
    pub(crate) fn discovered(&mut self, dir: &Path) -> Vec<Item> {
        self.discovered_at(dir, 0)
    }

    fn discovered_at(&mut self, dir: &Path, nesting: usize) -> Vec<Item> {
        if nesting > MAX_NESTING {
            return Vec::new();
        }
        if let Some(own) = self.own_at(dir, nesting) {
            return own;
        }
        let mut names: Vec<_> = match fs::read_dir(dir) {
            Ok(listing) => listing.flatten().take(MAX_CHILDREN).map(|entry| entry.file_name()).collect(),
            Err(_) => return Vec::new(),
        };
        names.sort();
        let ignored = Ignored::of(dir);
        let mut items = Vec::new();
        for name in names {
            let text = name.to_string_lossy();
            if text.starts_with('.') || text == "node_modules" {
                continue;
            }
            let path = dir.join(&name);
            // Links are followed, also those that lead to nothing.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if ignored.covers(&text, metadata.is_dir()) {
                continue;
            }
            if metadata.is_dir() {
                items.extend(self.own_at(&path, nesting + 1).unwrap_or_default());
            } else if metadata.is_file() && is_discoverable(&text) {
                let extent = Extent::Entry;
                let dir = dir.to_owned();
                items.push(Item::Script(Entry { file: path, dir, package: None, several: false, extent }));
            }
        }
        items
    }

    /// The extensions of a package with whether its user wants them; nothing when it is no package at all.
    pub(super) fn of_package(&mut self, dir: &Path, filter: Option<&Filter>) -> Option<Vec<(Item, bool)>> {
        if let Some(manifest) = MANIFEST_NAMES.iter().map(|name| dir.join(name)).find(|path| path.is_file()) {
            return Some(vec![(Item::Manifest { dir: dir.to_owned(), manifest }, true)]);
        }
        let package = package::read(dir, self.diagnostics).map(Rc::new);
        let lists = package.as_ref().is_some_and(|package| package.lists_resources);
        let conventional = dir.join(CONVENTIONAL);
        let is_package = lists
            || filter.is_some()
            || conventional.is_dir()
            || OTHER_RESOURCES.iter().any(|name| dir.join(name).is_dir());
        if !is_package {
            return None;
        }
        let items = match &package {
            Some(package) if has_list(package) => {
                let scripts = self.listed(package, 0);
                if scripts.is_empty() {
                    self.note_nothing_listed(package);
                }
                of_package(scripts, package)
            }
            // A package that lists skills alone has no extensions.
            Some(package) if package.lists_resources && (package.extensions.is_some() || filter.is_none()) => {
                Vec::new()
            }
            _ => self.conventional(&conventional, dir, package.as_ref()),
        };
        Some(match filter {
            None | Some(Filter { patterns: None, nothing_by_itself: false }) => {
                items.into_iter().map(|item| (item, true)).collect()
            }
            Some(Filter { patterns, nothing_by_itself: true }) => {
                let patterns = patterns.as_deref().unwrap_or_default();
                let word = |item: Item| Some((patterns::last_word(item.file(), patterns, dir)?, item));
                items.into_iter().filter_map(word).map(|(wanted, item)| (item, wanted)).collect()
            }
            Some(Filter { patterns: Some(patterns), .. }) => {
                let wanted = |item: &Item| !patterns.is_empty() && patterns::chooses(item.file(), patterns, dir);
                items.into_iter().map(|item| (wanted(&item), item)).map(|(wanted, item)| (item, wanted)).collect()
            }
        })
    }

    /// What a directory that is no package means as a module: its index, or the main script of its package.
    pub(super) fn module(&mut self, dir: &Path) -> Option<Vec<Item>> {
        self.own(dir).or_else(|| {
            let package = Rc::new(package::read(dir, self.diagnostics)?);
            let file = dir.join(package.main.as_deref()?);
            (file.is_file() && reach::is_script(&file)).then(|| of_package(vec![file], &package))
        })
    }

    fn conventional(&mut self, conventional: &Path, dir: &Path, package: Option<&Rc<Package>>) -> Vec<Item> {
        if !conventional.is_dir() {
            return Vec::new();
        }
        let found = self.discovered(conventional);
        let several = found.len() > 1;
        let belongs = |item: Item| match (item, package) {
            (Item::Script(entry), Some(package)) => Item::Script(Entry {
                dir: dir.to_owned(),
                package: Some(Rc::clone(package)),
                several,
                extent: Extent::Directory,
                ..entry
            }),
            (item, _) => item,
        };
        found.into_iter().map(belongs).collect()
    }

    /// The scripts that the package's list stands for.
    fn listed(&mut self, package: &Package, nesting: usize) -> Vec<PathBuf> {
        let list = package.extensions.as_deref().unwrap_or_default();
        let mut scripts: Vec<PathBuf> = Vec::new();
        for entry in list.iter().filter(|entry| !patterns::is_override(entry)) {
            let named = package.dir.join(entry.strip_prefix("./").unwrap_or(entry));
            let places = if patterns::is_glob(entry) { patterns::expand(entry, &package.dir) } else { vec![named] };
            for place in places {
                match fs::metadata(&place) {
                    Ok(metadata) if metadata.is_dir() && !same(&place, &package.dir) => {
                        let inside = self.discovered_at(&place, nesting + 1);
                        scripts.extend(inside.into_iter().filter_map(|item| match item {
                            Item::Script(entry) => Some(entry.file),
                            Item::Manifest { .. } => None,
                        }));
                    }
                    Ok(metadata) if metadata.is_file() && reach::is_script(&place) => scripts.push(place),
                    _ => {}
                }
            }
        }
        scripts.retain(|script| patterns::keeps(script, list, &package.dir));
        let mut seen = Vec::new();
        scripts.retain(|script| {
            let real = real_path(script).unwrap_or_else(|_| script.clone());
            let is_new = !seen.contains(&real);
            seen.push(real);
            is_new
        });
        scripts
    }

    fn note_nothing_listed(&mut self, package: &Package) {
        let list = package.extensions.as_deref().unwrap_or_default().join(", ");
        let message = format!("`pi.extensions` names no script that is there: {list}; was the package built?");
        self.diagnostics.push(Diagnostic::warn(&package.file, message));
    }
}

fn has_list(package: &Package) -> bool {
    package.extensions.as_ref().is_some_and(|list| !list.is_empty())
}

fn of_package(scripts: Vec<PathBuf>, package: &Rc<Package>) -> Vec<Item> {
    let several = scripts.len() > 1;
    let item = |file| {
        Item::Script(Entry {
            file,
            dir: package.dir.clone(),
            package: Some(Rc::clone(package)),
            several,
            extent: Extent::Directory,
        })
    };
    scripts.into_iter().map(item).collect()
}

/// Only these two endings are looked for; others must be named. Declarations are no code.
fn is_discoverable(name: &str) -> bool {
    (name.ends_with(".ts") || name.ends_with(".js")) && !name.ends_with(".d.ts")
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((real_path(a), real_path(b)), (Ok(a), Ok(b)) if a == b)
}
