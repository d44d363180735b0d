//! Asks the person at the terminal, in the manner of a browser's permission prompt: who wants what, in whose course, and
//! how to answer for good.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::sync::Arc;

use jackfield_host::{Answer, Approver, Nobody, Question, YesToAll, grant_words};
use jackfield_protocol::plain_text;
use jackfield_runtime::BoxFuture;

/// Who answers the questions of this run.
pub(crate) fn approver(yes: bool) -> Arc<dyn Approver> {
    if yes {
        Arc::new(YesToAll)
    } else if std::io::stderr().is_terminal() && std::io::stdin().is_terminal() {
        Arc::new(Terminal)
    } else {
        Arc::new(Nobody)
    }
}

struct Terminal;

impl Approver for Terminal {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            // Reading a terminal blocks.
            let asked = tokio::task::spawn_blocking(move || ask(&question)).await;
            asked.unwrap_or(Answer::No)
        })
    }
}

fn ask(question: &Question) -> Answer {
    let Ok(mut terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else { return Answer::No };
    let Ok(input) = terminal.try_clone() else { return Answer::No };
    let mut input = BufReader::new(input);
    loop {
        if terminal.write_all(text_of(question).as_bytes()).is_err() {
            return Answer::No;
        }
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => return Answer::No,
            Ok(_) => {}
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Answer::Once,
            "r" => return Answer::ThisRun,
            "p" => return Answer::AlwaysHere,
            "a" => return Answer::Always,
            "n" | "no" => return Answer::No,
            _ => {}
        }
    }
}

fn text_of(question: &Question) -> String {
    let need = plain_text(&question.need.to_string()).replace('\n', " ");
    let mut text = format!("\n┏ extension \"{}\" wants: {need}\n", question.extension);
    if let Some(tool) = &question.on_behalf_of {
        text.push_str(&format!("┠ while running the tool {}\n", plain_text(tool)));
    }
    if let Some(reason) = &question.reason {
        text.push_str(&format!("┠ it says why: {}\n", plain_text(reason).replace('\n', " ")));
    }
    let words = plain_text(&grant_words(&question.need)).replace('\n', " ");
    text.push_str(&format!("┠ to allow it for good: jackfield grant {} {words}\n", question.extension));
    text.push_str("┗ allow? [y] once  [r] this run  [p] always in this project  [a] always  [n] no > ");
    text
}

#[cfg(test)]
mod tests {
    use jackfield_protocol::{Capability, Need, Power, Resource};

    use super::*;

    #[test]
    fn the_question_names_who_what_why_and_the_flag() {
        let need =
            Need { power: Power::Http, method: "http", resource: Resource::Host("api.x.org:443\u{1b}[2J".into()) };
        let text = text_of(&Question {
            extension: "weather".into(),
            grant: Capability::exactly(&need),
            need,
            on_behalf_of: Some("forecast".into()),
            reason: Some("to ask\nfor the weather".into()),
        });
        assert_eq!(
            text,
            "\n┏ extension \"weather\" wants: http api.x.org:443\n┠ while running the tool forecast\n\
             ┠ it says why: to ask for the weather\n\
             ┠ to allow it for good: jackfield grant weather http --host api.x.org:443\n\
             ┗ allow? [y] once  [r] this run  [p] always in this project  [a] always  [n] no > "
        );
    }
}
