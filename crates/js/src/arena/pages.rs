//! Pages from the system: pieces of memory that are cut into blocks, with their pages at once, or from large pages that many
//! engines share.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::SMALL_PIECE;

/// How many engines this process has.
static ENGINES: AtomicUsize = AtomicUsize::new(0);
/// From this many engines on they share what they can share.
const MANY: usize = 4;

/// Whether this process has many engines.
pub(crate) fn are_many() -> bool {
    ENGINES.load(Ordering::Relaxed) >= MANY
}

/// One engine of this process, as long as it lives.
pub(super) struct Alive;

impl Alive {
    pub(super) fn new() -> Self {
        ENGINES.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ENGINES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How far from zero the lower half of such an address is, what its lower three bytes are, and how many pieces are tried.
const APART: u32 = 64 << 20;
const MIDDLE: usize = 0x60_0000;
const TRIES: usize = 64;
/// What the processor maps in one step, if the system lets it.
const LARGE_PAGE: usize = 2 << 20;

/// Only Linux is asked to do these.
#[cfg(target_os = "linux")]
const FORGET: Advice = Advice::LinuxDontNeed;
#[cfg(target_os = "linux")]
const AS_ONE: Advice = Advice::LinuxHugepage;
#[cfg(not(target_os = "linux"))]
const FORGET: Advice = Advice::Normal;
#[cfg(not(target_os = "linux"))]
const AS_ONE: Advice = Advice::Normal;

/// Memory from the system, given back when it is dropped.
pub(super) struct Piece {
    pub(super) begin: *mut c_void,
    pub(super) size: usize,
    /// A part of a large page, which is for the next engine then.
    is_shared: bool,
}

impl Piece {
    fn map(size: usize, flags: MapFlags) -> Option<Self> {
        // SAFETY: the system chooses a place where nothing is.
        let begin = unsafe { mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, flags) }.ok()?;
        Some(Self { begin, size, is_shared: false })
    }

    /// A piece whose pages come when they are used.
    pub(super) fn plain(size: usize) -> Option<Self> {
        Self::map(size, MapFlags::PRIVATE)
    }

    /// A piece at an address that nothing looks like which was once an address in it and is partly a number now. What the
    /// engine writes over three bytes ends with a size, of which there are few, or with 255; what it writes over four is
    /// small, on either side of zero, or a hash.
    pub(super) fn apart(size: usize) -> Option<Self> {
        let is_apart = |piece: &Self| (piece.begin as usize as i32).unsigned_abs() > APART;
        let mut others = Vec::new();
        for _ in 0..TRIES {
            let piece = Self::placed(size, 1 << 24, MIDDLE)?;
            if is_apart(&piece) {
                return Some(piece);
            }
            // Given back when another was found, or the system would offer it again.
            others.push(piece);
        }
        None
    }

    /// A piece that begins `at` bytes after a multiple of `of`.
    fn placed(size: usize, of: usize, at: usize) -> Option<Self> {
        let room = Self::map(size + of, MapFlags::PRIVATE | MapFlags::NORESERVE)?;
        let (before, begin) = (room.begin as usize, (room.begin as usize).wrapping_sub(at).next_multiple_of(of) + at);
        std::mem::forget(room);
        // SAFETY: all of it was mapped just now, and nobody has it; what is before and after the piece goes back.
        unsafe {
            if begin > before {
                munmap(before as *mut c_void, begin - before).ok();
            }
            munmap((begin + size) as *mut c_void, before + of - begin).ok();
        }
        Some(Self { begin: begin as *mut c_void, size, is_shared: false })
    }

    /// A piece whose pages are there at once.
    pub(super) fn small(size: usize) -> Option<Self> {
        let shares = cfg!(target_os = "linux") && are_many();
        match shares.then(|| large_pages().piece(size)).flatten() {
            Some(begin) => Some(Self { begin: begin as *mut c_void, size, is_shared: true }),
            None => Self::map(size, with_pages()),
        }
    }

    /// A piece for a copy, a multiple of the smallest away from all others.
    pub(super) fn for_copy(size: usize) -> Option<Self> {
        if cfg!(target_os = "linux") && are_many() { Self::small(size) } else { Self::placed(size, SMALL_PIECE, 0) }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: it came from the system with this length, and the engine that used it is gone. What is shared stays mapped
        // and is forgotten, so that the next engine finds nothing in it.
        unsafe {
            if !self.is_shared {
                munmap(self.begin, self.size).ok();
            } else if madvise(self.begin, self.size, FORGET).is_ok() {
                large_pages().free.push((self.begin as usize, self.size));
            }
        }
    }
}

/// Large pages, cut into pieces for small engines: the system makes and frees one page instead of five hundred.
pub(super) struct LargePages {
    /// Pieces that were given back: where they begin and how long they are.
    pub(super) free: Vec<(usize, usize)>,
    /// What was not yet handed out.
    next: usize,
    left: usize,
}

static LARGE_PAGES: Mutex<LargePages> = Mutex::new(LargePages { free: Vec::new(), next: 0, left: 0 });

pub(super) fn large_pages() -> std::sync::MutexGuard<'static, LargePages> {
    LARGE_PAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LargePages {
    fn piece(&mut self, size: usize) -> Option<usize> {
        if let Some(at) = self.free.iter().position(|(_, free)| *free == size) {
            return Some(self.free.swap_remove(at).0);
        }
        if self.left < size {
            let page = Self::page()?;
            // Pieces are multiples of the smallest.
            self.free.extend((0..self.left / SMALL_PIECE).map(|at| (self.next + at * SMALL_PIECE, SMALL_PIECE)));
            (self.next, self.left) = (page, LARGE_PAGE);
        }
        let begin = self.next;
        (self.next, self.left) = (begin + size, self.left - size);
        Some(begin)
    }

    /// A place for a large page, at an address where there can be one.
    fn page() -> Option<usize> {
        let page = Piece::placed(LARGE_PAGE, LARGE_PAGE, 0)?;
        // SAFETY: it was mapped just now. Where there are no large pages it is memory like any other.
        unsafe { madvise(page.begin, LARGE_PAGE, AS_ONE) }.ok();
        let begin = page.begin as usize;
        std::mem::forget(page);
        Some(begin)
    }
}

/// Memory whose pages are there at once.
fn with_pages() -> MapFlags {
    #[cfg(target_os = "linux")]
    return MapFlags::PRIVATE | MapFlags::POPULATE;
    #[cfg(not(target_os = "linux"))]
    return MapFlags::PRIVATE;
}
