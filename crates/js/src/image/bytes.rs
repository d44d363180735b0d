//! Images as bytes. Most words are zero, small, or a little below zero, most places follow each other closely: they take what
//! they need and no more.

/// A number, seven bits to a byte.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads what [`put`] wrote.
pub(super) fn take(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(*first & 0x7f) << shift;
        if *first < 0x80 {
            return Some(number);
        }
    }
    None
}

/// A number that counts or names something in memory.
pub(super) fn take_size(from: &mut &[u8]) -> Option<usize> {
    take(from).and_then(|number| usize::try_from(number).ok())
}

/// How a word is written: two bits, and then so many bytes.
const ZERO: u8 = 0;
const SMALL: u8 = 1;
const BELOW: u8 = 2;
const WHOLE: u8 = 3;

pub(super) fn put_words(out: &mut Vec<u8>, words: &[usize]) {
    put(out, words.len() as u64);
    let kind = |word: usize| match word as u64 {
        0 => ZERO,
        1..=0xffff_ffff => SMALL,
        0xffff_ffff_0000_0000.. => BELOW,
        _ => WHOLE,
    };
    for four in words.chunks(4) {
        out.push(four.iter().rev().fold(0, |kinds, word| kinds << 2 | kind(*word)));
    }
    for word in words {
        match kind(*word) {
            ZERO => {}
            WHOLE => out.extend_from_slice(&(*word as u64).to_le_bytes()),
            _ => out.extend_from_slice(&(*word as u32).to_le_bytes()),
        }
    }
}

/// Reads what [`put_words`] wrote, `most` at most.
pub(super) fn take_words(from: &mut &[u8], most: usize) -> Option<Vec<usize>> {
    let length = take_size(from).filter(|length| *length <= most)?;
    let (kinds, mut rest) = from.split_at_checked(length.div_ceil(4))?;
    let mut words = Vec::with_capacity(length);
    for at in 0..length {
        let kind = kinds.get(at / 4)? >> (at % 4 * 2) & 3;
        words.push(match kind {
            ZERO => 0,
            WHOLE => {
                let (bytes, others) = rest.split_first_chunk::<8>()?;
                rest = others;
                u64::from_le_bytes(*bytes) as usize
            }
            _ => {
                let (bytes, others) = rest.split_first_chunk::<4>()?;
                rest = others;
                let low = u32::from_le_bytes(*bytes) as usize;
                if kind == SMALL { low } else { low | 0xffff_ffff << 32 }
            }
        });
    }
    *from = rest;
    Some(words)
}

/// Places in ascending order, by how far each is from the one before; of each, `more` writes what belongs to it.
pub(super) fn put_places<T>(
    out: &mut Vec<u8>,
    items: &[T],
    place: impl Fn(&T) -> u32,
    more: impl Fn(&mut Vec<u8>, &T),
) {
    put(out, items.len() as u64);
    let mut last = 0;
    for item in items {
        let at = place(item);
        put(out, u64::from(at.wrapping_sub(last)));
        more(out, item);
        last = at;
    }
}

/// Reads what [`put_places`] wrote; `more` makes of a place what it was.
pub(super) fn take_places<T>(from: &mut &[u8], more: impl Fn(&mut &[u8], u32) -> Option<T>) -> Option<Vec<T>> {
    // Each takes a byte at least.
    let length = take_size(from).filter(|length| *length <= from.len())?;
    let mut items = Vec::with_capacity(length);
    let mut last = 0_u32;
    for _ in 0..length {
        last = last.wrapping_add(u32::try_from(take(from)?).ok()?);
        items.push(more(from, last)?);
    }
    Some(items)
}
