//! A number for every character: a class, a script, a rule.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

/// One more than the last code point.
pub(crate) const POINTS: u32 = 0x11_0000;

/// The class of every character, as a table of two levels.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    ascii: [u8; 128],
    index: Vec<u16>,
    blocks: Vec<[u8; 128]>,
}

impl Points {
    /// The class of an ASCII character.
    #[inline]
    pub(crate) fn class_of_ascii(&self, byte: u8) -> u8 {
        self.ascii[usize::from(byte & 127)]
    }

    /// The classes of all ASCII characters.
    #[inline]
    pub(crate) fn ascii(&self) -> &[u8; 128] {
        &self.ascii
    }

    /// The class of a scalar.
    #[inline]
    pub(crate) fn class_of(&self, point: u32) -> u8 {
        let block = self.index[(point >> 7) as usize];
        self.blocks[usize::from(block)][(point & 127) as usize]
    }

    /// Gives classes other names.
    pub(crate) fn rename(&mut self, name: impl Fn(u8) -> u8) {
        let classes = self.ascii.iter_mut().chain(self.blocks.iter_mut().flatten());
        classes.for_each(|class| *class = name(*class));
    }

    /// Makes the table of stretches, each beginning where the one before it ends.
    pub(crate) fn of(stretches: &[(u32, u8)]) -> Self {
        let mut all = vec![0; POINTS as usize];
        for (at, &(start, class)) in stretches.iter().enumerate() {
            let end = stretches.get(at + 1).map_or(POINTS, |next| next.0);
            all[start as usize..end as usize].fill(class);
        }
        let (mut blocks, mut known) = (Vec::new(), HashMap::new());
        let index = all.as_chunks::<128>().0.iter().map(|block| {
            *known.entry(block).or_insert_with(|| {
                blocks.push(*block);
                (blocks.len() - 1) as u16
            })
        });
        let index = index.collect();
        Self { ascii: std::array::from_fn(|byte| all[byte]), index, blocks }
    }

    /// Makes the table of sets that have no character in common: 0 in none, 1 in the first, ….
    pub(crate) fn of_sets(sets: &[ClassUnicode]) -> Self {
        let mut stretches = vec![(0, 0)];
        let mut ranges: Vec<(u32, u32, u8)> = Vec::new();
        for (set, number) in sets.iter().zip(1..) {
            let of_set = set.ranges().iter();
            ranges.extend(of_set.map(|range| (range.start() as u32, range.end() as u32, number)));
        }
        ranges.sort_unstable();
        for (first, last, number) in ranges {
            stretches.push((first, number));
            stretches.push((last + 1, 0));
        }
        Self::of(&stretches)
    }
}
