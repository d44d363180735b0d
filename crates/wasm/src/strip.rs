//! Takes out of a component what it does not need to run: debug information, source maps, notes of its producers.

/// Custom sections that stay: names of functions, for backtraces.
const KEPT_SECTIONS: [&[u8]; 2] = [b"name", b"component-name"];
/// Modules and components within a component within a component: deeper than any toolchain goes.
const MAX_NESTING: usize = 16;

/// A component without what it does not need to run. Names of functions stay, so that a trap can say where it was.
///
/// # Errors
/// It is not well-formed.
pub fn strip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    strip_at(bytes, 0)
}

fn strip_at(bytes: &[u8], depth: usize) -> Result<Vec<u8>, String> {
    let broken = || "it is not a well-formed component".to_owned();
    if depth > MAX_NESTING {
        return Err("it nests components too deeply".to_owned());
    }
    let (header, mut rest) = bytes.split_at_checked(8).ok_or_else(broken)?;
    // The fifth byte is the version, the seventh tells a component (1) from a module (0).
    let is_component = header.get(6) == Some(&1);
    let mut out = Vec::with_capacity(bytes.len());
    out.extend_from_slice(header);
    while let Some((id, after)) = rest.split_first() {
        let (size, after) = leb(after).ok_or_else(broken)?;
        let (content, after) = after.split_at_checked(size).ok_or_else(broken)?;
        rest = after;
        match (id, is_component) {
            (0, _) => {
                let (length, name) = leb(content).ok_or_else(broken)?;
                if KEPT_SECTIONS.contains(&name.get(..length).ok_or_else(broken)?) {
                    section(&mut out, *id, content);
                }
            }
            // A module (1) or a component (4) within.
            (1 | 4, true) => section(&mut out, *id, &strip_at(content, depth + 1)?),
            _ => section(&mut out, *id, content),
        }
    }
    Ok(out)
}

fn section(out: &mut Vec<u8>, id: u8, content: &[u8]) {
    out.push(id);
    let mut size = content.len();
    loop {
        let low = u8::try_from(size & 0x7f).unwrap_or_default();
        size >>= 7;
        out.push(if size == 0 { low } else { low | 0x80 });
        if size == 0 {
            break;
        }
    }
    out.extend_from_slice(content);
}

/// An unsigned number as WASM writes it, and what follows.
fn leb(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_and_the_rest_goes() {
        let text = r#"(component
            (core module (func $named unreachable) (@custom ".debug_info" "much") (@custom "producers" "me"))
            (component (core module (@custom ".debug_line" "more"))))"#;
        let bytes = wat::parse_str(text).expect("a component");
        let stripped = strip(&bytes).expect("well-formed");
        let holds = |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        for word in [".debug_info", "producers", ".debug_line"] {
            assert!(holds(&bytes, word) && !holds(&stripped, word), "{word}");
        }
        assert!(holds(&stripped, "named"));
        assert_eq!(strip(&stripped).expect("again"), stripped);
        wasmparser::validate(&stripped).expect("still a component");
    }

    #[test]
    fn broken_input_is_an_error() {
        for bytes in [
            &b""[..],
            b"\0asm",
            b"\0asm\x0d\0\x01\0\x01",
            b"\0asm\x0d\0\x01\0\x01\xff\xff\xff\xff\x7f",
            b"\0asm\x0d\0\x01\0\0\x01\x05",
        ] {
            assert!(strip(bytes).is_err(), "{bytes:?}");
        }
        let mut nested = b"\0asm\x0d\0\x01\0".to_vec();
        for _ in 0..MAX_NESTING + 2 {
            let mut outer = b"\0asm\x0d\0\x01\0".to_vec();
            section(&mut outer, 4, &nested);
            nested = outer;
        }
        assert!(strip(&nested).expect_err("deep").contains("deeply"));
    }
}
