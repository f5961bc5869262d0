//! Splits a text by a DFA: chooses between windows, single steps and memoized scans.
//!
//! The three loops and an example are in the header of `split/dfa`. Pieces are found from left to
//! right, and each loop starts where a piece begins and stops where one ends, so that they can take
//! turns.

use super::BoundarySink;
use super::interleaved::ScanWindow;
use crate::pattern::{Dfa, DfaTransition};
use crate::sys::error::Error;
use crate::sys::unicode::read_char;

/// Minimum number of remaining bytes for a window. For fewer bytes, preparing a window costs more
/// than it saves; no measurement chose 128.
const WINDOW_BYTES_MIN: usize = 128;

/// Bytes that are scanned stepwise after a window failed: at first, and at most. The number doubles
/// with each failure, because the text behind a text without safe cuts probably has none either. No
/// measurement chose the two numbers.
const STEPWISE_BYTES_MIN: usize = 256;
const STEPWISE_BYTES_MAX: usize = 1 << 16;

/// Maximum memory for the failed scans of one text: 256 MiB. That is a bit for each byte of a text
/// of 63 MB for each of 34 states, the number of Kimi's pattern.
const MEMO_BYTES_MAX: usize = 1 << 28;

/// Returns the class of the character at `at`, and its length in bytes. The end of the text has a
/// class and length 0; a byte that is not UTF-8 has the class of U+FFFD.
#[inline(always)]
fn read_class(dfa: &Dfa, text: &[u8], at: usize) -> (u8, usize) {
    match text.get(at) {
        Some(&byte) if byte < 128 => (dfa.class_of_ascii(byte), 1),
        Some(_) => match read_char(&text[at..]) {
            Some((point, length)) => (dfa.class_of(point), length),
            None => (dfa.class_of(char::REPLACEMENT_CHARACTER as u32), 1),
        },
        None => (dfa.class_of_end(), 0),
    }
}

/// Reports to `sink` the end of every piece of `text`, until the sink declines more.
///
/// A match that reads far and then ends far behind makes the scan read the bytes between twice.
/// Once more bytes were rescanned than the text has, [`split_memoized`] splits the remaining text.
///
/// # Errors
///
/// If that would need more than [`MEMO_BYTES_MAX`] of memory.
pub(crate) fn split(
    dfa: &Dfa,
    pattern: &str,
    text: &[u8],
    sink: &mut impl BoundarySink,
) -> Result<(), Error> {
    split_by_windows(dfa, pattern, text, WINDOW_BYTES_MIN, sink)
}

/// Splits like [`split`], with windows where at least `window_min` bytes remain. The tests set it
/// to 0.
fn split_by_windows(
    dfa: &Dfa,
    pattern: &str,
    text: &[u8],
    window_min: usize,
    sink: &mut impl BoundarySink,
) -> Result<(), Error> {
    let (mut start, mut rescanned, mut stepwise) = (0, 0, STEPWISE_BYTES_MIN);
    while start < text.len() && sink.is_open() {
        let end = match text.len() - start >= window_min {
            true => ScanWindow::with(|window| window.split(dfa, text, start, sink)),
            false => None,
        };
        if let Some(end) = end {
            (start, stepwise) = (end, STEPWISE_BYTES_MIN);
            continue;
        }
        start = split_stepwise(dfa, text, start, stepwise, &mut rescanned, sink);
        stepwise = (2 * stepwise).min(STEPWISE_BYTES_MAX);
        if rescanned > text.len() {
            let split = split_memoized(dfa, text, start, MEMO_BYTES_MAX, sink);
            return split.ok_or_else(|| Error::PatternBound {
                pattern: pattern.to_owned(),
                at: start,
                reason: "remembering its failed scans needs more than 256 MiB".to_owned(),
            });
        }
    }
    Ok(())
}

/// Splits one character a step from `start`, the start of a piece, to the first end of a piece that
/// is at least `bytes` away; returns that end.
///
/// Adds the rescanned bytes to `rescanned`, and also stops once they exceed the text.
fn split_stepwise(
    dfa: &Dfa,
    text: &[u8],
    start: usize,
    bytes: usize,
    rescanned: &mut usize,
    sink: &mut impl BoundarySink,
) -> usize {
    let (mut at, mut last_accept, mut row) = (start, start, Dfa::START);
    loop {
        let (class, length) = read_class(dfa, text, at);
        let transition = dfa.step(row, class);
        let end = match transition {
            DfaTransition::RESCAN => Some(last_accept),
            _ if transition.is_cut() || at == text.len() => Some(at),
            _ => None,
        };
        if let Some(end) = end {
            sink.push_end(end);
            *rescanned += at - end;
            let is_done = end - start >= bytes || end == text.len();
            if is_done || *rescanned > text.len() || !sink.is_open() {
                return end;
            }
        }
        if transition == DfaTransition::RESCAN {
            (at, row) = (last_accept, Dfa::START);
            continue;
        }
        last_accept = if transition.is_accept() { at } else { last_accept };
        (at, row) = (at + length, transition.row());
    }
}

