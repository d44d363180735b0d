//! Asks the person at the terminal, in the manner of a browser's permission prompt: who wants what, in whose course, and
//! how to answer for good.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use jackfield_host::{Answer, Approver, NoApprover, Question, YesToAll};
use jackfield_runtime::BoxFuture;

use crate::output;

/// Who answers the questions of this run.
pub(crate) fn approver(yes: bool) -> Arc<dyn Approver> {
    if yes {
        Arc::new(YesToAll)
    } else if std::io::stderr().is_terminal() && std::io::stdin().is_terminal() {
        Arc::new(Terminal)
    } else {
        Arc::new(NoApprover)
    }
}

struct Terminal;

impl Approver for Terminal {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let _hold = output::hold();
            let open = Open::default();
            let closed = Arc::clone(&open.closed);
            // Reading a terminal blocks.
            let asked = tokio::task::spawn_blocking(move || ask_terminal(&question, &closed)).await;
            asked.unwrap_or(Answer::Unanswered)
        })
    }
}

/// Whoever asks still wants to know. Once it is dropped, what is typed no longer answers its question.
#[derive(Default)]
pub(crate) struct Open {
    pub(crate) closed: Arc<AtomicBool>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
    }
}

/// Whose turn it is at the terminal. A read cannot be called off, so the reader of a question that is closed keeps its
/// turn until the next line, which it throws away.
static TERMINAL_TURN: Mutex<()> = Mutex::new(());

fn ask_terminal(question: &Question, closed: &AtomicBool) -> Answer {
    let asked = at_terminal(|terminal, input| {
        // What was typed before the question stood there is no answer to it.
        rustix::termios::tcflush(&*terminal, rustix::termios::QueueSelector::IFlush).ok();
        ask(question, terminal, input, closed)
    });
    asked.unwrap_or(Answer::Unanswered)
}

/// Talks with the person at the terminal, one question after another; nothing where there is no terminal.
pub(crate) fn at_terminal<T>(talk: impl FnOnce(&mut File, &mut BufReader<File>) -> T) -> Option<T> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let input = terminal.try_clone().ok()?;
    let _turn = match TERMINAL_TURN.try_lock() {
        Ok(turn) => turn,
        Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
        Err(TryLockError::WouldBlock) => {
            terminal
                .write_all("\n(that question is closed; there is another one: press Enter to see it) ".as_bytes())
                .ok();
            TERMINAL_TURN.lock().unwrap_or_else(PoisonError::into_inner)
        }
    };
    Some(talk(&mut terminal, &mut BufReader::new(input)))
}

/// Asks the person for a yes; nothing where there is nobody to ask. Whatever is no yes is a no.
pub(crate) fn yes_or_no(question: &str) -> Option<bool> {
    if !(std::io::stderr().is_terminal() && std::io::stdin().is_terminal()) {
        return None;
    }
    at_terminal(|terminal, input| {
        let mut line = String::new();
        let asked = terminal.write_all(question.as_bytes()).and_then(|()| input.read_line(&mut line));
        asked.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
    })
}

fn ask(question: &Question, terminal: &mut impl Write, input: &mut impl BufRead, closed: &AtomicBool) -> Answer {
    loop {
        if closed.load(Ordering::Acquire) || terminal.write_all(text_of(question).as_bytes()).is_err() {
            return Answer::Unanswered;
        }
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => return Answer::Unanswered,
            // Typed at a question that nobody asks any more.
            Ok(_) if closed.load(Ordering::Acquire) => return Answer::Unanswered,
            Ok(_) => {}
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Answer::Once,
            "r" => return Answer::ThisRun,
            "p" => return Answer::AlwaysHere,
            "a" => return Answer::Always,
            "" | "n" | "no" => return Answer::No,
            "s" => {
                let act = question.long_act().unwrap_or_default();
                if writeln!(terminal, "\n{act}").is_err() {
                    return Answer::Unanswered;
                }
            }
            _ => {}
        }
    }
}

/// The question as a person sees it, up to where the answer is typed.
pub(crate) fn text_of(question: &Question) -> String {
    let mut text = String::new();
    for (number, line) in question.lines().iter().enumerate() {
        text.push_str(if number == 0 { "\n┏ " } else { "┠ " });
        text.push_str(line);
        text.push('\n');
    }
    if question.long_act().is_some() {
        text.push_str("┠ type s to see all that it would do\n");
    }
    text.push_str("┗ allow? [y] once  [r] this run  [p] always in this project  [a] always  [n] no > ");
    text
}

#[cfg(test)]
mod tests {
    use jackfield_protocol::{Capability, Need, Power, Resource};

    use super::*;

    fn question() -> Question {
        let need = Need { power: Power::Http, method: "http", resource: Resource::Host("x.org:443".into()) };
        let grant = Capability::exactly(&need);
        Question::new("weather".into(), need, grant)
    }

    #[test]
    fn a_line_answers_only_a_question_that_is_open() {
        /// The asker goes while the person types.
        struct Typing<'a>(&'a [u8], Option<Open>);
        impl std::io::Read for Typing<'_> {
            fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
                self.1.take();
                self.0.read(into)
            }
        }
        let answer = |goes: bool| {
            let open = Open::default();
            let closed = Arc::clone(&open.closed);
            let (gone, _stays) = if goes { (Some(open), None) } else { (None, Some(open)) };
            ask(&question(), &mut std::io::sink(), &mut BufReader::new(Typing(b"what?\na\n", gone)), &closed)
        };
        assert_eq!(answer(false), Answer::Always);
        assert_eq!(answer(true), Answer::Unanswered);
    }

    #[test]
    fn the_question_names_who_what_why_and_the_flag() {
        let need = Need { power: Power::Http, method: "http", resource: Resource::Host("api.x.org:443".into()) };
        let grant = Capability::exactly(&need);
        let mut question = Question::new("weather".into(), need, grant);
        question.on_behalf_of = Some("forecast".into());
        question.reason = Some("to ask\nfor the weather".into());
        let text = text_of(&question);
        assert_eq!(
            text,
            "\n┏ extension \"weather\" wants: http api.x.org:443\n┠ while running the tool forecast\n\
             ┠ it says why: to ask⏎for the weather\n\
             ┠ to allow it for good: jackfield grant weather http --host api.x.org:443\n\
             ┗ allow? [y] once  [r] this run  [p] always in this project  [a] always  [n] no > "
        );
    }
}
