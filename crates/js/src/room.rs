//! Room on the stack for working through a stranger's text: how deep it is nested must not matter to the host, because a
//! stack that overflows takes the whole process with it.

/// A byte can nest the syntax one deeper; this is what a level costs at most, unless it is a bracket.
const PER_BYTE: usize = 768;
/// What a bracket costs at most.
const PER_BRACKET: usize = 32 << 10;
/// Brackets within brackets; beyond this a text is an attack.
const DEEPEST: usize = 20_000;
/// On top, for texts that are not deep at all.
const LEAST: usize = 2 << 20;
/// A text this short fits onto any stack.
const SHORT: usize = 256;

/// Does `work`, which works through `text` by recursion, where there is room for it.
///
/// # Errors
/// When there cannot be.
pub(crate) fn with_room<T: Send>(text: &str, work: impl FnOnce() -> T + Send) -> Result<T, &'static str> {
    if text.len() <= SHORT {
        return Ok(work());
    }
    let depth = nesting(text);
    if depth > DEEPEST {
        return Err("brackets are nested too deep");
    }
    let stack = LEAST + text.len() * PER_BYTE + depth * PER_BRACKET;
    let none = "there is no room to compile it";
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("js compile".to_owned()).stack_size(stack);
        let worker = thread.spawn_scoped(scope, work).map_err(|_| none)?;
        worker.join().map_err(|_| "the compiler cannot handle this file")
    })
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
