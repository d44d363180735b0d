//! The memory of an engine as words that can be put anywhere, and kept.
//!
//! Every word is a number, an address in the memory itself, an address in our own program, or something that a runtime
//! has of its own from the moment it is made. Addresses are kept as distances; what is the runtime's own is taken from the
//! one that the image is put into. An image of an extension is kept as what differs from the template that it began as.

mod agreement;
mod bytes;

use std::collections::HashMap;

pub(crate) use self::agreement::tells;
use crate::arena::Plan;

const WORD: usize = size_of::<usize>();
/// Engines whose memory is larger are not kept.
pub(crate) const MOST_WORDS: usize = (2 << 20) / WORD;

/// What an engine at rest looked like, and when its runtime had just been made.
pub(crate) struct Seen<'a> {
    /// Where its memory begins.
    pub(crate) begin: usize,
    pub(crate) words: &'a [usize],
    pub(crate) fresh: &'a [usize],
}

impl Seen<'_> {
    /// Whether this may be an address in it; the first that it has not counts too, because there lists and pieces end.
    fn has(&self, word: usize) -> bool {
        word.wrapping_sub(self.begin) <= self.words.len() * WORD
    }
}

/// The memory of an engine, wherever it will lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    words: Vec<usize>,
    /// A bit for every word: whether it is an address in the memory.
    addresses: Vec<u64>,
    /// Words that are addresses in our program.
    program: Vec<u32>,
    /// Words that the runtime has of its own, and where it had them when it was just made.
    own: Vec<(u32, u32)>,
    pub(crate) plan: Plan,
    /// Where the context lies, in bytes.
    pub(crate) context: usize,
}

impl Image {
    /// What two engines that did the same look like wherever they lie; nothing where they are not alike.
    ///
    /// A word is an address where both have an address of their own, or one has and the other has nothing, because a list
    /// ends there. A number that looks like an address in one cannot look like one in the other, which lies elsewhere. What
    /// lies in our program is the same for both; a number may look like that, which another process finds out (see
    /// [`agreement`]).
    pub(crate) fn of(
        one: &Seen<'_>,
        other: &Seen<'_>,
        program: (usize, usize),
        plan: Plan,
        context: usize,
    ) -> Option<Self> {
        let alike = one.words.len() == other.words.len() && one.fresh.len() == other.fresh.len();
        if !alike || one.words.len() > MOST_WORDS || one.words.len() * WORD != plan.used {
            return None;
        }
        let own_words = own_words(one, other);
        let mut image = Self {
            words: one.words.to_vec(),
            addresses: vec![0; one.words.len().div_ceil(64)],
            program: Vec::new(),
            own: Vec::new(),
            plan,
            context,
        };
        for (at, word) in image.words.iter_mut().enumerate() {
            let there = *other.words.get(at)?;
            let place = u32::try_from(at).ok()?;
            if one.has(*word) && (other.has(there) || there == 0) {
                *word = word.wrapping_sub(one.begin);
                *image.addresses.get_mut(at / 64)? |= 1 << (at % 64);
            } else if *word == there && (program.0..program.1).contains(word) {
                *word -= program.0;
                image.program.push(place);
            } else if let Some((from, expected)) = own_words.get(word)
                && *expected == there
            {
                *word = 0;
                image.own.push((place, *from));
            }
        }
        Some(image)
    }

    /// The same with addresses in our program, which begins there in this process, as they are here.
    pub(crate) fn in_program(mut self, begin: usize) -> Self {
        for at in &self.program {
            if let Some(word) = self.words.get_mut(*at as usize) {
                *word = word.wrapping_add(begin);
            }
        }
        self
    }

    /// Puts it to where a runtime was just made, which lies at `begin`. There must be room for all of it.
    pub(crate) fn put(&self, to: &mut [usize], begin: usize) -> Option<()> {
        put(&self.own, &self.addresses, to, begin, |to| {
            to.get_mut(..self.words.len())?.copy_from_slice(&self.words);
            Some(())
        })
    }

