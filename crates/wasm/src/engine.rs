//! The engine that all components of a runtime share, and the clock that interrupts them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use wasmtime::{Config, Engine, OptLevel};

/// How often a component that computes is looked at.
pub(crate) const TICK: Duration = Duration::from_millis(1);
/// Ticks without anybody computing after which the clock sleeps.
const IDLE_TICKS: u32 = 50;
/// What a component's own calls may take of the stack.
const STACK: usize = 512 * 1024;

/// Settings that the compiler and whoever runs its code must share.
fn config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.cranelift_opt_level(OptLevel::Speed);
    config.max_wasm_stack(STACK);
    config.wasm_component_model(true);
    config
}

/// An engine, without a clock: enough to compile.
pub(crate) fn engine() -> Result<Engine, String> {
    Engine::new(&config()).map_err(|error| format!("this machine cannot run WASM components: {error:#}"))
}

/// An engine with its clock.
pub(crate) struct Machine {
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<Clock>,
    thread: Option<JoinHandle<()>>,
}

impl Machine {
    pub(crate) fn new() -> Result<Self, String> {
        let engine = engine()?;
        let clock = Arc::new(Clock::new());
        let (ticked, ours) = (engine.clone(), Arc::clone(&clock));
        let thread = std::thread::Builder::new()
            .name("wasm clock".to_owned())
            .spawn(move || ours.run(&ticked))
            .map_err(|error| format!("no thread for the clock of WASM components: {error}"))?;
        clock.thread.set(thread.thread().clone()).ok();
        Ok(Self { engine, clock, thread: Some(thread) })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.clock.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
        }
    }
}

/// Ticks while somebody computes.
pub(crate) struct Clock {
    base: Instant,
    /// Nanoseconds since then, when somebody last looked.
    shown: AtomicU64,
    computing: AtomicUsize,
    asleep: AtomicBool,
    stop: AtomicBool,
    thread: std::sync::OnceLock<Thread>,
}

impl Clock {
    fn new() -> Self {
        Self {
            base: Instant::now(),
            shown: AtomicU64::new(0),
            computing: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            thread: std::sync::OnceLock::new(),
        }
    }

    /// Looks what time it is.
    pub(crate) fn look(&self) -> Instant {
        let now = Instant::now();
        self.shown.store(now.duration_since(self.base).as_nanos() as u64, Ordering::Relaxed);
        now
    }

    /// The time when somebody last looked, which is a tick ago while somebody computes. To look anew costs more than many a host
    /// call.
    pub(crate) fn shows(&self) -> Duration {
        Duration::from_nanos(self.shown.load(Ordering::Relaxed))
    }

    /// Somebody begins to compute, or goes on.
    fn enter(&self) {
        self.computing.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Somebody ends, or waits for the host.
    fn leave(&self) {
        self.computing.fetch_sub(1, Ordering::SeqCst);
    }

    /// One component more computes while this lives.
    pub(crate) fn computing(&self) -> Computing<'_> {
        self.enter();
        Computing(self)
    }

    /// One component less computes while this lives.
    pub(crate) fn standing(&self) -> Standing<'_> {
        self.leave();
        Standing(self)
    }

    fn run(&self, engine: &Engine) {
        let mut idle = 0;
        while !self.stop.load(Ordering::SeqCst) {
            if self.computing.load(Ordering::SeqCst) > 0 {
                idle = 0;
            } else {
                idle += 1;
            }
            if idle > IDLE_TICKS {
                self.asleep.store(true, Ordering::SeqCst);
                // Whoever entered before that was seen is seen now; whoever enters later wakes this thread.
                if self.computing.load(Ordering::SeqCst) == 0 && !self.stop.load(Ordering::SeqCst) {
                    std::thread::park();
                }
                self.asleep.store(false, Ordering::SeqCst);
                idle = 0;
            }
            std::thread::sleep(TICK);
            self.look();
            engine.increment_epoch();
        }
    }
}

/// See [`Clock::computing`]. It may be dropped at any time.
pub(crate) struct Computing<'a>(&'a Clock);

impl Drop for Computing<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// See [`Clock::standing`]. It may be dropped at any time.
pub(crate) struct Standing<'a>(&'a Clock);

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        self.0.enter();
    }
}
