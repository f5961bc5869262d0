//! Prefixes of a text that are one piece.
//!
//! A limit cuts a long run, for example a megabyte of one letter, at many positions, and asks for
//! the pieces of each prefix. Splitting each of them anew would read the run once for each
//! position. One scan tells it for all prefixes. For example, with cl100k:
//!
//! ```text
//! text                  a a a a   b
//! prefixes of one piece 1 2 3 4           4 bytes
//! first piece                             4 bytes at least
//!
//! text                  ␣ ␣ ␣ a
//! prefixes of one piece 1 2 3             3 bytes
//! first piece                             1 byte at least: the third blank belongs to `a`
//! ```
//!
//! Cost: one step of the transducer a character. Other engines answer 0, which is always right.

use super::{SplitEngine, Splitter};
use crate::pattern::{Actions, Transducer};
use crate::sys::unicode::read_char;

/// The lengths that one scan from the start of a text proves, in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct SinglePiece {
    /// Each shorter prefix that ends between two characters is one piece when it is split alone.
    pub(crate) alone: usize,
    /// The first piece of the text has at least this length, whatever follows.
    pub(crate) in_text: usize,
}

impl Splitter {
    /// Scans the first `bytes_max` bytes of a text for prefixes that are one piece. The limits call
    /// it for a range without a safe cut.
    pub(crate) fn find_single_piece(&self, text: &[u8], bytes_max: usize) -> SinglePiece {
        match &self.engine {
            SplitEngine::Scanner { transducer, .. } if self.is_plain() => {
                scan(transducer, text, bytes_max)
            }
            _ => SinglePiece::default(),
        }
    }
}

fn scan(transducer: &Transducer, text: &[u8], bytes_max: usize) -> SinglePiece {
    let cuts = [Actions::CUT_HERE, Actions::CUT_MARK_0, Actions::CUT_MARK_1];
    let (mut state, mut at, mut first_mark) = (Transducer::START, 0, usize::MAX);
    while at < bytes_max.min(text.len()) {
        let (class, length) = match read_char(&text[at..]) {
            Some((point, length)) => (transducer.class_of(point), length),
            None => (transducer.class_of_bad_byte(), 1),
        };
        let step = transducer.step(state, class);
        let at_end = transducer.step(step.next, transducer.class_of_end()).actions;
        let is_one_piece =
            at_end.contains(cuts[0]) && !cuts[1..].iter().any(|cut| at_end.contains(*cut));
        if cuts.iter().any(|cut| step.actions.contains(*cut)) || !is_one_piece {
            break;
        }
        if step.actions.contains(Actions::SET_MARK_0) {
            first_mark = first_mark.min(at + length);
        }
        if step.actions.contains(Actions::SET_MARK_1) {
            first_mark = first_mark.min(at);
        }
        (state, at) = (step.next, at + length);
    }
    SinglePiece { alone: at, in_text: at.min(first_mark) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OUTSIDE, PARTS, Random, family};

    #[test]
    fn lengths_are_those_of_the_examples_of_the_module_header() {
        let splitter = Splitter::parse(crate::pattern::NANOCHAT).unwrap();
        let found = |text: &str| splitter.find_single_piece(text.as_bytes(), 100);
        assert_eq!(found("aaaa b"), SinglePiece { alone: 4, in_text: 4 });
        assert_eq!(found("   a").alone, 3);
        assert_eq!(splitter.find_single_piece(b"aaaa", 3).alone, 3);
    }

    #[test]
    fn each_prefix_is_one_piece_and_the_first_piece_is_as_long() {
        let mut random = Random(31);
        for pattern in family().into_iter().chain(OUTSIDE.iter().map(|&p| p.to_owned())) {
            let splitter = Splitter::parse(&pattern).unwrap();
            for _ in 0..300 {
                let part = |_| PARTS[random.below(PARTS.len())].repeat(1 + random.below(9));
                let text: String = (0..3).map(part).collect();
                let SinglePiece { alone, in_text } =
                    splitter.find_single_piece(text.as_bytes(), text.len());
                for end in (1..=alone).filter(|&end| text.is_char_boundary(end)) {
                    let mut pieces = 0;
                    splitter.split(&text.as_bytes()[..end], |_: &[u8]| pieces += 1).unwrap();
                    assert_eq!(pieces, 1, "{pattern} on {:?}", &text[..end]);
                }
                let mut first = None;
                splitter
                    .split(text.as_bytes(), |piece| first = first.or(Some(piece.len())))
                    .unwrap();
                assert!(first.unwrap_or(0) >= in_text, "{pattern} on {text:?}");
            }
        }
    }
}
