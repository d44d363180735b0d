//! Extensions whose contributions are unknown.

use std::sync::atomic::Ordering;

use jackfield_discovery::Standing;
use jackfield_protocol::{Format, OnFailure};

use super::{State, Supervised};

impl Supervised {
    /// Whether it may run, and the host does not know yet what it contributes. An extension that failed recently is none, nor is one
    /// that a call has waited for already.
    pub(crate) fn is_stranger(&self) -> bool {
        self.known().is_none()
            && self.found.load().standing == Standing::Active
            && matches!(self.state(), State::Idle | State::Spawning | State::Restarting { .. })
            && !self.failure().is_some_and(|failure| failure.is_recent())
            && !self.passed_over.load(Ordering::Acquire)
    }

    /// Whether it could have hooks, as far as its manifest and its dialect tell.
    pub(crate) fn may_guard(&self) -> bool {
        let manifest = &self.found.load().manifest;
        let has_hooks = match manifest.format {
            Format::Native | Format::Zot | Format::Nexo | Format::Pi => true,
            // A Python file has tools and channels, a server of this kind has tools.
            Format::Python | Format::Mcp => false,
        };
        has_hooks || manifest.on_failure == Some(OnFailure::Deny)
    }

    /// No call waits for it again before it has said what it contributes.
    pub(crate) fn pass_over(&self) {
        self.passed_over.store(true, Ordering::Release);
    }
}
