//! `.gitignore`, `.ignore` and `.fdignore` of a directory, as far as they speak of what lies right inside it.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use jackfield_files as files;

const FILES: [&str; 3] = [".gitignore", ".ignore", ".fdignore"];

/// The most lines of one file that are read; no one writes more by hand.
const MAX_LINES: usize = 2_000;

/// The rules of one directory. The last one that matches decides.
pub(super) struct Ignored {
    rules: Gitignore,
}

impl Ignored {
    /// Reads the rules in `dir`. A file that cannot be read and a line that is no pattern say nothing.
    pub(super) fn of(dir: &Path) -> Self {
        let mut rules = GitignoreBuilder::new(dir);
        for name in FILES {
            let file = dir.join(name);
            let Ok(text) = files::read_text(&file, files::MAX_TEXT) else { continue };
            for line in text.lines().take(MAX_LINES) {
                rules.add_line(None, line).ok();
            }
        }
        Self { rules: rules.build().unwrap_or_else(|_| Gitignore::empty()) }
    }

    /// Whether the child `name` is to be passed over.
    pub(super) fn covers(&self, name: &str, is_dir: bool) -> bool {
        self.rules.matched(name, is_dir).is_ignore()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_that_matches_decides() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join(".gitignore"),
            "# a word\n*.js\n!keep.js\n/old.ts\nbuild/\ndeep/x.ts\n\\!odd.ts\n[z-a\nfoo/**\nspace.ts   \n\r\n",
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
            ("foo", true, false),
            ("space.ts", false, true),
        ];
        for (name, is_dir, covered) in cases {
            assert_eq!(ignored.covers(name, is_dir), covered, "{name}");
        }
    }
}
