//! One engine with one extension in it, on the thread that calls [`run`].
//!
//! Everything here happens on that thread. Messages come in through the event_loop, one at a time; whatever they set off runs
//! to its end, promises included, before the next. Script that does not yield or wants too much memory ends the engine.

mod install;
mod modules;
#[cfg(test)]
mod tests;
mod thrown;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rquickjs::context::intrinsic;
use rquickjs::{CatchResultExt as _, Context, Ctx, Function, Object, Persistent, Result, Runtime, Value as Js};
use serde_json::Value;

use self::install::Current;
use self::thrown::is_out_of_memory;
pub(crate) use self::thrown::throw;
use crate::artifact::Artifact;
use crate::code::{Code, CodeCache, Facts};
use crate::event_loop::{Clock, EventLoop, Task};
use crate::guard::Guard;
use crate::library::Library;
use crate::messages::{Loaded, Outcome, Thrown, ToHost, ToJs};
use crate::natives::Natives;
use crate::resolve::Resolution;
use crate::stack::Source;
use crate::transform::Kind;
use crate::{raw, values};

/// The number under which the start is answered.
pub(crate) const START: u64 = 0;

/// What an engine is to run, and within which bounds.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Setup {
    /// The file with the factory, absolute.
    pub(crate) entry: PathBuf,
    /// What it may load without asking.
    pub(crate) root: PathBuf,
    /// The library module that knows the extension's format; nothing to run the file alone.
    pub(crate) runtime: Option<String>,
    /// Facts that script may know.
    pub(crate) info: Value,
    /// Artifacts that may hold its code, the likeliest first.
    pub(crate) artifacts: Vec<PathBuf>,
    /// What artifacts have to say about its manifest.
    pub(crate) manifest: String,
    /// Bytes that script may use.
    pub(crate) memory: usize,
    pub(crate) test_clock: bool,
}

/// What every context has of the engine's own; what else it could have the library has, and more of it.
type Intrinsics = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
    intrinsic::WeakRef,
);

/// Where messages to the host go.
pub(crate) type Out = Rc<dyn Fn(ToHost)>;

/// Bytes of stack that script may use. The thread has [`crate::STACK`], more than twice as much.
const SCRIPT_STACK: usize = 1024 * 1024;

/// Bytes that an engine may hold before it first looks for garbage that refers to itself; all else is freed at once.
const GC_THRESHOLD: usize = 2 * 1024 * 1024;

/// Bytes of one message of the console; the log keeps less of a line, but has to find secrets first.
const LONGEST_LINE: usize = 80 * 1024;

pub(crate) struct State {
    event_loop: RefCell<EventLoop>,
    out: Out,
    guard: Arc<Guard>,
    cache: Arc<CodeCache>,
    artifact: Option<Artifact>,
    loaded: RefCell<Loaded>,
    library: Library,
    resolution: RefCell<Resolution>,
    natives: Natives,
    sources: RefCell<HashMap<String, Source>>,
    rejected: RefCell<HashMap<u64, (u64, Thrown)>>,
    exit: RefCell<Option<String>>,
    memory: usize,
    /// Whether something waits for the end of what runs now.
    ticks: Cell<bool>,
}

/// An engine in which the library is evaluated and no extension is loaded.
pub(crate) struct Prepared {
    /// The object that `lib/boot.js` returned. Dropped before the runtime that owns it.
    boot: Persistent<Object<'static>>,
    current: Current,
    context: Context,
    runtime: Runtime,
    cache: Arc<CodeCache>,
    library: Library,
    loaded: Loaded,
}

