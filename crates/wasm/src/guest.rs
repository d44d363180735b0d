//! One instance of a component, and the functions that it exports.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use jackfield_protocol::CallId;
use wasmtime::component::{Component, ComponentExportIndex, ComponentType, InstancePre, Linker, Lower, TypedFunc};
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

/// What a tool call is given. The same as [`CallContext`] and what comes with it, borrowed: what is copied into the component
/// anyway is not copied before.
#[derive(ComponentType, Lower)]
#[component(record)]
struct Conditions<'a> {
    #[component(name = "call-id")]
    call_id: &'a str,
    workspace: &'a str,
    #[component(name = "deadline-ms")]
    deadline_ms: f64,
    meta: &'a str,
}

type CallTool = TypedFunc<(&'static Conditions<'static>, &'static str, &'static str), (Result<ToolResult, Error>,)>;

/// A component that is linked: all that every instance of it has in common.
pub(crate) struct Program {
    pre: InstancePre<State>,
    exports: GuestIndices,
    call_tool: ComponentExportIndex,
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
        let place = |name: &str| component.get_export_index(None, format!("{}/{name}@{}", WORLD.0, WORLD.1));
        let call_tool = place("guest").and_then(|guest| component.get_export_index(Some(&guest), "call-tool"));
        let call_tool = call_tool.ok_or_else(|| wrong(wasmtime::Error::msg("there is no `call-tool`")))?;
        let handlers = match place("handlers") {
            Some(_) => Some(HandlersIndices::new(&pre).map_err(wrong)?),
            None => None,
        };
        Ok(Self { pre, exports, call_tool, handlers })
    }

    pub(crate) fn has_handlers(&self) -> bool {
        self.handlers.is_some()
    }

    /// A new instance. Only `describe` may be called before it is initialised.
    pub(crate) async fn instantiate(&self, shared: Arc<Shared>, ticks: Arc<AtomicU32>) -> wasmtime::Result<Guest> {
        let workspace = shared.project.clone();
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
        let call_tool = instance.get_typed_func(&mut store, self.call_tool)?;
        let handlers = match &self.handlers {
            Some(handlers) => Some(handlers.load(&mut store, &instance)?),
            None => None,
        };
        Ok(Guest { store, exports, call_tool, handlers, workspace })
    }
}

/// One instance.
pub(crate) struct Guest {
    pub(crate) store: Store<State>,
    exports: Exports,
    call_tool: CallTool,
    handlers: Option<Handlers>,
    workspace: String,
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

    /// Does what it is asked, and tells it how long the caller still waits.
    pub(crate) async fn perform(&mut self, task: Task) -> wasmtime::Result<Done> {
        let Task { call, job, deadline } = task;
        let call_id = call.as_ref().map_or_else(String::new, |call| call.as_str().to_owned());
        let left = deadline.saturating_duration_since(self.begin(call));
        let deadline_ms = left.as_secs() as f64 * 1000.0 + f64::from(left.subsec_millis());
        let Job::Tool { name, args, meta } = &job else { return self.handle(&job, call_id, deadline_ms).await };
        let context = Conditions { call_id: &call_id, workspace: &self.workspace, deadline_ms, meta };
        let (answer,) = self.call_tool.call_async(&mut self.store, (&context, name, args)).await?;
        Ok(Done::Tool(answer))
    }

    /// Everything but tools. What has no handler is done at once.
    async fn handle(&mut self, job: &Job, call_id: String, deadline_ms: f64) -> wasmtime::Result<Done> {
        let workspace = self.workspace.clone();
        let context = &CallContext { call_id, workspace, deadline_ms, meta: String::new() };
        let store = &mut self.store;
        Ok(match (job, &self.handlers) {
            (Job::Describe, _) => {
                store.data_mut().is_pure = true;
                Done::Described(Box::new(self.exports.call_describe(store).await?))
            }
            (Job::Command { name, args }, Some(handlers)) => {
                Done::Command(handlers.call_run_command(store, context, name, args).await?)
            }
            (Job::Hook { point, payload }, Some(handlers)) => {
                Done::Verdict(handlers.call_hook(store, context, point, payload).await?)
            }
            (Job::Event { event, data }, Some(handlers)) => {
                handlers.call_on_event(store, context, event, data).await?;
                Done::Nothing
            }
            (Job::Shutdown, Some(handlers)) => {
                handlers.call_shutdown(store, "quit").await?;
                Done::Nothing
            }
            _ => Done::Nothing,
        })
    }
}

/// A job, the call that it belongs to, and its deadline.
pub(crate) struct Task {
    pub(crate) call: Option<CallId>,
    pub(crate) job: Job,
    pub(crate) deadline: Instant,
}

/// What an instance is asked to do.
pub(crate) enum Job {
    Describe,
    Tool { name: String, args: String, meta: String },
    Command { name: String, args: String },
    Hook { point: String, payload: String },
    Event { event: String, data: String },
    Shutdown,
}

impl Job {
    /// What the job is called in messages.
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
