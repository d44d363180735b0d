//! Typing at a terminal that does not show it.

use std::fs::File;
use std::io::Read;

use jackfield_host::LONGEST_SECRET;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// A terminal that does not show what is typed, until this is dropped.
pub(crate) struct Unseen {
    terminal: File,
    before: Termios,
}

impl Unseen {
    /// Begins. Keys that would end the process come as bytes until then.
    pub(crate) fn begin(terminal: &File) -> std::io::Result<Self> {
        let terminal = terminal.try_clone()?;
        let before = tcgetattr(&terminal)?;
        let mut during = before.clone();
        // Keys that would end this process come as bytes, too: it has to put the terminal back first.
        during.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        during.special_codes[SpecialCodeIndex::VMIN] = 1;
        during.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Flush, &during)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // Whoever has lost the terminal needs it no more.
        tcsetattr(&self.terminal, OptionalActions::Flush, &self.before).ok();
    }
}

/// What is typed up to the end of the line; nothing where it was given up.
pub(crate) fn typed(input: &mut impl Read) -> std::io::Result<Option<Vec<u8>>> {
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const BACK: u8 = 8;
    const CLEAR: u8 = 21;
    const QUIT: u8 = 28;
    const DELETE: u8 = 127;
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        if input.read(&mut byte)? == 0 {
            return Ok(None);
        }
        match byte[0] {
            b'\n' | b'\r' => return Ok(Some(line)),
            INTERRUPT | END | QUIT => return Ok(None),
            CLEAR => line.clear(),
            // All bytes of the last letter.
            BACK | DELETE => while line.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {},
            byte if line.len() <= LONGEST_SECRET => line.push(byte),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn a_line_is_edited_and_given_up() {
        let line = |keys: &[u8]| {
            typed(&mut &keys[..]).expect("it reads").map(|line| String::from_utf8_lossy(&line).into_owned())
        };
        assert_eq!(line(b"abc\r").as_deref(), Some("abc"));
        assert_eq!(line("abü\u{7f}c\nmore".as_bytes()).as_deref(), Some("abc"));
        assert_eq!(line(b"wrong\x15right\n").as_deref(), Some("right"));
        assert_eq!(line(b"\x7f\x7fx\n").as_deref(), Some("x"));
        for given_up in [&b"abc\x03\n"[..], b"abc\x04", b"abc", b""] {
            assert_eq!(line(given_up), None);
        }
    }
}
