//! Shared by the crate's unit tests and by `tests/`: patterns, vocabularies and random numbers.
//!
//! For example, `Random(7).below(10)` gives the same number in every run, so a failure repeats.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use zeton::merge::BpeModel;
use zeton::{Id, Splitter, Vocab};

/// Returns the published patterns by name. The tests of all languages read the same file.
pub fn patterns() -> BTreeMap<String, String> {
    include_str!("../../../../tests/vectors/patterns.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, pattern) = line.split_once(": ").expect("a line is `name: pattern`");
            (name.to_owned(), pattern.to_owned())
        })
        .collect()
}

/// Returns the duration of a fuzzing run, from `ZETON_FUZZ_SECONDS`, and a new seed, the time.
pub fn fuzzing() -> (Duration, u64) {
    let seconds = std::env::var("ZETON_FUZZ_SECONDS").map_or(60, |given| given.parse().unwrap());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    (Duration::from_secs(seconds), now.as_nanos() as u64)
}

/// Patterns of published models that are outside the family.
#[rustfmt::skip]
pub const OUTSIDE: [&str; 4] = [
    r"\w+|\W",
    // DeepSeek's.
    "\\p{N}{1,3}|[\u{4e00}-\u{9fa5}\u{3040}-\u{309f}\u{30a0}-\u{30ff}]+\
    |[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+\
    |[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+|\\S",
    // Kimi's.
    concat!(
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*",
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+",
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    // o200k's, with a possessive prefix.
    concat!(
        r"[^\r\n\p{L}\p{N}]?+[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?+[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
];

/// Returns the published patterns, and each of them with one rule changed.
pub fn family() -> Vec<String> {
    let changes = [
        (r"\p{N}{1,3}", r"\p{N}{1,7}"),
        (r"\p{N}{1,3}", r"\p{N}"),
        (r"\p{N}{1,3}", r" ?\p{N}+"),
        (r"[^\r\n\p{L}\p{N}]?+", " ?"),
        (r"[^\r\n\p{L}\p{N}]?+", r"[^\s\p{L}\p{N}]?"),
        (r"[^\r\n\p{L}\p{N}]?+", ""),
        (r"[^\r\n\p{L}\p{N}]?", r"\s?"),
        ("'(?i:[sdmt]|ll|ve|re)|", ""),
        ("'(?i:[sdmt]|ll|ve|re)|", "'(?i:[sdmt]|ll|ve|re|em|til|know)|"),
        ("'(?i:[sdmt]|ll|ve|re)|", "'s|'lle|"),
        ("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", ""),
        ("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "(?:'s|'em)?"),
        (r"[\r\n/]*", r"[\r\n]*"),
        (r"[\r\n]*+", ""),
        (r"[\r\n]*", r"[\r\n/]*"),
        (r"\s*[\r\n]+|", ""),
        (r"\s*[\r\n]|", ""),
        (r"\s++$|", ""),
        (r"|\s+(?!\S)", ""),
        (r"\p{Lo}\p{M}]", r"\p{Lo}]"),
    ];
    let published: Vec<_> = patterns().into_values().collect();
    let changed = published.iter().flat_map(|pattern| {
        changes.iter().map(|(from, to)| pattern.replace(from, to)).collect::<Vec<_>>()
    });
    let mut all: Vec<String> = published.iter().cloned().chain(changed).collect();
    all.sort();
    all.dedup();
    all.retain(|pattern| Splitter::parse(pattern).is_ok());
    all
}

/// The parts of random texts: mostly ASCII, with interruptions and the special cases of patterns.
#[rustfmt::skip]
pub const PARTS: [&str; 47] = [
    "a", "b", "ab", "abc", "word", "Word", "WORD", "iPhone", "s", "t", "ll", "l", "ve", "re",
    "1", "22", "333", "4444", " ", " ", " ", "  ", "    ", "\n", "\n", "\n\n", "\r\n", "\t", "\x0B",
    "'", "'s", "'x", "/", "//", ".", "...", "(", "_", "-",
    "é", "É", "中", "文", "中文", "ไทย", "\u{2019}", "<|end|>",
];

/// A pseudo-random generator (Knuth's MMIX constants), so that tests repeat from run to run.
pub struct Random(pub u64);

impl Random {
    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

/// Returns a vocabulary of the 256 bytes and then these tokens.
pub fn vocab_of<'t>(tokens: impl IntoIterator<Item = &'t str>) -> Vocab {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let learned = tokens.into_iter().map(|token| token.as_bytes().to_vec());
    let tokens = bytes.chain(learned).zip(0..).map(|(token, id): (_, Id)| (id, token));
    Vocab::try_from_tokens(tokens.collect()).unwrap()
}

/// Returns the model of the 256 bytes and then these tokens.
pub fn model_of<'t>(tokens: impl IntoIterator<Item = &'t str>) -> BpeModel {
    BpeModel::new(vocab_of(tokens))
}
