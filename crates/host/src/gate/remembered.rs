//! A plain yes to a caller of a tool, remembered for as long as nothing that it rests on has changed.

use std::sync::{Arc, Mutex, PoisonError};

use jackfield_protocol::{CallError, Need, Power, Resource};

use super::{Course, Permit};
use crate::grants::Grant;
use crate::host::Inner;
use crate::ledger::Evidence;
use crate::policy::{Caller, Decision, Subject, Verdict};
use crate::registry::ToolEntry;

/// The last yes to a caller of one tool.
#[derive(Default)]
pub(crate) struct Remembered(Mutex<Option<(Ground, &'static str)>>);

/// What a decision about a caller of one tool rests on, beside the policy, which stays the same as long as the host runs, and
/// the names of the tool, which stay the same as long as the entry does.
struct Ground {
    caller: Caller,
    /// The very list: whatever changes makes another one, and this one is kept so that no other can take its place.
    stored: Arc<[Grant]>,
    /// How many answers were given for this run; none is ever taken back.
    given: usize,
}

impl Ground {
    fn is(&self, other: &Self) -> bool {
        self.caller == other.caller && Arc::ptr_eq(&self.stored, &other.stored) && self.given == other.given
    }
}

impl Remembered {
    fn rule(&self, ground: &Ground) -> Option<&'static str> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(known, _)| known.is(ground)).map(|(_, rule)| *rule)
    }

    fn keep(&self, ground: Ground, rule: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((ground, rule));
    }
}

impl Inner {
    /// As [`Inner::authorize`], for a caller of a tool.
    pub(crate) async fn authorize_caller(
        &self,
        entry: &Arc<ToolEntry>,
        caller: Caller,
        course: Course<'_>,
        evidence: &mut Evidence,
    ) -> Result<Permit, CallError> {
        let extension = &entry.extension;
        let need = Need { power: Power::Tool, method: "tool", resource: Resource::Tool(entry.name.clone()) };
        let ground =
            Ground { caller, stored: self.grants.applying(extension, &self.project), given: self.run_grants().len() };
        // The name must still be this tool's: a denial may name the other one's.
        let current = self.snapshot().tool(&entry.name).is_some_and(|named| Arc::ptr_eq(named, entry));
        let subject = Subject::Caller(caller);
        let decision = match entry.allowed.rule(&ground).filter(|_| current) {
            // How a yes came about is of interest to `why` alone, which asks anew.
            Some(rule) => Decision { verdict: Verdict::Allow, rule, chain: Vec::new() },
            None => {
                let decision = self.decide(extension, subject, &need);
                // Grants that changed meanwhile make another list, so what is kept here is not found again.
                if decision.verdict == Verdict::Allow && current {
                    entry.allowed.keep(ground, decision.rule);
                }
                decision
            }
        };
        self.carry_out(decision, extension, subject, need, course, evidence).await
    }
}
