//! A map from every code point to a small number: a script, a rule, a column of a DFA.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

/// The number of code points: one more than U+10FFFF.
pub(crate) const CODE_POINTS: u32 = 0x11_0000;

/// A number per code point, as a two-level table whose equal blocks are stored once.
///
/// ```text
/// code point   high bits ──▶ index[point >> 7] ──▶ blocks[block][point & 127]
///              ASCII     ──────────────────────▶ ascii[point]   (one load)
/// ```
///
/// For example, the map of scripts stores one block for all Han blocks.
#[derive(Clone, Debug)]
pub(crate) struct CodePointMap {
    ascii: [u8; 128],
    index: Vec<u16>,
    blocks: Vec<[u8; 128]>,
}

impl CodePointMap {
    /// Returns the number that the map has for an ASCII character. The highest bit of `byte` is
    /// ignored, so every index is in bounds.
    #[inline]
    pub(crate) fn class_of_ascii(&self, byte: u8) -> u8 {
        self.ascii[usize::from(byte & 127)]
    }

    /// Returns the numbers that the map has for the 128 ASCII characters.
    #[inline]
    pub(crate) fn ascii(&self) -> &[u8; 128] {
        &self.ascii
    }

    /// Returns the number that the map has for a code point, by two loads.
    #[inline]
    pub(crate) fn class_of(&self, point: u32) -> u8 {
        let block = self.index[(point >> 7) as usize];
        self.blocks[usize::from(block)][(point & 127) as usize]
    }

    /// Replaces every number in the map by `name(number)`, in place. A DFA renumbers its classes
    /// with it when it merges equal ones.
    pub(crate) fn rename(&mut self, name: impl Fn(u8) -> u8) {
        let classes = self.ascii.iter_mut().chain(self.blocks.iter_mut().flatten());
        classes.for_each(|class| *class = name(*class));
    }

    /// Builds the map from ranges, each of which ends where the next one starts.
    ///
    /// For example, `[(0, 0), (0x30, 1), (0x3A, 0)]` gives the ASCII digits 1 and the rest 0.
    pub(crate) fn from_ranges(ranges: &[(u32, u8)]) -> Self {
        let mut all = vec![0; CODE_POINTS as usize];
        for (at, &(start, class)) in ranges.iter().enumerate() {
            let end = ranges.get(at + 1).map_or(CODE_POINTS, |next| next.0);
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

    /// Builds the map from disjoint sets: 1 for the first set, 2 for the second, 0 outside of all.
    pub(crate) fn from_sets(sets: &[ClassUnicode]) -> Self {
        let mut starts = vec![(0, 0)];
        let mut ranges: Vec<(u32, u32, u8)> = Vec::new();
        for (set, number) in sets.iter().zip(1..) {
            let of_set = set.ranges().iter();
            ranges.extend(of_set.map(|range| (range.start() as u32, range.end() as u32, number)));
        }
        ranges.sort_unstable();
        for (first, last, number) in ranges {
            starts.push((first, number));
            starts.push((last + 1, 0));
        }
        Self::from_ranges(&starts)
    }
}
