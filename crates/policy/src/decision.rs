//! The outcome of a question to the policy, and the permit that an allowing outcome makes.

use std::borrow::Cow;

use jackfield_protocol::{ExtensionId, Need};
use serde::Serialize;

use crate::Verdict;

/// One rule that the policy considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Step {
    /// The rule's stable name, for instance `deny_caps`.
    pub rule: &'static str,
    /// The rule's verdict; nothing when it did not apply.
    pub effect: Option<Verdict>,
    /// Why the rule says so, for a person.
    pub detail: Cow<'static, str>,
}

/// A verdict and how it came about. Only [`crate::Policy::decide`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    verdict: Verdict,
    rule: &'static str,
    chain: Vec<Step>,
    #[serde(skip)]
    extension: ExtensionId,
    #[serde(skip)]
    need: Need,
}

impl Decision {
    pub(crate) fn new(
        extension: ExtensionId,
        need: Need,
        verdict: Verdict,
        rule: &'static str,
        chain: Vec<Step>,
    ) -> Self {
        Self { verdict, rule, chain, extension, need }
    }

    /// What is to happen.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The stable name of the rule that decided.
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// Every rule that was considered, in order; the last one decided.
    pub fn chain(&self) -> &[Step] {
        &self.chain
    }

    /// The reason, in the words of the rule that decided.
    pub fn reason(&self) -> &str {
        self.chain.last().map_or("", |step| step.detail.as_ref())
    }

    /// The permit, if the verdict is [`Verdict::Allow`].
    pub fn permit(self) -> Option<Permit> {
        (self.verdict == Verdict::Allow).then_some(Permit { extension: self.extension, need: self.need })
    }

    /// The permit after a person said yes, if the verdict is [`Verdict::Ask`]. A person cannot overrule a refusal.
    pub fn approved(self) -> Option<Permit> {
        (self.verdict == Verdict::Ask).then_some(Permit { extension: self.extension, need: self.need })
    }
}

/// Proof that the policy, or a person whom it asked, allowed exactly one need of one extension.
///
/// Services and runtimes take a permit by reference. It cannot be cloned, and only a [`Decision`] makes one:
///
/// ```compile_fail
/// use jackfield_policy::Permit;
/// let forged = Permit { extension: "x".into(), need: unimplemented!() };
/// ```
#[derive(Debug)]
pub struct Permit {
    extension: ExtensionId,
    need: Need,
}

impl Permit {
    /// The extension that asked, or that owns the tool.
    pub fn extension(&self) -> &ExtensionId {
        &self.extension
    }

    /// The need that was allowed.
    pub fn need(&self) -> &Need {
        &self.need
    }
}

#[cfg(test)]
mod tests {
    use jackfield_protocol::{Capability, Power, Resource};

    use super::*;
    use crate::{Effect, Grant, Mode, Place, Policy, Request, Subject};

    fn decide(mode: Mode, grants: &[Grant]) -> Decision {
        let need = Need { power: Power::Read, method: "fs", resource: Resource::Path("a".into()) };
        let extension = ExtensionId::from("ext");
        let subject = Subject::Extension { declared: &[] };
        Policy { mode, ..Policy::default() }.decide(&Request {
            extension: &extension,
            subject,
            need: &need,
            grants,
            place: Place::Open,
        })
    }

    #[test]
    fn a_permit_is_for_the_extension_and_need_that_were_decided() {
        let permit = decide(Mode::Permissive, &[]).permit().expect("allowed");
        assert_eq!(permit.extension().as_str(), "ext");
        assert_eq!(permit.need().resource, Resource::Path("a".into()));
        assert!(decide(Mode::Permissive, &[]).approved().is_none(), "no person was to be asked");
    }

    #[test]
    fn a_question_makes_a_permit_only_when_it_was_approved() {
        assert!(decide(Mode::Prompt, &[]).permit().is_none());
        assert!(decide(Mode::Prompt, &[]).approved().is_some());
    }

    #[test]
    fn a_refusal_makes_no_permit_whatever_a_person_says() {
        let denial = Grant {
            extension: "ext".into(),
            capability: Capability::unlimited(Power::Read),
            effect: Effect::Deny,
            project: None,
            granted_at: String::new(),
            id: "1".into(),
        };
        for mode in Mode::ALL {
            assert!(decide(mode, std::slice::from_ref(&denial)).permit().is_none());
            assert!(decide(mode, std::slice::from_ref(&denial)).approved().is_none());
        }
    }
}