/// Splits the text from `start`, the start of a piece, in linear time, by remembering failed scans;
/// returns `None` if that needs more than `memory` bytes.
///
/// Whether a match continues to a later end depends on the state and the remaining text only. So
/// for each state and position from which no later end was found, one bit is set, and a scan that
/// arrives there stops. Each state reads each position at most once without success. This is the
/// algorithm of Reps, "Maximal-munch tokenization in linear time" (1998).
///
/// For example, `a*b|a|(?s:.)` on a megabyte of `a` would read to the end of the text for each
/// piece. The scan of each later piece stops after two characters, in a state that has failed there
/// before.
fn split_memoized(
    dfa: &Dfa,
    text: &[u8],
    mut start: usize,
    mut memory: usize,
    sink: &mut impl BoundarySink,
) -> Option<()> {
    let first = start;
    // One bit map for each state; empty until the state fails once.
    let mut failed: Vec<Vec<u64>> = vec![Vec::new(); dfa.state_count()];
    while start < text.len() && sink.is_open() {
        let (mut at, mut row) = (start, Dfa::START);
        let (mut last_accept, mut accept_row) = (start, row);
        loop {
            let (class, length) = read_class(dfa, text, at);
            let transition = dfa.step(row, class);
            if transition == DfaTransition::RESCAN {
                break;
            }
            if transition.is_cut() || transition.is_accept() {
                (last_accept, accept_row) = (at, row);
            }
            let bits = &failed[dfa.state_of(row)];
            let place = at - first;
            let has_failed = bits.get(place / 64).is_some_and(|bits| bits >> (place % 64) & 1 == 1);
            if transition.is_cut() || has_failed {
                break;
            }
            row = transition.row();
            at += length;
        }
        // Each state between the last accept and here has failed at its position.
        let (mut place, mut row) = (last_accept, accept_row);
        while place < at {
            let bits = &mut failed[dfa.state_of(row)];
            if bits.is_empty() {
                let words = (text.len() - first) / 64 + 1;
                memory = memory.checked_sub(words * 8)?;
                bits.resize(words, 0);
            }
            bits[(place - first) / 64] |= 1 << ((place - first) % 64);
            let (class, length) = read_class(dfa, text, place);
            row = dfa.step(row, class).row();
            place += length;
        }
        sink.push_end(last_accept);
        start = last_accept;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::DfaBuildError;
    use crate::split::backtracking::Regex;
    use crate::split::family::PieceVisitor;
    use crate::split::splitter::{SplitEngine, Splitter};
    use crate::testing::{OUTSIDE, PARTS, Random, patterns};

    /// Patterns that each use an unusual construct, all with a DFA.
    const UNUSUAL: [&str; 37] = [
        r"\w+?|\W",
        r"\w+?(?!\w)|\W",
        r"a{2,3}?b|(?s:.)",
        r"(?:ab){2}|(?:ab){1,3}c|(?s:.)",
        r"(a(b(c)?)?)+|(?s:.)",
        r"(?i:word|WORD|k|ß|ſ)+|(?s:.)",
        r"(?i)[a-f]+|(?s:.)",
        r"\s+$|\s|\S+",
        r"\s+\z|\S+|\s",
        r"(?m:\w+$)|(?s:.)",
        r"\w+(?=\s)|(?s:.)",
        r"\w+(?=\s|$)|\w|(?s:\W)",
        r"(?!a)\w+|(?s:.)",
        r"(?=[ab])\w+|(?s:.)",
        r"\s++(?!\S)|\s+|\S+",
        r"\s++$|\s*[\r\n]|\s+(?!\S)|\s|\S++",
        r"\w?+\w+|(?s:.)",
        r"\w{1,3}+\w|(?s:.)",
        r"\w{2,4}+[a-z]|\w+|\W",
        r"(?>a|ab)c?|(?s:.)",
        r"(?>ab|cd)x|(?s:.)",
        r"(?>ab)*+c|(?s:.)",
        r"(?:ab)?+ |(?s:.)",
        r".+|\n",
        r"(?R:.+)|\s",
        r"(?s:.)",
        r"(?s:..?)",
        r"[^\S\n]+|\n|\S+",
        r"[\w&&[^\d_]]+|\d{1,3}|[^\w]|_",
        r"\p{Greek}+|\p{Han}{1,2}|\P{L}|\p{L}+",
        r"[[:alpha:]]+|[[:^alpha:]]",
        r"a*b|(?:aa)+c|a|(?s:.)",
        r"a*?b|(?:aa)+|(?s:.)",
        r"\w+(?:'\w+)?|\W",
        r"(?:\w+(?=i)ing|\w)|(?s:.)",
        r"\h+|\H",
        r"(?x: \w+ # words
          | \W )",
    ];

    fn dfa_splitter(pattern: &str) -> Splitter {
        let dfa = Dfa::try_from_pattern(pattern).unwrap_or_else(|why| panic!("{pattern}: {why:?}"));
        let engine = SplitEngine::Dfa(Box::new(dfa));
        Splitter { pattern: pattern.to_owned(), grammar: None, engine, layers: None }
    }

    fn pieces(splitter: &Splitter, text: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        splitter.split(text, |piece| pieces.push(piece.to_vec())).unwrap();
        pieces
    }

    fn pieces_by_windows(dfa: &Dfa, text: &[u8], window_min: usize) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        let mut sink = PieceVisitor::new(text, |piece: &[u8], _| pieces.push(piece.to_vec()));
        split_by_windows(dfa, "", text, window_min, &mut sink).unwrap();
        pieces
    }

    /// Splits by `fancy_regex`, which defines the meaning of a pattern.
    fn oracle(regex: &Regex, text: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut pieces = Vec::new();
        regex.split(text, |piece| pieces.push(piece.to_vec()))?;
        Ok(pieces)
    }

    fn text_of(random: &mut Random, parts: &[&str], count: usize) -> String {
        (0..count).map(|_| parts[random.below(parts.len())]).collect()
    }

    /// Asserts on random texts that all loops agree with the backtracking engine, and that the
    /// parts between safe cuts split as the whole.
    fn compare(pattern: &str, parts: &[&str], random: &mut Random, rounds: usize) {
        let (splitter, regex) = (dfa_splitter(pattern), Regex::compile(pattern).unwrap());
        let SplitEngine::Dfa(dfa) = &splitter.engine else { unreachable!() };
        let twins = dfa.slower_twins();
        for round in 0..rounds {
            // Some texts have several windows.
            let parts_max = if round % 256 == 9 { 9000 } else { [40, 8][(round % 8).min(1)] };
            let count = 1 + random.below(parts_max);
            let text = text_of(random, parts, count);
            let expected = match oracle(&regex, text.as_bytes()) {
                Err(Error::PatternBound { .. }) => continue,
                other => other.unwrap(),
            };
            assert_eq!(pieces(&splitter, text.as_bytes()), expected, "{pattern} on {text:?}");
            for dfa in twins.iter().chain([&**dfa]) {
                let found = pieces_by_windows(dfa, text.as_bytes(), 0);
                assert_eq!(found, expected, "{pattern} on {text:?} by {:?}", dfa.stride2());
            }
            let memoized = &mut Vec::new();
            let mut sink = PieceVisitor::new(text.as_bytes(), |piece: &[u8], _| {
                memoized.push(piece.to_vec());
            });
            split_memoized(dfa, text.as_bytes(), 0, MEMO_BYTES_MAX, &mut sink);
            assert_eq!(*memoized, expected, "{pattern} on {text:?}, memoized");
            let parts = splitter.parts(text.as_bytes(), 1 + random.below(6));
            let found: Vec<_> = parts.iter().flat_map(|part| pieces(&splitter, part)).collect();
            assert_eq!(found, expected, "{pattern} on parts of {text:?}");
        }
    }

    #[test]
    fn agrees_with_the_backtracking_engine() {
        let mut random = Random(3);
        for pattern in OUTSIDE.iter().chain(&UNUSUAL) {
            compare(pattern, &PARTS, &mut random, 800);
            compare(pattern, &["a", "b", "c", "A", " ", "\n", "'", "1", "中"], &mut random, 800);
        }
    }

    #[test]
    fn published_patterns_have_a_dfa_too() {
        let mut random = Random(5);
        for pattern in patterns().values() {
            compare(pattern, &PARTS, &mut random, 1000);
        }
    }

    /// Returns a random pattern of atoms that share characters, under every supported construct.
    fn pattern_of(random: &mut Random, depth: usize) -> String {
        let atoms = ["a", "b", "c", "[ab]", "[^a]", r"\w", r"\s", r"\S", " ", ".", "(?i:a)", "ab"];
        let ahead = [r"(?!\S)", "(?=a)", "(?!b)", "(?=[bc]|$)", "$", r"(?!\s+)", "(?m:$)"];
        if depth == 0 {
            return atoms[random.below(atoms.len())].to_owned();
        }
        let deeper = depth - 1;
        match random.below(14) {
            0..=3 => (0..2 + random.below(2)).map(|_| pattern_of(random, deeper)).collect(),
            4..=5 => {
                let (left, right) = (pattern_of(random, deeper), pattern_of(random, deeper));
                format!("(?:{left}|{right})")
            }
            6..=9 => {
                let inner = pattern_of(random, deeper);
                let open = ["(?:", "("][random.below(2)];
                let bounds = ["?", "*", "+", "{1,2}", "{2}", "{0,2}", "{2,}"][random.below(7)];
                let kind = ["", "", "?", "+"][random.below(4)];
                format!("{open}{inner}){bounds}{kind}")
            }
            10 => {
                let look = ahead[random.below(ahead.len())];
                match random.below(2) {
                    0 => format!("{}{look}", pattern_of(random, deeper)),
                    _ => format!("{look}{}", pattern_of(random, deeper)),
                }
            }
            11 => format!("(?>{})", pattern_of(random, deeper)),
            // The trees that `fancy_regex` rewrites, and similar ones.
            _ => {
                let depth = random.below(2).min(deeper);
                let edge = pattern_of(random, depth);
                let middle = pattern_of(random, 0);
                let mut bound = || ["*", "+", "+", "?", "+?", "{2,}"][random.below(6)];
                let (left, inner, right, outer) = (bound(), bound(), bound(), bound());
                match random.below(3) {
                    0 => format!("(?:{edge}){left}(?:{middle})?(?:{edge}){right}"),
                    1 => format!("(?:(?:{edge}){left}(?:(?:{middle})(?:{edge}){right})?){outer}"),
                    _ => format!("((?:{edge}){inner}){outer}"),
                }
            }
        }
    }

    /// Compares random patterns; counts the patterns that have a DFA, drop text, or need the
    /// backtracking engine.
    fn compare_random_patterns(seed: u64, count: usize) -> [usize; 3] {
        let mut random = Random(seed);
        let mut outcomes = [0; 3];
        for _ in 0..count {
            let depth = 1 + random.below(3);
            let mut pattern = (0..1 + random.below(3))
                .map(|_| pattern_of(&mut random, depth))
                .collect::<Vec<_>>()
                .join("|");
            if random.below(4) > 0 {
                pattern.push_str("|(?s:.)");
            }
            let Ok(regex) = Regex::compile(&pattern) else { continue };
            match Dfa::try_from_pattern(&pattern) {
                Ok(_) => {
                    outcomes[0] += 1;
                    compare(&pattern, &["a", "b", "c", "A", " ", "\n"], &mut random, 60);
                }
                Err(DfaBuildError::DropsText(text)) => {
                    outcomes[1] += 1;
                    let dropped = oracle(&regex, text.as_bytes());
                    assert!(
                        matches!(dropped, Err(Error::PatternDrops { .. })),
                        "{pattern} on {text:?}: {dropped:?}"
                    );
                }
                Err(DfaBuildError::Unsupported(_)) => outcomes[2] += 1,
            }
        }
        outcomes
    }

    #[test]
    fn agrees_on_random_patterns() {
        let [dfas, dropping, unsupported] = compare_random_patterns(17, 2500);
        assert!(
            dfas > 600 && dropping > 200 && unsupported > 40,
            "{dfas} {dropping} {unsupported}"
        );
    }

    /// `ZETON_FUZZ_SECONDS=600 cargo test --release -p zeton fuzz_patterns -- --ignored
    /// --nocapture`
    #[test]
    #[ignore = "runs as long as ZETON_FUZZ_SECONDS says"]
    fn fuzz_patterns() {
        let (time, mut seed) = crate::testing::fuzzing();
        let (start, mut sum) = (std::time::Instant::now(), [0; 3]);
        while start.elapsed() < time {
            let outcomes = compare_random_patterns(seed, 500);
            sum = [0, 1, 2].map(|at| sum[at] + outcomes[at]);
            seed += 1;
        }
        println!("{} DFAs, {} that drop text, {} unsupported", sum[0], sum[1], sum[2]);
    }

    #[test]
    fn agrees_on_every_scalar() {
        let all: String = ('\0'..=char::MAX).flat_map(|scalar| [scalar, 'x']).collect();
        for pattern in OUTSIDE.iter().chain(&[r"(?i:[a-k])+|\d+|(?s:.)"]) {
            let regex = Regex::compile(pattern).unwrap();
            let expected = oracle(&regex, all.as_bytes()).unwrap();
            assert!(pieces(&dfa_splitter(pattern), all.as_bytes()) == expected, "{pattern}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_punctuation() {
        let bytes =
            [b'a', b' ', b'\n', b'\'', 0xC3, 0xA9, 0xE4, 0xB8, 0xAD, 0xFF, 0xED, 0xA0, 0x80, b'1'];
        let mut random = Random(11);
        for pattern in OUTSIDE {
            let (splitter, regex) = (dfa_splitter(pattern), Regex::compile(pattern).unwrap());
            for _ in 0..5000 {
                let length_max = if random.below(50) == 0 { 200 } else { 12 };
                let length = random.below(length_max);
                let text: Vec<u8> = (0..length).map(|_| bytes[random.below(14)]).collect();
                let expected = oracle(&regex, &text).unwrap();
                assert_eq!(pieces(&splitter, &text), expected, "{pattern} on {text:x?}");
                let SplitEngine::Dfa(dfa) = &splitter.engine else { unreachable!() };
                let found = pieces_by_windows(dfa, &text, 0);
                assert_eq!(found, expected, "{pattern} on {text:x?}, by windows");
                let parts = splitter.parts(&text, 1 + random.below(3));
                let found: Vec<_> = parts.iter().flat_map(|part| pieces(&splitter, part)).collect();
                assert_eq!(found, expected, "{pattern} on parts of {text:x?}");
            }
        }
    }

    #[test]
    fn texts_are_cut_after_words() {
        for pattern in OUTSIDE {
            let text = "some words and some more of them ".repeat(40);
            let parts = dfa_splitter(pattern).parts(text.as_bytes(), 100);
            assert!(parts.len() > 10, "{pattern}: {}", parts.len());
        }
    }

    #[test]
    fn failing_scans_take_linear_time() {
        let splitter = dfa_splitter(r"a*b|(?:aa)+c|a|(?s:.)");
        for text in ["a".repeat(1 << 20), "ab".repeat(1 << 10) + &"a".repeat(1 << 20)] {
            let found = pieces(&splitter, text.as_bytes());
            assert_eq!(found.concat(), text.as_bytes());
            assert!(found.len() >= 1 << 20);
        }
        let lazy = dfa_splitter(r"a+?b|a|(?s:.)");
        assert_eq!(pieces(&lazy, "a".repeat(1 << 20).as_bytes()).len(), 1 << 20);
    }

    #[test]
    fn memory_for_failed_scans_has_a_bound() {
        let dfa = Dfa::try_from_pattern("a*b|a|(?s:.)").unwrap();
        let text = [b'a'; 1000];
        let within = |memory| {
            let mut sink = PieceVisitor::new(&text, |_: &[u8], _| ());
            split_memoized(&dfa, &text, 0, memory, &mut sink).is_some()
        };
        assert!(within(1000));
        assert!(!within(100));
    }

    #[test]
    fn names_the_reason_why_a_pattern_has_no_dfa() {
        let unsupported = [
            (r"(\w)\1|(?s:.)", "it refers back to a group"),
            (r"(?<=a)b|(?s:.)", "it looks behind"),
            (r"a(?=bc)|(?s:.)", "it looks ahead by more than one character"),
            (r"\b\w+|(?s:.)", "it tests for the edge of a word or of the last line"),
            (r"^a|(?s:.)", "it tests for the start of a text or of a line"),
            (r"(?:a?)*|(?s:.)", "it repeats a part that may be empty"),
            (
                r"(?>a|ab)c|(?s:.)",
                "it has a possessive part that is not proven equal to a greedy one",
            ),
            (r"\w+-?\w+|(?s:.)", "it has repetitions that the backtracking engine rewrites"),
            (r"(\w+?)*|(?s:.)", "it has repetitions that the backtracking engine rewrites"),
            (r"\w{9999}|(?s:.)", "it has too many repetitions and alternatives"),
            (r"(?:a|b)*a(?:a|b){13}|(?s:.)", "its table has too many states"),
            (r"a\K|(?s:.)", "it has syntax that only the backtracking engine supports"),
        ];
        for (pattern, expected) in unsupported {
            match Dfa::try_from_pattern(pattern) {
                Err(DfaBuildError::Unsupported(why)) => assert_eq!(why, expected, "{pattern}"),
                other => panic!("{pattern}: {other:?}"),
            }
        }
    }
}
