//! Reads lines of bounded length without copying them.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _};

const CHUNK: usize = 64 * 1024;
/// A buffer that grew beyond this for one long line is given back after it.
const MAX_KEPT_BUFFER: usize = 1024 * 1024;

/// What stands between two line ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line without its end.
    Whole(&'a [u8]),
    /// The beginning of a line that is longer than allowed; the rest of it is thrown away unseen.
    TooLong(&'a [u8]),
}

/// A reader that never holds more than one line of the longest allowed length and one chunk.
pub(crate) struct Lines<R> {
    source: R,
    longest: usize,
    buffer: Vec<u8>,
    /// Where the bytes begin that nobody has seen.
    start: usize,
    /// How far behind `start` the search for a line end has come.
    searched: usize,
    /// Within the rest of a line that was too long.
    skipping: bool,
    ended: bool,
}

enum Found {
    Line { from: usize, to: usize },
    Long { from: usize, to: usize },
    Nothing,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(source: R, longest: usize) -> Self {
        let buffer = Vec::with_capacity(CHUNK);
        Self { source, longest, buffer, start: 0, searched: 0, skipping: false, ended: false }
    }

    /// Whether another line can be had without reading.
    pub(crate) fn has_line(&self) -> bool {
        !self.skipping && self.unseen().is_some_and(|unseen| memchr(b'\n', unseen).is_some())
    }

    /// The next line; `None` at the end. Cancel safe: what was read stays read.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            match self.find() {
                Found::Line { from, to } => return Ok(self.buffer.get(from..to).map(Line::Whole)),
                Found::Long { from, to } => return Ok(self.buffer.get(from..to).map(Line::TooLong)),
                Found::Nothing if self.ended => return Ok(None),
                Found::Nothing => {}
            }
            self.make_room();
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                self.ended = true;
            }
        }
    }

    fn unseen(&self) -> Option<&[u8]> {
        self.buffer.get(self.start..)
    }

    fn find(&mut self) -> Found {
        loop {
            let unseen = self.buffer.get(self.start..).unwrap_or_default();
            let end = unseen.get(self.searched..).and_then(|rest| memchr(b'\n', rest)).map(|at| at + self.searched);
            let from = self.start;
            match end {
                Some(end) => {
                    let too_long = end > self.longest;
                    let carriage = usize::from(unseen.get(..end).is_some_and(|line| line.ends_with(b"\r")));
                    self.start += end + 1;
                    self.searched = 0;
                    if std::mem::take(&mut self.skipping) {
                        continue;
                    }
                    if too_long {
                        return Found::Long { from, to: from + self.longest };
                    }
                    return Found::Line { from, to: from + end - carriage };
                }
                None if self.skipping => {
                    self.start = self.buffer.len();
                    self.searched = 0;
                    return Found::Nothing;
                }
                None if unseen.len() > self.longest => {
                    self.skipping = true;
                    self.start = self.buffer.len();
                    self.searched = 0;
                    return Found::Long { from, to: from + self.longest };
                }
                None if self.ended && !unseen.is_empty() => {
                    let to = self.buffer.len();
                    self.start = to;
                    self.searched = 0;
                    return Found::Line { from, to };
                }
                None => {
                    self.searched = unseen.len();
                    return Found::Nothing;
                }
            }
        }
    }

    fn make_room(&mut self) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
            if self.buffer.capacity() > MAX_KEPT_BUFFER {
                self.buffer.shrink_to(CHUNK);
            }
        } else if self.buffer.capacity() - self.buffer.len() < CHUNK / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.capacity() - self.buffer.len() < CHUNK / 2 {
            self.buffer.reserve(self.buffer.len().max(CHUNK));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use tokio::io::ReadBuf;

    use super::*;

    /// Gives its bytes in chunks of these lengths, one per read.
    struct Chunked<'a> {
        rest: &'a [u8],
        lengths: std::iter::Cycle<std::slice::Iter<'a, usize>>,
    }

    impl AsyncRead for Chunked<'_> {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            let length = self.lengths.next().copied().unwrap_or(1).min(buffer.remaining()).min(self.rest.len());
            let (chunk, rest) = self.rest.split_at(length);
            buffer.put_slice(chunk);
            self.rest = rest;
            std::task::Poll::Ready(Ok(()))
        }
    }

    /// What the lines of `input` are, by definition.
    fn expected(input: &[u8], longest: usize) -> Vec<String> {
        let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
        let unfinished = lines.pop().filter(|line| !line.is_empty());
        let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
        let whole = |line: &&[u8]| match line.get(..longest) {
            Some(start) if line.len() > longest => format!("!{}", text(start)),
            _ => text(line.strip_suffix(b"\r").unwrap_or(line)),
        };
        // A return is part of a line end only before a newline.
        let last = unfinished.map(|line| if line.len() > longest { whole(&line) } else { text(line) });
        lines.iter().map(whole).chain(last).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_chunking_gives_the_same_lines(
            input in "([a-z]{0,9}(\r|\n|\r\n|)){0,12}",
            lengths in vec(1_usize..9, 1..9),
            longest in 1_usize..12,
        ) {
            let source = Chunked { rest: input.as_bytes(), lengths: lengths.iter().cycle() };
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            let seen = runtime.block_on(collect(source, longest));
            prop_assert_eq!(seen, expected(input.as_bytes(), longest));
        }
    }

    async fn read(input: &[u8], longest: usize) -> Vec<String> {
        collect(input, longest).await
    }

    async fn collect(input: impl AsyncRead + Unpin, longest: usize) -> Vec<String> {
        let mut lines = Lines::new(input, longest);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.expect("a slice can be read") {
            seen.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong(start) => format!("!{}", String::from_utf8_lossy(start)),
            });
        }
        seen
    }

    #[tokio::test]
    async fn lines_end_in_every_way() {
        let check =
            async |input: &str, expected: &[&str]| assert_eq!(read(input.as_bytes(), 4).await, expected, "{input:?}");
        check("", &[]).await;
        check("a\nb\r\n\nc", &["a", "b", "", "c"]).await;
        check("abcd\nabcde\nx\n", &["abcd", "!abcd", "x"]).await;
        check("abcdefghij", &["!abcd"]).await;
    }

    #[tokio::test]
    async fn a_long_line_across_chunks_is_skipped() {
        let mut input = vec![b'x'; 5 * CHUNK];
        input.extend_from_slice(b"\nafter\n");
        assert_eq!(read(&input, CHUNK).await, [format!("!{}", "x".repeat(CHUNK)), "after".to_owned()]);
        let whole = read(&input, 6 * CHUNK).await;
        assert_eq!(whole.iter().map(String::len).collect::<Vec<_>>(), [5 * CHUNK, 5]);
    }
}
