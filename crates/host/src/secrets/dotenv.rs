//! What stands in a `.env` file: `NAME=value` a line, quotes stripped, comments and empty lines passed over. Nothing is
//! run or put in for `$NAME`. What is wrong with a line is said without a word of it, because it may be a secret.

use std::collections::BTreeMap;

use super::{SecretError, check_name, check_value};

/// The most that a file may hold.
pub(super) const LONGEST_FILE: usize = 256 * 1024;

/// A file that was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) values: BTreeMap<String, String>,
    /// The number of a line, and what is wrong with it.
    pub(super) problems: Vec<(usize, String)>,
}

/// Reads a file. A name that stands there twice has the last value; one without a value is not set.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut parsed = Parsed::default();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        match entry(line) {
            Ok(Some((name, value))) => {
                parsed.values.insert(name.to_owned(), value.to_owned());
            }
            Ok(None) => {}
            Err(why) => parsed.problems.push((at + 1, why)),
        }
    }
    parsed
}

fn entry(line: &[u8]) -> Result<Option<(&str, &str)>, String> {
    let line = std::str::from_utf8(line).map_err(|_| "it is not UTF-8 text".to_owned())?.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let exported = line.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t']));
    let line = exported.map_or(line, str::trim_start);
    let (name, value) = line.split_once('=').ok_or_else(|| "it is not `NAME=value`".to_owned())?;
    let name = name.trim_end();
    check_name(name).map_err(|error| match error {
        // A name that decides what runs is a known one, and no secret.
        SecretError::Name { name, reason } if reason == super::DECIDES_WHAT_RUNS => {
            format!("{name} is not taken: {reason}")
        }
        _ => "what stands before `=` is not the name of a variable".to_owned(),
    })?;
    let value = bare(value)?;
    if value.is_empty() {
        return Ok(None);
    }
    check_value(name, value).map_err(|error| error.to_string())?;
    Ok(Some((name, value)))
}

/// A value without its quotes, or without the comment behind it.
fn bare(text: &str) -> Result<&str, String> {
    let value = text.trim();
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let Some((quote, inside)) = quote.and_then(|quote| Some((quote, value.strip_prefix(quote)?))) else {
        let comment = text
            .match_indices('#')
            .find(|(at, _)| text.get(..*at).is_some_and(|before| before.ends_with(char::is_whitespace)));
        return Ok(comment.and_then(|(at, _)| text.get(..at)).unwrap_or(text).trim());
    };
    let (first, behind) = inside.split_once(quote).ok_or_else(|| "a quote is not closed".to_owned())?;
    let behind = behind.trim_start();
    if behind.is_empty() || behind.starts_with('#') {
        return Ok(first);
    }
    // Quotes of the same kind within it, as in JSON.
    inside.strip_suffix(quote).ok_or_else(|| "something stands behind the closing quote".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        for (line, value) in [
            ("A=1", "1"),
            ("  export\tA = spaced out  ", "spaced out"),
            ("A=\"in quotes # no comment\"", "in quotes # no comment"),
            ("A='single'   # comment", "single"),
            ("A=plain # comment", "plain"),
            ("A=a#b", "a#b"),
            ("A=#b", "#b"),
            ("A={\"b\":\"c\"}", "{\"b\":\"c\"}"),
            ("A=\"{\"b\":\"c\"}\"", "{\"b\":\"c\"}"),
            ("A=b=c", "b=c"),
            ("A=$HOME/`id`\\n", "$HOME/`id`\\n"),
            ("A=first\nA=last", "last"),
            ("\u{feff}A=windows\r\n", "windows"),
        ] {
            let parsed = parse(line.as_bytes());
            assert_eq!(parsed.values.get("A").map(String::as_str), Some(value), "{line:?}: {parsed:?}");
            assert_eq!(parsed.problems, []);
        }
        let nothing = parse(b"\n# A=1\n   \n  # B\nEMPTY=\nALSO=''\nC= # comment\n\r\n");
        assert_eq!(nothing, Parsed::default());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_without_its_words() {
        let text = b"OK=1\nsesame-open-now\n1st=sesame-open-now\nA=\"sesame-open-now\nB='x'sesame-open-now\nLD_PRELOAD=sesame-open-now\nPATH=sesame-open-now\nC=\xff\xfesesame-open-now\nD=sesame\0open-now\n=sesame-open-now\nexport=x\nZ=2";
        let Parsed { values, problems } = parse(text);
        assert_eq!(values.keys().map(String::as_str).collect::<Vec<_>>(), ["OK", "Z", "export"]);
        assert_eq!(problems.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert!(problems.iter().all(|(_, why)| !why.contains("sesame")), "{problems:?}");
        assert!(problems.iter().any(|(line, why)| *line == 6 && why.contains("LD_PRELOAD")), "{problems:?}");
        let long = format!("LONG={}", "x".repeat(super::super::LONGEST_SECRET + 1));
        assert_eq!(parse(long.as_bytes()).problems.len(), 1);
    }
}
