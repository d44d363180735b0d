//! Where a relative import leads, by the rules of pi's loader.

use std::io;
use std::path::{Component, Path, PathBuf};

const ENDINGS: [&str; 8] = ["ts", "js", "mts", "mjs", "cts", "cjs", "tsx", "jsx"];

/// Whether the file is code.
pub(super) fn is_script(path: &Path) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Whether a specifier names a file and not a package.
pub(super) fn is_relative(specifier: &str) -> bool {
    specifier.starts_with("./")
        || specifier.starts_with("../")
        || specifier == "."
        || specifier == ".."
        || specifier.starts_with('/')
}

/// The file that `specifier` in `from` means, and its text.
pub(super) fn relative(
    from: &Path,
    specifier: &str,
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> Option<(PathBuf, String)> {
    let specifier = specifier.split(['?', '#']).next().unwrap_or(specifier);
    let path = normal(&from.parent()?.join(specifier));
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_owned();
    let mut candidates = vec![path.clone()];
    // `./x.js` in TypeScript means `./x.ts`.
    if let Some(typed) = [("js", "ts"), ("js", "tsx"), ("jsx", "tsx"), ("mjs", "mts"), ("cjs", "cts")]
        .iter()
        .filter(|(plain, _)| *plain == ending)
        .map(|(_, typed)| path.with_extension(typed))
        .reduce(|first, second| {
            candidates.push(first);
            second
        })
    {
        candidates.push(typed);
    }
    for ending in ENDINGS.into_iter().chain(["json"]) {
        let mut name = path.clone().into_os_string();
        name.push(format!(".{ending}"));
        candidates.push(PathBuf::from(name));
    }
    candidates.extend(["index.ts", "index.js", "index.mts", "index.mjs"].iter().map(|index| path.join(index)));
    candidates.into_iter().find_map(|path| read(&path).ok().map(|text| (path, text)))
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}
