//! A prompt that breaks off inside a token: which ids may come next, once its text goes on.

use std::collections::BTreeSet;
use std::str;

use crate::encode::Tokenizer;
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// Bytes that are encoded at most to try what may follow: some seconds of work.
const TRIED_BYTES_MAX: usize = 1 << 24;

/// What may stand behind a token with any pattern: it decides how the last piece ends.
const AFTER: [&str; 7] = ["a", "A", "1", " ", "\n", "!", "中"];

/// How a character that a token has begun may end.
const CHARACTER_ENDS: [&[u8]; 7] =
    [b"", b"\x80", b"\xBF", b"\x80\x80", b"\xBF\xBF", b"\x80\x80\x80", b"\xBF\xBF\xBF"];

/// A text that is to go on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Healed {
    /// The ids that stay, whatever follows.
    pub ids: Vec<Id>,
    /// The text after them, which is to be said again.
    pub rest: Vec<u8>,
    /// The ids that may come next, if any text follows; with no rest, any may.
    pub next: BTreeSet<Id>,
}

impl Tokenizer {
    /// Takes back what more text may change, and returns what may stand there.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`], and when the rest is so long that trying takes too long.
    pub fn heal(&self, text: &[u8], allowed: &AllowedSpecials) -> Result<Healed, Error> {
        let mut segments = self.segments(text, allowed, true)?;
        let end = segments.by_ref().last().map_or(0, |segment| segment.place().end);
        let mut ids = Vec::new();
        self.encode(&text[..end], allowed, &mut ids)?;
        let rest = text[end..].to_vec();
        let next = self.first_ids(&rest, allowed)?;
        Ok(Healed { ids, rest, next })
    }

    /// Returns the first ids of all texts that begin with `rest`: a token across its end, or a special, is
    /// put at each of its places.
    fn first_ids(&self, rest: &[u8], allowed: &AllowedSpecials) -> Result<BTreeSet<Id>, Error> {
        let vocab = self.vocab();
        let tries: usize = (0..rest.len()).map(|at| vocab.starting_with(&rest[at..]).len()).sum();
        if tries.saturating_mul(rest.len()) > TRIED_BYTES_MAX {
            return Err(Error::EndTooLong { bytes: rest.len() });
        }
        let mut found = BTreeSet::new();
        if rest.is_empty() {
            return Ok(found);
        }
        let after = self.after();
        // Only what has begun as text has to go on as such.
        let is_text =
            str::from_utf8(rest).map_or_else(|error| error.error_len().is_none(), |_| true);
        let (mut ids, mut whole) = (Vec::new(), Vec::new());
        // Notes the first id, and returns whether the last token is there.
        let mut first = |last: Id, parts: [&[u8]; 4]| -> Result<bool, Error> {
            whole.clear();
            parts.iter().for_each(|part| whole.extend_from_slice(part));
            if is_text && str::from_utf8(&whole).is_err() {
                return Ok(false);
            }
            ids.clear();
            self.encode(&whole, allowed, &mut ids)?;
            found.insert(ids[0]);
            Ok(ids.contains(&last))
        };
        for at in 0..rest.len() {
            let (before, begun) = rest.split_at(at);
            for name in allowed.starting_with(begun) {
                first(Id::MAX, [before, name.as_bytes(), b"", b""])?;
            }
            for (last, token) in vocab.starting_with(begun) {
                let ends = CHARACTER_ENDS.iter().map(|end| (*end, &b""[..]));
                for (end, after) in ends.chain(after.iter().map(|after| (&b""[..], &after[..]))) {
                    if first(last, [before, token, end, after])? {
                        break;
                    }
                }
            }
        }
        Ok(found)
    }

    /// What may stand behind a token: a character of each class that the pattern tells apart.
    fn after(&self) -> Vec<Vec<u8>> {
        let examples = self.splitter().examples();
        let known = AFTER.iter().map(|after| after.as_bytes().to_vec());
        known.chain(examples.into_iter().map(|c| c.to_string().into_bytes())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Splitter;
    use crate::pattern::NANOCHAT;
    use crate::testing::{PARTS, Random, vocab_of};

    fn tokenizer() -> Tokenizer {
        let tokens = ["lo", "low", "lowe", " l", " lo", "  ", "\n\n", "中文", "'s", "wer"];
        Tokenizer::new(vocab_of(tokens), Splitter::new(NANOCHAT).unwrap(), Vec::new()).unwrap()
    }

    #[test]
    fn a_word_that_breaks_off_may_become_longer_tokens() {
        let tokenizer = tokenizer();
        let Healed { ids, rest, next } = tokenizer.heal(b"a lo", &AllowedSpecials::none()).unwrap();
        assert_eq!((&ids[..], &rest[..]), (&[97][..], &b" lo"[..]));
        let spelled: Vec<_> = next.iter().map(|&id| tokenizer.token(id).unwrap()).collect();
        // Before "lower" stands a blank; " l" is not there, as "lo" is joined first.
        assert_eq!(spelled, [&b" "[..], b" lo"]);
        assert!(tokenizer.heal(b"", &AllowedSpecials::none()).unwrap().rest.is_empty());
    }

    #[test]
    fn whatever_follows_begins_with_one_of_the_ids() {
        let (tokenizer, none) = (tokenizer(), AllowedSpecials::none());
        let mut random = Random(31);
        for _ in 0..2000 {
            let mut text = |count: usize| -> String {
                (0..count).map(|_| PARTS[random.below(PARTS.len())]).collect()
            };
            let (before, after) = (text(3), text(2));
            let healed = tokenizer.heal(before.as_bytes(), &none).unwrap();
            let mut ids = Vec::new();
            tokenizer.encode((before.clone() + &after).as_bytes(), &none, &mut ids).unwrap();
            assert!(ids.starts_with(&healed.ids), "{before:?} {after:?}");
            if let Some(next) = ids.get(healed.ids.len()).filter(|_| !healed.rest.is_empty()) {
                assert!(healed.next.contains(next), "{before:?} {after:?} {next}");
            }
        }
    }
}