impl Prepared {
    /// Makes an engine and evaluates the modules of the library that nearly every extension uses.
    ///
    /// # Errors
    /// The engine could not be made, or the library does not load.
    pub(crate) fn new(library: &Library, cache: Arc<CodeCache>) -> std::result::Result<Self, String> {
        let unmade = |error: rquickjs::Error| format!("the engine could not be made: {error}");
        let runtime = Runtime::new().map_err(unmade)?;
        runtime.set_max_stack_size(SCRIPT_STACK);
        let context = Context::custom::<Intrinsics>(&runtime).map_err(unmade)?;
        let (_, mail) = std::sync::mpsc::channel();
        let (event_loop, guard) = (EventLoop::new(mail, Clock::Test(0)), Arc::new(Guard::new(Duration::MAX)));
        let state = Rc::new(State::new(event_loop, Rc::new(drop), guard, Arc::clone(&cache), library.clone()));
        let current = Rc::new(RefCell::new(Rc::clone(&state)));
        let boot = context.with(|cx| {
            let boot = state.boot(&cx, &current).and_then(|boot| {
                boot.get::<_, Function>("prepare")?.call::<_, ()>((PREPARED.to_vec(),))?;
                Ok(boot)
            });
            match boot.catch(&cx) {
                Ok(boot) => Ok(Persistent::save(&cx, boot)),
                Err(error) => Err(format!("the library could not be loaded: {}", state.caught(&cx, error).message)),
            }
        })?;
        let loaded = state.loaded.take();
        Ok(Self { boot, current, context, runtime, cache, library: library.clone(), loaded })
    }
}

/// Runs an extension in a prepared engine until it is told to stop or has to; `gone` hears why it ended, before the
/// engine frees its memory.
pub(crate) fn run(
    prepared: Prepared,
    setup: &Setup,
    guard: Arc<Guard>,
    mail: Receiver<ToJs>,
    out: Out,
    gone: impl FnOnce(String),
) {
    let Prepared { boot, current, context, runtime, cache, library, mut loaded } = prepared;
    // The engine begins to look for cycles before an extension is even loaded, and finds none.
    runtime.set_gc_threshold(GC_THRESHOLD.min(setup.memory / 4));
    let watch = Arc::clone(&guard);
    runtime.set_interrupt_handler(Some(Box::new(move || watch.is_over())));
    // Not before: half a context is none.
    runtime.set_memory_limit(setup.memory);
    let (artifact, notes) = artifact_of(setup, &cache);
    loaded.notes = notes;
    let clock = if setup.test_clock { Clock::Test(0) } else { Clock::Real(Instant::now()) };
    let event_loop = EventLoop::new(mail, clock);
    let state = Rc::new(State {
        artifact,
        loaded: RefCell::new(loaded),
        resolution: RefCell::new(Resolution::new(library.clone(), setup.root.clone(), setup.runtime.is_none())),
        memory: setup.memory,
        ..State::new(event_loop, out, guard, cache, library)
    });
    current.replace(Rc::clone(&state));
    let tracker = Rc::clone(&state);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(move |cx, promise, reason, handled| {
        let mut hasher = DefaultHasher::new();
        promise.hash(&mut hasher);
        let id = hasher.finish();
        if handled {
            tracker.rejected.borrow_mut().remove(&id);
        } else {
            // Looking at the reason may run script, which may reject another.
            let thrown = tracker.thrown_as_it_is(&cx, &reason);
            let order = tracker.event_loop.borrow_mut().number();
            tracker.rejected.borrow_mut().insert(id, (order, thrown));
        }
    })));
    gone(context.with(|cx| state.live(&cx, boot, setup)));
    // The tracker keeps the state; the engine must go before it.
    runtime.set_host_promise_rejection_tracker(None);
    drop(context);
}

/// What nearly every extension uses of the library.
const PREPARED: &[&str] = &[
    "jackfield:pi/runtime",
    "jackfield:pi/runtime/api",
    "jackfield:pi/runtime/members",
    "jackfield:pi/runtime/registrations",
    "jackfield:pi/runtime/state",
];

impl State {
    fn new(event_loop: EventLoop, out: Out, guard: Arc<Guard>, cache: Arc<CodeCache>, library: Library) -> Self {
        Self {
            event_loop: RefCell::new(event_loop),
            out,
            guard,
            cache,
            artifact: None,
            loaded: RefCell::default(),
            resolution: RefCell::new(Resolution::new(library.clone(), PathBuf::new(), false)),
            library,
            natives: Natives::default(),
            sources: RefCell::default(),
            rejected: RefCell::default(),
            exit: RefCell::default(),
            memory: usize::MAX,
            ticks: Cell::new(false),
        }
    }

