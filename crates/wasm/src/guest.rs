//! One instance of a component, and the functions that it exports.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use jackfield_protocol::CallId;
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Store, UpdateDeadline};

use crate::bindings::exports::jackfield::extension::guest::{Guest as Exports, GuestIndices};
use crate::bindings::exports::jackfield::extension::handlers::{Guest as Handlers, GuestIndices as HandlersIndices};
use crate::bindings::jackfield::extension::types::{
    CallContext, CommandReply, Error, Registration, ToolResult, Verdict,
};
use crate::engine::Machine;
use crate::scan::WORLD;
use crate::state::{Shared, State};
use crate::{imports, wasi};

/// What is copied between a component and the host in one direction of one call.
const MAX_COPIED: usize = 8 * 1024 * 1024;

/// A component that is linked: all that every instance of it has in common.
pub(crate) struct Program {
    pre: InstancePre<State>,
    exports: GuestIndices,
    handlers: Option<HandlersIndices>,
}

impl Program {
    /// Links a component with what our world offers.
    pub(crate) fn link(machine: &Machine, component: &Component) -> Result<Self, String> {
        let mut linker = Linker::new(&machine.engine);
        let ours = imports::add(&mut linker).and_then(|()| wasi::add(&mut linker, component));
        ours.map_err(|error| format!("it cannot be linked: {error:#}"))?;
        let pre = linker.instantiate_pre(component).map_err(|error| format!("it cannot be linked: {error:#}"))?;
        let wrong = |error: wasmtime::Error| format!("its exports are not those of {}@{}: {error:#}", WORLD.0, WORLD.1);
        let exports = GuestIndices::new(&pre).map_err(wrong)?;
        let name = format!("{}/handlers@{}", WORLD.0, WORLD.1);
        let handlers = match component.get_export_index(None, &name) {
            Some(_) => Some(HandlersIndices::new(&pre).map_err(wrong)?),
            None => None,
        };
        Ok(Self { pre, exports, handlers })
    }

    pub(crate) fn has_handlers(&self) -> bool {
        self.handlers.is_some()
    }

    /// A new instance. Only `describe` may be called before it is initialised.
    pub(crate) async fn instantiate(&self, shared: Arc<Shared>, ticks: Arc<AtomicU32>) -> wasmtime::Result<Guest> {
        let mut store = Store::new(self.pre.engine(), State::new(shared));
        store.data_mut().ticks = ticks;
        store.limiter(|state| state);
        store.set_hostcall_fuel(MAX_COPIED);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| {
            store.data_mut().tick()?;
            // Whoever else waits for this thread, and whoever gave the call up, is heard now.
            Ok(UpdateDeadline::Yield(1))
        });
        let instance = self.pre.instantiate_async(&mut store).await?;
        let exports = self.exports.load(&mut store, &instance)?;
        let handlers = match &self.handlers {
            Some(handlers) => Some(handlers.load(&mut store, &instance)?),
            None => None,
        };
        Ok(Guest { store, exports, handlers })
    }
}

/// One instance.
pub(crate) struct Guest {
    pub(crate) store: Store<State>,
    exports: Exports,
    handlers: Option<Handlers>,
}

impl Guest {
    fn begin(&mut self, call: Option<CallId>) -> Instant {
        self.store.set_epoch_deadline(1);
        self.store.data_mut().begin(call)
    }

    /// From here on it may call the host.
    #[allow(clippy::ptr_arg, reason = "what is generated takes it like this")]
    pub(crate) async fn init(&mut self, context: &String) -> wasmtime::Result<Result<(), String>> {
        self.begin(None);
        self.store.data_mut().is_pure = false;
        match &self.handlers {
            Some(handlers) => handlers.call_init(&mut self.store, context).await,
            None => Ok(Ok(())),
        }
    }

    /// Does what it is asked, and tells it how long the caller still waits. What has no handler is done at once.
    pub(crate) async fn perform(&mut self, task: &mut Task) -> wasmtime::Result<Done> {
        let now = self.begin(task.call.take());
        let left = task.deadline.saturating_duration_since(now);
        let job = &mut task.job;
        if let Some(context) = job.context() {
            context.deadline_ms = (left.as_secs_f64() * 1000.0).floor();
        }
        let store = &mut self.store;
        Ok(match (&*job, &self.handlers) {
            (Job::Describe, _) => {
                store.data_mut().is_pure = true;
                Done::Described(Box::new(self.exports.call_describe(store).await?))
            }
            (Job::Tool { context, name, args }, _) => {
                Done::Tool(self.exports.call_call_tool(store, context, name, args).await?)
            }
            (Job::Command { context, name, args }, Some(handlers)) => {
                Done::Command(handlers.call_run_command(store, context, name, args).await?)
            }
            (Job::Hook { context, point, payload }, Some(handlers)) => {
                Done::Verdict(handlers.call_hook(store, context, point, payload).await?)
            }
            (Job::Event { context, event, data }, Some(handlers)) => {
                handlers.call_on_event(store, context, event, data).await?;
                Done::Nothing
            }
            (Job::Shutdown, Some(handlers)) => {
                handlers.call_shutdown(store, "quit").await?;
                Done::Nothing
            }
            (Job::Command { .. } | Job::Hook { .. } | Job::Event { .. } | Job::Shutdown, None) => Done::Nothing,
        })
    }
}

/// A job, for whom, and until when. Lent rather than handed on: what a call carries along is allocated for each.
pub(crate) struct Task {
    pub(crate) call: Option<CallId>,
    pub(crate) job: Job,
    pub(crate) deadline: Instant,
}

/// What an instance is asked to do.
pub(crate) enum Job {
    Describe,
    Tool { context: CallContext, name: String, args: String },
    Command { context: CallContext, name: String, args: String },
    Hook { context: CallContext, point: String, payload: String },
    Event { context: CallContext, event: String, data: String },
    Shutdown,
}

impl Job {
    /// The conditions that it is told.
    fn context(&mut self) -> Option<&mut CallContext> {
        match self {
            Self::Tool { context, .. }
            | Self::Command { context, .. }
            | Self::Hook { context, .. }
            | Self::Event { context, .. } => Some(context),
            Self::Describe | Self::Shutdown => None,
        }
    }

    /// For messages.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Describe => "`describe`",
            Self::Tool { .. } => "a tool call",
            Self::Command { .. } => "a slash command",
            Self::Hook { .. } => "a hook",
            Self::Event { .. } => "an event",
            Self::Shutdown => "`shutdown`",
        }
    }
}

/// What came of it.
pub(crate) enum Done {
    Described(Box<Registration>),
    Tool(Result<ToolResult, Error>),
    Command(Result<CommandReply, Error>),
    Verdict(Verdict),
    Nothing,
}
