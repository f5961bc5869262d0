//! Text whose end is not settled: more of it may follow, or it breaks off inside a character.
//!
//! These are tiktoken's `encode_with_unstable` and `_encode_bytes`, rule by rule. Both guess at what
//! would follow, so no rule is more right than another; programs rely on getting these ids.

use std::collections::BTreeSet;
use std::str;

use crate::encode::{Tokenizer, refuse_too_long};
use crate::merge::{MergeBuffers, merge_bytes};
use crate::piece_cache::Scratch;
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// Bytes that are encoded at most to try completions: some seconds of work.
const TRIED_BYTES_MAX: usize = 1 << 28;

/// A text of which the last piece may still change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unsettled {
    /// The ids that stay, whatever follows.
    pub stable: Vec<Id>,
    /// What the rest may become: each begins with the rest of the text.
    pub completions: BTreeSet<Vec<Id>>,
}

impl Tokenizer {
    /// Encodes a text that may go on: what is stable, and all that its end may become.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`], and when the last piece is so long that trying takes too long.
    pub fn encode_unsettled(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
    ) -> Result<Unsettled, Error> {
        let mut stable = Vec::new();
        let last_ids = self.encode_noting_last(text, allowed, &mut stable)?;
        let end = self.take_end(&mut stable, last_ids);
        Ok(Unsettled { stable, completions: self.completions(&end)? })
    }

    /// Encodes bytes that are text up to a place where they are not UTF-8: there, all that is left
    /// is one piece, together with the last piece before it.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn encode_broken(&self, bytes: &[u8]) -> Result<Vec<Id>, Error> {
        let valid = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let (text, broken) = bytes.split_at(valid);
        let mut ids = Vec::new();
        let last_ids = self.encode_noting_last(text, &AllowedSpecials::none(), &mut ids)?;
        if !broken.is_empty() {
            let mut end = self.take_end(&mut ids, last_ids);
            end.extend_from_slice(broken);
            Scratch::default().merge(self.model(), &end, &mut ids);
        }
        Ok(ids)
    }

    /// Appends the ids of a text, and returns how many the last piece has: none after a special.
    fn encode_noting_last(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> Result<usize, Error> {
        refuse_too_long(text)?;
        let (mut scratch, mut start, mut last_ids) = (Scratch::default(), 0, 0);
        loop {
            let special = allowed.find(text, start);
            let end = special.as_ref().map_or(text.len(), |(place, _)| place.start);
            self.splitter().split(&text[start..end], |piece| {
                let before = ids.len();
                scratch.merge(self.model(), piece, ids);
                last_ids = ids.len() - before;
            })?;
            let Some((place, id)) = special else { return Ok(last_ids) };
            ids.push(id);
            (start, last_ids) = (place.end, 0);
        }
    }

    /// Takes the ids of the last piece off, and all white space before it if it begins with such:
    /// more text may join what a pattern has split there. Returns their bytes.
    fn take_end(&self, ids: &mut Vec<Id>, last_ids: usize) -> Vec<u8> {
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

    /// Returns all that an end may become: a token across it is put at each of its places.
    fn completions(&self, end: &[u8]) -> Result<BTreeSet<Vec<Id>>, Error> {
        if end.is_empty() {
            return Ok(BTreeSet::new());
        }
        let vocab = self.vocab();
        let mut found: BTreeSet<Vec<Id>> =
            vocab.starting_with(end).map(|(id, _)| vec![id]).collect();
        let tries: usize = (1..end.len()).map(|at| vocab.starting_with(&end[at..]).len()).sum();
        if tries.saturating_mul(end.len()) > TRIED_BYTES_MAX {
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
        found.extend(self.end_with_last_blank_apart(end));
        Ok(found)
    }

    /// White space at the end may be split off by what follows: a word takes the last of it.
    fn end_with_last_blank_apart(&self, end: &[u8]) -> Option<Vec<Id>> {
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
        let splitter = Splitter::new(NANOCHAT).unwrap();
        let end = vec![(900, "<|end|>".to_owned())];
        Tokenizer::new(vocab_of(tokens.iter().copied()), splitter, end).unwrap()
    }

    #[test]
    fn the_last_piece_may_become_a_longer_token() {
        let tokenizer = tokenizer(&["lo", "low", "lowe"]);
        let Unsettled { stable, completions } =
            tokenizer.encode_unsettled(b"a lo", &AllowedSpecials::none()).unwrap();
        assert_eq!(stable, [97]);
        assert!(
            completions.iter().all(|ids| { tokenizer.decode(ids).unwrap().starts_with(b" lo") })
        );
        assert!(completions.contains([32, 258].as_slice()));
    }

    #[test]
    fn nothing_is_open_after_a_special_or_no_text() {
        let tokenizer = tokenizer(&[]);
        let all = tokenizer.specials().allow_all();
        let settled = tokenizer.encode_unsettled(b"a<|end|>", &all).unwrap();
        assert_eq!(settled, Unsettled { stable: vec![97, 900], completions: BTreeSet::new() });
        assert!(tokenizer.encode_unsettled(b"", &all).unwrap().completions.is_empty());
    }

    #[test]
    fn an_end_that_would_take_too_long_is_refused() {
        let long = "a".repeat(1 << 20);
        let tokenizer = tokenizer(&["aa", "ab", "ac", &long[..300]]);
        let refused = tokenizer.encode_unsettled(long.as_bytes(), &AllowedSpecials::none());
        assert_eq!(refused.unwrap_err(), Error::EndTooLong { bytes: 1 << 20 });
    }

    #[test]
    fn broken_bytes_are_one_piece_with_what_is_before() {
        let tokenizer = tokenizer(&["lo"]);
        assert_eq!(tokenizer.encode_broken(b"lo\xFF lo").unwrap(), [256, 255, 32, 256]);
        assert_eq!(tokenizer.encode_broken(b"\xC3").unwrap(), [0xC3]);
        assert!(tokenizer.encode_broken(b"").unwrap().is_empty());
        assert_eq!(
            tokenizer.decode(&tokenizer.encode_broken(b" \xE4\xB8 a").unwrap()).unwrap(),
            b" \xE4\xB8 a"
        );
    }
}
