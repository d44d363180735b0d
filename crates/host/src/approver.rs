//! Who is asked when policy cannot decide alone.

use std::fmt;

use jackfield_protocol::{Capability, ExtensionId, Need, visible_text};
use jackfield_runtime::BoxFuture;

use crate::gate::grant_words;

/// The most columns of one line of a question: two rows of a narrow terminal. With the answers that is at most twelve rows.
const LONG_LINE: usize = 140;
/// The most columns of a line that says less.
const SHORT_LINE: usize = 74;

/// What a person is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// The extension that asks for permission.
    pub extension: ExtensionId,
    /// The power and the resource that it asks for.
    pub need: Need,
    /// The whole act: the command line, the request line, or the tool with its arguments.
    pub act: Option<String>,
    /// The tool that was called when the extension asked.
    pub on_behalf_of: Option<String>,
    /// What the extension's manifest says about why.
    pub reason: Option<String>,
    /// What a permanent yes would grant.
    pub grant: Capability,
}

impl Question {
    /// A question about one need. It names no act, no tool and no reason.
    pub fn new(extension: ExtensionId, need: Need, grant: Capability) -> Self {
        Self { extension, need, act: None, on_behalf_of: None, reason: None, grant }
    }

    /// The question for a person, the same for every face: at most five lines, each of at most 140 columns. Everything in it
    /// is visible. What is longer is shortened in its middle, so that neither begin nor end can be pushed away.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![fitted(&format!("extension \"{}\" wants: {}", self.extension, self.need), LONG_LINE)];
        lines.extend(self.act.as_ref().map(|act| fitted(&format!("it would do: {act}"), LONG_LINE)));
        lines.extend(
            self.on_behalf_of.as_ref().map(|tool| fitted(&format!("while running the tool {tool}"), SHORT_LINE)),
        );
        lines.extend(self.reason.as_ref().map(|reason| fitted(&format!("it says why: {reason}"), SHORT_LINE)));
        lines.push(match self.grant_command() {
            Some(command) => format!("to allow it for good: {command}"),
            None => "to allow it for good answer \"always\"; its command cannot be shown".to_owned(),
        });
        lines
    }

    /// The whole act with everything in it visible, where [`Self::lines`] shortens it.
    pub fn long_act(&self) -> Option<String> {
        let act = format!("it would do: {}", self.act.as_ref()?);
        let visible = visible_text(&act);
        (fitted(&act, LONG_LINE) != visible).then_some(visible)
    }

    /// The command that grants for good what is asked. `None` when it is too long to show or holds characters that a
    /// terminal would not show as they are.
    pub fn grant_command(&self) -> Option<String> {
        let command = format!("jackfield grant {} {}", self.extension, grant_words(&self.need));
        // What is shown is what would be run.
        (columns(&command) < LONG_LINE - 24 && visible_text(&command) == command).then_some(command)
    }
}

/// How many columns a text takes at most.
fn columns(text: &str) -> usize {
    text.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum()
}

/// One line with everything visible, shortened in its middle to so many columns.
fn fitted(text: &str, most: usize) -> String {
    let visible = visible_text(text);
    if columns(&visible) <= most {
        return visible;
    }
    let take = |chars: &mut dyn Iterator<Item = char>, room: usize| -> String {
        let mut used = 0;
        chars
            .take_while(|c| {
                used += if c.is_ascii() { 1 } else { 2 };
                used <= room
            })
            .collect()
    };
    // Room for the words in the middle.
    let room = most.saturating_sub(34);
    let begin = take(&mut visible.chars(), room * 3 / 4);
    let end: String = take(&mut visible.chars().rev(), room / 4).chars().rev().collect();
    let left_out = visible.chars().count() - begin.chars().count() - end.chars().count();
    format!("{begin} [… {left_out} characters …] {end}")
}

