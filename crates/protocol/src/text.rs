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
    use super::plain_text;

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
