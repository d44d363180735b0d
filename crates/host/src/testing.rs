//! One fake runtime, and a host on a temporary home, for the unit tests of this crate.
//!
//! A test describes its extensions with [`FakeExtension`] and opens a [`Stage`] with them. Their manifests are files, so
//! discovery and reload are the real ones. The instances live in memory: they start, answer and exit as the test says.

mod fake_extension;
mod fake_runtime;
mod people;
mod stage;

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) use fake_extension::{FakeExtension, Latch, Start, text};
pub(crate) use people::ScriptedPeer;
pub(crate) use stage::{Stage, contents};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The output of `work`. A test whose work never ends fails instead of hanging.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it ends within a minute")
}
