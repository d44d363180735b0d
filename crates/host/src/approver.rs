//! Who is asked when policy cannot decide alone.

use jackfield_protocol::{Capability, ExtensionId, Need};
use jackfield_runtime::BoxFuture;

/// What a person is asked.
#[derive(Debug, Clone)]
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

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// There is no person: every question is answered with no.
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
