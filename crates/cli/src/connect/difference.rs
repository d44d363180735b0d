//! Shows what an edit changes, as a unified diff.

use std::time::Duration;

use similar::{Algorithm, TextDiffConfig};

/// How many lines are shown around a change.
const CONTEXT_LINES: usize = 3;

/// After this time the diff becomes coarser, so a huge file cannot stall the question.
const DEADLINE: Duration = Duration::from_secs(2);

/// A unified diff of two texts, without the newline at its end.
pub(crate) fn difference(name: &str, before: &str, after: &str) -> String {
    let mut config = TextDiffConfig::default();
    config.algorithm(Algorithm::Patience).timeout(DEADLINE);
    let diff = config.diff_lines(before, after);
    let mut unified = diff.unified_diff();
    unified
        .context_radius(CONTEXT_LINES)
        .missing_newline_hint(false)
        .header(name, name)
        .to_string()
        .trim_end_matches('\n')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_changes_and_a_little_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\n3\n4\nfive\nmore\n6\n7\n8\n9\n";
        assert_eq!(
            difference("f", before, after),
            "--- f\n+++ f\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+more\n 6\n 7\n 8"
        );
        assert_eq!(difference("f", "", "a\n"), "--- f\n+++ f\n@@ -0,0 +1 @@\n+a");
        assert_eq!(difference("f", "a\r\nb", "a\r\n"), "--- f\n+++ f\n@@ -1,2 +1 @@\n a\r\n-b");
    }

    #[test]
    fn changes_in_two_places_are_two_pieces() {
        let before: String = (0..40).map(|line| format!("{line}\n")).collect();
        let after = before.replace("\n3\n", "\nthree\n").replace("\n30\n", "\nthirty\n");
        let shown = difference("f", &before, &after);
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
        assert!(!shown.contains("\n 15\n"), "{shown}");
    }
}
