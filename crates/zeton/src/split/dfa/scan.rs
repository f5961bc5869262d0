//! Patterns outside the family, as far as they have an automaton: one look-up for two bytes.

use super::BoundarySink;
use super::interleaved::Window;
use crate::pattern::{AutomatonStep as Step, Dfa};
use crate::sys::error::Error;
use crate::sys::unicode::read_char;

/// The class of the character at `at`, and its length; the end of the text has none.
#[inline(always)]
fn read(automaton: &Dfa, text: &[u8], at: usize) -> (u8, usize) {
    match text.get(at) {
        Some(&byte) if byte < 128 => (automaton.class_of_ascii(byte), 1),
        Some(_) => match read_char(&text[at..]) {
            Some((point, length)) => (automaton.class_of(point), length),
            None => (automaton.class_of(char::REPLACEMENT_CHARACTER as u32), 1),
        },
        None => (automaton.class_of_end(), 0),
    }
}

/// Tells `ends` where every piece of `text` ends, as long as it goes on.
///
/// A match that reads far and then ends where it was long before makes the same characters be read
/// again. Where that happens more often than there are characters, the rest is split by
/// [`split_remembering`].
pub(crate) fn split(
    automaton: &Dfa,
    pattern: &str,
    text: &[u8],
    ends: &mut impl BoundarySink,
) -> Result<(), Error> {
    split_by_windows(automaton, pattern, text, WINDOW_MIN, ends)
}

/// The same with windows where at least so many bytes are left.
fn split_by_windows(
    automaton: &Dfa,
    pattern: &str,
    text: &[u8],
    window_min: usize,
    ends: &mut impl BoundarySink,
) -> Result<(), Error> {
    let (mut start, mut again, mut stepwise) = (0, 0, STEPWISE_MIN);
    while start < text.len() && ends.goes_on() {
        let end = match text.len() - start >= window_min {
            true => Window::with(|window| window.split(automaton, text, start, ends)),
            false => None,
        };
        if let Some(end) = end {
            (start, stepwise) = (end, STEPWISE_MIN);
            continue;
        }
        start = split_stepwise(automaton, text, start, stepwise, &mut again, ends);
        // What is of no use here most likely is of none there.
        stepwise = (2 * stepwise).min(STEPWISE_MAX);
        if again > text.len() {
            let rest = split_remembering(automaton, text, start, REMEMBERED_MAX, ends);
            return rest.ok_or_else(|| Error::PatternBound {
                pattern: pattern.to_owned(),
                reason: "too much of it is read in vain".to_owned(),
            });
        }
    }
    Ok(())
}

/// Bytes from which on a window is worth its making.
const WINDOW_MIN: usize = 128;

/// Bytes that are read step by step where a window is of no use, at first and at most.
const STEPWISE_MIN: usize = 256;
const STEPWISE_MAX: usize = 1 << 16;

/// The same, one character after the other, from `start` on, where a piece begins, until one ends so many bytes
/// later; returns where that is. Counts the bytes that are read `again`.
fn split_stepwise(
    automaton: &Dfa,
    text: &[u8],
    start: usize,
    bytes: usize,
    again: &mut usize,
    ends: &mut impl BoundarySink,
) -> usize {
    let (mut at, mut mark, mut row) = (start, start, Dfa::START);
    loop {
        let (class, length) = read(automaton, text, at);
        let step = automaton.step(row, class);
        let end = match step {
            Step::BACK => Some(mark),
            _ if step.cuts() == 1 || at == text.len() => Some(at),
            _ => None,
        };
        if let Some(end) = end {
            ends.end(end);
            *again += at - end;
            let is_done = end - start >= bytes || end == text.len();
            if is_done || *again > text.len() || !ends.goes_on() {
                return end;
            }
        }
        if step == Step::BACK {
            (at, row) = (mark, Dfa::START);
            continue;
        }
        mark = if step.marks() { at } else { mark };
        (at, row) = (at + length, step.row());
    }
}

/// Bytes of memory that are spent at most on what is remembered of one text.
const REMEMBERED_MAX: usize = 1 << 28;

