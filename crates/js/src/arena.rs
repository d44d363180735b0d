//! Where an engine's memory comes from: large pieces of its own, cut into blocks, all given back at once in the end.
//!
//! The system's allocator serves every thread from an arena that grows page by page, each time with a system call: more than
//! a hundred for one small extension. An engine runs on one thread and dies whole, so it needs neither locks nor that.
//!
//! What nearly every engine uses is asked for together with its pages: one by one, as they are first touched, they cost more
//! than what is done in them. Where there are many engines, they share large pages.
//!
//! A block is a word with its capacity, then what the engine gets, aligned to 16 bytes. Small blocks come in classes and are
//! used again within their class; what is larger than every class comes from the system.
#![allow(
    unsafe_code,
    reason = "an allocator hands out and takes back raw memory; see `Allocator` for what it promises"
)]

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rquickjs::allocator::Allocator;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Bytes of the first piece of memory that is cut into blocks, and of every one once an engine is large.
const PIECE: usize = 256 * 1024;
/// Bytes of those in between: what is left of the last one is memory that nobody uses.
const SMALL_PIECE: usize = 64 * 1024;
/// Bytes up to which an engine is small, and its pieces come with their pages.
const SMALL_ENGINE: usize = 1024 * 1024;
/// What the engine asks for most: its own pieces for small objects. What is left of ours serves for these.
const COMMON: usize = 4096;
const WORD: usize = size_of::<usize>();
/// Up to this size of a block there is a class for every 16 bytes, above it four for every power of two. What is asked for
/// often is a power of two, and a little more with its word: hence the room beyond.
const FINE: usize = 1024;
const BEYOND: usize = 16;
const FINE_CLASSES: usize = (FINE + BEYOND) / 16;
/// The largest block of a class, without the room beyond.
const COARSE: usize = 32 * 1024;
const CLASSES: usize = FINE_CLASSES + 4 * (COARSE / FINE).ilog2() as usize;
/// Classes from which blocks are taken to be cut up: those of 6 KB and more.
const FIRST_RECYCLED: usize = FINE_CLASSES + 9;
/// What stands before a large block, so that it is aligned.
const LARGE_HEAD: usize = 16;

/// The memory of one engine.
pub(crate) struct Arena {
    pieces: Vec<Piece>,
    held: usize,
    next: *mut u8,
    left: usize,
    free: [*mut u8; CLASSES],
}

impl Arena {
    pub(crate) fn new() -> Self {
        ENGINES.fetch_add(1, Ordering::Relaxed);
        Self { pieces: Vec::new(), held: 0, next: ptr::null_mut(), left: 0, free: [ptr::null_mut(); CLASSES] }
    }

    /// A new block of `whole` bytes, its word included, from the piece in use or from a new one.
    fn cut(&mut self, whole: usize) -> *mut u8 {
        if self.left < whole {
            self.use_up();
            if !self.recycle(whole) && !self.grow() {
                return ptr::null_mut();
            }
        }
        self.cut_off(whole)
    }

    /// The next `whole` bytes of the piece in use, which has them.
    fn cut_off(&mut self, whole: usize) -> *mut u8 {
        let block = self.next;
        // SAFETY: `left` says that `whole` bytes follow within the piece; blocks are multiples of 16.
        unsafe {
            self.next = block.add(whole);
            self.left -= whole;
            block.cast::<usize>().write(whole - WORD);
            block.add(WORD)
        }
    }

    /// Takes the largest free block into use as if it were a piece, if it is worth it. Tables that have outgrown their blocks
    /// leave many behind that nobody asks for again.
    fn recycle(&mut self, whole: usize) -> bool {
        let mut worth_it = self.free.iter_mut().skip(FIRST_RECYCLED).rev();
        let Some(head) = worth_it.find(|head| !head.is_null()) else { return false };
        let block = *head;
        // SAFETY: a free block holds the address of the next one, and its size stands in its word.
        let (next, capacity) = unsafe { (block.cast::<*mut u8>().read(), Self::usable_size(block)) };
        if capacity + WORD < whole {
            return false;
        }
        *head = next;
        // SAFETY: the block begins with its word.
        self.next = unsafe { block.sub(WORD) };
        self.left = capacity + WORD;
        true
    }

