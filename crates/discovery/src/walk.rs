//! Walking a search directory: which directories hold a manifest, and what it says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jackfield_files::TEMPORARY_PREFIX;
use jackfield_files::real_path;

use super::loose::LooseRoot;
use super::read::{self, MANIFEST_NAMES};
use super::report::{Diagnostic, Found, Origin};
use super::{js, mcp, python, wasm};

/// The most entries that one search directory may have; a search path such as `/` must end.
const MAX_ENTRIES: usize = 100_000;

/// A directory to search.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    /// The directory as a canonical path.
    pub(crate) dir: PathBuf,
    /// How far below a manifest may lie: one for the directory itself.
    pub(crate) max_depth: usize,
    /// Whether the directory itself may be an extension.
    pub(crate) may_be_extension: bool,
    /// Whether children that are links to directories are extensions that the user linked.
    pub(crate) accepts_links: bool,
    pub(crate) follow_links: bool,
    pub(crate) ignore_dirs: Vec<String>,
}

/// Everything below one root.
pub(crate) struct Walk<'a> {
    root: &'a Root,
    origin: Origin,
    diagnostics: &'a mut Vec<Diagnostic>,
    found: Vec<Found>,
    entries: usize,
    /// Directories reached through links, to end loops.
    visited: BTreeSet<PathBuf>,
}

/// How a directory was reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    Plainly,
    /// Through a link; must be below the root in truth, too.
    ThroughLink,
    /// Through a link that the user made; may be anywhere.
    ThroughAcceptedLink,
}

impl<'a> Walk<'a> {
    /// What lies below `root`, sorted by path. Directories inside an extension are not searched: they are its own.
    pub(crate) fn of(root: &'a Root, origin: Origin, diagnostics: &'a mut Vec<Diagnostic>) -> Vec<Found> {
        let visited = BTreeSet::from([root.dir.clone()]);
        let mut walk = Self { root, origin, diagnostics, found: Vec::new(), entries: 0, visited };
        walk.directory(&root.dir, 1, Reached::Plainly);
        if walk.entries > MAX_ENTRIES {
            let message = format!("search stopped after {MAX_ENTRIES} entries; name a narrower search path");
            walk.diagnostics.push(Diagnostic::warn(&root.dir, message));
        }
        walk.found
    }

