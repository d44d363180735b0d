//! Installs, removes, switches on and off, and imports other agents' MCP servers.
//!
//! It writes and deletes below the host's home only, with one exception: it switches a linked extension on or off in that
//! extension's own manifest. It runs no extension. A host cannot install; the command line does.
//!
//! Modules in reading order:
//! - `kind`: which form a source has. `git`, `npm`, `program`: how a source is fetched.
//! - `component`, `script`, `python`: single files. `copy`, `swap`: a folder is put in place in one step.
//! - `record`: the lock file's entry. `edit`: switches in settings files.
//! - `import`: the MCP servers that other agents know.

mod component;
mod copy;
mod edit;
mod git;
mod import;
mod kind;
mod npm;
mod program;
mod python;
mod record;
mod script;
mod swap;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jackfield_files::Home;
use jackfield_files::TEMPORARY_PREFIX;
use jackfield_protocol::ExtensionId;
use kind::{is_bare_component, is_bare_script, is_single, placed_as, switched_in_settings};
use record::{Keep, Provenance};
use swap::Staging;

pub use import::{Import, ImportAgent, ImportError, ImportOutcome, ImportPlaces, ImportReport, ImportRow};
use jackfield_discovery::lock::{LockError, LockFile};
use jackfield_discovery::{self as discovery, Found, Standing, js, mcp};
pub use record::Checked;

/// How to install.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InstallOptions {
    /// Link to the source instead of copying it.
    pub link: bool,
    /// Replace what is installed.
    pub update: bool,
    /// Replace it also with what asks for more than a person has accepted.
    pub accept_wider: bool,
}

/// What was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The id of the extension.
    pub id: ExtensionId,
    /// Where it lives now.
    pub dir: PathBuf,
    /// Its version, if its manifest says.
    pub version: Option<String>,
    /// Its content hash.
    pub hash: String,
}

/// Why an installation or a change to one failed. Nothing is left half done.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The source cannot be used as it is written.
    #[error("cannot install `{source_text}`: {reason}")]
    Source {
        /// As it was given, without passwords.
        source_text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The source is a path that leads nowhere.
    #[error("cannot install `{source_text}`: there is no such directory: {source}")]
    NoSource {
        /// As it was given.
        source_text: String,
        /// What the system said.
        source: io::Error,
    },
    /// The source has no manifest, or one that cannot be used.
    #[error("cannot install `{source_text}`: {reason}")]
    Manifest {
        /// As it was given, without passwords.
        source_text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something in the source must not be copied.
    #[error("refused to copy {}: {reason}", .path.display())]
    Refused {
        /// The file or folder that is not copied.
        path: PathBuf,
        /// What is wrong, for people.
        reason: String,
    },
    /// The place is taken.
    #[error("extension `{id}` is already installed in {}; use `--update` to replace it", .dir.display())]
    Exists {
        /// The id of the extension.
        id: ExtensionId,
        /// The directory of the extension that is there.
        dir: PathBuf,
    },
    /// No extension of that name.
    #[error("extension `{name}` not found in {}", .place.display())]
    NotFound {
        /// As it was given.
        name: String,
        /// Where it was looked for.
        place: PathBuf,
    },
    /// Several extensions of that name.
    #[error("`{name}` is ambiguous: it could be {}; name the directory", list(.candidates))]
    Ambiguous {
        /// As it was given.
        name: String,
        /// All that it could mean.
        candidates: Vec<PathBuf>,
    },
    /// A file cannot be edited as it is.
    #[error("cannot edit {}: {reason}", .file.display())]
    Edit {
        /// The file that would be edited.
        file: PathBuf,
        /// What is wrong, for people.
        reason: String,
    },
    /// A new version asks for more than a person has accepted.
    #[error("`{id}` asks for more than the version that is installed: {}", .more.join(", "))]
    Wider {
        /// The id of the extension.
        id: ExtensionId,
        /// What it asks for.
        more: Vec<String>,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or directory that it was tried on.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl InstallError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" or ")
}

/// Changes what is installed in a home.
#[derive(Debug, Clone, Copy)]
pub struct Installer<'a> {
    home: &'a Home,
}

impl<'a> Installer<'a> {
    /// For `home`; nothing is created yet.
    pub fn new(home: &'a Home) -> Self {
        Self { home }
    }

