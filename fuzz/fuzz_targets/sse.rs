//! Streams of server-sent events: however they are cut, the same events come out, and none is longer than the limit. The
//! first byte is the limit, the second says where the stream is cut.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The module itself, so that the HTTP client need not be built with it.
#[path = "../../crates/mcp/src/http/events.rs"]
mod events;

use events::{Events, Item};

fuzz_target!(|input: &[u8]| {
    let [limit, cut, stream @ ..] = input else { return };
    let (limit, cut) = (usize::from(*limit), usize::from(*cut) + 1);
    let mut whole = Events::new(limit);
    let expected = whole.feed(stream);
    let mut events = Events::new(limit);
    let mut items: Vec<Item> = Vec::new();
    // Chunks of one length, and of lengths that grow and shrink.
    for (number, chunk) in stream.chunks(cut).enumerate() {
        let (head, tail) = chunk.split_at(number % (chunk.len() + 1));
        items.extend(events.feed(head));
        items.extend(events.feed(tail));
    }
    assert_eq!(items, expected, "every chunking gives the same events");
    assert_eq!((events.last_id(), events.retry()), (whole.last_id(), whole.retry()));
    for item in &items {
        match item {
            // What is not UTF-8 grows when it is replaced: a byte becomes three.
            Item::Data(text) => assert!(text.len() <= limit * 3, "the limit holds"),
            Item::TooLong(bytes) => assert!(*bytes > limit as u64, "only what is too long is skipped"),
        }
    }
    whole.begin();
    assert_eq!(whole.last_id(), events.last_id(), "a new stream keeps its place");
    assert_eq!(whole.feed(b"\n"), [], "and nothing of the old one");
});
