//! Installing and removing one Python file: it and what it imports go among the files of its kind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jackfield_discovery::{self as discovery, Found, Standing, python};
use jackfield_files::Home;
use jackfield_protocol::{Format, Launch};

use super::{InstallError, InstallOptions, Installed, symlink};

/// The Python file that a source means, if it means one.
///
/// # Errors
/// It means a directory of them.
pub(super) fn named(source: &str) -> Result<Option<Found>, InstallError> {
    let failed = |reason: String| InstallError::Source { source_text: source.to_owned(), reason };
    let path = Path::new(source);
    let Ok(real) = fs::canonicalize(path) else { return Ok(None) };
    let Some(found) = discovery::check_one(&real).0.filter(|found| found.manifest.format == Format::Python) else {
        return Ok(None);
    };
    if real.is_dir() {
        let one = found.manifest_path.display();
        return Err(failed(format!(
            "it is a directory of Python files; install them one by one (`jackfield ext install {one}`), or name it with `-e`"
        )));
    }
    if let Standing::Invalid { error } | Standing::Unsupported { reason: error } = &found.standing {
        return Err(failed(error.clone()));
    }
    Ok(Some(found))
}

/// Copies the file, or links to it, and copies what it imports.
pub(super) fn put(
    home: &Home,
    found: &Found,
    source: &str,
    options: InstallOptions,
) -> Result<Installed, InstallError> {
    let failed = |reason: String| InstallError::Source { source_text: source.to_owned(), reason };
    let Some(place) = place_of(home, found) else { return Err(failed("it is no Python file".to_owned())) };
    let folder = place.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(InstallError::io("create", folder))?;
    let file = &found.manifest_path;
    if fs::canonicalize(folder).is_ok_and(|folder| found.dir == folder) {
        return Err(failed("it is installed already".to_owned()));
    }
    if place.symlink_metadata().is_ok() {
        if !options.update {
            return Err(InstallError::Exists { id: found.manifest.id.clone(), dir: place });
        }
        fs::remove_file(&place).map_err(InstallError::io("replace", &place))?;
    }
    if options.link {
        symlink(file, &place).map_err(InstallError::io("link to", file))?;
    } else {
        let helpers = python::reached(file);
        for helper in helpers.iter().filter(|helper| *helper != file) {
            let below = helper.strip_prefix(&found.dir).unwrap_or(helper);
            let target = folder.join(below);
            let same = fs::read(&target).ok().is_some_and(|there| fs::read(helper).ok() == Some(there));
            if target.exists() && !same && !options.update {
                let reason = format!("another file stands there; `--update` replaces it with {}", helper.display());
                return Err(InstallError::Refused { path: target, reason });
            }
            copy(helper, &target)?;
        }
        copy(file, &place)?;
    }
    let installed = discovery::load_one(&place).map_err(|diagnostic| failed(diagnostic.message))?;
    Ok(Installed { id: found.manifest.id.clone(), dir: place, version: None, hash: installed.read_hash() })
}

fn copy(from: &Path, to: &Path) -> Result<(), InstallError> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(InstallError::io("create", parent))?;
    }
    fs::copy(from, to).map(drop).map_err(InstallError::io("copy", from))
}

/// Removes an installed file, or the link to one; nothing of a file that is not Python. Gives back where it was.
pub(super) fn remove(home: &Home, found: &Found) -> Option<Result<PathBuf, InstallError>> {
    let place = place_of(home, found)?;
    let removed: io::Result<()> = fs::remove_file(&place);
    Some(removed.map_err(InstallError::io("remove", &place)).map(|()| place))
}

/// Where a file of its kind and name stands among the installed ones.
fn place_of(home: &Home, found: &Found) -> Option<PathBuf> {
    let Launch::Python { role, .. } = &found.manifest.launch else { return None };
    Some(home.extensions().join(role.folder()).join(format!("{}.py", found.manifest.name)))
}