/// The question in one line with everything visible: `notes wants read todo.txt for note_import: to keep it`.
impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} wants {}", self.extension, fitted(&self.need.to_string(), LONG_LINE))?;
        if let Some(act) = &self.act {
            write!(f, " ({})", fitted(act, LONG_LINE))?;
        }
        if let Some(tool) = &self.on_behalf_of {
            write!(f, " for {}", fitted(tool, SHORT_LINE))?;
        }
        match &self.reason {
            Some(reason) => write!(f, ": {}", fitted(reason, LONG_LINE)),
            None => Ok(()),
        }
    }
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Yes, for this time only. The host asks again at the next need.
    Once,
    /// Yes, as long as this host runs.
    ThisRun,
    /// Yes, in this project, until the person revokes it.
    AlwaysHere,
    /// Yes, in every project, until the person revokes it.
    Always,
    /// No. After the no of its own [`Approver`] the host does not ask for the same thing again as long as it runs; a
    /// stored grant still counts. The no of a caller's own client is about that call.
    No,
    /// No person answered: it is a no for this time only.
    Unanswered,
}

impl Answer {
    /// Whether a person said yes, in any form.
    pub fn is_yes(self) -> bool {
        match self {
            Self::Once | Self::ThisRun | Self::AlwaysHere | Self::Always => true,
            Self::No | Self::Unanswered => false,
        }
    }
}

/// Asks a person. Implemented by faces.
pub trait Approver: Send + Sync {
    /// The answer. May take as long as the person does; the host bounds it.
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;
}

/// There is no person: every question stays unanswered.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApprover;

impl Approver for NoApprover {
    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Unanswered })
    }
}

/// The person said yes to everything beforehand.
#[derive(Debug, Clone, Copy, Default)]
pub struct YesToAll;

impl Approver for YesToAll {
    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Once })
    }
}

#[cfg(test)]
mod tests {
    use jackfield_protocol::{Power, Resource};

    use super::*;

    fn about(resource: Resource) -> Question {
        let need = Need { power: Power::Read, method: "fs", resource };
        Question::new("odd".into(), need.clone(), Capability::exactly(&need))
    }

    #[test]
    fn a_question_has_few_rows_whatever_it_is_about() {
        let mut question = about(Resource::Path(format!("begin/{}/end", "x".repeat(4000))));
        question.act = Some("y\n".repeat(4000));
        question.on_behalf_of = Some("\u{1b}[2J".repeat(100));
        question.reason = Some("z ".repeat(4000));
        let lines = question.lines();
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().all(|line| columns(line) <= LONG_LINE && !line.contains(['\n', '\u{1b}'])), "{lines:#?}");
        let rows: usize = lines.iter().map(|line| columns(line).div_ceil(78)).sum();
        assert!(rows <= 8, "{lines:#?}");
        assert!(question.long_act().is_some_and(|act| act.len() > 4000), "the whole of it can be seen");
        let first = &lines[0];
        assert!(first.starts_with("extension \"odd\" wants: read begin/xxx") && first.ends_with("xxx/end"), "{first}");
        assert_eq!(lines[4], "to allow it for good answer \"always\"; its command cannot be shown");
    }

    #[test]
    fn the_advised_command_is_one_that_a_shell_reads_as_it_is_shown() {
        for (path, command) in [
            ("a.txt", Some("jackfield grant odd read --path a.txt")),
            ("$(rm x)", Some("jackfield grant odd read --path '$(rm x)'")),
            ("it's", Some(r"jackfield grant odd read --path 'it'\''s'")),
            ("**", Some(r"jackfield grant odd read --path '\*\*'")),
            ("a\nb", None),
            ("a\u{1b}[2Jb", None),
            ("a\tb", None),
            ("a  b", None),
            ("a\u{3164}b", None),
            ("~/x", Some("jackfield grant odd read --path './~/x'")),
            ("~", Some("jackfield grant odd read --path './~'")),
        ] {
            assert_eq!(about(Resource::Path(path.into())).grant_command().as_deref(), command, "{path:?}");
        }
    }

    #[test]
    fn a_question_is_one_plain_line() {
        let need = Need { power: Power::Http, method: "http", resource: Resource::Host("x.org:443".into()) };
        let mut question = Question::new("weather".into(), need.clone(), Capability::exactly(&need));
        assert_eq!(question.to_string(), "weather wants http x.org:443");
        question.on_behalf_of = Some("forecast".into());
        question.reason = Some("to ask\nfor the weather".into());
        assert_eq!(question.to_string(), "weather wants http x.org:443 for forecast: to ask⏎for the weather");
    }
}
