use super::pages::large_pages;
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

/// A copy of a template's memory goes on where the template was: what is free there is free here, and large blocks that were
/// copied are not given to the system.
#[test]
fn a_copy_goes_on_where_the_template_was() {
    let mut template = Arena::template().expect("memory");
    let kept: Vec<(*mut u8, usize)> = [40, 5_000, 100_000, 3_000].map(|size| (template.alloc(size), size)).into();
    let freed = template.alloc(2_000);
    unsafe { template.dealloc(freed) };
    for (block, size) in &kept {
        assert!((*block as usize) > template.begin() as usize, "in the one piece, whatever its size");
        unsafe { block.write_bytes(7, *size) };
    }
    let plan = template.plan();
    let mut copy = Arena::like(&plan).expect("memory");
    let moved = (copy.begin() as usize).wrapping_sub(template.begin() as usize);
    unsafe {
        ptr::copy_nonoverlapping(template.begin(), copy.begin(), plan.used);
        copy.resume(&plan);
    }
    let there = |block: *mut u8| block.wrapping_add(moved);
    assert_eq!(copy.alloc(2_000), there(freed), "it was free");
    for (block, size) in kept {
        let block = there(block);
        let grown = unsafe { copy.realloc(block, size * 3) };
        let bytes = unsafe { std::slice::from_raw_parts(grown, size) };
        assert!(bytes.iter().all(|byte| *byte == 7), "{size}");
        unsafe { copy.dealloc(grown) };
    }
    let apart = copy.alloc(100_000);
    assert!(!copy.inside.contains(&(apart as usize)), "from the system");
    unsafe { copy.dealloc(apart) };
}

#[test]
fn a_template_that_is_too_large_is_none() {
    let mut template = Arena::template().expect("memory");
    assert!(!template.alloc(TEMPLATE / 2).is_null());
    assert!(template.alloc(TEMPLATE).is_null() && template.alloc(usize::MAX - 3).is_null());
}
