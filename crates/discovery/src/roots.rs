//! Which directories are searched for each level.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jackfield_files::Home;
use jackfield_files::real_path;

use super::level::Candidate;
use super::report::{Diagnostic, Origin};
use super::settings::{self, Settings};
use super::walk::{Root, Walk};
use super::{js, mcp};

/// Extensions right below the directory.
const ONE_LEVEL: usize = 2;

/// The user's own level.
pub struct Global {
    pub roots: Vec<Root>,
    pub settings: Settings,
    /// pi's own places.
    pub pi: js::Scan,
    /// MCP servers in the host's own directory.
    pub servers: Vec<Candidate>,
}

/// What a project holds.
pub struct ProjectScan {
    pub(crate) settings: Settings,
    pub(crate) roots: Vec<Root>,
    /// Those of pi's places, too.
    pub(crate) found: Vec<Candidate>,
    /// pi's places that were searched, and all that code in them comes from.
    pub pi_roots: Vec<PathBuf>,
    pi_sources: Vec<PathBuf>,
    /// Files with MCP servers in the project's own directory.
    server_files: Vec<PathBuf>,
}

/// A directory to search, before anyone has looked whether it is there.
struct Wanted {
    path: PathBuf,
    max_depth: usize,
    may_be_extension: bool,
    accepts_links: bool,
    /// Someone wrote it down, so its absence is worth a word.
    named: bool,
}

/// The user's search directories.
pub fn global(home: &Home, env: &BTreeMap<String, String>, diagnostics: &mut Vec<Diagnostic>) -> Global {
    let settings = settings::read(&[home.extensions_yaml()], diagnostics);
    let mut wanted = vec![Wanted {
        path: home.extensions(),
        max_depth: settings.max_depth.max(ONE_LEVEL),
        may_be_extension: false,
        accepts_links: true,
        named: false,
    }];
    if let Some(zot) = env.get("ZOT_HOME").filter(|zot| !zot.is_empty()) {
        wanted.push(Wanted {
            path: Path::new(zot).join("extensions"),
            max_depth: ONE_LEVEL,
            may_be_extension: false,
            accepts_links: true,
            named: false,
        });
    }
    for path in settings.search_paths.iter().flatten() {
        wanted.push(Wanted {
            path: home.root().join(path),
            max_depth: settings.max_depth,
            may_be_extension: true,
            accepts_links: false,
            named: true,
        });
    }
    let roots = existing(wanted, &settings, &BTreeSet::new(), diagnostics);
    let pi = match js::agent_dir(env) {
        Some(agent) => {
            let home = env.get("HOME").map(Path::new);
            js::scan(&agent, home, Origin::Global, roots.len(), diagnostics)
        }
        None => js::Scan::default(),
    };
    // After pi's places, so that what was found in directories comes first.
    let at = roots.len() + pi.roots.len();
    let servers = mcp::in_dir(home.root(), Origin::Global, diagnostics);
    let servers = servers.into_iter().map(|found| Candidate { root: at, found }).collect();
    Global { roots, settings, pi, servers }
}

impl ProjectScan {
    /// Searches `project`. Directories that are also the user's own are the user's.
    pub fn of(project: &Path, home: &Home, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let project = std::path::absolute(project).unwrap_or_else(|_| project.to_owned());
        let files = [project.join("extensions.yaml"), project.join("config").join("extensions.yaml")];
        let users_own: BTreeSet<PathBuf> =
            [home.extensions(), home.extensions_yaml()].into_iter().filter_map(|path| real_path(&path).ok()).collect();
        let files: Vec<PathBuf> =
            files.into_iter().filter(|file| real_path(file).map_or(true, |file| !users_own.contains(&file))).collect();
        let settings = settings::read(&files, diagnostics);
        let mut wanted = Vec::new();
        for folder in [".jackfield", ".zot"] {
            wanted.push(Wanted {
                path: project.join(folder).join("extensions"),
                max_depth: ONE_LEVEL,
                may_be_extension: false,
                accepts_links: false,
                named: false,
            });
        }
        let default = ["./extensions".to_owned()];
        let named = settings.search_paths.is_some();
        for path in settings.search_paths.as_deref().unwrap_or(&default) {
            wanted.push(Wanted {
                path: project.join(path),
                max_depth: settings.max_depth,
                may_be_extension: true,
                accepts_links: false,
                named,
            });
        }
        let roots = existing(wanted, &settings, &users_own, diagnostics);
        let mut found = candidates(&roots, Origin::Project, diagnostics);
        let pi = js::scan(&project.join(".pi"), None, Origin::Project, roots.len(), diagnostics);
        found.extend(pi.found);
        let at = roots.len() + pi.roots.len();
        let servers = mcp::in_dir(&project, Origin::Project, diagnostics);
        let mut server_files: Vec<PathBuf> = servers.iter().map(|found| found.manifest_path.clone()).collect();
        server_files.dedup();
        found.extend(servers.into_iter().map(|found| Candidate { root: at, found }));
        Self { settings, roots, found, pi_roots: pi.roots, pi_sources: pi.sources, server_files }
    }

    /// As [`Self::of`], for whoever wants neither diagnostics nor notes.
    pub fn of_unnoted(project: &Path, home: &Home) -> Self {
        Self::of(project, home, &mut Vec::new())
    }

    /// What a person vouches for by trusting the project: the settings, every search directory that holds an extension, and
    /// whatever else its scripts come from. Nothing, if there is no extension.
    pub fn vouched_for(&self) -> Vec<PathBuf> {
        if self.found.is_empty() {
            return Vec::new();
        }
        let holding: BTreeSet<usize> = self.found.iter().map(|candidate| candidate.root).collect();
        let dirs = holding.into_iter().filter_map(|at| self.roots.get(at)).map(|root| root.dir.clone());
        let more = self.pi_sources.iter().chain(&self.server_files).cloned();
        dirs.chain(self.settings.file.clone()).chain(more).collect()
    }
}

/// Those of `wanted` that are there, each once.
fn existing(
    wanted: Vec<Wanted>,
    settings: &Settings,
    except: &BTreeSet<PathBuf>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Root> {
    let mut roots: Vec<Root> = Vec::new();
    for Wanted { path, max_depth, may_be_extension, accepts_links, named } in wanted {
        let path = std::path::absolute(&path).unwrap_or(path);
        let dir = match real_path(&path).and_then(|dir| fs::read_dir(&dir).map(|_| dir)) {
            Ok(dir) => dir,
            Err(error) => {
                if named || path.symlink_metadata().is_ok() {
                    let message = format!("search path not found or unreadable: {}: {error}", path.display());
                    diagnostics.push(Diagnostic::warn(&path, message));
                }
                continue;
            }
        };
        if except.contains(&dir) || roots.iter().any(|root| root.dir == dir) {
            continue;
        }
        roots.push(Root {
            dir,
            max_depth,
            may_be_extension,
            accepts_links,
            follow_links: settings.follow_links,
            ignore_dirs: settings.ignore_dirs.clone(),
        });
    }
    roots
}

/// All extensions below `roots`, each directory once.
pub fn candidates(roots: &[Root], origin: Origin, diagnostics: &mut Vec<Diagnostic>) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let mut candidates: Vec<Candidate> = Vec::new();
    for (root, place) in roots.iter().enumerate() {
        for found in Walk::of(place, origin, diagnostics) {
            if seen.insert(found.place()) {
                candidates.push(Candidate { root, found });
            }
        }
    }
    candidates
}