/// The same from `start` on, where a piece begins, in time that grows with the text only.
///
/// Whether a match goes on to another end depends on the state and the text that is left. So where
/// reading on from a state at a place was in vain once, it is not tried again: each state reads each
/// place at most once in vain. `None` where that needs more memory, in bytes, than it may have.
fn split_remembering(
    automaton: &Dfa,
    text: &[u8],
    mut start: usize,
    mut memory: usize,
    ends: &mut impl BoundarySink,
) -> Option<()> {
    let first = start;
    let mut vain: Vec<Vec<u64>> = vec![Vec::new(); automaton.states()];
    while start < text.len() && ends.goes_on() {
        let (mut at, mut row) = (start, Dfa::START);
        // The last end that was found, and the state there.
        let (mut mark, mut mark_row) = (start, row);
        loop {
            let (class, length) = read(automaton, text, at);
            let step = automaton.step(row, class);
            if step == Step::BACK {
                break;
            }
            if step.cuts() == 1 || step.marks() {
                (mark, mark_row) = (at, row);
            }
            let bits = &vain[automaton.state_of(row)];
            let place = at - first;
            let known = bits.get(place / 64).is_some_and(|bits| bits >> (place % 64) & 1 == 1);
            if step.cuts() == 1 || known {
                break;
            }
            row = step.row();
            at += length;
        }
        // All that was read since then was in vain.
        let (mut place, mut row) = (mark, mark_row);
        while place < at {
            let bits = &mut vain[automaton.state_of(row)];
            if bits.is_empty() {
                let words = (text.len() - first) / 64 + 1;
                memory = memory.checked_sub(words * 8)?;
                bits.resize(words, 0);
            }
            bits[(place - first) / 64] |= 1 << ((place - first) % 64);
            let (class, length) = read(automaton, text, place);
            row = automaton.step(row, class).row();
            place += length;
        }
        ends.end(mark);
        start = mark;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Refusal;
    use crate::split::backtracking::Regex;
    use crate::split::family::Pieces;
    use crate::split::splitter::{Engine, Splitter};
    use crate::testing::{OUTSIDE, PARTS, Random, patterns};

    /// Patterns with something odd in each; all have an automaton.
    const ODD: [&str; 37] = [
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

    fn automaton(pattern: &str) -> Splitter {
        let automaton = Dfa::of(pattern).unwrap_or_else(|why| panic!("{pattern}: {why:?}"));
        let engine = Engine::Dfa(Box::new(automaton));
        Splitter { pattern: pattern.to_owned(), grammar: None, engine, layers: None }
    }

    fn pieces(splitter: &Splitter, text: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        splitter.split(text, |piece| pieces.push(piece.to_vec())).unwrap();
        pieces
    }

    fn pieces_of(automaton: &Dfa, text: &[u8], window_min: usize) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        let mut ends = Pieces::new(text, |piece: &[u8], _| pieces.push(piece.to_vec()));
        split_by_windows(automaton, "", text, window_min, &mut ends).unwrap();
        pieces
    }

    fn oracle(regex: &Regex, text: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut pieces = Vec::new();
        regex.split(text, |piece| pieces.push(piece.to_vec()))?;
        Ok(pieces)
    }

    fn text_of(random: &mut Random, parts: &[&str], count: usize) -> String {
        (0..count).map(|_| parts[random.below(parts.len())]).collect()
    }

    /// Everything that must be true of an automaton, on random texts.
    fn compare(pattern: &str, parts: &[&str], random: &mut Random, rounds: usize) {
        let (splitter, regex) = (automaton(pattern), Regex::compile(pattern).unwrap());
        let Engine::Dfa(automaton) = &splitter.engine else { unreachable!() };
        let plainer = automaton.plainer();
        for round in 0..rounds {
            // Some have several windows.
            let most = if round % 256 == 9 { 9000 } else { [40, 8][(round % 8).min(1)] };
            let count = 1 + random.below(most);
            let text = text_of(random, parts, count);
            let expected = match oracle(&regex, text.as_bytes()) {
                Err(Error::PatternBound { .. }) => continue,
                other => other.unwrap(),
            };
            assert_eq!(pieces(&splitter, text.as_bytes()), expected, "{pattern} on {text:?}");
            for automaton in plainer.iter().chain([&**automaton]) {
                let found = pieces_of(automaton, text.as_bytes(), 0);
                assert_eq!(found, expected, "{pattern} on {text:?} by {:?}", automaton.leaps());
            }
            let remembered = &mut Vec::new();
            let mut ends = Pieces::new(text.as_bytes(), |piece: &[u8], _| {
                remembered.push(piece.to_vec());
            });
            split_remembering(automaton, text.as_bytes(), 0, REMEMBERED_MAX, &mut ends);
            assert_eq!(*remembered, expected, "{pattern} on {text:?}, remembering");
            let parts = splitter.parts(text.as_bytes(), 1 + random.below(6));
            let found: Vec<_> = parts.iter().flat_map(|part| pieces(&splitter, part)).collect();
            assert_eq!(found, expected, "{pattern} on parts of {text:?}");
        }
    }

    #[test]
    fn agrees_with_the_backtracking_engine() {
        let mut random = Random(3);
        for pattern in OUTSIDE.iter().chain(&ODD) {
            compare(pattern, &PARTS, &mut random, 800);
            compare(pattern, &["a", "b", "c", "A", " ", "\n", "'", "1", "中"], &mut random, 800);
        }
    }

    #[test]
    fn published_patterns_are_automata_too() {
        let mut random = Random(5);
        for pattern in patterns().values() {
            compare(pattern, &PARTS, &mut random, 1000);
        }
    }

    /// A random pattern of atoms that meet each other, alone and under everything that is known.
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
            // What the oracle's engine rewrites, and its neighbours.
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

    /// Random patterns; returns how many were automata, dropped text, and were left.
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
            match Dfa::of(&pattern) {
                Ok(_) => {
                    outcomes[0] += 1;
                    compare(&pattern, &["a", "b", "c", "A", " ", "\n"], &mut random, 60);
                }
                Err(Refusal::Drops(text)) => {
                    outcomes[1] += 1;
                    let dropped = oracle(&regex, text.as_bytes());
                    assert!(
                        matches!(dropped, Err(Error::PatternDrops { .. })),
                        "{pattern} on {text:?}: {dropped:?}"
                    );
                }
                Err(Refusal::Unfit(_)) => outcomes[2] += 1,
            }
        }
        outcomes
    }

    #[test]
    fn agrees_on_random_patterns() {
        let [automata, dropping, left] = compare_random_patterns(17, 2500);
        assert!(automata > 600 && dropping > 200 && left > 40, "{automata} {dropping} {left}");
    }

    /// `ZETON_FUZZ_SECONDS=600 cargo test --release -p zeton fuzz_patterns -- --ignored --nocapture`
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
        println!("{} automata, {} that drop text, {} left", sum[0], sum[1], sum[2]);
    }

    #[test]
    fn agrees_on_every_scalar() {
        let all: String = ('\0'..=char::MAX).flat_map(|scalar| [scalar, 'x']).collect();
        for pattern in OUTSIDE.iter().chain(&[r"(?i:[a-k])+|\d+|(?s:.)"]) {
            let regex = Regex::compile(pattern).unwrap();
            let expected = oracle(&regex, all.as_bytes()).unwrap();
            assert!(pieces(&automaton(pattern), all.as_bytes()) == expected, "{pattern}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_signs() {
        let bytes =
            [b'a', b' ', b'\n', b'\'', 0xC3, 0xA9, 0xE4, 0xB8, 0xAD, 0xFF, 0xED, 0xA0, 0x80, b'1'];
        let mut random = Random(11);
        for pattern in OUTSIDE {
            let (splitter, regex) = (automaton(pattern), Regex::compile(pattern).unwrap());
            for _ in 0..5000 {
                let most = if random.below(50) == 0 { 200 } else { 12 };
                let length = random.below(most);
                let text: Vec<u8> = (0..length).map(|_| bytes[random.below(14)]).collect();
                let expected = oracle(&regex, &text).unwrap();
                assert_eq!(pieces(&splitter, &text), expected, "{pattern} on {text:x?}");
                let Engine::Dfa(automaton) = &splitter.engine else { unreachable!() };
                let found = pieces_of(automaton, &text, 0);
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
            let parts = automaton(pattern).parts(text.as_bytes(), 100);
            assert!(parts.len() > 10, "{pattern}: {}", parts.len());
        }
    }

    #[test]
    fn a_match_that_looks_far_ahead_takes_linear_time() {
        let splitter = automaton(r"a*b|(?:aa)+c|a|(?s:.)");
        for text in ["a".repeat(1 << 20), "ab".repeat(1 << 10) + &"a".repeat(1 << 20)] {
            let found = pieces(&splitter, text.as_bytes());
            assert_eq!(found.concat(), text.as_bytes());
            assert!(found.len() >= 1 << 20);
        }
        let lazy = automaton(r"a+?b|a|(?s:.)");
        assert_eq!(pieces(&lazy, "a".repeat(1 << 20).as_bytes()).len(), 1 << 20);
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let automaton = Dfa::of("a*b|a|(?s:.)").unwrap();
        let text = [b'a'; 1000];
        let within = |memory| {
            let mut ends = Pieces::new(&text, |_: &[u8], _| ());
            split_remembering(&automaton, &text, 0, memory, &mut ends).is_some()
        };
        assert!(within(1000));
        assert!(!within(100));
    }

    #[test]
    fn says_why_a_pattern_has_none() {
        let unfit = [
            (r"(\w)\1|(?s:.)", "it refers back to a group"),
            (r"(?<=a)b|(?s:.)", "it looks behind"),
            (r"a(?=bc)|(?s:.)", "it looks ahead by more than one character"),
            (r"\b\w+|(?s:.)", "it asks for the edge of a word or of the last line"),
            (r"^a|(?s:.)", "it asks where a text or a line begins"),
            (r"(?:a?)*|(?s:.)", "it repeats what may be empty"),
            (
                r"(?>a|ab)c|(?s:.)",
                "it has a possessive part that is not proven equal to a greedy one",
            ),
            (r"\w+-?\w+|(?s:.)", "it has repeats that the engine which defines patterns rewrites"),
            (r"(\w+?)*|(?s:.)", "it has repeats that the engine which defines patterns rewrites"),
            (r"\w{9999}|(?s:.)", "its repeats and alternatives are too many"),
            (r"(?:a|b)*a(?:a|b){13}|(?s:.)", "its table has too many states"),
            (r"a\K|(?s:.)", "it has a rule that only a backtracking engine knows"),
        ];
        for (pattern, expected) in unfit {
            match Dfa::of(pattern) {
                Err(Refusal::Unfit(why)) => assert_eq!(why, expected, "{pattern}"),
                other => panic!("{pattern}: {other:?}"),
            }
        }
    }
}
