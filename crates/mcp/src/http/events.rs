//! Server-sent events, read as they come and within bounds.

use std::time::Duration;

use memchr::memchr2;

/// What a stream held.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// The data of one event.
    Data(String),
    /// An event of this many bytes, which is too long to be kept.
    TooLong(u64),
}

/// Reads one stream after another; the last id and the pause that the server asked for outlive a stream.
#[derive(Debug)]
pub(crate) struct Events {
    limit: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    foreign: bool,
    /// Bytes of an event that is too long, once it is.
    skipped: Option<u64>,
    after_cr: bool,
    at_start: bool,
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// No server may keep us waiting longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

impl Events {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            foreign: false,
            skipped: None,
            after_cr: false,
            at_start: true,
            id: None,
            last_id: None,
            retry: None,
        }
    }

    /// The id of the last event that was complete, from which a stream can be resumed.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How long the server wants a client to wait before it comes back.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// A new stream begins; what the old one left unfinished is dropped.
    pub(crate) fn begin(&mut self) {
        let (id, retry) = (self.last_id.take(), self.retry);
        *self = Self { last_id: id, retry, ..Self::new(self.limit) };
    }

    /// Takes what arrived and gives the events that it completes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Vec<Item> {
        let mut items = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes.first() == Some(&b'\n') {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.keep(bytes);
                break;
            };
            let (head, rest) = bytes.split_at(end);
            self.keep(head);
            self.after_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            items.extend(self.end_of_line());
        }
        items
    }

    fn keep(&mut self, part: &[u8]) {
        if let Some(skipped) = &mut self.skipped {
            *skipped += part.len() as u64;
            // Enough is kept to tell an empty line, which ends the event, from another.
            if self.line.is_empty() {
                self.line.extend(part.iter().take(1));
            }
        } else if self.line.len() + self.data.len() + part.len() > self.limit {
            self.skipped = Some((self.line.len() + self.data.len() + part.len()) as u64);
            (self.line, self.data) = (part.iter().take(1).copied().collect(), Vec::new());
        } else {
            self.line.extend_from_slice(part);
        }
    }

    fn end_of_line(&mut self) -> Option<Item> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.end_of_event();
        }
        if self.skipped.is_some() {
            return None;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => self.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"event" => self.foreign = !value.is_empty() && value != b"message",
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let asked = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = Some(asked.map_or(LONGEST_PAUSE, Duration::from_millis).min(LONGEST_PAUSE));
            }
            _ => {}
        }
        None
    }

    fn end_of_event(&mut self) -> Option<Item> {
        let data = std::mem::take(&mut self.data);
        let (has_data, foreign) = (std::mem::take(&mut self.has_data), std::mem::take(&mut self.foreign));
        if let Some(id) = self.id.take() {
            self.last_id = Some(id);
        }
        if let Some(skipped) = self.skipped.take() {
            return Some(Item::TooLong(skipped));
        }
        // The first event of a stream that can be resumed has an id and no data.
        (has_data && !foreign && !data.is_empty()).then(|| Item::Data(String::from_utf8_lossy(&data).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// A stream made of the parts that mean something, and of some that mean nothing.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            "data: ?[a-z]{0,12}",
            "id: ?[0-9]{0,3}",
            "retry: ?[0-9]{0,6}",
            "event: ?(message|other)?",
            "\r|\n|\r\n|\n\n|\r\r|\n\r|\r\n\r\n",
            ":|\u{feff}|\0|é",
        ];
        let bytes = prop_oneof![9 => part.prop_map(String::into_bytes), 1 => vec(any::<u8>(), 0..4)];
        vec(bytes, 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_chunking_gives_the_same_events(stream in stream(), cuts in vec(1_usize..9, 1..9), limit in 3_usize..40) {
            let mut whole = Events::new(limit);
            let expected = whole.feed(&stream);
            let mut events = Events::new(limit);
            let (mut items, mut rest) = (Vec::new(), stream.as_slice());
            for cut in cuts.iter().cycle().take(stream.len()) {
                let (chunk, tail) = rest.split_at(rest.len().min(*cut));
                items.extend(events.feed(chunk));
                rest = tail;
                prop_assert!(events.line.len() + events.data.len() <= limit, "the limit holds");
            }
            prop_assert_eq!(&items, &expected);
            prop_assert_eq!((events.last_id(), events.retry()), (whole.last_id(), whole.retry()));
        }
    }

    fn data(text: &str) -> Item {
        Item::Data(text.to_owned())
    }

    #[test]
    fn events_come_out_wherever_the_chunks_are_cut() {
        let text = "\u{FEFF}id: 1\nretry: 500\ndata: \n\n: a comment\r\nevent: message\r\nid:2\r\ndata: {\"a\":\r\ndata:1}\r\n\r\n\
                    event: endpoint\ndata: /x\n\ndata: b\r\rdata: unfinished";
        for step in 1..text.len() {
            let mut events = Events::new(1000);
            let items: Vec<Item> = text.as_bytes().chunks(step).flat_map(|chunk| events.feed(chunk)).collect();
            assert_eq!(items, [data("{\"a\":\n1}"), data("b")], "in steps of {step}");
            assert_eq!((events.last_id(), events.retry()), (Some("2"), Some(Duration::from_millis(500))));
        }
    }

    #[test]
    fn what_is_too_long_is_skipped_and_what_follows_is_not() {
        let long = format!("data: {}\ndata: {}\n\ndata: next\n\n", "x".repeat(60), "y".repeat(60));
        for step in [1, 7, 1000] {
            let mut events = Events::new(100);
            let items: Vec<Item> = long.as_bytes().chunks(step).flat_map(|chunk| events.feed(chunk)).collect();
            assert!(
                matches!(items.as_slice(), [Item::TooLong(bytes), Item::Data(next)] if *bytes > 100 && next == "next")
            );
            assert!(events.line.capacity() + events.data.capacity() < 1000);
        }
    }

    #[test]
    fn a_new_stream_forgets_the_rest_of_the_old_and_keeps_its_place() {
        let mut events = Events::new(100);
        assert_eq!(events.feed(b"id: 7\ndata: a\n\nid: 8\ndata: lost"), [data("a")]);
        events.begin();
        assert_eq!(events.last_id(), Some("7"), "the event with id 8 was not complete");
        assert_eq!(events.feed(b"data: b\n\n"), [data("b")]);
        assert_eq!(events.feed(b"retry: 99999999999999999999999\nretry: soon\n\n"), []);
        assert_eq!(events.retry(), Some(LONGEST_PAUSE));
    }
}
