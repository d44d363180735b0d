//! Nested permits: a service in the middle of its work meets a redirect or a second path, and needs a permit for that too.

use std::sync::Arc;

use jackfield_ledger::Evidence;
use jackfield_policy::Permit;
use jackfield_policy::{Subject, Verdict};
use jackfield_protocol::{CallError, Capability, Need};
use jackfield_runtime::BoxFuture;
use jackfield_services::Authorize;

use super::{CallContext, Gate};
use crate::host::Inner;

/// Decides for the extension and the call that the service works for.
pub(super) struct NestedAuthorizer<'a> {
    pub(super) gate: &'a Gate,
    pub(super) host: &'a Arc<Inner>,
    pub(super) context: CallContext<'a>,
    pub(super) declared: &'a [Capability],
}

impl Authorize for NestedAuthorizer<'_> {
    fn authorize(&self, need: Need) -> BoxFuture<'_, Result<Permit, CallError>> {
        Box::pin(async move {
            let mut evidence = Evidence::default();
            let extension = &self.gate.extension;
            let subject = Subject::Extension { declared: self.declared };
            self.host.authorize(extension, subject, need, self.context, &mut evidence).await
        })
    }

    fn judge(&self, need: &Need) -> Verdict {
        let extension = &self.gate.extension;
        self.host.decide(extension, Subject::Extension { declared: self.declared }, need).verdict()
    }
}
