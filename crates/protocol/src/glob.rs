//! The one pattern language of jackfield: `*` within a segment, `**` across segments, `?` for one character, and `\`
//! before one of these or another `\` for the character itself.

/// Whether `text` matches `pattern`. Segments are separated by `/`; a pattern without wildcards matches itself only.
///
/// `**/` at the start of a segment stands for any number of whole segments, or for none. So `src/**/x` covers `src/x`
/// and `src/a/x`, but not `src/ax`.
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    matches(pattern.as_bytes(), text.as_bytes())
}

/// The last `**`: how the match goes on when what follows it does not fit.
#[derive(Clone, Copy)]
struct Globstar {
    /// The pattern after the `**`.
    pattern: usize,
    /// Where the text begins that the rest of the pattern was tried on.
    text: usize,
    /// Stands for whole segments.
    whole: bool,
}

impl Globstar {
    /// Takes the next byte, or the rest of a segment and its `/`. `None` when the text has no more.
    fn advanced(self, text: &[u8]) -> Option<Self> {
        let rest = text.get(self.text..).filter(|rest| !rest.is_empty())?;
        let step = if self.whole { rest.iter().position(|byte| *byte == b'/')? + 1 } else { 1 };
        Some(Self { text: self.text + step, ..self })
    }
}

/// The pattern that matches exactly this text.
pub fn glob_escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Iterative matching with one point to go back to per kind of star, so that no pattern takes exponential time.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut globstar: Option<Globstar> = None;
    loop {
        if t == text.len() && p == pattern.len() {
            return true;
        }
        if let Some(b'\\') = pattern.get(p)
            && let Some(escaped @ (b'*' | b'?' | b'\\')) = pattern.get(p + 1)
        {
            if text.get(t) == Some(escaped) {
                p += 2;
                t += 1;
                continue;
            }
        } else {
            match pattern.get(p) {
                Some(b'*') if pattern.get(p + 1) == Some(&b'*') => {
                    let starts_segment =
                        p.checked_sub(1).and_then(|before| pattern.get(before)).is_none_or(|c| *c == b'/');
                    let whole = starts_segment && pattern.get(p + 2) == Some(&b'/');
                    p += if whole { 3 } else { 2 };
                    globstar = Some(Globstar { pattern: p, text: t, whole });
                    star = None;
                    continue;
                }
                Some(b'*') => {
                    star = Some((p + 1, t));
                    p += 1;
                    continue;
                }
                Some(b'?') if text.get(t).is_some_and(|c| *c != b'/') => {
                    p += 1;
                    t += 1 + continuation(text, t + 1);
                    continue;
                }
                Some(c) if text.get(t) == Some(c) => {
                    p += 1;
                    t += 1;
                    continue;
                }
                _ => {}
            }
        }
        match (star, globstar.and_then(|globstar| globstar.advanced(text))) {
            (Some((back, from)), _) if text.get(from).is_some_and(|c| *c != b'/') => {
                star = Some((back, from + 1));
                (p, t) = (back, from + 1);
            }
            (_, Some(further)) => {
                globstar = Some(further);
                star = None;
                (p, t) = (further.pattern, further.text);
            }
            _ => return false,
        }
    }
}

/// How many bytes from `at` on belong to a character that began before.
fn continuation(text: &[u8], at: usize) -> usize {
    text.iter().skip(at).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
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
            ("?", "é"),
            ("**/x", "x"),
            (r"\*\*", "**"),
            (r"a\?\\b", r"a?\b"),
            (r"a\b", r"a\b"),
            (r"**/\**", "a/*b"),
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
            ("??", "é"),
            ("**/x", "ax"),
            ("src/**/x", "src/a/bx"),
            (r"\*\*", "a"),
            (r"a\?", "ab"),
            (r"**/\*", "a/b"),
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
