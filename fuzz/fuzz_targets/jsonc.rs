//! Other agents' configurations: an entry is put in and taken out, or the text is refused. Nothing panics, everything
//! else in the text stays, and an object that had members is the same bytes again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

// The module itself, so that the command line need not be built with it.
#[path = "../../crates/cli/src/connect/jsonc.rs"]
mod jsonc;

const CONTAINER: &str = "mcpServers";
const NAME: &str = "jackfield";

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let entry = json!({ "command": "/bin/jackfield", "args": ["mcp"] });
    let removed = jsonc::remove(text, CONTAINER, NAME);
    if let Ok(Some(rest)) = &removed {
        assert_eq!(jsonc::remove(rest, CONTAINER, NAME), Ok(None), "what was taken out is gone");
    }
    let Ok(made) = jsonc::put(text, CONTAINER, NAME, &entry) else { return };
    assert_eq!(jsonc::put(&made, CONTAINER, NAME, &entry).as_ref(), Ok(&made), "twice is once");
    let without =
        |made: &str| jsonc::remove(made, CONTAINER, NAME).expect("it can be read").expect("our entry is there");
    let back = without(&made);
    assert_eq!(jsonc::remove(&back, CONTAINER, NAME), Ok(None), "what was taken out is gone");
    // An object that was empty comes back over two lines, and stays so.
    let there_and_back =
        |text: &str| without(&jsonc::put(text, CONTAINER, NAME, &entry).expect("it can be edited again"));
    let again = there_and_back(&back);
    assert_eq!(there_and_back(&again), again, "there and back is the same bytes");
    // Text that is plain JSON can be compared by value.
    let plain = |text: &str| serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).ok();
    if let (Some(before), Some(after), Ok(None)) = (plain(text), plain(&back), removed) {
        match before.get(CONTAINER).and_then(Value::as_object) {
            Some(members) if !members.is_empty() => assert_eq!(back, text, "there and back is the same bytes"),
            Some(_) => assert_eq!(after, before, "nothing else changes"),
            None => {
                let mut after = after;
                after.as_object_mut().and_then(|root| root.shift_remove(CONTAINER));
                assert_eq!(after, before, "nothing else changes");
            }
        }
    }
});