    fn directory(&mut self, dir: &Path, depth: usize, reached: Reached) {
        let listing = match fs::read_dir(dir) {
            Ok(listing) => listing,
            Err(error) => {
                let message = format!("cannot search {}: {error}", dir.display());
                self.diagnostics.push(Diagnostic::warn(dir, message));
                return;
            }
        };
        let mut children = Vec::new();
        let mut manifests = BTreeSet::new();
        let mut is_package = false;
        let mut servers = Vec::new();
        let mut components = Vec::new();
        for entry in listing.flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            is_package |= name == js::PACKAGE_JSON || name == js::RECORD;
            if let Some(at) = MANIFEST_NAMES.iter().position(|manifest| name == **manifest) {
                manifests.insert((at, kind.is_symlink()));
            } else if mcp::is_list(Path::new(&name)) && !kind.is_dir() {
                servers.push((name, kind.is_symlink()));
            } else if wasm::is_component(Path::new(&name)) && !kind.is_dir() {
                components.push(name);
            } else if kind.is_dir() || kind.is_symlink() {
                children.push((name, kind.is_symlink()));
            }
        }
        let is_root = depth == 1;
        if !manifests.is_empty() && (!is_root || self.root.may_be_extension) && self.candidate(dir, &manifests, reached)
        {
            return;
        }
        if is_package && manifests.is_empty() && (!is_root || self.root.may_be_extension) && self.package(dir, reached)
        {
            return;
        }
        // Beside a manifest they are the manifest's own.
        if manifests.is_empty() {
            servers.sort();
            servers.iter().for_each(|(name, is_link)| self.servers(&dir.join(name), *is_link, reached));
        }
        if is_root {
            let place = LooseRoot { root: dir, links_lead_out: self.root.accepts_links, origin: self.origin };
            self.found.extend(python::search(&place, self.diagnostics));
            self.found.extend(mcp::files::search(&place, self.diagnostics));
            // Components stand by themselves only where extensions are put; elsewhere they are what a build left.
            components.sort();
            components.iter().for_each(|name| self.component(&dir.join(name)));
        }
        if depth >= self.root.max_depth {
            return;
        }
        children.sort();
        for (name, is_link) in children {
            let ignored = name.to_str().is_some_and(|name| {
                name.starts_with(TEMPORARY_PREFIX) || self.root.ignore_dirs.iter().any(|ignored| ignored == name)
            });
            if ignored {
                continue;
            }
            let child = dir.join(&name);
            if !is_link {
                self.directory(&child, depth + 1, reached);
            } else if fs::metadata(&child).is_ok_and(|metadata| metadata.is_dir()) {
                self.link(&child, depth, is_root);
            }
        }
    }

    fn link(&mut self, link: &Path, depth: usize, is_direct_child: bool) {
        if is_direct_child && self.root.accepts_links {
            // A link back to where the search began would find everything twice.
            if real_path(link).is_ok_and(|target| !self.root.dir.starts_with(target)) {
                self.directory(link, depth + 1, Reached::ThroughAcceptedLink);
            }
            return;
        }
        if self.root.follow_links {
            // Each directory once: that ends loops, and a second name for the same extension is no second extension.
            if real_path(link).is_ok_and(|target| self.visited.insert(target)) {
                self.directory(link, depth + 1, Reached::ThroughLink);
            }
            return;
        }
        // Not followed. Someone who put an extension there by a link wants to know why it does not show.
        let manifest = MANIFEST_NAMES.iter().map(|name| link.join(name)).find(|manifest| manifest.is_file());
        if is_direct_child && let Some(manifest) = manifest {
            self.stays_inside(&manifest);
        }
    }

    /// Whether `manifest` is below the root when all links are resolved; says so if not.
    fn stays_inside(&mut self, manifest: &Path) -> bool {
        let inside = match real_path(manifest) {
            Ok(real) => real.starts_with(&self.root.dir),
            // A link to nowhere leads nowhere; reading it reports that.
            Err(_) => true,
        };
        if !inside {
            self.diagnostics.push(Diagnostic::error(manifest, "manifest path escapes search root via symlink"));
        }
        inside
    }

    /// Reads the package in `dir`. True if it brings extensions, so that what lies below belongs to them.
    fn package(&mut self, dir: &Path, reached: Reached) -> bool {
        let must_check = reached == Reached::ThroughLink || dir.join(js::PACKAGE_JSON).is_symlink();
        if must_check && !self.stays_inside(&dir.join(js::PACKAGE_JSON)) {
            return false;
        }
        let found = js::in_package_dir(dir, self.origin, self.diagnostics);
        let brings = found.is_some();
        self.found.extend(found.into_iter().flatten());
        brings
    }

    /// A component that lies among the extensions.
    fn component(&mut self, file: &Path) {
        let Ok(metadata) = file.symlink_metadata() else { return };
        let is_free = !metadata.is_symlink() || self.root.accepts_links;
        if !file.is_file() {
        } else if is_free || self.stays_inside(file) {
            self.found.push(wasm::found(file, self.origin));
        }
    }

    /// A file with MCP servers.
    fn servers(&mut self, file: &Path, is_link: bool, reached: Reached) {
        let must_check = match reached {
            Reached::Plainly => is_link && !self.root.accepts_links,
            Reached::ThroughLink => true,
            Reached::ThroughAcceptedLink => false,
        };
        if !must_check || self.stays_inside(file) {
            let found = mcp::in_file(file, self.origin, self.diagnostics);
            self.found.extend(found);
        }
    }

    /// Reads the manifest of `dir`. True if what lies below belongs to it.
    fn candidate(&mut self, dir: &Path, manifests: &BTreeSet<(usize, bool)>, reached: Reached) -> bool {
        let mut names = manifests.iter().filter_map(|(at, is_link)| Some((*MANIFEST_NAMES.get(*at)?, *is_link)));
        let Some((name, is_link)) = names.next() else { return false };
        let path = dir.join(name);
        let must_check = match reached {
            Reached::Plainly => is_link,
            Reached::ThroughLink => true,
            Reached::ThroughAcceptedLink => false,
        };
        if must_check && !self.stays_inside(&path) {
            return false;
        }
        for (other, _) in names {
            let message = format!("ignored: {} in the same directory comes first", path.display());
            self.diagnostics.push(Diagnostic::warn(&dir.join(other), message));
        }
        let found = read::found(dir, &path, self.origin, self.diagnostics);
        let owns = !matches!(found.standing, super::Standing::Invalid { .. });
        let servers = mcp::brought_by(&found, self.diagnostics);
        self.found.push(found);
        self.found.extend(servers);
        owns
    }
}