    /// Installs from a directory, a manifest file, a script, a Python file, a WASM component, a git URL, `npm:NAME` or a
    /// package's tarball. A failure leaves everything as it was.
    pub fn install(&self, source: &str, options: InstallOptions) -> Result<Installed, InstallError> {
        let extensions = self.home.extensions();
        fs::create_dir_all(&extensions).map_err(InstallError::io("create", &extensions))?;
        swap::remove_stale(&extensions);
        // Before anything is fetched: what cannot be recorded is not installed.
        LockFile::of(self.home).read()?;
        let staging = Staging::new(&extensions)?;
        let InstallOptions { link, update, accept_wider: accept } = options;
        let shown = git::without_password(source);
        tracing::debug!(source = %shown, link, update, "installs");
        let from = Provenance { source: &shown, link: false, update, accept };
        let spec = npm::spec_of(source);
        if options.link && (spec.is_some() || git::is_url(source)) {
            let reason = "only a directory can be linked; fetch it first".to_owned();
            return Err(InstallError::Source { source_text: git::without_password(source), reason });
        }
        if let Some(spec) = spec {
            let package = npm::fetch(&spec?, source, &staging)?;
            let found = usable(&package, source)?;
            return self.put(&package, found, &staging, from);
        }
        if git::is_url(source) {
            // What has no name of its own is called like its directory.
            let last = source.trim_end_matches(".git").rsplit(['/', ':']).next().and_then(ExtensionId::sanitized);
            let clones = staging.path().join(".clone");
            fs::create_dir(&clones).map_err(InstallError::io("create", &clones))?;
            let clone = clones.join(last.as_ref().map_or("clone", ExtensionId::as_str));
            git::clone(source, &clone)?;
            return self.install_tree(&clone, &shown, &staging, from);
        }
        if let Some(script) = script::named(source)? {
            if options.link {
                let reason = "only a directory can be linked; use `-e` for a script".to_owned();
                return Err(InstallError::Source { source_text: source.to_owned(), reason });
            }
            let staged = script::stage(&script, source, &staging)?;
            let found = usable(&staged, source)?;
            return self.put(&staged, found, &staging, Provenance { source: &whole_path(source), ..from });
        }
        if let Some(file) = python::named(source)? {
            return python::put(self.home, &file, source, options);
        }
        if let Some(component) = component::named(source)? {
            if options.link {
                let reason = "only a directory can be linked; use `-e` for a component".to_owned();
                return Err(InstallError::Source { source_text: source.to_owned(), reason });
            }
            let staged = component::stage(&component, source, &staging)?;
            let found = usable(&staged, source)?;
            return self.put(&staged, found, &staging, Provenance { source: &whole_path(source), ..from });
        }
        let dir = local_dir(source)?;
        self.refuse_own(&dir, source)?;
        let whole = dir.display().to_string();
        let from = Provenance { source: &whole, link, ..from };
        if link {
            return self.install_link(&dir, source, &staging, from);
        }
        self.install_tree(&dir, source, &staging, from)
    }

