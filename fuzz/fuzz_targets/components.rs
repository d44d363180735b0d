//! Files that claim to be components: looking at one and taking away what is not needed ends, and never panics.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The modules themselves, so that the compiler of components need not be built with them.
#[path = "../../crates/wasm/src/scan.rs"]
#[allow(dead_code, reason = "only what reads bytes is used")]
mod scan;
#[path = "../../crates/wasm/src/strip.rs"]
mod strip;

fuzz_target!(|bytes: &[u8]| {
    let facts = scan::scan(bytes);
    if let Ok(stripped) = strip::strip(bytes) {
        assert!(stripped.len() <= bytes.len(), "stripping takes away");
        if let (Ok(before), Ok(after)) = (facts, scan::scan(&stripped)) {
            assert_eq!((before.imports, before.exports), (after.imports, after.exports), "and changes nothing");
        }
    }
});
