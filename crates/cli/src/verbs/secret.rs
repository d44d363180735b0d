//! `secret list`, `secret set`, `secret remove`: what a person keeps for extensions. Values come in and never go out.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Read, Write};

use clap::Subcommand;
use jackfield_host::{LONGEST_SECRET, SecretError, SecretStore};
use jackfield_protocol::{CallError, ErrorCode};
use jackfield_runtime::Secrets;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use serde_json::json;

use crate::args::Global;
use crate::compose;
use crate::exit;
use crate::output::{self, note};

/// What can be done about secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretVerb {
    /// List the names; values are shown nowhere
    List,
    /// Keep a value, read from standard input or asked for without showing it
    ///
    /// An extension gets it as the variable NAME if its manifest says so in `requires.env`, through the host call `env` if it
    /// is granted, and as ${NAME} in the settings of MCP servers. A variable of that name in the environment comes first.
    Set {
        /// Letters, digits and _
        name: String,
    },
    /// Forget a value
    #[command(alias = "rm")]
    Remove {
        /// Which (see `jackfield secret list`)
        name: String,
    },
}

pub(crate) fn secret(global: &Global, verb: SecretVerb) -> anyhow::Result<u8> {
    let store = SecretStore::of(&compose::home(global)?);
    match verb {
        SecretVerb::List => list(global, &store),
        SecretVerb::Set { name } => set(global, &store, &name),
        SecretVerb::Remove { name } => remove(global, &store, &name),
    }
}

fn list(global: &Global, store: &SecretStore) -> anyhow::Result<u8> {
    let names = store.names().map_err(refused)?;
    // What cannot be used is listed all the same, so that it can be removed.
    let problems: Vec<String> =
        names.iter().filter_map(|name| store.get(name).err()).map(|error| error.to_string()).collect();
    for problem in &problems {
        note!("warn: {problem}");
    }
    if global.json {
        output::json(&json!({ "secrets": names, "problems": problems }))?;
    } else if names.is_empty() {
        output::line("there are no secrets; keep one with `jackfield secret set NAME`")?;
    }
    if !global.json {
        names.iter().try_for_each(|name| output::line(name))?;
    }
    Ok(exit::FINE)
}

fn set(global: &Global, store: &SecretStore, name: &str) -> anyhow::Result<u8> {
    // What is wrong with the name is said before anybody types a value.
    SecretStore::check_name(name).map_err(refused)?;
    let value = if std::io::stdin().is_terminal() { asked(name)? } else { piped()? };
    let replaced = store.set(name, &value).map_err(refused)?;
    if value.trim_end().chars().count() < Secrets::SHORTEST {
        let least = Secrets::SHORTEST;
        note!("warn: {name} has fewer than {least} characters: too few to be found and taken out of logs");
    }
    if global.json {
        output::json(&json!({ "ok": true, "secret": name, "replaced": replaced }))?;
    } else {
        output::line(&if replaced { format!("replaced {name}") } else { format!("kept {name}") })?;
    }
    Ok(exit::FINE)
}

fn remove(global: &Global, store: &SecretStore, name: &str) -> anyhow::Result<u8> {
    if !store.remove(name).map_err(refused)? {
        let message = format!("there is no secret {name} (see `jackfield secret list`)");
        return Err(CallError::new(ErrorCode::NotFound, message).into());
    }
    if global.json {
        output::json(&json!({ "ok": true, "secret": name }))?;
    } else {
        output::line(&format!("removed {name}"))?;
    }
    Ok(exit::FINE)
}

fn refused(error: SecretError) -> anyhow::Error {
    let code = match &error {
        SecretError::Name { .. } | SecretError::Value { .. } => ErrorCode::InvalidRequest,
        SecretError::Refused { .. } => ErrorCode::InvalidConfig,
        SecretError::Io { .. } => ErrorCode::Io,
    };
    CallError::new(code, error.to_string()).into()
}

/// All of standard input, as far as a secret can be long.
fn piped() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(LONGEST_SECRET as u64 + 3).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| {
        CallError::new(ErrorCode::InvalidRequest, "the value on standard input is not UTF-8 text".to_owned()).into()
    })
}

/// A terminal that does not show what is typed, until this is dropped.
struct Unseen<'a> {
    terminal: &'a std::fs::File,
    before: Termios,
}

impl<'a> Unseen<'a> {
    fn begin(terminal: &'a std::fs::File) -> std::io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut during = before.clone();
        // Keys that would end this process come as bytes, too: it has to put the terminal back first.
        during.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        during.special_codes[SpecialCodeIndex::VMIN] = 1;
        during.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(terminal, OptionalActions::Flush, &during)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Unseen<'_> {
    fn drop(&mut self) {
        // Whoever has lost the terminal needs it no more.
        tcsetattr(self.terminal, OptionalActions::Flush, &self.before).ok();
    }
}

/// One line of the person at the terminal.
fn asked(name: &str) -> anyhow::Result<String> {
    let given_up = || CallError::new(ErrorCode::Cancelled, format!("no value for {name}; nothing was changed"));
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let screen = terminal.try_clone()?;
    let unseen = Unseen::begin(&screen)?;
    terminal.write_all(format!("value for {name} (it is not shown): ").as_bytes())?;
    let typed = typed(&mut terminal);
    drop(unseen);
    terminal.write_all(b"\n")?;
    let typed = typed?.ok_or_else(given_up)?;
    Ok(String::from_utf8(typed).map_err(|_| CallError::new(ErrorCode::InvalidRequest, "it is not UTF-8 text"))?)
}

/// What is typed up to the end of the line; nothing where it was given up.
fn typed(input: &mut impl Read) -> std::io::Result<Option<Vec<u8>>> {
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