    /// What of it differs from `template`.
    pub(crate) fn difference(&self, template: &Self) -> Option<Difference> {
        if self.words.len() < template.words.len() || self.context != template.context {
            return None;
        }
        let (mine, theirs) = (self.program_set(), template.program_set());
        let is_same =
            |at: usize| self.words.get(at) == template.words.get(at) && mine.contains(&at) == theirs.contains(&at);
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let mut words = Vec::new();
        for (at, word) in self.words.iter().enumerate().filter(|(at, _)| !is_same(*at)) {
            let place = u32::try_from(at).ok()?;
            match runs.last_mut() {
                Some((begin, length)) if *begin + *length == place => *length += 1,
                _ => runs.push((place, 1)),
            }
            words.push(*word);
        }
        let program = self.program.iter().copied().filter(|at| !is_same(*at as usize)).collect();
        let theirs = template.addresses.iter().copied().chain(std::iter::repeat(0));
        let pairs = self.addresses.iter().zip(theirs).enumerate();
        let addresses = pairs.filter(|(_, (mine, theirs))| **mine != *theirs);
        let addresses =
            addresses.map(|(at, (mine, _))| Some((u32::try_from(at).ok()?, *mine))).collect::<Option<_>>()?;
        let (own, plan) = (self.own.clone(), self.plan.clone());
        Some(Difference { length: self.words.len(), runs, words, addresses, program, own, plan })
    }

    fn program_set(&self) -> std::collections::HashSet<usize> {
        self.program.iter().map(|at| *at as usize).collect()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        bytes::put(&mut out, self.context as u64);
        put_plan(&mut out, &self.plan);
        bytes::put_words(&mut out, &self.words);
        let groups: Vec<(u32, u64)> = (0..).zip(self.addresses.iter().copied()).collect();
        put_groups(&mut out, &groups);
        put_places(&mut out, &self.program);
        put_pairs(&mut out, &self.own);
        out
    }

    /// Reads what [`Self::to_bytes`] gave.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let from = &mut bytes;
        let context = bytes::take_size(from)?;
        let plan = take_plan(from)?;
        let words = bytes::take_words(from, MOST_WORDS)?;
        let addresses: Vec<u64> = take_groups(from)?.into_iter().map(|(_, group)| group).collect();
        let program = take_places(from)?;
        let own = take_pairs(from)?;
        let fits = addresses.len() == words.len().div_ceil(64) && plan.used == words.len() * WORD;
        (fits && from.is_empty()).then_some(Self { words, addresses, program, own, plan, context })
    }
}

/// What an image has that its template has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Words of the whole.
    length: usize,
    /// Where words differ, and how many; and all of these words.
    runs: Vec<(u32, u32)>,
    words: Vec<usize>,
    /// Groups of the bits for addresses that differ.
    addresses: Vec<(u32, u64)>,
    /// Of the words that differ.
    program: Vec<u32>,
    /// As in an image, for the whole.
    own: Vec<(u32, u32)>,
    pub(crate) plan: Plan,
}

impl Difference {
    /// Puts the image of which this is the difference to `template`, whose addresses in our program are those of this
    /// process, to where a runtime was just made. There must be room for all of it.
    pub(crate) fn put(&self, template: &Image, program: usize, to: &mut [usize], begin: usize) -> Option<()> {
        let mut addresses = template.addresses.clone();
        addresses.resize(self.length.div_ceil(64), 0);
        for (at, group) in &self.addresses {
            *addresses.get_mut(*at as usize)? = *group;
        }
        put(&self.own, &addresses, to, begin, |to| {
            to.get_mut(..template.words.len())?.copy_from_slice(&template.words);
            let mut words = self.words.as_slice();
            for (at, length) in &self.runs {
                let (these, rest) = words.split_at_checked(*length as usize)?;
                let at = *at as usize;
                to.get_mut(at..at.checked_add(these.len())?)?.copy_from_slice(these);
                words = rest;
            }
            for at in &self.program {
                let word = to.get_mut(*at as usize)?;
                *word = word.wrapping_add(program);
            }
            Some(())
        })
    }

    /// The image of which this is the difference to `template`.
    pub(crate) fn image(&self, template: &Image) -> Option<Image> {
        let mut image = template.clone();
        image.words.resize(self.length, 0);
        image.addresses.resize(self.length.div_ceil(64), 0);
        for (at, group) in &self.addresses {
            *image.addresses.get_mut(*at as usize)? = *group;
        }
        let mut differs = std::collections::HashSet::with_capacity(self.words.len());
        let places = self.runs.iter().flat_map(|(at, length)| (*at..).take(*length as usize));
        for (at, word) in places.zip(&self.words) {
            *image.words.get_mut(at as usize)? = *word;
            differs.insert(at);
        }
        image.program.retain(|at| !differs.contains(at));
        image.program.extend(&self.program);
        image.program.sort_unstable();
        (image.own, image.plan) = (self.own.clone(), self.plan.clone());
        Some(image)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        bytes::put(&mut out, self.length as u64);
        put_plan(&mut out, &self.plan);
        put_pairs(&mut out, &self.runs);
        bytes::put_words(&mut out, &self.words);
        put_groups(&mut out, &self.addresses);
        put_places(&mut out, &self.program);
        put_pairs(&mut out, &self.own);
        out
    }

