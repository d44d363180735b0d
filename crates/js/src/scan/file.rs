//! One file: parsed, with its names resolved, and what was seen in it. Parsing is done on a thread of its own with a stack
//! that fits the text, because how deep a stranger's code is nested must not matter to ours.

use std::path::Path;

use jackfield_protocol::Power;
use oxc::allocator::Allocator;
use oxc::parser::{ParseOptions, Parser};
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;

use super::{Level, visit};

/// Larger files are not written by hand.
const MAX_TEXT: usize = 1 << 20;

/// Brackets within brackets.
const MAX_NESTING: usize = 1_000;

/// A byte can nest the syntax one deeper, unless it is a bracket; this is what a level costs at most.
const STACK_PER_BYTE: usize = 768;
const LEAST_STACK: usize = 64 << 20;

/// Line and column, from one.
pub(super) type Place = (u32, u32);

/// An import, static or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) specifier: String,
    pub(super) place: Place,
    /// Whether loading the file needs it.
    pub(super) at_load: bool,
}

/// A use of a power.
pub(super) struct Use {
    pub(super) power: Power,
    pub(super) value: Option<String>,
    pub(super) place: Place,
}

/// What was seen in a file.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) findings: Vec<(Level, Place, String, String)>,
    pub(super) needs: Vec<Use>,
    pub(super) imports: Vec<Import>,
    pub(super) has_factory: bool,
}

/// Turns offsets into places.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    pub(super) fn place(&self, offset: u32) -> Place {
        let offset = offset as usize;
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|line| self.starts.get(line)).copied().unwrap_or(0);
        // A line of a bundle may hold a megabyte; counting it for every finding would be slow.
        let before = self.text.get(start..offset).unwrap_or_default();
        let column = if before.len() > 10_000 { before.len() } else { before.chars().count() };
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column + 1).unwrap_or(u32::MAX))
    }
}

/// Everything that is seen in `text`, or what is wrong with it.
pub(super) fn facts(path: &Path, text: &str) -> Result<Facts, (Place, String)> {
    if text.len() > MAX_TEXT {
        let message = format!("holds {} bytes and is not looked at; more than {MAX_TEXT} is no source", text.len());
        let has_factory = true;
        let findings = vec![(Level::Warning, (1, 1), "size".to_owned(), message)];
        return Ok(Facts { findings, has_factory, ..Facts::default() });
    }
    if nesting(text) > MAX_NESTING {
        return Err(((1, 1), format!("brackets are nested more than {MAX_NESTING} deep")));
    }
    let stack = LEAST_STACK + text.len() * STACK_PER_BYTE;
    std::thread::scope(|scope| {
        let unread = || ((1, 1), "cannot be parsed: there is no room for it".to_owned());
        let parsed = std::thread::Builder::new()
            .name("scan".to_owned())
            .stack_size(stack)
            .spawn_scoped(scope, || parse(path, text))
            .map_err(|_| unread())?;
        parsed.join().unwrap_or_else(|_| Err(((1, 1), "cannot be parsed".to_owned())))
    })
}

/// How deep brackets are nested, seen without understanding strings. What hides in strings costs so many bytes that the
/// stack has room for it.
fn nesting(text: &str) -> usize {
    let mut deepest = 0;
    let mut depth: usize = 0;
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

fn parse(path: &Path, text: &str) -> Result<Facts, (Place, String)> {
    let lines = Lines::of(text);
    let kind = SourceType::from_path(path).unwrap_or_else(|_| SourceType::ts()).with_module(true);
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let first = Allocator::default();
    let mut parsed = Parser::new(&first, text, kind).with_options(options).parse();
    let second = Allocator::default();
    if parsed.panicked && !kind.is_typescript() {
        // CommonJS may use what modules forbid.
        parsed = Parser::new(&second, text, kind.with_module(false).with_script(true)).with_options(options).parse();
    }
    if parsed.panicked {
        let error = parsed.diagnostics.iter().next();
        let place =
            error.and_then(|error| error.labels.iter().next()).map_or((1, 1), |label| lines.place(label.offset()));
        let message = error.map_or_else(|| "cannot be parsed".to_owned(), |error| error.message.to_string());
        return Err((place, format!("cannot be parsed: {message}")));
    }
    let semantic = SemanticBuilder::new().build(&parsed.program).semantic;
    Ok(visit::facts(&parsed.program, semantic.scoping(), &lines, kind.is_typescript()))
}
