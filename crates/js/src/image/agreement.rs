//! Which words are addresses in our program, as two processes agree on.
//!
//! One process cannot tell for sure. Where memory is used again for something shorter, the rest of an old address stays in
//! the word, and with the number beside it that looks like an address as well: the end of a short text, for instance. In
//! another process, where our program lies elsewhere, such a word is not as far from its beginning, or in no program at all.
//! What is an address is as far from it in both.

use std::collections::HashMap;

use super::Image;

/// Within this, two processes must not have our program at the same place: a number of two bytes or more is another distance
/// in each then. One byte alone is the same wherever our program lies, which begins with a page.
const NEAR: usize = 1 << 16;

/// Whether two processes in which our program begins here and there tell its addresses from numbers.
pub(crate) fn tells(here: usize, there: usize) -> bool {
    !here.wrapping_sub(there).is_multiple_of(NEAR)
}

impl Image {
    /// Takes for addresses in our program, which begins here, only what the image of another process has, too, in which it
    /// began there. Says whether both had the same ones; nothing where they are not of the same engine.
    pub(crate) fn agree(&mut self, other: &Self, here: usize, there: usize) -> Option<bool> {
        if !self.is_alike(other) {
            return None;
        }
        let of = |image: &Self| image.program.iter().map(|at| (*at, image.words.get(*at as usize).copied())).collect();
        let (mine, theirs): (HashMap<u32, Option<usize>>, HashMap<_, _>) = (of(self), of(other));
        let (agreed, numbers): (Vec<u32>, _) = self.program.iter().partition(|at| mine.get(at) == theirs.get(at));
        // A number is the same in both, as far as it goes; two addresses that differ do not end alike.
        let is_number = |at: &u32| {
            let begin = if theirs.contains_key(at) { there } else { 0 };
            let (word, twin) = (self.words.get(*at as usize)?, other.words.get(*at as usize)?);
            Some(word.wrapping_add(here).wrapping_sub(twin.wrapping_add(begin)).is_multiple_of(NEAR))
        };
        if !numbers.iter().all(|at| is_number(at) == Some(true)) {
            return None;
        }
        for at in &numbers {
            let word = self.words.get_mut(*at as usize)?;
            *word = word.wrapping_add(here);
        }
        self.program = agreed;
        Some(self.program.len() == mine.len() && mine.len() == theirs.len())
    }

    /// Whether both have the same things at the same places. Some lists are in an order that depends on where the engine
    /// lies, so one may end where the other goes on.
    fn is_alike(&self, other: &Self) -> bool {
        let ends = |image: &Self, group: usize, bits: u64| {
            (0..64).filter(|bit| bits >> bit & 1 == 1).all(|bit| image.words.get(group * 64 + bit) == Some(&0))
        };
        let mut groups = self.addresses.iter().zip(&other.addresses).enumerate();
        let layout = |image: &Self| (image.words.len(), image.context, image.plan.clone());
        layout(self) == layout(other)
            && self.own == other.own
            && groups.all(|(at, (mine, theirs))| ends(self, at, theirs & !mine) && ends(other, at, mine & !theirs))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Seen;
    use super::*;
    use crate::arena::Plan;

    /// Where engines lie, and how long our program is.
    const ENGINES: [usize; 2] = [0x7f00_0160_0000, 0x7f00_0360_0000];
    const LENGTH: usize = 0x0200_0000;
    /// Where a function lies in it.
    const FUNCTION: usize = 0x0134_5670;

    /// What a process sees where our program begins there: an address in memory, one in our program, and what is left of the
    /// latter under numbers of one, two, three and four bytes.
    fn image(program: usize, more: &[usize]) -> Image {
        let address = program + FUNCTION;
        let under = |number: usize, bytes: usize| address >> (bytes * 8) << (bytes * 8) | number;
        let words = |begin: usize| {
            let fixed = [begin + 8, address, under(0x70, 1), under(0x0068, 2), under(0x00_6968, 3), under(0x68, 4)];
            [&fixed[..], more].concat()
        };
        let (one, other) = (words(ENGINES[0]), words(ENGINES[1]));
        let seen = |begin, words| Seen { begin, words, fresh: &[] };
        let plan = Plan { used: one.len() * 8, free: std::array::from_fn(|_| 0) };
        Image::of(&seen(ENGINES[0], &one), &seen(ENGINES[1], &other), (program, program + LENGTH), plan, 0)
            .expect("they are alike")
    }

    #[test]
    fn numbers_over_old_addresses_are_told_by_two_processes() {
        let (here, there) = (0x5555_5554_3000, 0x55aa_0123_4000);
        assert!(tells(here, there) && !tells(here, here + NEAR));
        // Alone a process takes most of them for addresses.
        let mut mine = image(here, &[]);
        assert_eq!(mine.program, [1, 2, 3, 4]);
        assert_eq!(mine.agree(&image(there, &[]), here, there), Some(false));
        // One byte is the same wherever it is put.
        assert_eq!(mine.program, [1, 2]);
        let mut to = vec![0; 64];
        mine.in_program(0x5600_0000_7000).put(&mut to, ENGINES[1]).expect("there is room");
        assert_eq!((to[0], to[1]), (ENGINES[1] + 8, 0x5600_0000_7000 + FUNCTION));
        let low = [(2, 1, 0x70), (3, 2, 0x68), (4, 3, 0x6968), (5, 4, 0x68)];
        for (at, bytes, number) in low {
            assert_eq!(to[at] & ((1 << (bytes * 8)) - 1), number, "{bytes} bytes");
        }
        // Those two agree from then on, and with whoever comes.
        let agreed = |program| {
            let mut image = image(program, &[]);
            image.agree(&self::image(there, &[]), program, there).expect("alike");
            image
        };
        assert_eq!(agreed(here).agree(&agreed(0x5555_7777_9000), here, 0x5555_7777_9000), Some(true));
    }

    #[test]
    fn lists_may_end_earlier() {
        let (here, there) = (0x5555_5554_3000, 0x55aa_0123_4000);
        let (mut mine, mut other) = (image(here, &[0, 0]), image(there, &[0, 0]));
        (mine.words[6], other.words[7]) = (16, 16);
        (mine.addresses[0], other.addresses[0]) = (mine.addresses[0] | 1 << 6, other.addresses[0] | 1 << 7);
        assert!(mine.agree(&other, here, there).is_some());
        assert_eq!((mine.words[6], mine.words[7], mine.addresses[0]), (16, 0, 1 | 1 << 6));
    }

    #[test]
    fn nothing_is_agreed_on_where_engines_differ() {
        let (here, there) = (0x5555_5554_3000, 0x55aa_0123_4000);
        assert_eq!(image(here, &[1]).agree(&image(there, &[]), here, there), None, "another length");
        let mut other = image(there, &[]);
        other.addresses[0] = 0;
        assert_eq!(image(here, &[]).agree(&other, here, there), None, "other addresses");
        let (mine, other) = (image(here, &[here + 64]), image(there, &[there + 128]));
        let mut same = mine.clone();
        assert_eq!(same.agree(&other, here, there), None, "another function");
        assert_eq!(same.agree(&image(there, &[7]), here, there), None, "a number for a function");
        assert!(same == mine, "it is what it was");
    }
}
