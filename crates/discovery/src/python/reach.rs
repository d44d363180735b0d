//! Which files beside it a Python file imports, without understanding it: lines that begin with `import` or `from`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jackfield_protocol::PythonRole;

use jackfield_files as files;

/// Beyond these, a file is a package and should be one.
const MAX_FILES: usize = 400;
const MAX_FILE: u64 = 8 << 20;

/// `entry` and every file beside it that it reaches, sorted.
pub fn reached(entry: &Path) -> Vec<PathBuf> {
    let mut seen = BTreeSet::from([entry.to_owned()]);
    let mut pending = vec![entry.to_owned()];
    let Some(top) = entry.parent() else { return pending };
    while let Some(file) = pending.pop() {
        let Ok(text) = files::read_text(&file, MAX_FILE) else { continue };
        let beside = file.parent().unwrap_or(top);
        for name in mentioned(&text) {
            // Beside the file itself for what lies in a package, beside the extension for the rest.
            for dir in BTreeSet::from([beside, top]) {
                let module = dir.join(format!("{name}.py"));
                let package = dir.join(name).join("__init__.py");
                for found in [module, package].into_iter().filter(|found| found.is_file()) {
                    if seen.len() >= MAX_FILES {
                        return seen.into_iter().collect();
                    }
                    if seen.insert(found.clone()) {
                        pending.push(found);
                    }
                }
            }
        }
    }
    seen.into_iter().collect()
}

/// Every name that stands in a line, or in parentheses that open there, which begins with `import` or `from`.
fn mentioned(text: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut open = false;
    for line in text.lines() {
        let bare = line.trim_start();
        let begins = ["import ", "from "].iter().any(|word| bare.starts_with(word));
        if begins || open {
            let code = bare.split('#').next().unwrap_or_default();
            names.extend(code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()));
            open = (begins && code.contains('(') || open) && !code.contains(')');
        }
    }
    names
}

/// What a file is for that lies neither in `tools` nor in `channels`.
pub(super) fn role_of(file: &Path) -> PythonRole {
    let text = files::read_text(file, MAX_FILE).unwrap_or_default();
    let defines = |name: &str| {
        text.lines().any(|line| {
            let line = line.strip_prefix("async ").unwrap_or(line).trim_start();
            let rest = line.strip_prefix("def ").map(str::trim_start).and_then(|rest| rest.strip_prefix(name));
            rest.is_some_and(|rest| rest.trim_start().starts_with('('))
        })
    };
    if !defines("run") && defines("recv") { PythonRole::Channel } else { PythonRole::Tool }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_however_they_are_written() {
        let text =
            "import a, b as c\nfrom .d import (\n    e,\n    f,  # not g\n)\nx = 'import h'\n    from i.j import k\n";
        let names = mentioned(text);
        for name in ["a", "b", "d", "e", "f", "i", "j", "k"] {
            assert!(names.contains(name), "{name}: {names:?}");
        }
        assert!(!names.contains("g") && !names.contains("h"), "{names:?}");
    }
}
