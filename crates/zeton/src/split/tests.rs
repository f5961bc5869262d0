use super::*;
use crate::pattern::PATTERN_BYTES_MAX;
use crate::sys::error::Error;
use crate::testing::{Random, family, patterns};

/// Letters, marks, numbers, spaces and signs of every class, and the parts of contractions.
const ALPHABET: [&str; 30] = [
    "a", "A", "s", "S", "l", "L", "v", "e", "E", "ſ", "é", "É", "ǅ", "ʰ", "中", "\u{301}", "1",
    "½", " ", " ", "\t", "\n", "\r", "\u{a0}", "'", "'", "/", "!", "😀", "\u{212A}",
];

fn pieces(splitter: &Splitter, text: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    splitter.split(text, |piece| pieces.push(piece.to_vec())).unwrap();
    pieces
}

/// Returns the pattern on the backtracking engine.
fn backtracking_splitter(pattern: &str) -> Splitter {
    Splitter::try_new_backtracking(pattern).unwrap()
}

#[test]
fn the_scanner_agrees_with_the_regex_engine() {
    let mut scanned = 0;
    for pattern in family() {
        let splitter = Splitter::parse(&pattern).unwrap();
        if splitter.grammar().is_none() {
            continue;
        }
        scanned += 1;
        let oracle = backtracking_splitter(&pattern);
        let mut random = Random(7);
        for round in 0..4000 {
            let length = if round < 3000 { 1 + random.below(9) } else { random.below(60) };
            let text: String = (0..length).map(|_| ALPHABET[random.below(30)]).collect();
            let (found, expected) =
                (pieces(&splitter, text.as_bytes()), pieces(&oracle, text.as_bytes()));
            assert_eq!(found, expected, "{pattern} on {text:?}");
        }
    }
    assert!(scanned > 60, "only {scanned} patterns of the family are recognised");
}

#[test]
fn the_scanner_agrees_on_all_short_strings() {
    for (name, pattern) in patterns() {
        let (splitter, oracle) =
            (Splitter::parse(&pattern).unwrap(), backtracking_splitter(&pattern));
        let alphabet = ["a", "A", "中", "\u{301}", "1", " ", "\t", "\n", "'", "s", "l", "/", "!"];
        let mut text = String::new();
        for number in 0..13_usize.pow(4) {
            text.clear();
            let mut rest = number;
            for _ in 0..4 {
                text.push_str(alphabet[rest % 13]);
                rest /= 13;
            }
            let (found, expected) =
                (pieces(&splitter, text.as_bytes()), pieces(&oracle, text.as_bytes()));
            assert_eq!(found, expected, "{name} on {text:?}");
        }
    }
}

#[test]
fn bytes_that_are_not_utf8_are_signs_in_both_engines() {
    let bytes =
        [b'a', b' ', b'\n', b'\'', 0xC3, 0xA9, 0xE4, 0xB8, 0xAD, 0xFF, 0xED, 0xA0, 0x80, b'1'];
    let mut random = Random(11);
    for pattern in patterns().into_values() {
        let (splitter, oracle) =
            (Splitter::parse(&pattern).unwrap(), backtracking_splitter(&pattern));
        for _ in 0..5000 {
            let text: Vec<u8> = (0..random.below(12)).map(|_| bytes[random.below(14)]).collect();
            let found = pieces(&splitter, &text);
            assert_eq!(found, pieces(&oracle, &text), "{pattern} on {text:x?}");
            assert_eq!(found.concat(), text);
        }
    }
}

#[test]
fn parts_split_as_the_whole() {
    let mut random = Random(13);
    for pattern in family() {
        let splitter = Splitter::parse(&pattern).unwrap();
        for _ in 0..300 {
            let text: String = (0..200).map(|_| ALPHABET[random.below(30)]).collect();
            let parts = splitter.parts(text.as_bytes(), 1 + random.below(20));
            let found: Vec<_> = parts.iter().flat_map(|part| pieces(&splitter, part)).collect();
            assert_eq!(found, pieces(&splitter, text.as_bytes()), "{pattern} on {text:?}");
        }
    }
}

#[test]
fn what_was_looked_at_for_a_cut_is_not_looked_at_again() {
    let splitter = Splitter::parse(crate::pattern::NANOCHAT).unwrap();
    // The only safe cut is behind the blank, at any offset within a block.
    for length in [1, 7, 8, 9, 63, 64, 65] {
        for letter in ["a", "é", "中", "😀"] {
            let text = letter.repeat(length) + " " + &letter.repeat(300);
            let mut checks = 0;
            let parts = splitter.try_parts(text.as_bytes(), 16, || {
                checks += 1;
                Ok::<_, Error>(())
            });
            let parts = parts.unwrap();
            assert_eq!(parts.concat(), text.as_bytes());
            assert!(checks <= text.len() / 16 + 1, "{checks} for {}", text.len());
            let found: Vec<_> = parts.iter().flat_map(|part| pieces(&splitter, part)).collect();
            assert_eq!(found, pieces(&splitter, text.as_bytes()));
        }
    }
    let stopped = splitter.try_parts(&[b'a'; 1000], 16, || Err(Error::Stopped));
    assert_eq!(stopped, Err(Error::Stopped));
}

#[test]
fn patterns_outside_the_family_stop_where_they_are_told_to() {
    for pattern in [r"\w+|\W", r"(\w)\1*|\W"] {
        let splitter = Splitter::parse(pattern).unwrap();
        assert!(splitter.grammar().is_none());
        let mut found = 0;
        let split = splitter.split(b"ab ".repeat(10_000).as_slice(), |_| {
            found += 1;
            found < 3
        });
        assert_eq!((split, found), (Ok(()), 3), "{pattern}");
    }
}

#[test]
fn refuses_a_pattern_that_drops_text() {
    let message = |pattern| Splitter::parse(pattern).unwrap_err().to_string();
    assert_eq!(
        message(r"\p{L}+|\p{N}+"),
        r#"pattern `\p{L}+|\p{N}+` drops part of " "; a pattern must cover all text, so add |[\s\S] at its end"#
    );
    assert!(message(r"\s+(?!\S)|\S+").contains("drops part of"));
    assert!(message("x*|(?s:.)").contains("drops part of"));
    assert!(message("(").contains("does not compile"));
    assert!(message(&"a".repeat(PATTERN_BYTES_MAX + 1)).contains("at most 65536"));
}
