//! Engines that begin as copies of one that has begun.
//!
//! To begin, an engine makes its context and evaluates those files of the library that nearly every extension uses. That is
//! the same for all, so it is done once and kept as an image: the template. A copy of it is the same words elsewhere. An
//! engine in which an extension was loaded can be kept in the same way, as what differs from the template.
//!
//! What is an address is told by making two engines (see [`Image::of`]), and in our program by two processes: a template that
//! only one has made is for that process, and for those in which our program lies at the same place. What is left are old
//! addresses in memory that was used again, of which a part is a number now: they are not taken for addresses where more than
//! two bytes are new (see `Piece::apart`), and where it is two or less, these do not change, because copies lie a multiple of
//! 64 KB away.
//!
//! The engine finds some things by their address: objects that are keys of a `Map`, `Set` or `WeakMap`, and the common shape
//! of new objects with the same prototype. The former by the lower bits alone, which do not change either; of the latter a
//! copy makes its own.
#![allow(unsafe_code, reason = "see above: the memory of an engine is copied as it is")]

#[cfg(test)]
mod tests;

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jackfield_runtime::{SealedFolder, SealedKey};
use rquickjs::{Context, Runtime, qjs};

use crate::arena::{Arena, Plan, Shared, are_many};
use crate::code::{CodeCache, ENGINE, hex};
use crate::image::{Difference, Image, Seen, tells};
use crate::isolate;
use crate::library::Library;

const WORD: usize = size_of::<usize>();
/// How far two engines lie apart in the lower half of their addresses, so that no number looks like one in both.
const APART: u32 = 8 << 20;
/// Bytes of a template's name, and of where it was made.
const NAME: usize = 16;
const HEAD: usize = NAME + WORD;

/// Which engines begin as copies of one that has begun. One that cannot, begins by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Copies {
    /// Those of a process that has many, and all where the template is known from before.
    #[default]
    OfMany,
    /// All of them.
    Always,
    /// None.
    Never,
}

/// The engine that others are copies of.
pub(crate) struct Template {
    /// With addresses in our program as they are in this process; made of the bytes when it is first wanted.
    image: OnceLock<Option<Image>>,
    pub(crate) program: usize,
    /// Where our program began when only one process had made it; nothing once two agree.
    made_at: Option<usize>,
    /// No two have the same, so that whoever keeps a difference knows to which.
    pub(crate) name: String,
    /// As it is kept.
    bytes: Vec<u8>,
}

static TEMPLATE: OnceLock<Option<Template>> = OnceLock::new();

/// The template of this process: one that is there, or was kept, or, if it is wanted, a new one.
pub(crate) fn template(cache: &Arc<CodeCache>, is_wanted: bool) -> Option<&'static Template> {
    static MAKING: Mutex<()> = Mutex::new(());
    // Where addresses are shorter, values are not what they are here.
    if cfg!(not(target_pointer_width = "64")) {
        return None;
    }
    if let Some(known) = TEMPLATE.get() {
        return known.as_ref();
    }
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if TEMPLATE.get().is_none() {
        match Template::kept(cache) {
            Some(kept) if kept.made_at.is_none_or(|at| at == kept.program) => drop(TEMPLATE.set(Some(kept))),
            kept if is_wanted => drop(TEMPLATE.set(Template::made(cache, kept.as_ref()))),
            _ => return None,
        }
    }
    TEMPLATE.get()?.as_ref()
}

/// A copy of the template, where one is wanted.
pub(crate) fn copied(copies: Copies, library: &Library, cache: &Arc<CodeCache>) -> Option<(Runtime, Context)> {
    // A library in a folder may be another one tomorrow.
    if copies == Copies::Never || !matches!(library, Library::Embedded) {
        return None;
    }
    template(cache, copies == Copies::Always || are_many())?.copy()
}

/// An engine at rest, in one piece of memory.
pub(crate) struct Resting {
    arena: Shared,
    /// The words of the runtime when it was just made.
    fresh: Vec<usize>,
    pub(crate) runtime: Runtime,
    pub(crate) context: Context,
}

impl Resting {
    /// What two engines that did the same look like wherever they lie; nothing where they are not alike.
    pub(crate) fn image(&self, other: &Self) -> Option<Image> {
        self.arena.0.borrow_mut().scrub();
        other.arena.0.borrow_mut().scrub();
        let (one, two) = (self.seen(), other.seen());
        let plan = self.plan();
        let context = (self.context.as_raw().as_ptr() as usize).wrapping_sub(one.begin);
        if (one.begin as u32).abs_diff(two.begin as u32) < APART {
            return None;
        }
        Image::of(&one, &two, program()?, plan, context)
    }

