//! The one pattern language of jackfield: `*` within a segment, `**` across segments, `?` for one character.

/// Whether `text` matches `pattern`. Segments are separated by `/`; a pattern without wildcards matches itself only.
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    matches(pattern.as_bytes(), text.as_bytes())
}

/// Iterative matching with one point to go back to per kind of star, so that no pattern takes exponential time.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut globstar: Option<(usize, usize)> = None;
    while t <= text.len() {
        if t == text.len() && p == pattern.len() {
            return true;
        }
        match pattern.get(p) {
            Some(b'*') if pattern.get(p + 1) == Some(&b'*') => {
                // `**/` also matches nothing at all, so that `src/**/x` covers `src/x`.
                let after = if pattern.get(p + 2) == Some(&b'/') { p + 3 } else { p + 2 };
                globstar = Some((after, t));
                star = None;
                p = after;
                continue;
            }
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'?') if text.get(t).is_some_and(|c| *c != b'/') => {
                p += 1;
                t += 1;
                continue;
            }
            Some(c) if text.get(t) == Some(c) => {
                p += 1;
                t += 1;
                continue;
            }
            _ => {}
        }
        match (star, globstar) {
            (Some((back, from)), _) if text.get(from).is_some_and(|c| *c != b'/') => {
                star = Some((back, from + 1));
                p = back;
                t = from + 1;
            }
            (_, Some((back, from))) if from < text.len() => {
                globstar = Some((back, from + 1));
                star = None;
                p = back;
                t = from + 1;
            }
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::glob_matches;

    #[test]
    fn patterns() {
        let yes = [
            ("a", "a"),
            ("*", "abc"),
            ("src/*.rs", "src/lib.rs"),
            ("src/**", "src/a/b.rs"),
            ("src/**/x", "src/x"),
            ("src/**/x", "src/a/b/x"),
            ("**/*.rs", "a/b/c.rs"),
            ("**", "anything/at/all"),
            ("a?c", "abc"),
            ("*.example.com", "api.example.com"),
            ("a*b*c", "aXXbYYc"),
            ("", ""),
        ];
        let no = [
            ("a", "b"),
            ("*", "a/b"),
            ("src/*.rs", "src/a/lib.rs"),
            ("src/**", "srcs/a"),
            ("a?c", "a/c"),
            ("*.example.com", "example.com"),
            ("", "x"),
            ("a*b", "a/b"),
        ];
        for (pattern, text) in yes {
            assert!(glob_matches(pattern, text), "{pattern} should match {text}");
        }
        for (pattern, text) in no {
            assert!(!glob_matches(pattern, text), "{pattern} should not match {text}");
        }
    }

    #[test]
    fn hostile_patterns_end() {
        let text = "a".repeat(5_000);
        assert!(!glob_matches(&format!("{}b", "a*".repeat(40)), &text));
        assert!(!glob_matches(&format!("{}b", "**a".repeat(40)), &text));
    }
}