    /// Reads what [`Self::to_bytes`] gave.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let from = &mut bytes;
        let length = bytes::take_size(from).filter(|length| *length <= MOST_WORDS)?;
        let plan = take_plan(from)?;
        let runs = take_pairs(from)?;
        let words = bytes::take_words(from, MOST_WORDS)?;
        let addresses = take_groups(from)?;
        let program = take_places(from)?;
        let own = take_pairs(from)?;
        let fits = plan.used == length * WORD && from.is_empty();
        fits.then_some(Self { length, runs, words, addresses, program, own, plan })
    }
}

fn put_groups(out: &mut Vec<u8>, groups: &[(u32, u64)]) {
    bytes::put_places(out, groups, |(at, _)| *at, |out, (_, group)| out.extend_from_slice(&group.to_le_bytes()));
}

fn take_groups(from: &mut &[u8]) -> Option<Vec<(u32, u64)>> {
    bytes::take_places(from, |from, at| {
        let (group, rest) = from.split_first_chunk::<8>()?;
        *from = rest;
        Some((at, u64::from_le_bytes(*group)))
    })
}

/// Has `fill` put words to where a runtime was just made, and makes addresses of what are distances.
fn put(
    own: &[(u32, u32)],
    addresses: &[u64],
    to: &mut [usize],
    begin: usize,
    fill: impl FnOnce(&mut [usize]) -> Option<()>,
) -> Option<()> {
    let kept: Vec<usize> = own.iter().map(|(_, from)| to.get(*from as usize).copied()).collect::<Option<_>>()?;
    fill(to)?;
    relocate(to.get_mut(..addresses.len() * 64)?, addresses, begin);
    for ((at, _), word) in own.iter().zip(kept) {
        *to.get_mut(*at as usize)? = word;
    }
    Some(())
}

/// Makes distances addresses, where there is a bit for it.
fn relocate(words: &mut [usize], addresses: &[u64], begin: usize) {
    for (group, bits) in words.as_chunks_mut::<64>().0.iter_mut().zip(addresses) {
        let mut bits = *bits;
        while bits != 0 {
            if let Some(word) = group.get_mut(bits.trailing_zeros() as usize) {
                *word = word.wrapping_add(begin);
            }
            bits &= bits - 1;
        }
    }
}

/// What two runtimes that were just made have of their own, by what the first has: where it stands, and what the other has.
fn own_words(one: &Seen<'_>, other: &Seen<'_>) -> HashMap<usize, (u32, usize)> {
    let pairs = one.fresh.iter().zip(other.fresh).enumerate();
    let moved = |here: usize, there: usize| here.wrapping_sub(one.begin) == there.wrapping_sub(other.begin);
    pairs
        .filter(|(_, (here, there))| here != there && !moved(**here, **there))
        .filter_map(|(at, (here, there))| Some((*here, (u32::try_from(at).ok()?, *there))))
        .collect()
}

fn put_plan(out: &mut Vec<u8>, plan: &Plan) {
    bytes::put(out, plan.used as u64);
    bytes::put_words(out, &plan.free);
}

fn take_plan(from: &mut &[u8]) -> Option<Plan> {
    let used = bytes::take_size(from)?;
    Some(Plan { used, free: bytes::take_words(from, MOST_WORDS)?.try_into().ok()? })
}

fn put_pairs(out: &mut Vec<u8>, pairs: &[(u32, u32)]) {
    bytes::put_places(out, pairs, |(at, _)| *at, |out, (_, other)| bytes::put(out, u64::from(*other)));
}

fn take_pairs(from: &mut &[u8]) -> Option<Vec<(u32, u32)>> {
    bytes::take_places(from, |from, at| Some((at, u32::try_from(bytes::take(from)?).ok()?)))
}

fn put_places(out: &mut Vec<u8>, places: &[u32]) {
    bytes::put_places(out, places, |at| *at, |_, _| ());
}

fn take_places(from: &mut &[u8]) -> Option<Vec<u32>> {
    bytes::take_places(from, |_, at| Some(at))
}
