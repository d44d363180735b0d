//! Where a host finds its home, its project and its environment when its builder is not told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jackfield_host::Home;

use crate::OpenError;

/// The home that the `jackfield` binary uses as well: `JACKFIELD_HOME`, else the platform's place for application state.
///
/// # Errors
/// [`OpenError::NoHome`] when the environment names neither.
pub fn default_home() -> Result<Home, OpenError> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = || variable("HOME").or_else(|| variable("USERPROFILE"));
    let place = if let Some(home) = variable("JACKFIELD_HOME") {
        Some(home)
    } else if cfg!(target_os = "macos") {
        user().map(|user| user.join("Library/Application Support/jackfield"))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA").map(|data| data.join("jackfield"))
    } else {
        variable("XDG_STATE_HOME")
            .map(|state| state.join("jackfield"))
            .or_else(|| user().map(|user| user.join(".local/state/jackfield")))
    };
    home_at(&place.ok_or(OpenError::NoHome)?)
}

/// A home in a directory, whatever the current directory will be later.
pub(crate) fn home_at(path: &Path) -> Result<Home, OpenError> {
    match std::path::absolute(path) {
        Ok(path) => Ok(Home::at(path)),
        Err(source) => Err(OpenError::Home { path: path.to_path_buf(), source }),
    }
}

/// The real path of a project directory; the current directory where none is named.
///
/// # Errors
/// [`OpenError::Project`] or [`OpenError::NoProject`] when the directory cannot be used.
pub fn project_dir(named: Option<&Path>) -> Result<PathBuf, OpenError> {
    let path = match named {
        Some(path) => path.to_path_buf(),
        None => std::env::current_dir().map_err(OpenError::NoProject)?,
    };
    path.canonicalize().map_err(|source| OpenError::Project { path, source })
}

/// The environment of this process. Variables that are not text cannot be passed on faithfully and are left out.
pub fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
