//! Room on the stack for working through a stranger's text: how deep it is nested must not matter to the host, because a
//! stack that overflows takes the whole process with it.

use std::cell::Cell;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

/// A byte can nest the syntax one deeper; this is what a level costs at most, unless it is a bracket.
const STACK_PER_BYTE: usize = 768;
/// What a bracket costs at most.
const STACK_PER_BRACKET: usize = 32 << 10;
/// Brackets within brackets; beyond this a text is an attack.
const MAX_NESTING: usize = 20_000;
/// The stack on top of that, for texts that are not deep at all.
const BASE_STACK: usize = 2 << 20;
/// A text this short fits onto any stack.
const SHORT_TEXT: usize = 256;

/// The stack of the threads that are kept; enough for nearly all that people write.
const KEPT_THREAD_STACK: usize = 16 << 20;
/// How many of them there are at most.
const MAX_KEPT_THREADS: usize = 4;

type Work = Box<dyn FnOnce() + Send>;

thread_local! {
    static IS_KEPT_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is one of those that stay, so that what is left here is used again.
pub(crate) fn is_kept() -> bool {
    IS_KEPT_THREAD.get()
}

/// Does `work`, which works through `text` by recursion, where there is room for it.
///
/// # Errors
/// When there cannot be.
pub(crate) fn with_room<T: Send + 'static>(
    path: &Path,
    text: &str,
    work: fn(&Path, &str) -> T,
) -> Result<T, &'static str> {
    if text.len() <= SHORT_TEXT {
        return Ok(work(path, text));
    }
    let depth = nesting(text);
    if depth > MAX_NESTING {
        return Err("brackets are nested too deep");
    }
    let stack = BASE_STACK + text.len() * STACK_PER_BYTE + depth * STACK_PER_BRACKET;
    let (none, failed) = ("there is no room to compile it", "the compiler cannot handle this file");
    if stack <= KEPT_THREAD_STACK
        && let Some(kept) = kept()
    {
        let (done, wait) = mpsc::sync_channel(1);
        let (path, text) = (path.to_owned(), text.to_owned());
        // Whoever waits may have gone with its engine.
        let work = move || drop(done.send(work(&path, &text)));
        kept.send(Box::new(work)).map_err(|_| none)?;
        return wait.recv().map_err(|_| failed);
    }
    std::thread::scope(|scope| {
        let worker = thread(stack).spawn_scoped(scope, || work(path, text)).map_err(|_| none)?;
        worker.join().map_err(|_| failed)
    })
}

fn thread(stack: usize) -> std::thread::Builder {
    std::thread::Builder::new().name("js compile".to_owned()).stack_size(stack)
}

/// A few threads that stay: what a compiler takes from the system is used again for the next file, not kept once for each.
fn kept() -> Option<&'static mpsc::Sender<Work>> {
    static KEPT_THREADS: OnceLock<Option<mpsc::Sender<Work>>> = OnceLock::new();
    let begin = || {
        let (sender, work) = mpsc::channel::<Work>();
        let work = Arc::new(Mutex::new(work));
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_KEPT_THREADS);
        let begun = (0..count).filter(|_| {
            let work = Arc::clone(&work);
            let serve = move || {
                IS_KEPT_THREAD.set(true);
                loop {
                    let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(next) = next else { return };
                    // Whoever waits learns of a fault by getting nothing.
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(next)).ok();
                }
            };
            thread(KEPT_THREAD_STACK).spawn(serve).is_ok()
        });
        (begun.count() > 0).then_some(sender)
    };
    KEPT_THREADS.get_or_init(begin).as_ref()
}

/// How deep brackets are nested, seen without understanding strings.
fn nesting(text: &str) -> usize {
    let (mut deepest, mut depth) = (0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
