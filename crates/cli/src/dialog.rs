//! Puts the questions of extensions to the person at the terminal.

use std::fs::File;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_host::{Dialog, DialogAnswer, DialogAsk, Face, NoFace};
use jackfield_protocol::plain_text;
use jackfield_runtime::BoxFuture;

use crate::approve::{Open, at_terminal};
use crate::output;
use crate::unseen::{Unseen, typed};

/// Who answers the questions of this run.
pub(crate) fn face() -> Arc<dyn Face> {
    if std::io::stderr().is_terminal() && std::io::stdin().is_terminal() {
        Arc::new(Terminal)
    } else {
        Arc::new(NoFace)
    }
}

struct Terminal;

impl Face for Terminal {
    fn dialog(&self, dialog: Dialog) -> BoxFuture<'_, DialogAnswer> {
        Box::pin(async move {
            let _hold = output::hold();
            let curtain = Curtain::default();
            let behind = curtain.clone();
            let _drawn_back = DrawnBack(curtain);
            // Goes first when nobody wants to know any more.
            let open = Open::default();
            let closed = Arc::clone(&open.closed);
            // Reading a terminal blocks.
            let asked = tokio::task::spawn_blocking(move || {
                at_terminal(|terminal, input| match dialog.ask {
                    DialogAsk::Input { secret: true, .. } => ask_unseen(&dialog, terminal, input, &closed, &behind),
                    _ => ask(&dialog, terminal, input, &closed),
                })
                .unwrap_or(DialogAnswer::Unanswered)
            });
            asked.await.unwrap_or(DialogAnswer::Unanswered)
        })
    }
}

/// What hides a secret that is typed. Whoever waits for the answer draws it back, because whoever reads cannot be called off.
#[derive(Clone, Default)]
struct Curtain(Arc<Mutex<Option<Unseen>>>);

impl Curtain {
    /// Hides what is typed, unless the question is closed.
    fn draw(&self, terminal: &File, closed: &AtomicBool) -> bool {
        let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !closed.load(Ordering::Acquire) {
            *drawn = Unseen::begin(terminal).ok();
        }
        drawn.is_some()
    }

    /// Shows it again. False where it was shown already.
    fn draw_back(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }
}

struct DrawnBack(Curtain);

impl Drop for DrawnBack {
    fn drop(&mut self) {
        if self.0.draw_back() {
            // Who goes on typing must know that it is seen now.
            output::note!("(that question is closed: what is typed now is shown, and not kept)");
        }
    }
}

/// Asks for a secret, which is not shown while it is typed.
fn ask_unseen(
    dialog: &Dialog,
    terminal: &mut File,
    input: &mut impl Read,
    closed: &AtomicBool,
    curtain: &Curtain,
) -> DialogAnswer {
    let DialogAsk::Input { title, .. } = &dialog.ask else { return DialogAnswer::Cancelled };
    if !curtain.draw(terminal, closed) {
        return DialogAnswer::Cancelled;
    }
    let text = format!("\n┏ extension \"{}\" asks: {}\n┗ (it is not shown) > ", dialog.extension, flat(title));
    let line = terminal.write_all(text.as_bytes()).and_then(|()| typed(input));
    if !curtain.draw_back() {
        return DialogAnswer::Cancelled;
    }
    terminal.write_all(b"\n").ok();
    let value = line.ok().flatten().and_then(|line| String::from_utf8(line).ok());
    value.map_or(DialogAnswer::Cancelled, DialogAnswer::Value)
}

/// One line of what an extension says.
fn flat(text: &str) -> String {
    plain_text(text).replace('\n', " ")
}