    /// Whether its memory was too small for something.
    pub(crate) fn is_full(&self) -> bool {
        self.arena.0.borrow().is_full()
    }

    fn plan(&self) -> Plan {
        self.arena.0.borrow().plan()
    }

    fn seen(&self) -> Seen<'_> {
        let begin = self.arena.0.borrow().begin();
        // SAFETY: all of it was handed out or is free, within the one piece; nothing runs while it is looked at.
        let words = unsafe { std::slice::from_raw_parts(begin.cast(), self.plan().used / WORD) };
        Seen { begin: begin as usize, words, fresh: &self.fresh }
    }
}

/// A runtime that was just made, in one piece of memory that holds nothing else; and its words, if it is to be kept.
fn fresh(arena: Arena, keep: bool) -> Option<(Shared, Runtime, Vec<usize>)> {
    let arena = Shared::new(arena);
    let runtime = Runtime::new_with_alloc(arena.clone()).ok()?;
    let (begin, used) = (arena.0.borrow().begin(), arena.0.borrow().plan().used);
    // SAFETY: so much of the piece was handed out, and nothing runs while it is copied.
    let words = unsafe { std::slice::from_raw_parts(begin.cast::<usize>(), used / WORD) };
    Some((arena, runtime, if keep { words.to_vec() } else { Vec::new() }))
}

/// An engine in which the library has begun; and whether files of it had to be compiled, of which something is still there.
fn begun(cache: &Arc<CodeCache>) -> Option<(Resting, bool)> {
    let (arena, runtime, fresh) = fresh(Arena::template()?, true)?;
    let context = isolate::context(&runtime).ok()?;
    let compiled = isolate::prepare(&context, cache)?;
    runtime.run_gc();
    Some((Resting { arena, fresh, runtime, context }, compiled))
}

impl Template {
    /// A new one, kept for other processes; or what this process and the one that has made `kept` agree on.
    fn made(cache: &Arc<CodeCache>, kept: Option<&Self>) -> Option<Self> {
        let (mut image, program) = (Self::begin(cache)?, program()?.0);
        let mut name = [0; NAME];
        getrandom::fill(&mut name).ok()?;
        let Some(kept) = kept else {
            let made = Self::new(&name, Some(program), &image)?;
            made.keep(cache);
            return Some(made);
        };
        let there = kept.made_at.filter(|there| tells(program, *there));
        let theirs = kept.read()?;
        let agreed = there.and_then(|there| image.agree(&theirs, program, there));
        if agreed == Some(true) {
            // The very same, because there may be differences to it.
            (name, image) = (*kept.bytes.first_chunk()?, theirs);
        }
        let made = Self::new(&name, agreed.is_none().then_some(program), &image)?;
        if there.is_some() {
            cache.keep_entry(&key_of()?, &made.bytes);
        }
        Some(made)
    }

    /// What an engine is in which the library has begun.
    fn begin(cache: &Arc<CodeCache>) -> Option<Image> {
        let (mut engine, compiled) = begun(cache)?;
        if compiled {
            engine = begun(cache)?.0;
        }
        let image = engine.image(&begun(cache)?.0)?;
        // Nothing else may come to lie there: in a copy that does, shapes of the template are found by their address, and in others
        // they are not.
        std::mem::forget(engine);
        Some(image)
    }

    fn new(name: &[u8; NAME], made_at: Option<usize>, image: &Image) -> Option<Self> {
        Self::from_bytes([&name[..], &made_at.unwrap_or_default().to_le_bytes(), &image.to_bytes()].concat())
    }

    fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let (name, rest) = bytes.split_first_chunk::<NAME>()?;
        let made_at = Some(usize::from_le_bytes(*rest.first_chunk()?)).filter(|at| *at != 0);
        let (program, name) = (program()?.0, hex(name));
        Some(Self { image: OnceLock::new(), program, made_at, name, bytes })
    }

    /// As it is kept.
    fn read(&self) -> Option<Image> {
        Image::from_bytes(self.bytes.get(HEAD..)?)
    }

    fn image(&self) -> Option<&Image> {
        self.image.get_or_init(|| Some(self.read()?.in_program(self.program))).as_ref()
    }

    fn kept(cache: &CodeCache) -> Option<Self> {
        Self::from_bytes(cache.entry(&key_of()?)?)
    }

    /// Keeps it for other processes, unless there is another one, on which they are about to agree.
    pub(crate) fn keep(&self, cache: &CodeCache) -> Option<()> {
        let key = key_of()?;
        match cache.entry(&key) {
            Some(kept) => (kept.get(..NAME) == self.bytes.get(..NAME)).then_some(()),
            None => cache.keep_entry(&key, &self.bytes),
        }
    }

    /// An engine that begins as a copy of it.
    fn copy(&self) -> Option<(Runtime, Context)> {
        let image = self.image()?;
        let made = Self::put(Arena::like(&image.plan)?, &image.plan, image.context, |to, begin| image.put(to, begin))?;
        Some((made.runtime, made.context))
    }

    /// The same in the memory of an engine that others will be copies of.
    pub(crate) fn copy_to_keep(&self) -> Option<Resting> {
        let image = self.image()?;
        Self::put(Arena::template()?, &image.plan, image.context, |to, begin| image.put(to, begin))
    }

    /// The engine that differs in this from the template.
    pub(crate) fn unfold(&self, difference: &Difference) -> Option<(Runtime, Context)> {
        let (image, plan) = (self.image()?, &difference.plan);
        let put = |to: &mut [usize], begin| difference.put(image, self.program, to, begin);
        let made = Self::put(Arena::like(plan)?, plan, image.context, put)?;
        Some((made.runtime, made.context))
    }

    /// What differs in this image from the template.
    pub(crate) fn difference(&self, image: &Image) -> Option<Difference> {
        image.difference(&self.read()?)
    }

    /// Has this process agree with the one that has made that difference, there, on what `image` is.
    pub(crate) fn agree(&self, image: &mut Image, made: &Difference, there: Option<usize>) -> Option<()> {
        there.is_none_or(|there| tells(self.program, there)).then_some(())?;
        image.agree(&made.image(&self.read()?)?, self.program, there.unwrap_or_default()).map(drop)
    }

    /// Has `put` put the words of an engine, with that plan, into the memory of a runtime that was just made.
    fn put(
        arena: Arena,
        plan: &Plan,
        context: usize,
        put: impl FnOnce(&mut [usize], usize) -> Option<()>,
    ) -> Option<Resting> {
        let keep = arena.is_template();
        let (arena, runtime, fresh) = fresh(arena, keep)?;
        let (begin, size) = (arena.0.borrow().begin(), arena.0.borrow().size());
        // SAFETY: the piece has this size, and everything in it is the runtime's, which does not run. It is the first block in
        // both and keeps what is its own, so it stays valid; every address is one of the copy's then. The template counts a
        // reference to its context; the copy's is for whoever gets it here.
        unsafe {
            let to = std::slice::from_raw_parts_mut(begin.cast::<usize>(), size / WORD);
            let context = NonNull::new(begin.wrapping_add(context).cast())?;
            if put(to, begin as usize).is_none() {
                // Half a copy is no runtime that could be ended.
                std::mem::forget((runtime, arena));
                return None;
            }
            arena.0.borrow_mut().resume(plan);
            qjs::JS_UpdateStackTop(arena.0.borrow().first().cast());
            let context = Context::from_raw(context, runtime.clone());
            Some(Resting { arena, fresh, runtime, context })
        }
    }
}

/// Where a template is kept: it is one of this very program, which nobody has changed since, and of this engine.
fn key_of() -> Option<SealedKey> {
    Some(SealedFolder::key(&[b"template", ENGINE.1.as_bytes(), identity()?]))
}

/// Says which program this is: the file that runs, by what changes with everything that is written to it.
pub(crate) fn identity() -> Option<&'static [u8]> {
    static IDENTITY: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let look = || {
        use std::os::unix::fs::MetadataExt as _;
        let about = std::fs::metadata("/proc/self/exe").ok()?;
        let times = [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()].map(|time| time as u64);
        let all = [[about.dev(), about.ino(), about.size(), 0], times].concat();
        Some(all.iter().flat_map(|part| part.to_le_bytes()).collect())
    };
    IDENTITY.get_or_init(look).as_deref()
}

/// From where to where our program lies in memory.
#[cfg(target_os = "linux")]
fn program() -> Option<(usize, usize)> {
    // Named by every linker there is for this system.
    unsafe extern "C" {
        safe static __executable_start: u8;
        safe static _end: u8;
    }
    Some((&raw const __executable_start as usize, &raw const _end as usize))
}

/// Elsewhere nothing is kept (see [`identity`]), and in one process such addresses may stay as they are.
#[cfg(not(target_os = "linux"))]
fn program() -> Option<(usize, usize)> {
    Some((0, 0))
}
