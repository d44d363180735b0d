//! Lists of paths with patterns: plain names and globs add, `!glob` takes away, `+path` and `-path` have the last word.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// How far below a package a glob looks, and how much of it.
const MAX_DEPTH: usize = 12;
const MAX_SEEN: usize = 20_000;

/// Whether an entry only changes what other entries gave.
pub(super) fn is_override(entry: &str) -> bool {
    entry.starts_with(['!', '+', '-'])
}

/// Whether an entry stands for more than one path.
pub(super) fn is_glob(entry: &str) -> bool {
    entry.contains(['*', '?'])
}

/// A pattern as people write it, without what means nothing.
fn plain(pattern: &str) -> &str {
    pattern.strip_prefix("./").unwrap_or(pattern)
}

fn relative(path: &Path, base: &Path) -> String {
    path.strip_prefix(base).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn matcher(pattern: &str) -> Option<GlobMatcher> {
    Some(GlobBuilder::new(plain(pattern)).literal_separator(true).build().ok()?.compile_matcher())
}

/// By its path from `base`, by its name alone, or by its whole path.
fn matches(path: &Path, pattern: &str, base: &Path) -> bool {
    matcher(pattern).is_some_and(|glob| {
        glob.is_match(relative(path, base))
            || path.file_name().is_some_and(|name| glob.is_match(Path::new(name)))
            || glob.is_match(path)
    })
}

fn is_exactly(path: &Path, pattern: &str, base: &Path) -> bool {
    relative(path, base) == plain(pattern) || path.as_os_str() == pattern
}

/// Whether `path` stays, where everything stays that no pattern speaks of.
pub(super) fn keeps(path: &Path, patterns: &[String], base: &Path) -> bool {
    judge(path, patterns, base, true)
}

/// Whether `path` stays, where plain patterns choose: without any, everything does.
pub(super) fn chooses(path: &Path, patterns: &[String], base: &Path) -> bool {
    judge(path, patterns, base, false)
}

fn judge(path: &Path, patterns: &[String], base: &Path, only_overrides: bool) -> bool {
    let mut plain = patterns.iter().filter(|pattern| !only_overrides && !is_override(pattern)).peekable();
    let mut stays = plain.peek().is_none() || plain.any(|pattern| matches(path, pattern, base));
    let mut said = |sign: char, word: bool, exact: bool| {
        let hit = |pattern: &str| if exact { is_exactly(path, pattern, base) } else { matches(path, pattern, base) };
        if patterns.iter().filter_map(|pattern| pattern.strip_prefix(sign)).any(hit) {
            stays = word;
        }
    };
    said('!', false, false);
    said('+', true, true);
    said('-', false, true);
    stays
}

/// For a package that loads nothing by itself: the last pattern that speaks of `path`, if any does.
pub(super) fn last_word(path: &Path, patterns: &[String], base: &Path) -> Option<bool> {
    patterns.iter().rev().find_map(|pattern| {
        let (sign, rest) = match pattern.strip_prefix(['!', '+', '-']) {
            Some(rest) => (pattern.chars().next(), rest),
            None => (None, pattern.as_str()),
        };
        let exact = matches!(sign, Some('+' | '-'));
        let hit = if exact { is_exactly(path, rest, base) } else { matches(path, rest, base) };
        hit.then_some(!matches!(sign, Some('!' | '-')))
    })
}

/// The files and directories below `root` that `pattern` stands for, sorted. What begins with a dot stays out of sight, and
/// so does `node_modules` unless the pattern names it.
pub(super) fn expand(pattern: &str, root: &Path) -> Vec<PathBuf> {
    let pattern = plain(pattern);
    let Some(glob) = matcher(pattern) else { return Vec::new() };
    // Directories before the first wildcard need no search, and may lead up.
    let parts: Vec<&str> = pattern.split('/').collect();
    let fixed = parts.iter().take(parts.len().saturating_sub(1)).take_while(|part| !is_glob(part)).count();
    let prefix: PathBuf = parts.iter().take(fixed).collect();
    let mut found = Vec::new();
    let mut pending = vec![(prefix, 0)];
    let mut seen = 0;
    while let Some((below, depth)) = pending.pop() {
        let Ok(listing) = std::fs::read_dir(root.join(&below)) else { continue };
        for entry in listing.flatten() {
            seen += 1;
            if seen > MAX_SEEN {
                pending.clear();
                break;
            }
            let name = entry.file_name();
            let text = name.to_string_lossy();
            if text.starts_with('.') || (text == "node_modules" && !pattern.contains("node_modules")) {
                continue;
            }
            let path = below.join(&name);
            if glob.is_match(&path) {
                found.push(root.join(&path));
            }
            // Links are not followed: they can lead in circles.
            if depth < MAX_DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push((path, depth + 1));
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
    }

    #[test]
    fn signs_have_an_order_of_their_own() {
        let base = Path::new("/b");
        let file = Path::new("/b/ext/a.ts");
        let kept = |patterns: &[&str]| keeps(file, &list(patterns), base);
        assert!(kept(&[]));
        assert!(kept(&["other.ts"]));
        assert!(!kept(&["!a.ts"]));
        assert!(!kept(&["!ext/*"]));
        assert!(!kept(&["!**/*.ts"]));
        assert!(kept(&["!**", "+ext/a.ts"]));
        assert!(kept(&["+./ext/a.ts", "!**"]), "the sign counts, not the place");
        assert!(!kept(&["+ext/a.ts", "-ext/a.ts"]));
        assert!(kept(&["-a.ts"]), "an exact path is not a name");
        let chosen = |patterns: &[&str]| chooses(file, &list(patterns), base);
        assert!(chosen(&[]));
        assert!(!chosen(&["b.ts"]));
        assert!(chosen(&["ext/*.ts"]));
        assert!(chosen(&["b.ts", "+ext/a.ts"]));
    }

    #[test]
    fn the_last_word_counts_where_nothing_loads_by_itself() {
        let base = Path::new("/b");
        let word = |patterns: &[&str]| last_word(Path::new("/b/a.ts"), &list(patterns), base);
        assert_eq!(word(&["x.ts"]), None);
        assert_eq!(word(&["a.ts"]), Some(true));
        assert_eq!(word(&["*.ts", "-a.ts"]), Some(false));
        assert_eq!(word(&["!*.ts", "+a.ts"]), Some(true));
    }

    #[test]
    fn globs_find_what_is_visible() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["a.ts", "x/b.ts", "x/y/c.ts", ".hidden/d.ts", "node_modules/e/f.ts", "x/.g.ts"] {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let found = |pattern: &str| -> Vec<String> {
            expand(pattern, dir.path()).iter().map(|path| relative(path, dir.path())).collect()
        };
        assert_eq!(found("./*.ts"), ["a.ts"]);
        assert_eq!(found("**/*.ts"), ["a.ts", "x/b.ts", "x/y/c.ts"]);
        assert_eq!(found("x/*"), ["x/b.ts", "x/y"]);
        assert_eq!(found("node_modules/*/f.ts"), ["node_modules/e/f.ts"]);
        assert_eq!(found("[.ts"), Vec::<String>::new());
    }
}
