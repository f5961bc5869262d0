//! The streaming encoder: text arrives in parts, and ids leave once no later text can change them.
//!
//! The ids before the last safe cut of the buffered text are final, because the pattern cuts there
//! in any context. For example, with cl100k and all specials allowed:
//!
//! ```text
//! push               buffered text          ids emitted     pending
//! "end.<|endo"       end|.<|endo            408             .<|endo
//! "ftext|>x"         .<|endoftext|>|x       13 100257       x
//! finish             x                      87
//! ```
//!
//! The bar is the cut. The first push keeps `<|endo`, which may become a special, and the `.`
//! before it, which may be the start of a longer piece.
//!
//! Each byte is searched for specials and safe cuts about once, however long a text has no cut,
//! because the encoder keeps both positions:
//!
//! ```text
//! buffer   | no safe cut in here      | not searched for one | an incomplete special |
//!          0                  no_cut_before        searched_specials              len
//! ```
//!
//! The bridge's `Encoder` and [`Tokenizer::encode_units`] are the callers. Few patterns bound the
//! pending text; a word of cl100k, for instance, may have any length.

use std::mem::take;

use crate::encode::{Tokenizer, refuse_too_long};
use crate::sys::error::Error;
use crate::sys::unicode::{CHARACTER_BYTES_MAX, CodeUnit, transcode_into};
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// An encoder for a text that arrives in parts. Its ids, joined, are the ids of the whole text.
#[derive(Clone, Debug)]
pub struct Encoder {
    allowed: AllowedSpecials,
    /// The text whose ids are not emitted yet.
    pending: Vec<u8>,
    /// No special begins before this position of `pending`.
    searched_specials: usize,
    /// No safe cut lies before this position of `pending`.
    no_cut_before: usize,
}

impl Encoder {
    /// Makes an encoder at the start of a text, which finds the `allowed` specials in it.
    #[must_use]
    pub fn new(allowed: AllowedSpecials) -> Self {
        Self { allowed, pending: Vec::new(), searched_specials: 0, no_cut_before: 0 }
    }

    /// Takes more text and appends the ids that are now final. The text may begin and end inside a
    /// character. Many megabytes at once are encoded on `threads` threads.
    ///
    /// # Errors
    ///
    /// See [`Tokenizer::encode`]; an error drops the pending text.
    pub fn push(
        &mut self,
        tokenizer: &Tokenizer,
        text: &[u8],
        threads: usize,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        self.pending.extend_from_slice(text);
        self.emit_final(tokenizer, threads, ids)
    }

    /// Appends the ids of the pending text that are now final to `ids`, and removes that text.
    /// After an error the pending text is lost, and the next push begins a new one.
    fn emit_final(
        &mut self,
        tokenizer: &Tokenizer,
        threads: usize,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        // After an error, the next push begins a new text.
        let (mut pending, searched_specials, no_cut_before) = (
            take(&mut self.pending),
            take(&mut self.searched_specials),
            take(&mut self.no_cut_before),
        );
        refuse_too_long(&pending)?;
        let specials_end = self.allowed.find_incomplete_end(&pending);
        let (mut scratch, mut at) = (tokenizer.borrow_scratch(), 0);
        while let Some((range, id)) =
            self.allowed.find_starting_before(&pending, searched_specials.max(at), specials_end)
        {
            tokenizer.encode_ordinary(&pending[at..range.start], &mut scratch, ids)?;
            ids.push(id);
            at = range.end;
        }
        let from = at.max(no_cut_before);
        if from < specials_end
            && let Some(cut) = tokenizer.splitter().last_safe_cut(&pending[from..specials_end])
        {
            let text = &pending[at..from + cut];
            match threads {
                0..2 => tokenizer.encode_ordinary(text, &mut scratch, ids)?,
                _ => ids.extend(tokenizer.encode_parallel(
                    text,
                    &AllowedSpecials::none(),
                    threads,
                )?),
            }
            at = from + cut;
        }
        self.searched_specials = specials_end.saturating_sub(at);
        // A safe cut lies between two characters, and the last one may be incomplete. So the next
        // search starts one character earlier.
        self.no_cut_before = self.searched_specials.saturating_sub(CHARACTER_BYTES_MAX);
        pending.drain(..at);
        self.pending = pending;
        Ok(())
    }

    /// Ends the text and appends the ids of the pending text. The next push begins another text.
    ///
    /// # Errors
    ///
    /// See [`Tokenizer::encode`].
    pub fn finish(&mut self, tokenizer: &Tokenizer, ids: &mut Vec<Id>) -> Result<(), Error> {
        (self.searched_specials, self.no_cut_before) = (0, 0);
        tokenizer.encode(&take(&mut self.pending), &self.allowed, ids)
    }

    /// Returns the bytes of the text whose ids are not emitted yet, borrowed.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }
}

/// Code points that are transcoded and then encoded together, so that their UTF-8 stays in the
/// CPU's cache. Warm multilingual text: 132 → 150–160 MB/s (`docs/notes/python-boundary.md`).
const UNITS_AT_ONCE: usize = 1 << 16;

