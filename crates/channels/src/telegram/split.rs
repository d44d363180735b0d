//! Long texts in parts that Telegram takes.

/// The longest text of a message, in UTF-16 units.
pub(crate) const LONGEST: usize = 4096;

/// Splits a text into parts of at most `most` UTF-16 units, where a reader would: between paragraphs, lines, sentences or
/// words, and inside a word only where there is no other way. Parts of white space alone are left out: nobody takes them.
pub(crate) fn split(text: &str, most: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = longest_prefix(rest, most);
        let (head, tail) = rest.split_at(if end == rest.len() { end } else { cut(rest, end) });
        if !head.trim().is_empty() {
            parts.push(head.trim_end().to_owned());
        }
        rest = if tail.len() < rest.len() { tail } else { "" };
        if !parts.is_empty() {
            rest = rest.trim_start_matches(['\n', '\r']);
        }
    }
    parts
}

/// How many bytes of `text` fit; at least one character.
fn longest_prefix(text: &str, most: usize) -> usize {
    let mut units = 0;
    for (at, letter) in text.char_indices() {
        units += letter.len_utf16();
        if units > most && at > 0 {
            return at;
        }
    }
    text.len()
}

/// The best place to cut within the first `end` bytes, not in their first half if there is another.
fn cut(text: &str, end: usize) -> usize {
    let Some(head) = text.get(..end) else { return end };
    for mark in ["\n\n", "\n", ". ", "! ", "? ", " "] {
        if let Some(at) = head.rfind(mark)
            && at + mark.len() > end / 2
        {
            return at + mark.len();
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str) -> usize {
        text.encode_utf16().count()
    }

    #[test]
    fn texts_are_cut_where_a_reader_would() {
        assert_eq!(split("short", 10), ["short"]);
        assert_eq!(split("", 10), Vec::<String>::new());
        assert_eq!(split(" \n ", 10), Vec::<String>::new());
        assert_eq!(split("one two three", 8), ["one two", "three"]);
        assert_eq!(split("para one\n\npara two", 12), ["para one", "para two"]);
        assert_eq!(split("Say it. Then go on", 14), ["Say it.", "Then go on"]);
        assert_eq!(split("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    }

    #[test]
    fn no_part_is_too_long_and_nothing_is_lost() {
        let text = "😀ab c\n".repeat(3000) + &"x".repeat(9000) + &"é".repeat(5000);
        for most in [1, 2, 3, 100, LONGEST] {
            let parts = split(&text, most);
            // A character of two units cannot be cut.
            assert!(parts.iter().all(|part| units(part) <= most.max(2)), "{most}");
            let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
            assert_eq!(letters(&parts.concat()), letters(&text), "{most}");
        }
    }
}
