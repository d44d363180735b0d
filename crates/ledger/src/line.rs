//! One line of the chain: how a record and its link are put together and taken apart.

use sha2::{Digest, Sha256};

/// A SHA-256 as lower-case hex.
pub(super) type Hash = [u8; 64];

/// What the first record follows.
pub(super) const GENESIS: Hash = [b'0'; 64];

const CHAIN: &[u8] = b",\"chain\":{\"seq\":";
const PREV: &[u8] = b",\"prev\":\"";
const HASH: &[u8] = b"\",\"hash\":\"";
const END: &[u8] = b"\"}}";

/// The place of a record in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChainLink {
    pub(super) seq: u64,
    pub(super) prev: Hash,
    pub(super) hash: Hash,
}

/// The hash of a record given without its closing brace.
pub(super) fn hash_of(prev: &Hash, open_body: &[u8]) -> Hash {
    let mut hash = Sha256::new();
    hash.update(prev);
    hash.update(open_body);
    hash.update(b"}");
    hex(hash.finalize().as_slice())
}

/// The hash of a text.
pub(super) fn hash(text: &[u8]) -> Hash {
    hex(Sha256::digest(text).as_slice())
}

/// Ends the record in `open_body`, which lacks its closing brace, with its link and a newline.
pub(super) fn seal(open_body: &mut Vec<u8>, link: &ChainLink) {
    open_body.reserve(CHAIN.len() + 20 + PREV.len() + 64 + HASH.len() + 64 + END.len() + 1);
    open_body.extend_from_slice(CHAIN);
    open_body.extend_from_slice(link.seq.to_string().as_bytes());
    for part in [PREV, &link.prev, HASH, &link.hash, END, b"\n"] {
        open_body.extend_from_slice(part);
    }
}

/// Takes a line, without its newline, apart into the record without its closing brace and its link. Nothing if it was not
/// made by [`seal`]; whether the hash is right is another question.
pub(super) fn split(line: &[u8]) -> Option<(&[u8], ChainLink)> {
    if line.first() != Some(&b'{') {
        return None;
    }
    let (rest, hash) = take_hash(line.strip_suffix(END)?)?;
    let (rest, prev) = take_hash(rest.strip_suffix(HASH)?)?;
    let rest = rest.strip_suffix(PREV)?;
    let digits = rest.iter().rev().take(20).take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, seq) = rest.split_at_checked(rest.len() - digits)?;
    if seq.first() == Some(&b'0') {
        return None;
    }
    let seq = std::str::from_utf8(seq).ok()?.parse().ok()?;
    Some((rest.strip_suffix(CHAIN)?, ChainLink { seq, prev, hash }))
}

/// Whether `text` holds a complete link, which a write that was cut short does not.
pub(super) fn holds_link(text: &[u8]) -> bool {
    let Some(start) = text.windows(CHAIN.len()).rposition(|window| window == CHAIN) else { return false };
    let rest = text.get(start + CHAIN.len()..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest.len() >= digits + PREV.len() + 64 + HASH.len() + 64 + END.len()
}

fn take_hash(text: &[u8]) -> Option<(&[u8], Hash)> {
    let (rest, hash) = text.split_at_checked(text.len().checked_sub(64)?)?;
    let is_hex = hash.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    Some((rest, hash.try_into().ok().filter(|_| is_hex)?))
}

fn hex(digest: &[u8]) -> Hash {
    let mut text = GENESIS;
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    text
}

fn digit(value: u8) -> u8 {
    b"0123456789abcdef".get(usize::from(value)).copied().unwrap_or(b'0')
}

/// A SHA-256 as text.
pub(super) fn hex_text(digest: &[u8]) -> String {
    text(&hex(digest)).to_owned()
}

/// A hash as text.
pub(super) fn text(hash: &Hash) -> &str {
    std::str::from_utf8(hash).unwrap_or_default()
}
