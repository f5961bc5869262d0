//! What the tests of several modules share: the patterns, and a source of odd texts.

use std::collections::BTreeMap;

use crate::{Id, Vocab};

/// The published patterns, by name; every engine's tests read the same file.
pub fn patterns() -> BTreeMap<String, String> {
    include_str!("../../../tests/vectors/patterns.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, pattern) = line.split_once(": ").expect("a line is `name: pattern`");
            (name.to_owned(), pattern.to_owned())
        })
        .collect()
}

/// What random texts are made of: mostly ASCII, and what interrupts it or is special to a pattern.
#[rustfmt::skip]
pub const PARTS: [&str; 47] = [
    "a", "b", "ab", "abc", "word", "Word", "WORD", "iPhone", "s", "t", "ll", "l", "ve", "re",
    "1", "22", "333", "4444", " ", " ", " ", "  ", "    ", "\n", "\n", "\n\n", "\r\n", "\t", "\x0B",
    "'", "'s", "'x", "/", "//", ".", "...", "(", "_", "-",
    "é", "É", "中", "文", "中文", "ไทย", "\u{2019}", "<|end|>",
];

/// A small generator of numbers: tests repeat from run to run.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

/// The 256 bytes and then these tokens.
pub fn vocab_of<'t>(tokens: impl IntoIterator<Item = &'t str>) -> Vocab {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let learned = tokens.into_iter().map(|token| token.as_bytes().to_vec());
    let tokens = bytes.chain(learned).zip(0..).map(|(token, id): (_, Id)| (id, token));
    Vocab::new(tokens.collect()).unwrap()
}
