//! Text comes bit by bit; ids leave as soon as no later text can change them.

use std::mem::take;

use crate::encode::{Tokenizer, refuse_too_long};
use crate::sys::error::Error;
use crate::sys::unicode::{CHARACTER_BYTES_MAX, CodeUnit, transcode_into};
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// A text that is not all there yet. All ids that it hands out are those of the whole.
#[derive(Clone, Debug)]
pub struct Encoder {
    allowed: AllowedSpecials,
    /// Text whose ids may still change.
    held: Vec<u8>,
    /// No special begins before.
    searched: usize,
    /// The pattern does not cut before.
    uncut: usize,
}

impl Encoder {
    /// Begins a text in which these specials may be found.
    #[must_use]
    pub fn new(allowed: AllowedSpecials) -> Self {
        Self { allowed, held: Vec::new(), searched: 0, uncut: 0 }
    }

    /// Takes more text, which may begin and end inside a character, and appends the ids that are known.
    ///
    /// Many megabytes at once are encoded on so many threads. Nothing that was looked at is looked at again, however long the text goes without a cut.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`]; what has come so far is then lost.
    pub fn push(
        &mut self,
        tokenizer: &Tokenizer,
        text: &[u8],
        threads: usize,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        self.held.extend_from_slice(text);
        self.settle(tokenizer, threads, ids)
    }

    /// Appends the ids of what is held that are known.
    fn settle(
        &mut self,
        tokenizer: &Tokenizer,
        threads: usize,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        // Whatever is refused, the next text begins anew.
        let (mut held, searched, uncut) =
            (take(&mut self.held), take(&mut self.searched), take(&mut self.uncut));
        refuse_too_long(&held)?;
        let settled = self.allowed.find_incomplete_end(&held);
        let (mut scratch, mut at) = (tokenizer.borrow_scratch(), 0);
        while let Some((place, id)) =
            self.allowed.find_starting_before(&held, searched.max(at), settled)
        {
            tokenizer.encode_ordinary(&held[at..place.start], &mut scratch, ids)?;
            ids.push(id);
            at = place.end;
        }
        let from = at.max(uncut);
        if from < settled
            && let Some(cut) = tokenizer.splitter().last_safe_cut(&held[from..settled])
        {
            let known = &held[at..from + cut];
            match threads {
                0..2 => tokenizer.encode_ordinary(known, &mut scratch, ids)?,
                _ => ids.extend(tokenizer.encode_parallel(
                    known,
                    &AllowedSpecials::none(),
                    threads,
                )?),
            }
            at = from + cut;
        }
        self.searched = settled.saturating_sub(at);
        self.uncut = self.searched.saturating_sub(CHARACTER_BYTES_MAX);
        held.drain(..at);
        self.held = held;
        Ok(())
    }

    /// BoundarySink the text, appends the ids of what was held back, and begins another.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn finish(&mut self, tokenizer: &Tokenizer, ids: &mut Vec<Id>) -> Result<(), Error> {
        (self.searched, self.uncut) = (0, 0);
        tokenizer.encode(&take(&mut self.held), &self.allowed, ids)
    }

    /// Returns the text that is held back.
    #[must_use]
    pub fn held(&self) -> &[u8] {
        &self.held
    }
}

/// Code points that are transcoded before they are encoded: both stay in the caches of a core.
const UNITS: usize = 1 << 16;

impl Tokenizer {
    /// Appends the ids of a text of code points of one width, some of them at a time: its UTF-8 is never
    /// there as a whole. Returns false, with some ids appended, if one of them is a surrogate or above
    /// U+10FFFF.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn encode_units<U: CodeUnit>(
        &self,
        units: &[U],
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> Result<bool, Error> {
        let mut encoder = Encoder::new(allowed.clone());
        for some in units.chunks(UNITS) {
            if transcode_into(some, &mut encoder.held).is_none() {
                return Ok(false);
            }
            encoder.settle(self, 1, ids)?;
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
            let splitter = Splitter::new(&pattern).unwrap();
            let tokenizer = Tokenizer::new(vocab(), splitter, specials).unwrap();
            for (allowed, units) in [
                (AllowedSpecials::none(), UNITS - 1),
                (tokenizer.specials().allow_all(), UNITS),
                (AllowedSpecials::none(), 2 * UNITS + random.below(UNITS)),
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
            let splitter = Splitter::new(&pattern).unwrap();
            let tokenizer = Tokenizer::new(vocab, splitter, specials).unwrap();
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
                assert!(encoder.held().is_empty());
            }
        }
    }

    #[test]
    fn a_word_is_known_when_the_next_begins() {
        let splitter = Splitter::new(crate::pattern::NANOCHAT).unwrap();
        let tokenizer = Tokenizer::new(vocab_of(["lo", "low"]), splitter, Vec::new()).unwrap();
        let (mut encoder, mut ids) = (Encoder::new(AllowedSpecials::none()), Vec::new());
        encoder.push(&tokenizer, b"lo", 1, &mut ids).unwrap();
        assert_eq!((&ids[..], encoder.held()), (&[][..], &b"lo"[..]));
        encoder.push(&tokenizer, b"w l", 1, &mut ids).unwrap();
        assert_eq!((&ids[..], encoder.held()), (&[257][..], &b" l"[..]));
    }
}