impl Tokenizer {
    /// Appends the ids of a text of code points of one width, without its whole UTF-8 in memory.
    ///
    /// Returns false if a code point is a surrogate or above U+10FFFF; some ids may be appended by
    /// then.
    ///
    /// # Errors
    ///
    /// See [`Tokenizer::encode`].
    pub fn encode_units<U: CodeUnit>(
        &self,
        units: &[U],
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> Result<bool, Error> {
        let mut encoder = Encoder::new(allowed.clone());
        for part in units.chunks(UNITS_AT_ONCE) {
            if transcode_into(part, &mut encoder.pending).is_none() {
                return Ok(false);
            }
            encoder.emit_final(self, 1, ids)?;
        }
        encoder.finish(self, ids)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Splitter;
    use crate::testing::{OUTSIDE, PARTS, Random, family, vocab_of};

    #[test]
    fn units_have_the_ids_of_the_whole_text() {
        let mut random = Random(22);
        let vocab = || vocab_of(["lo", "low", " l", "  ", "\n\n", "ing", "中文"]);
        for pattern in family().into_iter().take(3).chain([OUTSIDE[0].to_owned()]) {
            let specials = vec![(901, "<|a|>".to_owned())];
            let splitter = Splitter::parse(&pattern).unwrap();
            let tokenizer = Tokenizer::try_from_vocab(vocab(), splitter, specials).unwrap();
            for (allowed, units) in [
                (AllowedSpecials::none(), UNITS_AT_ONCE - 1),
                (tokenizer.specials().allow_all(), UNITS_AT_ONCE),
                (AllowedSpecials::none(), 2 * UNITS_AT_ONCE + random.below(UNITS_AT_ONCE)),
            ] {
                let mut text = String::new();
                while text.chars().count() < units {
                    (0..1000).for_each(|_| text.push_str(PARTS[random.below(PARTS.len())]));
                    text.push_str("<|a|>");
                }
                let points: Vec<u32> = text.chars().take(units).map(u32::from).collect();
                let text: String = text.chars().take(units).collect();
                let (mut expected, mut ids) = (Vec::new(), Vec::new());
                tokenizer.encode(text.as_bytes(), &allowed, &mut expected).unwrap();
                assert!(tokenizer.encode_units(&points, &allowed, &mut ids).unwrap());
                assert_eq!(ids, expected, "{pattern}");
                let strange = [&points[..], &[0xD800]].concat();
                assert!(!tokenizer.encode_units(&strange, &allowed, &mut ids).unwrap());
            }
        }
    }

    #[test]
    fn bit_by_bit_gives_the_ids_of_the_whole() {
        let mut random = Random(21);
        let outside = OUTSIDE.iter().map(|&pattern| pattern.to_owned());
        for pattern in family().into_iter().chain(outside) {
            let specials = [(900, "<|a"), (901, "<|a|>"), (902, "ab"), (903, "中")];
            let specials = specials.map(|(id, name)| (id, name.to_owned())).to_vec();
            let vocab = vocab_of(["lo", "low", " l", "  ", "\n\n", "ing"]);
            let splitter = Splitter::parse(&pattern).unwrap();
            let tokenizer = Tokenizer::try_from_vocab(vocab, splitter, specials).unwrap();
            let (none, all) = (AllowedSpecials::none(), tokenizer.specials().allow_all());
            for round in 0..60 {
                let parts = (0..random.below(40)).map(|_| match random.below(12) {
                    0 => "<|a|>",
                    1 => "<|",
                    _ => PARTS[random.below(PARTS.len())],
                });
                let text = parts.collect::<String>().into_bytes();
                let allowed = if round % 2 == 0 { &none } else { &all };
                let mut expected = Vec::new();
                tokenizer.encode(&text, allowed, &mut expected).unwrap();
                let mut encoder = Encoder::new(allowed.clone());
                let (mut ids, mut rest) = (Vec::new(), &text[..]);
                while !rest.is_empty() {
                    let bytes = rest.len().min(1 + random.below(9));
                    encoder.push(&tokenizer, &rest[..bytes], 1, &mut ids).unwrap();
                    rest = &rest[bytes..];
                    assert!(expected.starts_with(&ids), "{pattern} on {text:?}");
                }
                encoder.finish(&tokenizer, &mut ids).unwrap();
                assert_eq!(ids, expected, "{pattern} on {:?}", String::from_utf8_lossy(&text));
                assert!(encoder.pending().is_empty());
            }
        }
    }

    #[test]
    fn a_word_is_known_when_the_next_begins() {
        let splitter = Splitter::parse(crate::pattern::NANOCHAT).unwrap();
        let tokenizer =
            Tokenizer::try_from_vocab(vocab_of(["lo", "low"]), splitter, Vec::new()).unwrap();
        let (mut encoder, mut ids) = (Encoder::new(AllowedSpecials::none()), Vec::new());
        encoder.push(&tokenizer, b"lo", 1, &mut ids).unwrap();
        assert_eq!((&ids[..], encoder.pending()), (&[][..], &b"lo"[..]));
        encoder.push(&tokenizer, b"w l", 1, &mut ids).unwrap();
        assert_eq!((&ids[..], encoder.pending()), (&[257][..], &b" l"[..]));
    }
}
