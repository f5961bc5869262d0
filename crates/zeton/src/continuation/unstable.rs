//! Unstable ends: tiktoken's `encode_with_unstable` and `_encode_bytes`, rule by rule.
//!
//! More text may follow, or the text ends inside a character. Both functions guess at the text that
//! would follow, so no rule is more right than another. Programs that moved from tiktoken rely on
//! its ids, so the rules are tiktoken's. For example, `a lo` with the tokens `lo` = 256, `low` =
//! 257 and `lowe` = 258:
//!
//! ```text
//! pieces        a | ␣lo
//! stable        97                    every piece but the last
//! completions   32 256                ␣ lo
//!               32 257                ␣ low
//!               32 258                ␣ lowe
//! ```
//!
//! [`token_healing`](super::token_healing) answers the same question exactly: its ids are the next
//! ids of all texts that start with the prompt.

use std::collections::BTreeSet;
use std::str;

use crate::encode::{Tokenizer, refuse_too_long};
use crate::merge::{MergeBuffers, merge_bytes};
use crate::piece_cache::Scratch;
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// Bytes that are encoded to try completions, at most: 256 MiB. Not measured; it is some seconds of
/// work.
const COMPLETION_BYTES_MAX: usize = 1 << 28;

/// The ids of a text whose last piece may still change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnstableEncoding {
    /// The ids before the last piece.
    pub stable: Vec<Id>,
    /// Encodings of the last piece and its continuations. Each one spells the last piece, or starts
    /// with it.
    pub completions: BTreeSet<Vec<Id>>,
}

impl Tokenizer {
    /// Encodes a text that may go on: its stable ids, and the completions of its last piece.
    ///
    /// # Errors
    ///
    /// When the last piece is too long to try its completions; see [`Tokenizer::encode`] for
    /// others.
    pub fn encode_unstable(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
    ) -> Result<UnstableEncoding, Error> {
        let mut stable = Vec::new();
        let last_ids = self.encode_counting_last_piece(text, allowed, &mut stable)?;
        let end = self.remove_unstable_end(&mut stable, last_ids);
        Ok(UnstableEncoding { stable, completions: self.find_completions(&end)? })
    }

    /// Encodes bytes whose tail is not UTF-8. The tail and the last piece before it are one piece.
    ///
    /// # Errors
    ///
    /// See [`Tokenizer::encode`].
    pub fn encode_invalid_utf8_tail(&self, bytes: &[u8]) -> Result<Vec<Id>, Error> {
        let valid = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let (text, invalid_tail) = bytes.split_at(valid);
        let mut ids = Vec::new();
        let last_ids = self.encode_counting_last_piece(text, &AllowedSpecials::none(), &mut ids)?;
        if !invalid_tail.is_empty() {
            let mut end = self.remove_unstable_end(&mut ids, last_ids);
            end.extend_from_slice(invalid_tail);
            Scratch::default().merge(self.model(), &end, &mut ids);
        }
        Ok(ids)
    }

