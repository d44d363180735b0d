//! WASM components made of text: a core module, and the world that it is for.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::repository;

/// Makes a component of the text of a core module, for a world of `wit/` or of the guests' own.
///
/// # Panics
/// When the module does not fit the world.
#[track_caller]
pub fn assemble(text: &str, world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (ours, _) = resolve.push_dir(repository().join("wit")).expect("our own world");
    let (guests, _) = resolve.push_dir(guests()).expect("the worlds of the guests");
    let world = resolve
        .select_world(&[guests], Some(world))
        .or_else(|_| resolve.select_world(&[ours], Some(world)))
        .expect("a world of that name");
    let mut module = wat::parse_str(text).expect("the text of a module");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("a place for its world");
    let mut encoder = ComponentEncoder::default().validate(true).module(&module).expect("a module for its world");
    encoder.encode().unwrap_or_else(|error| panic!("no component for {world:?}: {error:?}"))
}

/// A component of one of the guests' files.
///
/// # Panics
/// When there is no such file.
#[track_caller]
pub fn guest(file: &str, world: &str) -> Vec<u8> {
    let text = std::fs::read_to_string(guests().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    assemble(&text, world)
}

/// Where the texts of guests lie.
fn guests() -> std::path::PathBuf {
    repository().join(Path::new("crates/wasm/tests/guests"))
}
