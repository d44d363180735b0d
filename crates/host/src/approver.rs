//! Who is asked when policy cannot decide alone.

use std::fmt;

use jackfield_protocol::{Capability, ExtensionId, Need, plain_text};
use jackfield_runtime::BoxFuture;

/// What a person is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// The extension that asks for permission.
    pub extension: ExtensionId,
    /// The power and the resource that it asks for.
    pub need: Need,
    /// The tool that was called when the extension asked.
    pub on_behalf_of: Option<String>,
    /// What the extension's manifest says about why.
    pub reason: Option<String>,
    /// What a permanent yes would grant.
    pub grant: Capability,
}

impl Question {
    /// A question about one need. It names no tool and no reason.
    pub fn new(extension: ExtensionId, need: Need, grant: Capability) -> Self {
        Self { extension, need, on_behalf_of: None, reason: None, grant }
    }
}

/// The question in one line without control sequences: `notes wants read todo.txt for note_import: to keep it`.
impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |text: &str| plain_text(text).replace('\n', " ");
        write!(f, "{} wants {}", self.extension, line(&self.need.to_string()))?;
        if let Some(tool) = &self.on_behalf_of {
            write!(f, " for {}", line(tool))?;
        }
        match &self.reason {
            Some(reason) => write!(f, ": {}", line(reason)),
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
    /// No, for this time only. The host asks again at the next need.
    No,
}

/// Asks a person. Implemented by faces.
pub trait Approver: Send + Sync {
    /// The answer. May take as long as the person does; the host bounds it.
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;
}

/// Nobody is there: every question is answered with no.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::No })
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

    #[test]
    fn a_question_is_one_plain_line() {
        let need = Need { power: Power::Http, method: "http", resource: Resource::Host("x.org:443\u{1b}[2J".into()) };
        let mut question = Question::new("weather".into(), need.clone(), Capability::exactly(&need));
        assert_eq!(question.to_string(), "weather wants http x.org:443");
        question.on_behalf_of = Some("forecast".into());
        question.reason = Some("to ask\nfor the weather".into());
        assert_eq!(question.to_string(), "weather wants http x.org:443 for forecast: to ask for the weather");
    }
}