    /// Appends the ids of a text to `ids`. Returns the number of ids of the last piece, 0 behind a
    /// special, because the caller takes that piece back.
    fn encode_counting_last_piece(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> Result<usize, Error> {
        refuse_too_long(text)?;
        let (mut scratch, mut start, mut last_ids) = (Scratch::default(), 0, 0);
        loop {
            let special = allowed.find(text, start);
            let end = special.as_ref().map_or(text.len(), |(range, _)| range.start);
            self.splitter().split(&text[start..end], |piece| {
                let before = ids.len();
                scratch.merge(self.model(), piece, ids);
                last_ids = ids.len() - before;
            })?;
            let Some((range, id)) = special else { return Ok(last_ids) };
            ids.push(id);
            (start, last_ids) = (range.end, 0);
        }
    }

    /// Removes the ids of the last piece and returns their bytes.
    ///
    /// If the first token of that piece is white space, the tokens of white space before it are
    /// removed, too. More text may join white space that a pattern has split.
    fn remove_unstable_end(&self, ids: &mut Vec<Id>, last_ids: usize) -> Vec<u8> {
        let is_blank = |id: Id| {
            let token = self.vocab().token(id);
            token.is_some_and(|token| token.iter().all(|byte| b" \n\t".contains(byte)))
        };
        let mut start = ids.len() - last_ids;
        if last_ids > 0 && is_blank(ids[start]) {
            while start > 0 && is_blank(ids[start - 1]) {
                start -= 1;
            }
        }
        let end = self.decode(&ids[start..]).expect("encoding yields ids of the vocabulary");
        ids.truncate(start);
        end
    }

    /// Returns the completions of an end: at each of its positions, every token that covers the
    /// rest of the end is tried. Too many tries are an error.
    fn find_completions(&self, end: &[u8]) -> Result<BTreeSet<Vec<Id>>, Error> {
        if end.is_empty() {
            return Ok(BTreeSet::new());
        }
        let vocab = self.vocab();
        let mut found: BTreeSet<Vec<Id>> =
            vocab.starting_with(end).map(|(id, _)| vec![id]).collect();
        let tries: usize = (1..end.len()).map(|at| vocab.starting_with(&end[at..]).len()).sum();
        if tries.saturating_mul(end.len()) > COMPLETION_BYTES_MAX {
            return Err(Error::EndTooLong { bytes: end.len() });
        }
        let mut buffers = MergeBuffers::default();
        for at in 1..end.len() {
            for (_, token) in vocab.starting_with(&end[at..]) {
                let whole = [&end[..at], token].concat();
                let mut ids = Vec::new();
                match str::from_utf8(&whole) {
                    Ok(_) => self.encode(&whole, &AllowedSpecials::none(), &mut ids)?,
                    Err(_) => merge_bytes(self.model(), &whole, &mut buffers, &mut ids),
                }
                let mut covered = 0;
                let needed = ids.iter().take_while(|&&id| {
                    let short = covered < end.len();
                    covered += vocab.token(id).map_or(0, <[u8]>::len);
                    short
                });
                found.insert(needed.copied().collect());
            }
        }
        found.extend(self.split_off_last_blank(end));
        Ok(found)
    }

    /// Returns the ids of an end with its last white space apart, because a word that follows takes
    /// that character.
    fn split_off_last_blank(&self, end: &[u8]) -> Option<Vec<Id>> {
        let last = (1..=4.min(end.len())).find_map(|length| {
            let last = str::from_utf8(&end[end.len() - length..]).ok()?;
            last.starts_with(char::is_whitespace).then_some(length)
        })?;
        let (head, blank) = end.split_at(end.len() - last);
        let (mut buffers, mut ids) = (MergeBuffers::default(), Vec::new());
        for part in [head, blank] {
            merge_bytes(self.model(), part, &mut buffers, &mut ids);
        }
        (!head.is_empty()).then_some(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Splitter;
    use crate::pattern::NANOCHAT;
    use crate::testing::vocab_of;

    fn tokenizer(tokens: &[&str]) -> Tokenizer {
        let splitter = Splitter::parse(NANOCHAT).unwrap();
        let end = vec![(900, "<|end|>".to_owned())];
        Tokenizer::try_from_vocab(vocab_of(tokens.iter().copied()), splitter, end).unwrap()
    }

    #[test]
    fn the_last_piece_may_become_a_longer_token() {
        let tokenizer = tokenizer(&["lo", "low", "lowe"]);
        let UnstableEncoding { stable, completions } =
            tokenizer.encode_unstable(b"a lo", &AllowedSpecials::none()).unwrap();
        assert_eq!(stable, [97]);
        assert!(
            completions.iter().all(|ids| { tokenizer.decode(ids).unwrap().starts_with(b" lo") })
        );
        assert!(completions.contains([32, 258].as_slice()));
    }

    #[test]
    fn no_completions_after_a_special_or_without_text() {
        let tokenizer = tokenizer(&[]);
        let all = tokenizer.specials().allow_all();
        let encoded = tokenizer.encode_unstable(b"a<|end|>", &all).unwrap();
        let completions = BTreeSet::new();
        assert_eq!(encoded, UnstableEncoding { stable: vec![97, 900], completions });
        assert!(tokenizer.encode_unstable(b"", &all).unwrap().completions.is_empty());
    }

    #[test]
    fn an_end_that_would_take_too_long_is_refused() {
        let long = "a".repeat(1 << 20);
        let tokenizer = tokenizer(&["aa", "ab", "ac", &long[..300]]);
        let refused = tokenizer.encode_unstable(long.as_bytes(), &AllowedSpecials::none());
        assert_eq!(refused.unwrap_err(), Error::EndTooLong { bytes: 1 << 20 });
    }

    #[test]
    fn an_invalid_tail_joins_the_piece_before_it() {
        let tokenizer = tokenizer(&["lo"]);
        assert_eq!(tokenizer.encode_invalid_utf8_tail(b"lo\xFF lo").unwrap(), [256, 255, 32, 256]);
        assert_eq!(tokenizer.encode_invalid_utf8_tail(b"\xC3").unwrap(), [0xC3]);
        assert!(tokenizer.encode_invalid_utf8_tail(b"").unwrap().is_empty());
        assert_eq!(
            tokenizer.decode(&tokenizer.encode_invalid_utf8_tail(b" \xE4\xB8 a").unwrap()).unwrap(),
            b" \xE4\xB8 a"
        );
    }
}
