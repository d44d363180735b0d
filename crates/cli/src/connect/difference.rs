//! Shows what an edit changes, as people know it from patches.

/// How many lines are shown around a change.
const AROUND: usize = 3;

/// The lines that differ, with `-` and `+`, and a few around them. Edits here are in one place, so one piece shows them.
pub(crate) fn difference(name: &str, before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same_head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - same_head;
    let same_tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let from = same_head.saturating_sub(AROUND);
    let (old_end, new_end) = (old.len() - same_tail, new.len() - same_tail);
    let until = (old_end + AROUND).min(old.len());
    let mut out = vec![format!("--- {name}"), format!("+++ {name}"), format!("@@ line {} @@", from + 1)];
    let part = |lines: &[&str], range: std::ops::Range<usize>, mark: char| {
        lines.get(range).unwrap_or_default().iter().map(|line| format!("{mark}{line}")).collect::<Vec<_>>()
    };
    out.extend(part(&old, from..same_head, ' '));
    out.extend(part(&old, same_head..old_end, '-'));
    out.extend(part(&new, same_head..new_end, '+'));
    out.extend(part(&old, old_end..until, ' '));
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_changes_and_a_little_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let after = "1\n2\n3\n4\nfive\nmore\n6\n7\n8\n";
        assert_eq!(
            difference("f", before, after),
            "--- f\n+++ f\n@@ line 2 @@\n 2\n 3\n 4\n-5\n+five\n+more\n 6\n 7\n 8"
        );
        assert_eq!(difference("f", "", "a\n"), "--- f\n+++ f\n@@ line 1 @@\n+a");
        assert_eq!(difference("f", "a\na\n", "a\n"), "--- f\n+++ f\n@@ line 1 @@\n a\n-a");
    }
}