    /// Removes an installed extension; of a link only the link. Gives back where it was.
    pub fn remove(&self, name: &str) -> Result<PathBuf, InstallError> {
        let (found, ids) = self.find(name)?;
        if let Some(removed) = python::remove(self.home, &found) {
            let removed = removed?;
            edit::set_disabled(&self.home.extensions_yaml(), found.manifest.id.as_str(), false)?;
            return Ok(removed);
        }
        let dir = if is_bare_component(&found) || mcp::files::is_one(&found) {
            found.manifest_path.clone()
        } else {
            found.dir.clone()
        };
        let extensions = self.home.extensions();
        let inside = fs::canonicalize(&extensions)
            .is_ok_and(|root| dir.starts_with(&root) && dir != root && dir.parent().is_some());
        if !inside {
            let reason = format!("it does not lie below {}", extensions.display());
            return Err(InstallError::Refused { path: dir, reason });
        }
        if dir.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            fs::remove_file(&dir).map_err(InstallError::io("remove the link", &dir))?;
        } else {
            // First out of sight in one step, then away piece by piece.
            let staging = Staging::new(&extensions)?;
            fs::rename(&dir, staging.path().join("removed")).map_err(InstallError::io("remove", &dir))?;
        }
        self.forget(&dir)?;
        if switched_in_settings(&found) && self.others_with(&found.manifest.id).is_empty() {
            for id in ids {
                edit::set_disabled(&self.home.extensions_yaml(), id.as_str(), false)?;
            }
        }
        Ok(dir)
    }

    /// Switches an installed extension on or off. Gives back the file that says so.
    pub fn set_enabled(&self, name: &str, on: bool) -> Result<PathBuf, InstallError> {
        let (found, ids) = self.find(name)?;
        let yaml = self.home.extensions_yaml();
        if let Standing::Invalid { error } = &found.standing {
            return Err(InstallError::Edit { file: found.manifest_path, reason: error.clone() });
        }
        if switched_in_settings(&found) {
            for id in ids {
                edit::set_disabled(&yaml, id.as_str(), !on)?;
            }
            return Ok(yaml);
        }
        self.keeping_record(&found, || edit::set_enabled(&found.manifest_path, on))?;
        // The settings may name it too; then switching on means both.
        if on {
            edit::set_disabled(&yaml, found.manifest.id.as_str(), false)?;
        }
        Ok(found.manifest_path)
    }

    fn install_tree(
        &self,
        source: &Path,
        source_text: &str,
        staging: &Staging,
        from: Provenance<'_>,
    ) -> Result<Installed, InstallError> {
        // Cheap refusals come before the copy.
        let id = usable(source, source_text)?.manifest.id.clone();
        let new = staging.path().join(".new");
        fs::create_dir(&new).map_err(InstallError::io("create", &new))?;
        let staged = new.join(id.as_str());
        copy::copy_tree(source, &staged)?;
        // What counts is what was copied, not what stood there before.
        let found = usable(&staged, source_text)?;
        if is_bare_script(&found) {
            npm::Record::of_path(source_text).write(&staged)?;
        }
        self.put(&staged, found, staging, from)
    }

    fn install_link(
        &self,
        source: &Path,
        source_text: &str,
        staging: &Staging,
        from: Provenance<'_>,
    ) -> Result<Installed, InstallError> {
        let found = usable(source, source_text)?;
        if is_bare_script(&found) && !js::lists_extensions(source) {
            let reason =
                "a directory that is linked needs a manifest, or a package.json with `pi.extensions`".to_owned();
            return Err(InstallError::Manifest { source_text: source_text.to_owned(), reason });
        }
        let staged = staging.path().join("new");
        symlink(source, &staged).map_err(InstallError::io("link to", source))?;
        self.put(&staged, found, staging, from)
    }

    fn put(
        &self,
        staged: &Path,
        found: Found,
        staging: &Staging,
        from: Provenance<'_>,
    ) -> Result<Installed, InstallError> {
        let id = placed_as(&found);
        let own_place = self.home.extensions().join(id.as_str());
        let taken = match self.others_with(&id).into_iter().next() {
            Some(dir) => Some(dir),
            None => own_place.symlink_metadata().is_ok().then(|| own_place.clone()),
        };
        let dir = match taken {
            Some(dir) if !from.update => return Err(InstallError::Exists { id, dir }),
            Some(dir) => {
                self.refuse_wider(&found, &dir, from)?;
                swap::replace(staged, &dir, staging)?;
                dir
            }
            None => {
                fs::rename(staged, &own_place).map_err(InstallError::io("move the new extension to", &own_place))?;
                own_place
            }
        };
        let keep = if from.accept { Keep::Nothing } else { Keep::Learned };
        self.record(&found, &dir, from.source, from.link, keep)?;
        let hash = Found { dir: dir.clone(), ..found.clone() }.read_hash();
        Ok(Installed { id, dir, version: found.manifest.version.clone(), hash })
    }

    /// The directories of all installed extensions of that id.
    fn others_with(&self, id: &ExtensionId) -> Vec<PathBuf> {
        let valid = |found: &Found| !matches!(found.standing, Standing::Invalid { .. });
        discovery::installed(self.home)
            .into_iter()
            .filter(|found| (found.manifest.id == *id || placed_as(found) == *id) && valid(found))
            .map(|found| found.dir)
            .collect()
    }

    /// The extension of that name, and the ids of all that the name means: a package may hold several.
    fn find(&self, name: &str) -> Result<(Found, Vec<ExtensionId>), InstallError> {
        let installed = discovery::installed(self.home);
        let is_named = |found: &Found| {
            found.manifest.id.as_str() == name
                || found.manifest.name == name
                // The directory of a file that is one by itself holds others, too.
                || (!is_single(found)
                    && (found.dir.file_name().is_some_and(|dir| dir == name) || found.dir.as_os_str() == name))
                || (is_single(found) && found.manifest_path.as_os_str() == name)
                || name.strip_prefix("npm:").and_then(ExtensionId::sanitized).is_some_and(|id| placed_as(found) == id)
        };
        let matching: Vec<Found> = installed.into_iter().filter(is_named).collect();
        let Some(first) = matching.first() else {
            let found = self.find_without_manifest(name)?;
            let id = found.manifest.id.clone();
            return Ok((found, vec![id]));
        };
        if matching.iter().any(|found| found.dir != first.dir) {
            let candidates = matching.into_iter().map(|found| found.dir).collect();
            return Err(InstallError::Ambiguous { name: name.to_owned(), candidates });
        }
        let ids = matching.iter().map(|found| found.manifest.id.clone()).collect();
        Ok((first.clone(), ids))
    }

    /// A directory or a broken link that someone left among the extensions can be named, too, so that it can be removed.
    fn find_without_manifest(&self, name: &str) -> Result<Found, InstallError> {
        let place = self.home.extensions();
        let not_found = || InstallError::NotFound { name: name.to_owned(), place: place.clone() };
        let is_plain = !name.is_empty()
            && !name.starts_with(TEMPORARY_PREFIX)
            && Path::new(name).components().count() == 1
            && Path::new(name).file_name().is_some_and(|file| file == name);
        let root = fs::canonicalize(&place).map_err(|_| not_found())?;
        let dir = root.join(name);
        match dir.symlink_metadata() {
            Ok(metadata) if is_plain && (metadata.is_dir() || metadata.is_symlink()) => {
                Ok(discovery::read::nothing(&dir, "it has no manifest"))
            }
            _ => Err(not_found()),
        }
    }

    fn refuse_own(&self, source: &Path, source_text: &str) -> Result<(), InstallError> {
        let extensions = self.home.extensions();
        let root = fs::canonicalize(&extensions).map_err(InstallError::io("find", &extensions))?;
        let reason = if root.starts_with(source) {
            "it contains the host's own directory"
        } else if source.starts_with(&root) {
            "it is installed already"
        } else {
            return Ok(());
        };
        Err(InstallError::Source { source_text: source_text.to_owned(), reason: reason.to_owned() })
    }
}

