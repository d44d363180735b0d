//! The host as an embedder holds it.

use std::ops::Deref;

use crate::HostBuilder;

/// A host. Cheap to clone; the last handle to go takes every extension with it.
///
/// What a host does is on [`jackfield_host::Host`], to which this type dereferences.
#[derive(Clone)]
pub struct Host(jackfield_host::Host);

impl Host {
    /// A builder with a default for every choice.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// The host without this wrapper, as jackfield's other crates take it.
    pub fn into_inner(self) -> jackfield_host::Host {
        self.0
    }
}

impl From<jackfield_host::Host> for Host {
    fn from(host: jackfield_host::Host) -> Self {
        Self(host)
    }
}

impl Deref for Host {
    type Target = jackfield_host::Host;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
