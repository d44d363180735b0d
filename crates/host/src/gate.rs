//! The gate: the only place that makes a [`Permit`], and the only door from an extension into the host.

use jackfield_protocol::{CallError, ExtensionId, Need};
use jackfield_runtime::BoxFuture;

/// Proof that a decision was made, recorded and is yes. Services take it by reference; only the gate makes one.
#[derive(Debug)]
pub(crate) struct Permit {
    extension: ExtensionId,
    need: Need,
}

impl Permit {
    /// For whom.
    pub(crate) fn extension(&self) -> &ExtensionId {
        &self.extension
    }

    /// For what exactly.
    pub(crate) fn need(&self) -> &Need {
        &self.need
    }

    /// For the tests of services.
    #[cfg(test)]
    pub(crate) fn for_test(extension: &str, need: Need) -> Self {
        Self { extension: extension.into(), need }
    }
}

/// Asks for a further permit in the middle of a service, for instance when an HTTP answer redirects elsewhere.
/// Implemented by the gate.
pub(crate) trait Authorize: Send + Sync {
    /// A permit, or why not.
    fn authorize(&self, need: Need) -> BoxFuture<'_, Result<Permit, CallError>>;
}
