//! What is said about an extension that does not serve.

use jackfield_protocol::CallError;

use super::Supervised;
use crate::registry::qualified_name;

impl Supervised {
    /// Whether a tool of this name would be this extension's, as far as its manifest, an earlier version or the name say.
    pub(crate) fn should_offer(&self, tool: &str) -> bool {
        let is_named = |own: &String| own == tool || qualified_name(&self.id, own) == tool;
        self.known_or_previous().is_some_and(|known| known.contributions.tools.iter().any(|own| is_named(&own.name)))
            || self.found.load().manifest.declared_tools.iter().any(is_named)
            || tool.strip_prefix(&qualified_name(&self.id, "")).is_some_and(|rest| !rest.is_empty())
    }

    /// Why it offers nothing, if it should.
    pub(crate) fn absence(&self) -> Option<CallError> {
        let failed =
            || self.failure().map(|failure| self.unavailable(&format!("it did not start: {}", failure.reason)));
        self.may_run().err().or_else(failed)
    }

    /// Reasons quote what the extension wrote.
    pub(super) fn fit_to_tell(&self, reason: &str) -> String {
        self.host.upgrade().map_or_else(|| reason.to_owned(), |host| host.clean(reason))
    }
}
