//! Which files a script reaches by relative imports, without understanding it: every string that begins with `./` or `../`
//! and leads to a file counts. That is more than the imports, never less than the plain ones, and needs no parser.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_files as files;

use super::super::stamp::Stamp;

/// Beyond these, a script is a package and should be one.
const MAX_FILES: usize = 400;
const MAX_FILE: u64 = 4 << 20;
/// Files whose imports are remembered.
const MOST_KNOWN: usize = 20_000;

/// The endings of scripts.
pub(crate) const ENDINGS: [&str; 8] = ["ts", "js", "mts", "mjs", "cts", "cjs", "tsx", "jsx"];

/// Whether the name is that of a script.
pub fn is_script(path: &Path) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| ENDINGS.contains(&ending))
}

/// `entry` and every file that it reaches, sorted.
pub fn reached(entry: &Path) -> Vec<PathBuf> {
    let mut seen = BTreeSet::from([entry.to_owned()]);
    let mut pending = vec![entry.to_owned()];
    while let Some(file) = pending.pop() {
        let Some(dir) = file.parent().filter(|_| is_script(&file)) else { continue };
        for target in mentioned_by(&file).iter() {
            if seen.len() >= MAX_FILES {
                return seen.into_iter().collect();
            }
            if let Some(found) = resolve(dir, target)
                && seen.insert(found.clone())
            {
                pending.push(found);
            }
        }
    }
    seen.into_iter().collect()
}

/// How a file looked, and what it mentions.
type Mentioned = (Stamp, Arc<[String]>);

/// What a file mentions, remembered for as long as it looks the same.
fn mentioned_by(file: &Path) -> Arc<[String]> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Mentioned>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let outside = Stamp::of(file);
    if let Some((before, mentioned)) = known().get(file)
        && *before == outside
    {
        return Arc::clone(mentioned);
    }
    let mentioned: Arc<[String]> = match files::read_text(file, MAX_FILE) {
        Ok(text) => mentioned(&text).map(str::to_owned).collect(),
        Err(_) => Arc::default(),
    };
    if !outside.is_racy() {
        let mut known = known();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(file.to_owned(), (outside, Arc::clone(&mentioned)));
    }
    mentioned
}

/// The texts between quotes that begin with `./` or `../`.
fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("./").filter_map(|(at, _)| {
        let start = if text.get(..at)?.ends_with('.') { at.checked_sub(1)? } else { at };
        let quote = text.get(..start)?.chars().next_back().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
        let rest = text.get(start..)?;
        let end = rest.find([quote, '\n'])?;
        rest.get(..end).filter(|target| !target.contains(['$', '\\']))
    })
}

/// The file that an import means, by the rules of pi's loader.
fn resolve(dir: &Path, target: &str) -> Option<PathBuf> {
    let target = target.split(['?', '#']).next()?;
    let path = normal(&dir.join(target));
    let is_file = |path: &PathBuf| path.is_file();
    if is_file(&path) {
        return Some(path);
    }
    // `./x.js` in TypeScript means `./x.ts`.
    let typed = path.extension().and_then(|ending| ending.to_str()).and_then(|ending| match ending {
        "js" => Some("ts"),
        "jsx" => Some("tsx"),
        "mjs" => Some("mts"),
        "cjs" => Some("cts"),
        _ => None,
    });
    if let Some(file) = typed.map(|ending| path.with_extension(ending)).filter(is_file) {
        return Some(file);
    }
    let with = |ending: &str| {
        let mut name = path.clone().into_os_string();
        name.push(format!(".{ending}"));
        PathBuf::from(name)
    };
    let endings = ENDINGS.into_iter().chain(["json"]);
    let named = endings.map(with).find(is_file);
    named.or_else(|| ["index.ts", "index.js"].iter().map(|index| path.join(index)).find(is_file))
}

/// Without `.` and `..`, as far as the text alone allows.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_imports_are_followed_in_all_their_forms() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            (
                "ext/main.ts",
                "import a from \"./a.js\";\nexport * from './b';\nconst c = await import(`../shared/c.ts`);\nrequire('./dir')\n\
                 import x from \"lib\"; // ./not-quoted\nread(\"./data.json?raw\"); `./${x}.ts`; \"./gone.ts\"",
            ),
            ("ext/a.ts", "import \"./main.ts\""),
            ("ext/b.mjs", ""),
            ("shared/c.ts", "import '../deep.ts'"),
            ("deep.ts", ""),
            ("ext/dir/index.ts", ""),
            ("ext/data.json", "\"./unread.ts\""),
            ("ext/unread.ts", ""),
            ("ext/other.ts", ""),
        ];
        for (file, text) in files {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let reached = reached(&dir.path().join("ext/main.ts"));
        let names: Vec<String> =
            reached.iter().map(|path| path.strip_prefix(dir.path()).unwrap().display().to_string()).collect();
        assert_eq!(
            names,
            ["deep.ts", "ext/a.ts", "ext/b.mjs", "ext/data.json", "ext/dir/index.ts", "ext/main.ts", "shared/c.ts"]
        );
    }

    #[test]
    fn a_script_that_names_thousands_ends() {
        let dir = tempfile::tempdir().unwrap();
        let mut text = String::new();
        for at in 0..1_000 {
            std::fs::write(dir.path().join(format!("f{at}.ts")), "").unwrap();
            text.push_str(&format!("import './f{at}.ts';\n"));
        }
        std::fs::write(dir.path().join("main.ts"), text).unwrap();
        assert_eq!(reached(&dir.path().join("main.ts")).len(), MAX_FILES);
    }
}