    fn live<'js>(self: &Rc<Self>, cx: &Ctx<'js>, boot: Persistent<Object<'static>>, setup: &Setup) -> String {
        self.guard.begin();
        let told = boot.restore(cx).and_then(|boot| {
            boot.get::<_, Function>("begin")?.call::<_, ()>((values::to_js(cx, setup.info.clone())?,))?;
            Ok(boot)
        });
        let boot = match told.catch(cx) {
            Ok(boot) => boot,
            Err(error) => {
                return self.end(format!("the library could not be loaded: {}", self.caught(cx, error).message));
            }
        };
        if let Some(reason) = self.start(cx, &boot, setup) {
            return reason;
        }
        loop {
            let task = self.event_loop.borrow_mut().next_task();
            self.guard.begin();
            let over = match task {
                Task::Timer(id) => self.enter(cx, &boot, "timer", (id,)),
                Task::Mail(ToJs::Tool { id, call_id, name, args }) => match values::parsed(cx, &args) {
                    Ok(args) => self.enter(cx, &boot, "tool", (id, call_id.as_str(), name, args)),
                    Err(_) => self.caught_pending(cx),
                },
                Task::Mail(ToJs::Call { id, message }) => match values::to_js(cx, message) {
                    Ok(message) => self.enter(cx, &boot, "call", (id, message)),
                    Err(_) => self.caught_pending(cx),
                },
                Task::Mail(ToJs::Cancel { call_id }) => self.enter(cx, &boot, "cancel", (call_id,)),
                Task::Mail(ToJs::Notify { message }) => match values::to_js(cx, message) {
                    Ok(message) => self.enter(cx, &boot, "notify", (message,)),
                    Err(_) => self.caught_pending(cx),
                },
                Task::Mail(ToJs::HostDone { id, outcome }) => match self.told(cx, outcome) {
                    Ok(told) => self.enter(cx, &boot, "hostDone", (id, told)),
                    Err(_) => self.caught_pending(cx),
                },
                Task::Mail(ToJs::HostChunk { id, value }) => match values::to_js(cx, value) {
                    Ok(value) => self.enter(cx, &boot, "hostChunk", (id, value)),
                    Err(_) => self.caught_pending(cx),
                },
                Task::Mail(ToJs::Shutdown { id, reason }) => self.enter(cx, &boot, "shutdown", (id, reason)),
                Task::Mail(ToJs::Ping) => {
                    (self.out)(ToHost::Pong);
                    None
                }
                Task::Mail(ToJs::Stop { reason }) => Some(reason),
                Task::Closed => Some("the host has gone".to_owned()),
                Task::Idle => Some("idle".to_owned()),
            };
            if let Some(reason) = over {
                return reason;
            }
        }
    }

    /// Loads the extension. Returns why the engine has to end, if so.
    fn start<'js>(self: &Rc<Self>, cx: &Ctx<'js>, boot: &Object<'js>, setup: &Setup) -> Option<String> {
        let entry = setup.entry.to_string_lossy().into_owned();
        match &setup.runtime {
            Some(runtime) => self.enter(cx, boot, "start", (START, runtime.as_str(), entry.as_str())),
            None => self.enter(cx, boot, "script", (START, entry.as_str())),
        }
    }

    /// One task: calls into script and lets everything that follows from it run. Returns why the engine has to end, if so.
    fn enter<'js, A>(self: &Rc<Self>, cx: &Ctx<'js>, boot: &Object<'js>, name: &str, args: A) -> Option<String>
    where
        A: rquickjs::function::IntoArgs<'js>,
    {
        self.call(cx, boot, name, args);
        // As with Node: ticks first, then promises, until there is neither.
        loop {
            while self.ticks.take() && !self.guard.is_stopped() {
                self.call(cx, boot, "tick", ());
            }
            while !self.guard.is_stopped() {
                match raw::run_job(cx) {
                    raw::Job::Nothing => break,
                    raw::Job::Done => {}
                    raw::Job::Threw => self.uncaught(&self.thrown(cx, cx.catch())),
                }
            }
            if !self.ticks.get() || self.guard.is_stopped() {
                return self.settle();
            }
        }
    }

    fn call<'js, A>(self: &Rc<Self>, cx: &Ctx<'js>, boot: &Object<'js>, name: &str, args: A)
    where
        A: rquickjs::function::IntoArgs<'js>,
    {
        let called = boot.get::<_, Function>(name).and_then(|function| function.call::<_, Js>(args));
        if let Err(error) = called.catch(cx) {
            self.uncaught(&self.caught(cx, error));
        }
    }

    fn caught_pending(self: &Rc<Self>, cx: &Ctx<'_>) -> Option<String> {
        let thrown = self.thrown(cx, cx.catch());
        self.uncaught(&thrown);
        self.settle()
    }

    /// After a task: reports what nobody caught, and ends the engine where it has to end.
    fn settle(&self) -> Option<String> {
        if let Some(why) = self.guard.stopped() {
            return Some(self.end(why));
        }
        self.guard.end();
        let mut rejected: Vec<(u64, Thrown)> = self.rejected.take().into_values().collect();
        rejected.sort_unstable_by_key(|(order, _)| *order);
        for (_, thrown) in rejected {
            self.uncaught(&self.mapped(thrown));
        }
        let exit = self.exit.borrow_mut().take();
        exit.map(|reason| self.end(reason))
    }

    fn uncaught(&self, thrown: &Thrown) {
        if self.guard.stopped().is_some() {
            return;
        }
        if is_out_of_memory(thrown) {
            self.ran_out();
            return;
        }
        let text = if thrown.stack.is_empty() {
            thrown.message.clone()
        } else {
            format!("{}\n{}", thrown.message, thrown.stack)
        };
        (self.out)(ToHost::Log { level: "error".to_owned(), message: format!("uncaught: {text}") });
    }

    /// A script whose memory has run out is in no known state; it ends.
    fn ran_out(&self) {
        self.guard.stop(format!("interrupted: out of memory (it may use {} MB)", self.memory / (1024 * 1024)));
    }

    fn end(&self, reason: String) -> String {
        self.guard.stop(reason.clone());
        reason
    }

    fn boot<'js>(&self, cx: &Ctx<'js>, current: &Current) -> Result<Object<'js>> {
        install::replace_random(cx, current)?;
        let text = self.library.text("jackfield:boot").ok_or(rquickjs::Error::Unknown)?;
        let (code, compiled) = self.cache.library("jackfield:boot", &text, || {
            let facts = Facts { kind: Kind::Cjs, is_async: false, deps: Vec::new() };
            Ok::<_, rquickjs::Error>(Code::new(facts, &raw::compile(cx, "jackfield:boot", &text, false)?.0)?)
        })?;
        self.loaded.borrow_mut().count(compiled);
        let boot: Function = raw::run(cx, code.bytecode())?.get()?;
        boot.call((install::install(cx, current)?,))
    }

    /// A host call that script waits for. Other messages wait with it, in their order.
    fn call_and_wait(&self, method: String, params: Value) -> Outcome {
        let id = self.event_loop.borrow_mut().number();
        (self.out)(ToHost::HostCall { id, method, params, stream: false, timeout_ms: None });
        let left = self.guard.pause();
        let outcome = loop {
            let came = self.event_loop.borrow().receive();
            match came {
                Some(ToJs::HostDone { id: done, outcome }) if done == id => break outcome,
                Some(ToJs::Stop { reason }) => {
                    self.guard.stop(reason);
                    break gone();
                }
                Some(other) => self.event_loop.borrow_mut().defer(other),
                None => {
                    self.guard.stop("the host has gone");
                    break gone();
                }
            }
        };
        self.guard.resume(left);
        outcome
    }

    fn told<'js>(&self, cx: &Ctx<'js>, outcome: Outcome) -> Result<Js<'js>> {
        let told = Object::new(cx.clone())?;
        match outcome {
            Outcome::Value(value) => told.set("value", values::to_js(cx, value)?)?,
            Outcome::Error(error) => {
                let error = serde_json::to_value(&error).unwrap_or_default();
                told.set("error", values::to_js(cx, error)?)?;
            }
        }
        Ok(told.into_value())
    }
}

/// The first artifact that is fit to be run, and a word about those that are not.
fn artifact_of(setup: &Setup, cache: &CodeCache) -> (Option<Artifact>, Vec<String>) {
    let mut notes = Vec::new();
    for path in &setup.artifacts {
        match Artifact::open(path, cache, &setup.entry, &setup.manifest) {
            Ok(Some(artifact)) => return (Some(artifact), notes),
            Ok(None) => {}
            Err(why) => notes.push(format!("{why}; the source is used, and `jackfield build` makes it anew")),
        }
    }
    (None, notes)
}

fn gone() -> Outcome {
    let message = "the extension is being stopped";
    Outcome::Error(jackfield_protocol::CallError::new(jackfield_protocol::ErrorCode::Cancelled, message))
}
