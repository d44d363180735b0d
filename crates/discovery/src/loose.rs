//! Folders whose files are extensions, each by itself: the file system is the registry.

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_files::real_path;

use super::report::{Diagnostic, Origin};

/// The most files that one folder may hold.
const MAX_FILES: usize = 10_000;

/// Where files are looked for.
pub(crate) struct LooseRoot<'a> {
    /// The directory that holds the folders.
    pub(crate) root: &'a Path,
    /// Whether links may lead out of it: a project's may not, what they lead to is not what somebody trusted.
    pub(crate) links_lead_out: bool,
    pub(crate) origin: Origin,
}

impl LooseRoot<'_> {
    /// The files in `dir` that are ours, sorted by path. None where the folder is an extension with a manifest.
    pub(crate) fn files(
        &self,
        dir: &Path,
        what: &str,
        is_ours: fn(&Path) -> bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<PathBuf> {
        let has_manifest = super::read::MANIFEST_NAMES.iter().any(|name| dir.join(name).symlink_metadata().is_ok());
        if has_manifest || (dir.is_symlink() && !self.stays_inside(dir, diagnostics)) {
            return Vec::new();
        }
        let Ok(listing) = fs::read_dir(dir) else { return Vec::new() };
        let mut files: Vec<PathBuf> =
            listing.flatten().map(|entry| entry.path()).filter(|path| is_ours(path)).collect();
        files.sort();
        if files.len() > MAX_FILES {
            let message = format!("only the first {MAX_FILES} of {} {what} are used", files.len());
            diagnostics.push(Diagnostic::warn(dir, message));
            files.truncate(MAX_FILES);
        }
        files.retain(|file| !file.is_symlink() || self.stays_inside(file, diagnostics));
        files
    }

    fn stays_inside(&self, path: &Path, diagnostics: &mut Vec<Diagnostic>) -> bool {
        let inside = self.links_lead_out
            || match (real_path(path), real_path(self.root)) {
                (Ok(real), Ok(root)) => real.starts_with(root),
                // A link to nowhere, as some editors leave while they write.
                _ => return false,
            };
        if !inside {
            diagnostics.push(Diagnostic::error(path, "the file escapes search root via symlink"));
        }
        inside
    }
}

/// Whether the name is that of an extension: not a helper, not what editors leave behind.
pub(crate) fn is_named(path: &Path, endings: &[&str]) -> bool {
    let ends = path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known));
    let begins = path.file_name().map(|name| name.to_string_lossy());
    ends && begins.is_some_and(|name| !name.starts_with(['_', '.', '#', '~'])) && !path.is_dir()
}
