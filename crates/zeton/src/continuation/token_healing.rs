//! Token healing: the ids that may come next if a prompt ends inside a token.
//!
//! A model never saw the ids `http` `:` before `//`, because the training text has `http` `://`. So
//! healing removes the ids of a prompt that more text may change. Then it allows only ids that
//! spell the removed text again. For example, by cl100k:
//!
//! ```text
//! prompt      "A link: http:"   ids  32 2723 25 1795 25
//!                                    A  ␣link : ␣http :
//! HealedPrompt   ids   32 2723 25 1795      end at the last safe cut
//!                rest  ":"                  the text to generate again
//!                next  25 `:`, 487 `::`, 512 `:⏎`, 1129 `://`, 1473 `:⏎⏎`, …    324 ids
//! ```
//!
//! Invariant: for every text that starts with the prompt, the next id is one of `next`. This holds
//! if the pattern looks ahead by one character at most, as all published patterns do. Each id of
//! `next` is the next id of some such text.
//!
//! Every token that covers the end of the rest is tried at each position of the rest. For example,
//! the rest ` lo` with the tokens `lo`, `low`, `lowe`, ` l` and ` lo`, in this order of ranks:
//!
//! ```text
//! token at 0    ` lo`      " lo"      encodes as  ` lo`          next id ` lo`
//! token at 1    `low`      " low"     encodes as  ` ` `low`      next id ` `
//! token at 1    `lowe`     " lowe"    encodes as  ` ` `lowe`     next id ` `
//! ```

use std::collections::BTreeSet;
use std::str;

use crate::encode::Tokenizer;
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// Bytes that are encoded to try continuations, at most: 16 MiB, times the number of followers. Not
/// measured; it is some seconds of work.
const ENCODED_BYTES_MAX: usize = 1 << 24;

/// Characters behind a token that make a difference for most patterns. The pattern decides by the
/// next character where the token's piece ends.
const FOLLOWERS: [&str; 7] = ["a", "A", "1", " ", "\n", "!", "中"];

/// Bytes that complete a character whose first bytes end a token.
const CHARACTER_ENDS: [&[u8]; 7] =
    [b"", b"\x80", b"\xBF", b"\x80\x80", b"\xBF\xBF", b"\x80\x80\x80", b"\xBF\xBF\xBF"];

/// A prompt without the ids that more text may change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HealedPrompt {
    /// The ids that no later text can change.
    pub ids: Vec<Id>,
    /// The text behind these ids, which has to be generated again.
    pub rest: Vec<u8>,
    /// The ids that may come next. If the rest is empty, every id may, and the set is empty.
    pub next: BTreeSet<Id>,
}

impl Tokenizer {
    /// Encodes a prompt without the ids that more text may change, and finds the ids that may come
    /// next.
    ///
    /// # Errors
    ///
    /// When the rest is too long to try its continuations; see [`Tokenizer::encode`] for others.
    pub fn heal(&self, text: &[u8], allowed: &AllowedSpecials) -> Result<HealedPrompt, Error> {
        let mut segments = self.segments(text, allowed, true)?;
        let end = segments.by_ref().last().map_or(0, |segment| segment.place().end);
        let mut ids = Vec::new();
        self.encode(&text[..end], allowed, &mut ids)?;
        let rest = text[end..].to_vec();
        let next = self.find_next_ids(&rest, allowed)?;
        Ok(HealedPrompt { ids, rest, next })
    }

    /// Returns the first ids of all texts that start with `rest`. At each position of the rest,
    /// every token or special that covers the end of the rest is tried.
    fn find_next_ids(&self, rest: &[u8], allowed: &AllowedSpecials) -> Result<BTreeSet<Id>, Error> {
        let vocab = self.vocab();
        let tries: usize = (0..rest.len()).map(|at| vocab.starting_with(&rest[at..]).len()).sum();
        if tries.saturating_mul(rest.len()) > ENCODED_BYTES_MAX {
            return Err(Error::EndTooLong { bytes: rest.len() });
        }
        let mut found = BTreeSet::new();
        if rest.is_empty() {
            return Ok(found);
        }
        let followers = self.collect_followers();
        // A rest that is UTF-8 so far is continued by UTF-8 only.
        let is_text =
            str::from_utf8(rest).map_or_else(|error| error.error_len().is_none(), |_| true);
        let (mut ids, mut whole) = (Vec::new(), Vec::new());
        // Adds the first id of the joined parts; returns whether `last` is one of their ids.
        let mut add_first_id = |last: Id, parts: [&[u8]; 4]| -> Result<bool, Error> {
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
            let (before, prefix) = rest.split_at(at);
            for name in allowed.starting_with(prefix) {
                add_first_id(Id::MAX, [before, name.as_bytes(), b"", b""])?;
            }
            for (last, token) in vocab.starting_with(prefix) {
                let ends = CHARACTER_ENDS.iter().map(|end| (*end, &b""[..]));
                let followers = followers.iter().map(|follower| (&b""[..], &follower[..]));
                for (end, follower) in ends.chain(followers) {
                    // One text in which the token keeps its place is enough.
                    if add_first_id(last, [before, token, end, follower])? {
                        break;
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns the characters to try behind a token: [`FOLLOWERS`], and one of each class of the
    /// pattern.
    fn collect_followers(&self) -> Vec<Vec<u8>> {
        let examples = self.splitter().examples();
        let common = FOLLOWERS.iter().map(|follower| follower.as_bytes().to_vec());
        common.chain(examples.into_iter().map(|c| c.to_string().into_bytes())).collect()
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
        Tokenizer::try_from_vocab(vocab_of(tokens), Splitter::parse(NANOCHAT).unwrap(), Vec::new())
            .unwrap()
    }

    #[test]
    fn an_incomplete_word_may_become_longer_tokens() {
        let tokenizer = tokenizer();
        let HealedPrompt { ids, rest, next } =
            tokenizer.heal(b"a lo", &AllowedSpecials::none()).unwrap();
        assert_eq!((&ids[..], &rest[..]), (&[97][..], &b" lo"[..]));
        let spelled: Vec<_> = next.iter().map(|&id| tokenizer.token(id).unwrap()).collect();
        // The blank is the first id of " lower". No text has " l" first, because "lo" merges first.
        assert_eq!(spelled, [&b" "[..], b" lo"]);
        assert!(tokenizer.heal(b"", &AllowedSpecials::none()).unwrap().rest.is_empty());
    }

    #[test]
    fn every_continuation_begins_with_one_of_the_next_ids() {
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