fn ask(dialog: &Dialog, terminal: &mut impl Write, input: &mut impl BufRead, closed: &AtomicBool) -> DialogAnswer {
    let mut text = format!("\n┏ extension \"{}\" asks: ", dialog.extension);
    match &dialog.ask {
        DialogAsk::Select { title, options } => {
            text.push_str(&flat(title));
            for (at, option) in options.iter().enumerate() {
                text.push_str(&format!("\n┠ {:>3}  {}", at + 1, flat(option)));
            }
            text.push_str("\n┗ which number? (nothing: none of them) > ");
        }
        DialogAsk::Confirm { title, message } => {
            text.push_str(&flat(title));
            for line in plain_text(message).lines() {
                text.push_str(&format!("\n┠ {line}"));
            }
            text.push_str("\n┗ [y] yes  [n] no > ");
        }
        DialogAsk::Input { title, placeholder, .. } => {
            text.push_str(&flat(title));
            let hint = placeholder.as_deref().map(|hint| format!("({}) ", flat(hint))).unwrap_or_default();
            text.push_str(&format!("\n┗ {hint}> "));
        }
        DialogAsk::Editor { title, prefill } => {
            text.push_str(&flat(title));
            for line in plain_text(prefill.as_deref().unwrap_or_default()).lines() {
                text.push_str(&format!("\n┠ {line}"));
            }
            text.push_str("\n┗ the new text, then a line with only a dot (a dot alone keeps it as it is):\n");
        }
        _ => return DialogAnswer::Unanswered,
    }
    loop {
        if closed.load(Ordering::Acquire) || terminal.write_all(text.as_bytes()).is_err() {
            return DialogAnswer::Cancelled;
        }
        let answer = match &dialog.ask {
            DialogAsk::Editor { prefill, .. } => lines(input).map(|new| {
                DialogAnswer::Value(if new.is_empty() { prefill.clone().unwrap_or_default() } else { new.join("\n") })
            }),
            ask => line(input).map(|line| read(ask, &line)).unwrap_or(Some(DialogAnswer::Cancelled)),
        };
        // Typed at a question that nobody asks any more.
        if closed.load(Ordering::Acquire) {
            return DialogAnswer::Cancelled;
        }
        match (answer, &dialog.ask) {
            (Some(answer), _) => return answer,
            (None, DialogAsk::Editor { .. }) => return DialogAnswer::Cancelled,
            (None, _) => {}
        }
    }
}

/// What a line answers; nothing where it must be asked again.
fn read(ask: &DialogAsk, line: &str) -> Option<DialogAnswer> {
    let word = line.trim();
    match ask {
        DialogAsk::Select { .. } if word.is_empty() => Some(DialogAnswer::Cancelled),
        DialogAsk::Select { options, .. } => {
            let chosen = options.get(word.parse::<usize>().ok()?.checked_sub(1)?)?;
            Some(DialogAnswer::Value(chosen.clone()))
        }
        DialogAsk::Confirm { .. } => match word.to_ascii_lowercase().as_str() {
            "y" | "yes" => Some(DialogAnswer::Confirmed(true)),
            "n" | "no" => Some(DialogAnswer::Confirmed(false)),
            _ => None,
        },
        DialogAsk::Input { .. } | DialogAsk::Editor { .. } => {
            Some(DialogAnswer::Value(line.trim_end_matches(['\r', '\n']).to_owned()))
        }
        _ => Some(DialogAnswer::Unanswered),
    }
}

fn line(input: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

/// Lines up to one with only a dot; nothing where the input ends before.
fn lines(input: &mut impl BufRead) -> Option<Vec<String>> {
    let mut all = Vec::new();
    loop {
        let line = line(input)?;
        let line = line.trim_end_matches(['\r', '\n']);
        if line == "." {
            return Some(all);
        }
        all.push(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ask_what: DialogAsk, typed: &str) -> (DialogAnswer, String) {
        let dialog = Dialog::new("ext".into(), ask_what);
        let mut shown = Vec::new();
        let answer = ask(&dialog, &mut shown, &mut typed.as_bytes(), &AtomicBool::new(false));
        (answer, String::from_utf8(shown).expect("UTF-8"))
    }

    #[test]
    fn choices_are_numbered() {
        let select = || DialogAsk::Select { title: "Which\u{1b}[2J?".into(), options: vec!["a\nb".into(), "c".into()] };
        let (answer, shown) = asked(select(), "7\nx\n1\n");
        assert_eq!(answer, DialogAnswer::Value("a\nb".into()));
        assert_eq!(shown.matches("which number?").count(), 3);
        let first =
            "\n┏ extension \"ext\" asks: Which?\n┠   1  a b\n┠   2  c\n┗ which number? (nothing: none of them) > ";
        assert!(shown.starts_with(first), "{shown}");
        assert_eq!(asked(select(), "\n").0, DialogAnswer::Cancelled);
        assert_eq!(asked(select(), "").0, DialogAnswer::Cancelled);
    }

    #[test]
    fn texts_and_yes() {
        let confirm = || DialogAsk::Confirm { title: "Sure?".into(), message: "line\nline".into() };
        assert_eq!(asked(confirm(), "maybe\nY\n").0, DialogAnswer::Confirmed(true));
        assert_eq!(asked(confirm(), "no\n").0, DialogAnswer::Confirmed(false));
        let input = || DialogAsk::Input { title: "Name".into(), placeholder: Some("Ada".into()), secret: false };
        assert_eq!(asked(input(), " x \n").0, DialogAnswer::Value(" x ".into()));
        let editor = || DialogAsk::Editor { title: "Text".into(), prefill: Some("old".into()) };
        assert_eq!(asked(editor(), "a\n\nb\n.\n").0, DialogAnswer::Value("a\n\nb".into()));
        assert_eq!(asked(editor(), ".\n").0, DialogAnswer::Value("old".into()));
        assert_eq!(asked(editor(), "a\n").0, DialogAnswer::Cancelled);
    }
}
