//! The contract between the host and the runtimes that start extensions: [`Runtime`], [`Instance`] and [`HostApi`].
//!
//! A runtime cannot name policy, ledger or registry, so it cannot go round them. It restarts nothing: the host's supervisor
//! does. Beside the contract this crate holds only code that more than one runtime needs.
//!
//! Modules in reading order:
//! - `traits`: how the host treats the extensions of a runtime.
//! - `start`, `call`: what a runtime gets to start an extension and to deliver a call.
//! - `register`: what an extension offers while it runs.
//! - `sealed`: a folder of compiled code that only this home may have written.
//! - `log_file`, `secrets`: the log of an extension, without the secrets that the host knows.

mod call;
mod log_file;
mod register;
mod sealed;
mod secrets;
mod start;
mod traits;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use jackfield_protocol::{
    CallError, ContributionChange, Contributions, Event, HostCall, LogRecord, Manifest, Notice, RuntimeKind,
};
use serde_json::Value;

pub use call::{CallCx, CallInput, ExtensionCall, HostCallCx, Reply};
pub use jackfield_files::{read_plain, real_path};
pub use log_file::LogFile;
pub use register::{Registrations, bounded};
pub use sealed::{Sealed, SealedFolder, SealedKey};
pub use secrets::Secrets;
pub use start::{Exit, StartError, StartSpec, Started};
pub use traits::{Confinement, Limits, Traits};

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs extensions of one kind. Implemented once per runtime crate.
pub trait Runtime: Send + Sync {
    /// Which kind.
    fn kind(&self) -> RuntimeKind;

    /// How this runtime treats the extension of `manifest`. Always the same for the same manifest.
    fn traits(&self, manifest: &Manifest) -> Traits;

    /// Starts an extension and returns once its handshake is done. Dropping the instance kills the extension.
    fn start(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>>;

    /// What extensions contribute, learnt from all of them together without keeping any of them running: what each offers,
    /// or why it does not start. `None` for one that has to be started to be known.
    fn describe<'a>(&'a self, specs: &'a [StartSpec]) -> BoxFuture<'a, Vec<Option<Result<Contributions, StartError>>>> {
        let unknown = specs.iter().map(|_| None).collect();
        Box::pin(std::future::ready(unknown))
    }
}

/// A running extension. Implemented by runtimes, owned by the host's supervisor.
pub trait Instance: Send + Sync {
    /// Asks the extension for something. Calls may overlap; an engine that can run only one queues the rest against their
    /// deadlines. Honours `cx.deadline` and `cx.cancel`, and fails at once when the instance has gone.
    fn call(&self, call: ExtensionCall, cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>>;

    /// Tells the extension that something happened, if it wants to know. Never blocks; keeps the order.
    fn notify(&self, event: &Event);

    /// Asks it to stop, waits `grace`, kills the whole tree. Idempotent.
    fn stop(&self, grace: Duration) -> BoxFuture<'_, Exit>;

    /// Resolves when it has gone, however that came about.
    fn exited(&self) -> BoxFuture<'_, Exit>;

    /// Whether it has gone. The same as a look at [`Instance::exited`], which is asked before every call.
    fn is_gone(&self) -> bool {
        self.exited().as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// The operating system's number of the process behind it, where there is one.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// How its code came to run, in the runtime's own words: what had to be compiled and what did not.
    fn code(&self) -> Option<Value> {
        None
    }
}

/// The only door from an extension into the host. Implemented once, by the host's gate, per instance.
pub trait HostApi: Send + Sync {
    /// A host call. The host derives the capability, decides, records and serves it.
    fn call(&self, call: HostCall, cx: HostCallCx) -> BoxFuture<'_, Result<Value, CallError>>;

    /// What the instance contributes has changed while it runs.
    fn contribute(&self, change: ContributionChange);

    /// Something for the faces. Never blocks; floods are dropped and counted.
    fn tell(&self, notice: Notice);

    /// A line for the extension's log. Never blocks.
    fn log(&self, record: LogRecord);
}