/// A path that means the same wherever it is read.
fn whole_path(source: &str) -> String {
    fs::canonicalize(source).map_or_else(|_| source.to_owned(), |path| path.display().to_string())
}

/// The directory that a path means: itself, or that of its manifest.
fn local_dir(source: &str) -> Result<PathBuf, InstallError> {
    let failed = |reason: String| InstallError::Source { source_text: source.to_owned(), reason };
    let missing = |error| InstallError::NoSource { source_text: source.to_owned(), source: error };
    let real = fs::canonicalize(source).map_err(missing)?;
    if real.is_dir() {
        return Ok(real);
    }
    if let Some(found) = discovery::check_one(&real).0.filter(is_bare_script) {
        return Ok(found.dir);
    }
    match discovery::read::locate(&real) {
        Ok((dir, _)) => Ok(dir),
        Err(_) => {
            let names = discovery::read::manifest_names();
            Err(failed(format!(
                "it is neither a directory, nor a manifest ({names}), nor a script, nor a component, nor a tarball"
            )))
        }
    }
}

fn usable(dir: &Path, source_text: &str) -> Result<Found, InstallError> {
    let failed = |reason: String| InstallError::Manifest { source_text: source_text.to_owned(), reason };
    if let Err(error) = discovery::read::locate(dir)
        && discovery::check_one(dir).0.is_none()
    {
        // The staging directory's name means nothing to anyone.
        let names = discovery::read::manifest_names();
        let reason = if dir.is_dir() {
            format!("no manifest found: looked for {names}, a package with extensions, and an index script")
        } else {
            error
        };
        return Err(failed(reason));
    }
    let found = discovery::load_one(dir).map_err(|diagnostic| {
        let file = diagnostic.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        failed(format!("{file}: {}", diagnostic.message))
    })?;
    if mcp::files::is_one(&found) {
        let reason =
            "it holds files with MCP servers; copy them into the folder `extensions/mcp` of the home, or use `-e`";
        return Err(failed(reason.to_owned()));
    }
    Ok(found)
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_target: &Path, _link: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "links to directories are not supported on this system"))
}

#[cfg(test)]
mod tests;
