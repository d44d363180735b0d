//! Engines that begin as copies of one that has begun.
//!
//! To begin, an engine makes its context and evaluates those files of the library that nearly every extension uses. That is
//! the same for all, so where a process has many engines it is done once, in one piece of memory that nobody runs
//! afterwards: the template. A copy of it is the same bytes elsewhere, with the addresses in it corrected.
//!
//! What is an address is told by making two of them: a word is one where both templates have an address of their own, or one
//! has and the other has nothing, because a list ends there. A number that looks like an address in one cannot look like one
//! in the other, which lies elsewhere. What is left are old addresses in memory that was used again, of which a part is
//! a number now: they are not taken for addresses where more than two bytes are new (see `Piece::apart`), and where
//! it is two or less, these do not change, because copies lie a multiple of 64 KB away.
//!
//! Addresses of what lies outside are those of the engine's code, which is the same for all engines, and a few of the
//! runtime's own. Which these are is seen by comparing two runtimes that were just made: where they differ in anything but
//! where they lie, a copy keeps its own.
//!
//! The engine finds some things by their address: objects that are keys of a `Map`, `Set` or `WeakMap`, and the common shape
//! of new objects with the same prototype. The template must have none of the former, which a test sees to; of the latter a
//! copy makes its own.
#![allow(unsafe_code, reason = "see above: the memory of an engine is copied as it is")]

#[cfg(test)]
mod tests;

use std::ptr::{self, NonNull};
use std::sync::{Arc, OnceLock};

use rquickjs::allocator::Allocator as _;
use rquickjs::{Context, Runtime, qjs};

use crate::arena::{Arena, Plan, Shared, are_many};
use crate::code::CodeCache;
use crate::isolate;
use crate::library::Library;

const WORD: usize = size_of::<usize>();
/// How far two templates lie apart in the lower half of their addresses, so that no number looks like one in both.
const APART: u32 = 8 << 20;

/// The engine that others are copies of.
pub(crate) struct Template {
    engine: &'static Begun,
    /// Which of its words are addresses in it.
    addresses: Vec<u32>,
    /// Where its context lies, in bytes from the beginning.
    context: usize,
}

// SAFETY: nobody runs the engine or changes its memory any more, and nothing of it is counted.
unsafe impl Send for Template {}
// SAFETY: as above.
unsafe impl Sync for Template {}

/// Which engines begin as copies of one that has begun. One that cannot, begins by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Copies {
    /// Those of a process that has many.
    #[default]
    OfMany,
    /// All of them.
    Always,
    /// None.
    Never,
}

/// A copy of the template; the first to ask makes that.
pub(crate) fn copied(copies: Copies, library: &Library, cache: &Arc<CodeCache>) -> Option<(Runtime, Context)> {
    static TEMPLATE: OnceLock<Option<Template>> = OnceLock::new();
    let is_wanted = match copies {
        Copies::OfMany => are_many(),
        Copies::Always => true,
        Copies::Never => false,
    };
    // A library in a folder may be another one tomorrow; where addresses are shorter, values are not what they are here.
    if !is_wanted || !matches!(library, Library::Embedded) || cfg!(not(target_pointer_width = "64")) {
        return None;
    }
    TEMPLATE.get_or_init(|| Template::new(cache)).as_ref()?.copy()
}

/// An engine in which the library has begun, in one piece of memory.
struct Begun {
    /// Where that begins, and how it is used.
    begin: usize,
    plan: Plan,
    /// The words of the runtime when it was just made. It is the first block.
    fresh: Vec<usize>,
    runtime: usize,
    context: Context,
    /// Files of the library had to be compiled for it; what that took is still there.
    compiled: bool,
}

impl Begun {
    fn new(cache: &Arc<CodeCache>) -> Option<Self> {
        let arena = Shared::new(Arena::template()?);
        let runtime = Runtime::new_with_alloc(arena.clone()).ok()?;
        let (begin, first) = (arena.0.borrow().begin() as usize, arena.0.borrow().first());
        // SAFETY: the first block is the runtime's, and says how large it is.
        let fresh = unsafe { words(first, Shared::usable_size(first)).to_vec() };
        let context = isolate::context(&runtime).ok()?;
        let compiled = isolate::prepare(&context, cache)?;
        runtime.run_gc();
        let plan = arena.0.borrow().plan();
        Some(Self { begin, plan, fresh, runtime: first as usize, context, compiled })
    }