    /// Takes another piece into use.
    fn grow(&mut self) -> bool {
        let is_small = self.held < SMALL_ENGINE;
        let size = if is_small && self.held > 0 { SMALL_PIECE } else { PIECE };
        let Some(piece) = (if is_small { Piece::small(size) } else { Piece::map(size, MapFlags::PRIVATE) }) else {
            return false;
        };
        let begin = piece.begin;
        self.pieces.push(piece);
        self.held += size;
        // Blocks begin a word before a multiple of 16, so that what follows their word is aligned.
        // SAFETY: a piece is larger than a word.
        self.next = unsafe { begin.cast::<u8>().add(16 - WORD) };
        self.left = size - 16;
        true
    }

    /// Makes free blocks of what is left of the piece in use.
    fn use_up(&mut self) {
        let Some((class, whole)) = class_of(COMMON) else { return };
        while self.left >= whole {
            let block = self.cut_off(whole);
            let Some(head) = self.free.get_mut(class) else { return };
            // SAFETY: the block is new, of this class, and nobody has it.
            unsafe { block.cast::<*mut u8>().write(*head) };
            *head = block;
        }
    }

    fn large(size: usize) -> *mut u8 {
        let Some(layout) = large_layout(size) else { return ptr::null_mut() };
        // SAFETY: the layout is not empty; the word before what is returned lies within it.
        unsafe {
            let base = alloc(layout);
            if base.is_null() {
                return base;
            }
            let block = base.add(LARGE_HEAD);
            block.sub(WORD).cast::<usize>().write(layout.size() - LARGE_HEAD);
            block
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        ENGINES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many engines this process has.
static ENGINES: AtomicUsize = AtomicUsize::new(0);
/// From this many engines on they share large pages.
const MANY: usize = 4;
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
struct Piece {
    begin: *mut c_void,
    size: usize,
    /// A part of a large page, which is for the next engine then.
    is_shared: bool,
}

impl Piece {
    fn map(size: usize, flags: MapFlags) -> Option<Self> {
        // SAFETY: the system chooses a place where nothing is.
        let begin = unsafe { mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, flags) }.ok()?;
        Some(Self { begin, size, is_shared: false })
    }

    /// A piece whose pages are there at once.
    fn small(size: usize) -> Option<Self> {
        let shares = cfg!(target_os = "linux") && ENGINES.load(Ordering::Relaxed) >= MANY;
        match shares.then(|| large_pages().piece(size)).flatten() {
            Some(begin) => Some(Self { begin: begin as *mut c_void, size, is_shared: true }),
            None => Self::map(size, with_pages()),
        }
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
struct LargePages {
    /// Pieces that were given back: where they begin and how long they are.
    free: Vec<(usize, usize)>,
    /// What was not yet handed out.
    next: usize,
    left: usize,
}

static LARGE_PAGES: Mutex<LargePages> = Mutex::new(LargePages { free: Vec::new(), next: 0, left: 0 });

fn large_pages() -> std::sync::MutexGuard<'static, LargePages> {
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
        let room = Piece::map(2 * LARGE_PAGE, MapFlags::PRIVATE | MapFlags::NORESERVE)?;
        let begin = room.begin as usize;
        let page = begin.next_multiple_of(LARGE_PAGE);
        std::mem::forget(room);
        // SAFETY: all of it was mapped just now, and nobody has it; what is before and after the page goes back.
        unsafe {
            if page > begin {
                munmap(begin as *mut c_void, page - begin).ok();
            }
            munmap((page + LARGE_PAGE) as *mut c_void, begin + LARGE_PAGE - page).ok();
            // Where there are no large pages it is memory like any other.
            madvise(page as *mut c_void, LARGE_PAGE, AS_ONE).ok();
        }
        Some(page)
    }
}

/// Memory whose pages are there at once.
fn with_pages() -> MapFlags {
    #[cfg(target_os = "linux")]
    return MapFlags::PRIVATE | MapFlags::POPULATE;
    #[cfg(not(target_os = "linux"))]
    return MapFlags::PRIVATE;
}

/// The layout of a large block that holds `size` bytes.
fn large_layout(size: usize) -> Option<Layout> {
    let whole = size.checked_add(LARGE_HEAD)?.checked_next_multiple_of(16)?;
    Layout::from_size_align(whole, 16).ok()
}

/// The class of a block that holds `size` bytes, and its size with the word; nothing where it is too large for any.
fn class_of(size: usize) -> Option<(usize, usize)> {
    if size > COARSE + BEYOND - WORD {
        return None;
    }
    let whole = (size + WORD).next_multiple_of(16);
    if whole <= FINE + BEYOND {
        return Some((whole / 16 - 1, whole));
    }
    let octave = (whole - BEYOND - 1).ilog2();
    let quarter = (1_usize << octave) / 4;
    let round = (whole - BEYOND).next_multiple_of(quarter);
    let step = round / quarter - 5;
    Some((FINE_CLASSES + 4 * (octave - FINE.ilog2()) as usize + step, round + BEYOND))
}

// SAFETY: blocks are aligned to 16 bytes, do not overlap, and say in the word before them how much they hold.
unsafe impl Allocator for Arena {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        let Some((class, whole)) = class_of(size) else { return Self::large(size) };
        let Some(head) = self.free.get_mut(class) else { return ptr::null_mut() };
        let block = *head;
        if block.is_null() {
            return self.cut(whole);
        }
        // SAFETY: a free block holds the address of the next one.
        *head = unsafe { block.cast::<*mut u8>().read() };
        block
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(size) = count.checked_mul(size) else { return ptr::null_mut() };
        let block = self.alloc(size);
        if !block.is_null() {
            // SAFETY: the block holds at least `size` bytes.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        // SAFETY: the caller promises that the block is ours; its word says how large it is, and with that its class.
        unsafe {
            let capacity = Self::usable_size(block);
            match class_of(capacity) {
                Some((class, _)) => {
                    if let Some(head) = self.free.get_mut(class) {
                        block.cast::<*mut u8>().write(*head);
                        *head = block;
                    }
                }
                None => {
                    if let Some(layout) = large_layout(capacity) {
                        dealloc(block.sub(LARGE_HEAD), layout);
                    }
                }
            }
        }
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        if block.is_null() {
            return self.alloc(size);
        }
        // SAFETY: the caller promises that the block is ours; what is copied fits into both.
        unsafe {
            let capacity = Self::usable_size(block);
            let is_large = class_of(capacity).is_none();
            if is_large && class_of(size).is_none() {
                let (Some(old), Some(new)) = (large_layout(capacity), large_layout(size)) else {
                    return ptr::null_mut();
                };
                let base = realloc(block.sub(LARGE_HEAD), old, new.size());
                if base.is_null() {
                    return base;
                }
                let moved = base.add(LARGE_HEAD);
                moved.sub(WORD).cast::<usize>().write(new.size() - LARGE_HEAD);
                return moved;
            }
            // It stays where it is unless half of it would be wasted.
            if size <= capacity && (size >= capacity / 2 || capacity < 64) {
                return block;
            }
            let moved = self.alloc(size);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, size.min(capacity));
                self.dealloc(block);
            }
            moved
        }
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: the caller promises that the block is ours, so its word stands before it.
        unsafe { block.sub(WORD).cast::<usize>().read() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many engines on two threads, which come and go: nobody's memory is another's, and nobody finds what another left.
    #[test]
    fn engines_that_share_large_pages_do_not_meet() {
        let live = |mark: u8| {
            for _ in 0..20 {
                let mut arenas: Vec<(Arena, Vec<*mut u8>)> = (0..20).map(|_| (Arena::new(), Vec::new())).collect();
                for (at, (arena, blocks)) in arenas.iter_mut().enumerate() {
                    for _ in 0..(at * 7) {
                        let block = arena.alloc(10_000);
                        let is_new = arena.free.iter().all(|head| head.is_null());
                        let bytes = unsafe { std::slice::from_raw_parts_mut(block, 10_000) };
                        assert!(!is_new || bytes.iter().all(|byte| *byte == 0), "somebody's bytes");
                        bytes.fill(mark ^ at as u8);
                        blocks.push(block);
                    }
                }
                for (at, (_, blocks)) in arenas.iter().enumerate() {
                    for block in blocks {
                        let bytes = unsafe { std::slice::from_raw_parts(*block, 10_000) };
                        assert!(bytes.iter().all(|byte| *byte == mark ^ at as u8), "somebody else's bytes");
                    }
                }
            }
        };
        std::thread::scope(|scope| [0x40, 0x80].into_iter().for_each(|mark| drop(scope.spawn(move || live(mark)))));
        assert!(!large_pages().free.is_empty(), "they were given back");
    }

    #[test]
    fn every_size_has_a_class_that_holds_it_and_blocks_of_a_class_are_alike() {
        let mut wholes = [0; CLASSES];
        for size in 0..=COARSE + BEYOND - WORD {
            let (class, whole) = class_of(size).expect("small enough");
            assert!(whole >= size + WORD && whole.is_multiple_of(16), "{size}: {whole}");
            assert!(wholes[class] == 0 || wholes[class] == whole, "{size}: {whole} in class {class}");
            wholes[class] = whole;
            assert_eq!(class_of(whole - WORD), Some((class, whole)), "a block of {size} finds its way back");
        }
        assert_eq!(class_of(COARSE + BEYOND - WORD + 1), None);
        assert_eq!(class_of(4096).map(|(_, whole)| whole), Some(4096 + BEYOND), "pages are not wasted");
        assert!(wholes.iter().all(|whole| *whole > 0), "{wholes:?}");
    }

    /// Blocks of all sizes keep what was written into them while others come, go, grow and shrink.
    #[test]
    fn blocks_do_not_touch_each_other() {
        let mut arena = Arena::new();
        let mut blocks: Vec<(*mut u8, usize, u8)> = Vec::new();
        let mut seed = 7_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let check = |&(block, size, mark): &(*mut u8, usize, u8)| {
            assert!((block as usize).is_multiple_of(16));
            let bytes = unsafe { std::slice::from_raw_parts(block, size) };
            assert!(bytes.iter().all(|byte| *byte == mark));
        };
        for round in 0..20_000 {
            let size = if random(50) == 0 { random(200_000) } else { random(600) };
            let mark = (round % 251) as u8;
            match random(4) {
                0 if !blocks.is_empty() => {
                    let gone = blocks.swap_remove(random(blocks.len()));
                    check(&gone);
                    unsafe { arena.dealloc(gone.0) };
                }
                1 if !blocks.is_empty() => {
                    let at = random(blocks.len());
                    let (block, old, mark) = blocks[at];
                    let moved = unsafe { arena.realloc(block, size) };
                    check(&(moved, size.min(old), mark));
                    unsafe { moved.write_bytes(mark, size) };
                    blocks[at] = (moved, size, mark);
                }
                _ => {
                    let block = arena.alloc(size);
                    assert!(unsafe { Arena::usable_size(block) } >= size);
                    unsafe { block.write_bytes(mark, size) };
                    blocks.push((block, size, mark));
                }
            }
        }
        blocks.iter().for_each(check);
        let zeroed = arena.calloc(100, 9);
        assert!((0..900).all(|at| unsafe { zeroed.add(at).read() } == 0));
        assert!(arena.calloc(usize::MAX, 2).is_null() && arena.alloc(usize::MAX - 3).is_null());
        for (block, _, _) in blocks {
            unsafe { arena.dealloc(block) };
        }
    }
}
