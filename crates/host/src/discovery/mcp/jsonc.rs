//! JSON as people write it in settings: with comments, and with a comma after the last entry.

use serde_json::{Map, Value};

use super::parse;

/// Reads an object. A key that stands twice is not an error here, because one entry must not cost the others; what was
/// doubled is said beside it.
pub(super) fn object(text: &str) -> Result<(Map<String, Value>, Option<String>), String> {
    let plain = strip(text.strip_prefix('\u{feff}').unwrap_or(text));
    match parse::json_object(&plain) {
        Ok(object) => Ok((object, None)),
        Err(strict) => match serde_json::from_str(&plain) {
            Ok(Value::Object(object)) => Ok((object, Some(strict))),
            Ok(_) | Err(_) => Err(strict),
        },
    }
}

/// Puts blanks in the place of comments and of commas before a closing bracket, so that errors keep their line and column.
fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // Where the last comma stands, if only blanks came since.
    let mut comma: Option<usize> = None;
    let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                comma = None;
                out.push(c);
                let mut escaped = false;
                for c in rest.by_ref() {
                    out.push(c);
                    if c == '"' && !escaped {
                        break;
                    }
                    escaped = c == '\\' && !escaped;
                }
            }
            ('/', Some('/')) => {
                out.push(' ');
                while rest.peek().is_some_and(|c| *c != '\n') {
                    rest.next();
                    out.push(' ');
                }
            }
            ('/', Some('*')) => {
                rest.next();
                out.push_str("  ");
                let mut star = false;
                for c in rest.by_ref() {
                    out.push(blank(c));
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
            }
            (',', _) => {
                comma = Some(out.len());
                out.push(c);
            }
            ('}' | ']', _) => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(c);
            }
            _ => {
                if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_go() {
        let text =
            "\u{feff}// a\n{ /* b\n */ \"a//b\": \"c /* \\\" , ] \", // d\n \"x\": [1, 2, /* e */ ], \"y\": {},\n}";
        let (object, doubled) = object(text).expect("an object");
        assert_eq!(Value::Object(object).to_string(), r#"{"a//b":"c /* \" , ] ","x":[1,2],"y":{}}"#);
        assert_eq!(doubled, None);
    }

    #[test]
    fn errors_keep_their_line() {
        let error = object("{\n// x\n\"a\": ?,\n}").expect_err("no value");
        assert!(error.contains("line 3"), "{error}");
        assert!(object("[]").is_err() && object("").is_err() && object("/*").is_err());
        let (twice, doubled) = object(r#"{"a":1,"a":2}"#).expect("an object");
        assert_eq!((twice["a"].as_u64(), doubled.is_some()), (Some(2), true));
    }
}
