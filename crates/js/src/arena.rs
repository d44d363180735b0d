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

mod pages;
#[cfg(test)]
mod tests;

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::RefCell;
use std::ops::Range;
use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::Allocator;

use self::pages::Piece;
pub(crate) use self::pages::are_many;

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

/// Bytes for an engine that others are copies of; most of them are never touched.
const TEMPLATE: usize = 4 << 20;
/// What a copy has at once beside what was copied.
const ROOM: usize = 32 * 1024;

/// The memory of one engine.
pub(crate) struct Arena {
    pieces: Vec<Piece>,
    held: usize,
    next: *mut u8,
    left: usize,
    free: [*mut u8; CLASSES],
    /// Where blocks lie that are larger than every class and did not come from the system.
    inside: Range<usize>,
    /// Everything lies in one piece, whatever its size.
    is_template: bool,
    /// Something did not fit into that.
    is_full: bool,
    _alive: pages::Alive,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self {
            pieces: Vec::new(),
            held: 0,
            next: ptr::null_mut(),
            left: 0,
            free: [ptr::null_mut(); CLASSES],
            inside: 0..0,
            is_template: false,
            is_full: false,
            _alive: pages::Alive::new(),
        }
    }

    /// The memory of an engine that others will be copies of: one piece, in which all of it lies.
    pub(crate) fn template() -> Option<Self> {
        let mut arena = Self::new();
        arena.begin_with(Piece::apart(TEMPLATE)?);
        arena.inside = arena.begin() as usize..arena.begin() as usize + TEMPLATE;
        arena.is_template = true;
        Some(arena)
    }

    /// Whether others will be copies of its engine.
    pub(crate) fn is_template(&self) -> bool {
        self.is_template
    }

    /// Whether the one piece was too small for something.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Leaves nothing in free blocks but where the next one is, so that what was there makes no difference.
    pub(crate) fn scrub(&mut self) {
        for head in self.free {
            let mut block = head;
            while !block.is_null() {
                // SAFETY: a free block holds the address of the next one, says how large it is, and is nobody's.
                unsafe {
                    block.add(WORD).write_bytes(0, Self::usable_size(block) - WORD);
                    block = block.cast::<*mut u8>().read();
                }
            }
        }
    }

    /// Memory for a copy of an engine whose memory looks like this; nothing is in it yet.
    pub(crate) fn like(plan: &Plan) -> Option<Self> {
        let mut arena = Self::new();
        arena.begin_with(Piece::for_copy((plan.used + ROOM).next_multiple_of(SMALL_PIECE))?);
        Some(arena)
    }

    /// How the one piece of a template is used.
    pub(crate) fn plan(&self) -> Plan {
        let begin = self.begin() as usize;
        Plan { used: self.next as usize - begin, free: self.free.map(|head| (head as usize).saturating_sub(begin)) }
    }

    /// The memory of the other engine was copied to where this one begins: from now on it is used as it was there.
    ///
    /// # Safety
    /// All `plan.used` bytes must have been copied, with addresses within them corrected, and nobody may use a block that
    /// this arena handed out before unless the other handed out the same.
    pub(crate) unsafe fn resume(&mut self, plan: &Plan) {
        let begin = self.begin();
        // SAFETY: the piece was made for what is used, and more.
        self.next = unsafe { begin.add(plan.used) };
        self.left = self.held - plan.used;
        self.free = plan.free.map(|head| if head == 0 { ptr::null_mut() } else { begin.wrapping_add(head) });
        if !self.is_template {
            self.inside = begin as usize..begin as usize + plan.used;
        }
    }

    /// Where the first piece begins.
    pub(crate) fn begin(&self) -> *mut u8 {
        self.pieces.first().map_or(ptr::null_mut(), |piece| piece.begin.cast())
    }

    /// Bytes of the first piece.
    pub(crate) fn size(&self) -> usize {
        self.pieces.first().map_or(0, |piece| piece.size)
    }

    /// The first block that was handed out.
    pub(crate) fn first(&self) -> *mut u8 {
        self.begin().wrapping_add(16)
    }

    fn begin_with(&mut self, piece: Piece) {
        let (begin, size) = (piece.begin.cast::<u8>(), piece.size);
        self.pieces.push(piece);
        self.held += size;
        // Blocks begin a word before a multiple of 16, so that what follows their word is aligned.
        self.next = begin.wrapping_add(16 - WORD);
        self.left = size - 16;
    }

    /// A new block of `whole` bytes, its word included, from the piece in use or from a new one.
    fn cut(&mut self, whole: usize) -> *mut u8 {
        if self.left < whole {
            if self.is_template {
                self.is_full = true;
                return ptr::null_mut();
            }
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
        let Some(piece) = (if is_small { Piece::small(size) } else { Piece::plain(size) }) else { return false };
        self.begin_with(piece);
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

    fn large(&mut self, size: usize) -> *mut u8 {
        if self.is_template {
            let whole = size.checked_add(WORD).and_then(|whole| whole.checked_next_multiple_of(16));
            return whole.map_or(ptr::null_mut(), |whole| self.cut(whole));
        }
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
        let Some((class, whole)) = class_of(size) else { return self.large(size) };
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
                // What was copied goes with the whole; of what others will be copies of nothing is left behind.
                None if self.is_template => block.write_bytes(0, capacity),
                None if self.inside.contains(&(block as usize)) => {}
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
            let is_large = class_of(capacity).is_none() && !self.inside.contains(&(block as usize));
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

/// How the memory of an engine is used that others are copies of; places are counted from where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Bytes from the beginning.
    pub(crate) used: usize,
    /// The first free block of every class; none is at the very beginning.
    pub(crate) free: [usize; CLASSES],
}

/// The memory of an engine, for the engine and for whoever made it.
#[derive(Clone)]
pub(crate) struct Shared(pub(crate) Rc<RefCell<Arena>>);

impl Shared {
    pub(crate) fn new(arena: Arena) -> Self {
        Self(Rc::new(RefCell::new(arena)))
    }
}

// SAFETY: it is the arena's.
unsafe impl Allocator for Shared {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.0.borrow_mut().alloc(size)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        self.0.borrow_mut().calloc(count, size)
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe { self.0.borrow_mut().dealloc(block) }
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: promised by the caller.
        unsafe { self.0.borrow_mut().realloc(block, size) }
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: promised by the caller.
        unsafe { Arena::usable_size(block) }
    }
}
