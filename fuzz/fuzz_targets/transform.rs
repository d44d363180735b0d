//! Scripts of every kind: the transform and the scan end and never panic, and what comes out can be parsed. The first
//! byte says how the file is called.

#![no_main]

use std::io;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use oxc::allocator::Allocator;
use oxc::parser::{ParseOptions, Parser};
use oxc::span::SourceType;

// The modules themselves, so that neither the engine nor the library need be built with them.
#[path = "../../crates/js/src"]
#[allow(dead_code, reason = "only what reads text is used")]
mod js {
    pub(crate) mod deep_stack;
    pub(crate) mod scan;
    pub(crate) mod transform;
}
use js::{deep_stack, scan, transform};

/// As in the crate, without the text of the modules.
mod library {
    pub(crate) enum Library {
        Embedded,
    }

    impl Library {
        pub(crate) fn provided(&self, specifier: &str) -> Option<String> {
            specifier.starts_with("@earendil-works/").then(|| specifier.to_owned())
        }
    }

    pub(crate) fn is_library(name: &str) -> bool {
        name.starts_with("node:") || name.starts_with("jackfield:")
    }
}
use library::Library;

mod resolve {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub(crate) enum Ask {
        Import,
        Require,
    }
}

const NAMES: [&str; 9] =
    ["/x/a.ts", "/x/a.js", "/x/a.mts", "/x/a.mjs", "/x/a.cts", "/x/a.cjs", "/x/a.tsx", "/x/a.jsx", "/x/a"];

/// Longer texts may be nested so deep that the compiler, whose time grows with the square of the depth, takes too long.
const MAX_TEXT: usize = 32 << 10;
/// The compiler tries every `<` of TypeScript as the begin of type arguments, and those within it again: a few hundred
/// in a row take seconds.
const MAX_ANGLES: usize = 100;

/// Faults of the compiler are caught where it is called; faults of ours and faults that nobody catches are found.
fn abort_on_our_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if panic.location().is_some_and(|at| at.file().contains("crates/js/") || at.file().contains("fuzz_targets")) {
            eprintln!("{panic}");
            std::process::abort();
        }
    }));
}

fn parses(script: &str) -> bool {
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let read = Parser::new(&allocator, script, SourceType::cjs()).with_options(options).parse();
    !read.panicked && read.diagnostics.iter().next().is_none()
}

fuzz_target!(init: abort_on_our_panics(), |input: &[u8]| {
    let Some((which, text)) = input.split_first() else { return };
    let Some(name) = NAMES.get(usize::from(*which) % NAMES.len()) else { return };
    let (path, text) = (Path::new(name), transform::text_of(text.to_vec()));
    if text.len() > MAX_TEXT || (name.contains("ts") && text.matches('<').count() > MAX_ANGLES) {
        return;
    }
    if let Ok(unit) = transform::transform(path, &text) {
        let parsed = deep_stack::with_room(path, &unit.script, |_, script| parses(script));
        assert_ne!(parsed, Ok(false), "what is made is a script:\n{}", unit.script);
        let shift = transform::shift(unit.kind, unit.is_async) as usize;
        assert!(unit.script.is_char_boundary(shift), "a body begins where the first line is moved to");
    }
    transform::map_of(path, &text);
    transform::named(path, &text);
    let report = scan::scan(path, &|asked| match asked == path {
        true => Ok(text.clone()),
        false => Err(io::ErrorKind::NotFound.into()),
    });
    for finding in &report.findings {
        assert!(finding.line > 0 && finding.column > 0, "places count from one: {finding:?}");
    }
});
