//! Equivalence classes of characters, as the byte classes of `regex-automata` are of bytes.
//!
//! Two characters are equivalent if every set in the pattern contains both or neither, so that the
//! pattern cannot distinguish them. The DFA has one column for each class instead of one for each
//! of 1.1 million code points. For example, `\w+|\W` has two classes, word characters and the rest,
//! and the end of the text as a third.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

use crate::sys::unicode::{CODE_POINTS, CodePointMap};

/// Maximum number of classes, including the end of the text, because a class is stored in a byte.
pub(crate) const CLASSES_MAX: usize = 256;

/// A set of classes, as a bit mask: bit `class % 64` of word `class / 64`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct ClassSet([u64; CLASSES_MAX / 64]);

impl ClassSet {
    /// No class.
    pub(crate) const NONE: Self = Self([0; CLASSES_MAX / 64]);
    /// Every class.
    pub(crate) const ALL: Self = Self([u64::MAX; CLASSES_MAX / 64]);

    /// Makes the set that has one class, by its number.
    pub(crate) fn from_class(class: usize) -> Self {
        let mut set = Self::NONE;
        set.insert(class);
        set
    }

    /// Adds a class to this set, by its number.
    pub(crate) fn insert(&mut self, class: usize) {
        self.0[class / 64] |= 1 << (class % 64);
    }

    /// Returns whether the set contains a class, by its number.
    pub(crate) fn contains(self, class: usize) -> bool {
        self.0[class / 64] >> (class % 64) & 1 == 1
    }

    /// Returns the classes that are in both sets.
    pub(crate) fn intersection(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] & other.0[at]))
    }

    /// Returns the classes that are in either set.
    pub(crate) fn union(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    /// Returns the set of all classes that are not in this one.
    pub(crate) fn complement(self) -> Self {
        Self(self.0.map(|bits| !bits))
    }
}

/// The characters that represent their class in an error message, the preferred ones first, because
/// a user reads `"a"` more easily than U+0000.
const EXAMPLES: &str = " a1!\nZ中\u{301}'_\t\r\u{a0}/ǅʰ½²😀é";

/// The classes of a pattern, computed from its sets of characters.
pub(crate) struct CharClasses {
    /// The class of each character.
    pub(crate) points: CodePointMap,
    /// A character of each class. The end of the text is one class more, and has no example.
    pub(crate) examples: Vec<char>,
    /// The classes of each set, in the order of the sets.
    pub(crate) sets: Vec<ClassSet>,
}

impl CharClasses {
    /// Computes the classes that some sets distinguish; `None` if there are too many.
    ///
    /// The code points are swept in order. The *signature* of a code point has one bit for each
    /// set, and equal signatures are one class.
    pub(crate) fn try_from_sets(sets: &[ClassUnicode]) -> Option<Self> {
        // One bit of the signature flips where a set begins or ends. Surrogates are no characters,
        // so that their range is kept apart.
        let mut flips: Vec<(u32, Option<usize>)> =
            [0, 0xD800, 0xE000].map(|point| (point, None)).to_vec();
        for (number, set) in sets.iter().enumerate() {
            for range in set.ranges() {
                flips.push((range.start() as u32, Some(number)));
                flips.push((range.end() as u32 + 1, Some(number)));
            }
        }
        flips.sort_unstable();

        let mut signature = vec![0_u64; sets.len().div_ceil(64)];
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let (mut ranges, mut examples) = (Vec::new(), Vec::new());
        for (at, &(start, set)) in flips.iter().enumerate() {
            if let Some(set) = set {
                signature[set / 64] ^= 1 << (set % 64);
            }
            let end = flips.get(at + 1).map_or(CODE_POINTS, |next| next.0);
            if start == end || start == CODE_POINTS {
                continue;
            }
            let class = match (0xD800..0xE000).contains(&start) {
                true => 0,
                false => *known.entry(signature.clone()).or_insert_with(|| {
                    examples.push(char::from_u32(start).expect("no surrogate"));
                    examples.len() - 1
                }),
            };
            if class + 1 >= CLASSES_MAX {
                return None;
            }
            ranges.push((start, class as u8));
        }
        let points = CodePointMap::from_ranges(&ranges);
        for example in EXAMPLES.chars().rev() {
            examples[usize::from(points.class_of(example as u32))] = example;
        }
        let mut classes = vec![ClassSet::NONE; sets.len()];
        for (signature, class) in known {
            for (number, set) in classes.iter_mut().enumerate() {
                if signature[number / 64] >> (number % 64) & 1 == 1 {
                    set.insert(class);
                }
            }
        }
        Some(Self { points, examples, sets: classes })
    }

    /// Returns the number of the class that stands for the end of the text, which is the last
    /// class.
    pub(crate) fn end(&self) -> usize {
        self.examples.len()
    }
}