    fn has(&self, address: usize) -> bool {
        address.wrapping_sub(self.begin) <= self.plan.used
    }

    fn words(&self) -> &[usize] {
        // SAFETY: all of it was handed out or is free, within the one piece; nothing runs while it is looked at.
        unsafe { words(self.begin as *const u8, self.plan.used) }
    }
}

impl Template {
    fn new(cache: &Arc<CodeCache>) -> Option<Self> {
        let mut engine = Begun::new(cache)?;
        if engine.compiled {
            engine = Begun::new(cache)?;
        }
        let addresses = addresses(&engine, &Begun::new(cache)?)?;
        let raw = engine.context.as_raw().as_ptr();
        // SAFETY: the context is alive.
        let is_first = unsafe { qjs::JS_GetRuntime(raw) } as usize == engine.runtime;
        let context = (raw as usize).wrapping_sub(engine.begin);
        // It stays as it is for as long as there is a process.
        is_first.then(|| Self { engine: Box::leak(Box::new(engine)), addresses, context })
    }

    fn copy(&self) -> Option<(Runtime, Context)> {
        let Begun { begin, plan, runtime: first, .. } = self.engine;
        let arena = Shared::new(Arena::like(plan)?);
        let runtime = Runtime::new_with_alloc(arena.clone()).ok()?;
        let to = arena.0.borrow().begin();
        let moved = (to as usize).wrapping_sub(*begin);
        let first = to.wrapping_add(first - begin).cast::<usize>();
        let own = self.own_words(first, moved);
        // SAFETY: the piece was made for this much; the runtime is the first block in both, and its own words come back, so
        // it stays valid; every address is one of the copy's then. The template counts a reference to its context; the copy's is
        // for whoever gets it here.
        unsafe {
            ptr::copy_nonoverlapping(*begin as *const u8, to, plan.used);
            for at in &self.addresses {
                let word = to.cast::<usize>().add(*at as usize);
                word.write(word.read().wrapping_add(moved));
            }
            for (at, word) in own {
                first.add(at).write(word);
            }
            arena.0.borrow_mut().resume(plan);
            qjs::JS_UpdateStackTop(first.cast());
            let context = Context::from_raw(NonNull::new(to.add(self.context).cast())?, runtime.clone());
            Some((runtime, context))
        }
    }

    /// In which words the runtime that was just made at `first` differs from the template's when that was, but for where
    /// they lie: its own.
    fn own_words(&self, first: *const usize, moved: usize) -> Vec<(usize, usize)> {
        let then = &self.engine.fresh;
        // SAFETY: the runtime is the first block there, as large as the template's.
        let now = unsafe { words(first.cast(), then.len() * WORD) };
        let is_moved = |then: usize, now: usize| self.engine.has(then) && then.wrapping_add(moved) == now;
        let pairs = then.iter().zip(now).enumerate();
        pairs
            .filter(|(_, (then, now))| then != now && !is_moved(**then, **now))
            .map(|(at, (_, now))| (at, *now))
            .collect()
    }
}

/// Which words of `one` are addresses in it; nothing where the two are not alike.
fn addresses(one: &Begun, other: &Begun) -> Option<Vec<u32>> {
    let (here, there) = (one.begin as u32, other.begin as u32);
    if one.plan.used != other.plan.used || !one.plan.used.is_multiple_of(WORD) || here.abs_diff(there) < APART {
        return None;
    }
    let pairs = one.words().iter().zip(other.words()).enumerate();
    let found = pairs.filter(|(_, (here, there))| one.has(**here) && (other.has(**there) || **there == 0));
    found.map(|(at, _)| u32::try_from(at).ok()).collect()
}

/// # Safety
/// `length` bytes must follow, which nobody changes meanwhile; `begin` must be aligned.
unsafe fn words<'a>(begin: *const u8, length: usize) -> &'a [usize] {
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(begin.cast(), length / WORD) }
}
