//! Places in stack traces as the author of a file knows them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;

use oxc_sourcemap::SourceMap;

use crate::transform::{self, Kind};

/// A file as it was loaded.
pub(crate) struct Source {
    kind: Kind,
    is_async: bool,
    text: Cow<'static, str>,
    /// Leads from the lines that run to the author's.
    map: OnceCell<Option<String>>,
}

impl Source {
    pub(crate) fn new(kind: Kind, is_async: bool, text: Cow<'static, str>) -> Self {
        Self { kind, is_async, text, map: OnceCell::new() }
    }

    fn map(&self, path: &str) -> Option<SourceMap<'_>> {
        let map = self.map.get_or_init(|| transform::map_of(Path::new(path), &self.text));
        SourceMap::from_json_string(map.as_deref()?).ok()
    }
}

/// The stack with every `(file:line:column)` of a transformed file mapped back, and without the library's own frames.
pub(crate) fn mapped(stack: &str, sources: &HashMap<String, Source>) -> String {
    let mut maps: HashMap<&str, Option<SourceMap<'_>>> = HashMap::new();
    let mut lines = Vec::new();
    for line in stack.lines() {
        let Some((before, place, after)) = place(line) else {
            lines.push(line.to_owned());
            continue;
        };
        // Built in, or of the library, which has no lines.
        if place == "native" || place.starts_with("<null>") {
            continue;
        }
        let Some((file, row, column)) = split(place) else {
            lines.push(line.to_owned());
            continue;
        };
        if crate::library::is_library(file) {
            continue;
        }
        let source = sources.get(file);
        let shift = source.map_or(0, |source| transform::shift(source.kind, source.is_async));
        let column = if row == 1 { column.saturating_sub(shift).max(1) } else { column };
        let map = maps.entry(file).or_insert_with(|| source?.map(file));
        let found = map.as_ref().and_then(|map| {
            let table = map.generate_lookup_table();
            let token = map.lookup_token(&table, row.saturating_sub(1), column.saturating_sub(1))?;
            Some((token.get_src_line() + 1, token.get_src_col() + 1))
        });
        let (row, column) = found.unwrap_or((row, column));
        let before = before.replace("__vite_ssr_export_default__", "default");
        lines.push(format!("{before}{file}:{row}:{column}{after}"));
    }
    lines.join("\n")
}

/// `    at name (file:1:2)` or `    at file:1:2`.
fn place(line: &str) -> Option<(&str, &str, &str)> {
    if let Some(open) = line.rfind('(')
        && line.ends_with(')')
    {
        let (before, rest) = line.split_at(open + 1);
        let (place, after) = rest.split_at(rest.len() - 1);
        return Some((before, place, after));
    }
    let at = line.find("at ")? + 3;
    let (before, place) = line.split_at(at);
    Some((before, place, ""))
}

fn split(place: &str) -> Option<(&str, u32, u32)> {
    let (rest, column) = place.rsplit_once(':')?;
    let column: u32 = column.parse().ok()?;
    match rest.rsplit_once(':') {
        Some((file, row)) if row.parse::<u32>().is_ok() => Some((file, row.parse().ok()?, column)),
        _ => Some((rest, column, 1)),
    }
}
