//! The list of a pack's entries, in a file beside it: a mark, a hash over the rest, which file it is about and how much of it,
//! then key, place and size of each entry.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{PackKey, State, taken};

/// The list is written when it lacks this many entries.
pub(super) const LAG: usize = 64;

const MARK: [u8; 8] = *b"jflist1\n";
/// Where what is hashed begins.
const REST: usize = 40;
/// Which file it is about and how much of it.
const ABOUT: usize = 24;
const ENTRY: usize = 48;
/// More is no list of ours: half a million entries.
const MOST: u64 = 24 << 20;

fn beside(pack: &Path) -> PathBuf {
    pack.with_extension("list")
}

/// Takes over what the list says about this very file.
pub(super) fn read(pack: &Path, state: &mut State, end: u64) {
    let path = beside(pack);
    if !fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() <= MOST) {
        return;
    }
    let Ok(bytes) = fs::read(&path) else { return };
    let Some((mut head, rest)) = bytes.split_at_checked(REST) else { return };
    let (mark, hash): ([u8; 8], [u8; 32]) = (taken(&mut head), taken(&mut head));
    let Some((mut about, entries)) = rest.split_at_checked(ABOUT) else { return };
    let mut number = || u64::from_le_bytes(taken(&mut about));
    let (identity, covered) = ((number(), number()), number());
    if mark != MARK || identity != state.identity || covered > end || *Sha256::digest(rest) != hash {
        return;
    }
    for mut entry in entries.chunks_exact(ENTRY) {
        let key: PackKey = taken(&mut entry);
        let (at, size) = (u64::from_le_bytes(taken(&mut entry)), u64::from_le_bytes(taken(&mut entry)));
        state.insert(key, at, size);
    }
    (state.seen, state.unlisted) = (covered, 0);
}

/// Writes the list anew. One that cannot be written costs time.
pub(super) fn write(pack: &Path, state: &mut State) {
    let (device, file) = state.identity;
    let mut rest = Vec::with_capacity(ABOUT + state.index.len() * ENTRY);
    for number in [device, file, state.seen] {
        rest.extend_from_slice(&number.to_le_bytes());
    }
    for (key, (at, size)) in &state.index {
        rest.extend_from_slice(key);
        rest.extend_from_slice(&at.to_le_bytes());
        rest.extend_from_slice(&size.to_le_bytes());
    }
    crate::sealed::replace_file(&beside(pack), &[&MARK, &Sha256::digest(&rest), &rest]).ok();
    state.unlisted = 0;
}
