//! `.gitignore`, `.ignore` and `.fdignore` of a directory, as far as they speak of what lies right inside it.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::super::files;

const FILES: [&str; 3] = [".gitignore", ".ignore", ".fdignore"];

/// The most rules that are read; no one writes more by hand.
const MAX_RULES: usize = 2_000;

struct Rule {
    matcher: GlobMatcher,
    keeps: bool,
    only_dirs: bool,
}

/// The rules of one directory. The last one that matches decides.
pub(super) struct Ignored {
    rules: Vec<Rule>,
}

impl Ignored {
    /// Reads the rules in `dir`; a file that cannot be read says nothing.
    pub(super) fn of(dir: &Path) -> Self {
        let mut rules = Vec::new();
        for name in FILES {
            let file = dir.join(name);
            let Ok(text) = files::read_text(&file, files::MAX_TEXT) else { continue };
            rules.extend(text.lines().filter_map(rule).take(MAX_RULES));
        }
        Self { rules }
    }

    /// Whether the child `name` is to be passed over.
    pub(super) fn covers(&self, name: &str, is_dir: bool) -> bool {
        let matching = |rule: &&Rule| (is_dir || !rule.only_dirs) && rule.matcher.is_match(name);
        self.rules.iter().rev().find(matching).is_some_and(|rule| !rule.keeps)
    }
}

fn rule(line: &str) -> Option<Rule> {
    let line = line.trim_end();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (keeps, line) = match line.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix('\\').filter(|rest| rest.starts_with(['!', '#'])).unwrap_or(line)),
    };
    let line = line.strip_prefix('/').unwrap_or(line);
    let (only_dirs, line) = match line.strip_suffix('/') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    // A rule about something deeper does not speak of the directory's own children, except with a leading `**/`.
    let line = line.strip_prefix("**/").unwrap_or(line);
    if line.is_empty() || line.contains('/') {
        return None;
    }
    let glob = GlobBuilder::new(line).literal_separator(true).build().ok()?;
    Some(Rule { matcher: glob.compile_matcher(), keeps, only_dirs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_that_matches_decides() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join(".gitignore"),
            "# a word\n*.js\n!keep.js\n/old.ts\nbuild/\ndeep/x.ts\n\\!odd.ts\n",
        )
        .unwrap();
        std::fs::write(dir.path().join(".fdignore"), "**/gone\ndraft-?.ts\n").unwrap();
        let ignored = Ignored::of(dir.path());
        let cases = [
            ("a.js", false, true),
            ("keep.js", false, false),
            ("a.ts", false, false),
            ("old.ts", false, true),
            ("build", true, true),
            ("build", false, false),
            ("x.ts", false, false),
            ("!odd.ts", false, true),
            ("gone", true, true),
            ("draft-1.ts", false, true),
            ("draft-10.ts", false, false),
        ];
        for (name, is_dir, covered) in cases {
            assert_eq!(ignored.covers(name, is_dir), covered, "{name}");
        }
    }
}
