//! The classes of characters that a pattern tells apart.
//!
//! Two characters are of one class when every set in the pattern holds both or neither, so a
//! pattern cannot tell them apart. Sets of characters become sets of classes, and a text becomes
//! a row of classes with the end of the text as the last.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

use crate::sys::unicode::{POINTS, Points};

/// Classes that a pattern has at most, the end of the text being one.
pub(crate) const CLASSES_MAX: usize = 256;

/// A set of classes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Classes([u64; CLASSES_MAX / 64]);

impl Classes {
    /// No class.
    pub(crate) const NONE: Self = Self([0; CLASSES_MAX / 64]);
    /// Every class.
    pub(crate) const ALL: Self = Self([u64::MAX; CLASSES_MAX / 64]);

    pub(crate) fn of(class: usize) -> Self {
        let mut set = Self::NONE;
        set.insert(class);
        set
    }

    pub(crate) fn insert(&mut self, class: usize) {
        self.0[class / 64] |= 1 << (class % 64);
    }

    pub(crate) fn holds(self, class: usize) -> bool {
        self.0[class / 64] >> (class % 64) & 1 == 1
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] & other.0[at]))
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    pub(crate) fn not(self) -> Self {
        Self(self.0.map(|bits| !bits))
    }
}

/// What stands for its class in a message, if it is the first here that is in it.
const EXAMPLES: &str = " a1!\nZ中\u{301}'_\t\r\u{a0}/ǅʰ½²😀é";

/// The classes that sets of characters make.
pub(crate) struct Partition {
    pub(crate) points: Points,
    /// A character of each class; there are as many classes, and the end of the text.
    pub(crate) examples: Vec<char>,
    /// The classes of each set.
    pub(crate) sets: Vec<Classes>,
}

impl Partition {
    /// Finds the classes; `None` if there are too many.
    pub(crate) fn of(sets: &[ClassUnicode]) -> Option<Self> {
        // Where a set begins or ends, one bit of the signature changes. Surrogates are no characters.
        let mut changes: Vec<(u32, Option<usize>)> =
            [0, 0xD800, 0xE000].map(|point| (point, None)).to_vec();
        for (number, set) in sets.iter().enumerate() {
            for range in set.ranges() {
                changes.push((range.start() as u32, Some(number)));
                changes.push((range.end() as u32 + 1, Some(number)));
            }
        }
        changes.sort_unstable();

        let mut signature = vec![0_u64; sets.len().div_ceil(64)];
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let (mut stretches, mut examples) = (Vec::new(), Vec::new());
        for (at, &(start, set)) in changes.iter().enumerate() {
            if let Some(set) = set {
                signature[set / 64] ^= 1 << (set % 64);
            }
            let end = changes.get(at + 1).map_or(POINTS, |next| next.0);
            if start == end || start == POINTS {
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
            stretches.push((start, class as u8));
        }
        let points = Points::of(&stretches);
        for example in EXAMPLES.chars().rev() {
            examples[usize::from(points.class_of(example as u32))] = example;
        }
        let mut classes = vec![Classes::NONE; sets.len()];
        for (signature, class) in known {
            for (number, set) in classes.iter_mut().enumerate() {
                if signature[number / 64] >> (number % 64) & 1 == 1 {
                    set.insert(class);
                }
            }
        }
        Some(Self { points, examples, sets: classes })
    }

    /// The class of the end of the text.
    pub(crate) fn end(&self) -> usize {
        self.examples.len()
    }
}
