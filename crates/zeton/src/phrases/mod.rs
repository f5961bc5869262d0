//! Phrases in the ids of texts, found without decoding them.
//!
//! Wherever a phrase is, one id stands for its byte number k, and few tokens can: those that spell a
//! stretch of the phrase around k, or cross its ends. For each phrase the k is taken whose tokens
//! should be the rarest. Then one bit an id tells what to look at, and what was found is verified
//! by the bytes of its neighbours. So a phrase is found however it is spelled, whatever was merged across
//! its ends and also in ids that no encoding would give; [`Spellings`] are those that one gives.

mod spellings;

pub use spellings::{SEQUENCES_MAX, Spellings};

use std::collections::HashMap;
use std::ops::Range;

use crate::encode::Tokenizer;
use crate::sys::error::Error;
use crate::vocab::{Id, Vocab};

/// Bytes of a phrase that its k is looked for in, at most: near its middle.
const LOOKED_AT_MAX: usize = 64;

/// Entries of all phrases together, at most: 8 bytes each.
const ENTRIES_MAX: usize = 1 << 26;

/// The bits of an id that tell whether to look at it: a table of 2 MiB at most.
const LOW_BITS: Id = (1 << 24) - 1;

/// Ids that are looked at together.
const TOGETHER: usize = 16;

/// A number that may be an id.
pub trait Number: Copy {
    /// Returns the id; a number that is none is one that no token has.
    fn id(self) -> Id;
}

impl Number for u16 {
    #[inline]
    fn id(self) -> Id {
        Id::from(self)
    }
}

impl Number for u32 {
    #[inline]
    fn id(self) -> Id {
        self
    }
}

impl Number for i32 {
    #[inline]
    fn id(self) -> Id {
        self as Id
    }
}

/// Where a phrase is among ids.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Occurrence {
    /// The number of the first id that has some of it.
    pub first: usize,
    /// The bytes of that id's token before it.
    pub offset: usize,
    /// The number after the last id that has some of it.
    pub end: usize,
    /// Which phrase it is.
    pub phrase: usize,
}

/// What an id may be of a phrase.
#[derive(Clone, Copy, Debug)]
struct Entry {
    phrase: u32,
    /// The bytes from where the token begins to where the phrase does.
    start: i32,
}

/// Phrases that are to be found in the ids of one tokenizer.
#[derive(Clone, Debug)]
pub struct Phrases {
    phrases: Vec<Vec<u8>>,
    /// A bit for each id that has entries, and for those that are like it in their low bits.
    bits: Vec<u64>,
    /// By the index of a token; those of one are from its place to that of the next.
    entries: Vec<Entry>,
    places: Vec<u32>,
}

impl Phrases {
    /// Returns how many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.phrases.len()
    }

    /// Returns what a token may be.
    fn of(&self, index: usize) -> &[Entry] {
        &self.entries[self.places[index] as usize..self.places[index + 1] as usize]
    }
}

impl Tokenizer {
    /// Makes phrases ready to be found; a `sample` of the ids makes it faster, and changes nothing else.
    ///
    /// # Errors
    ///
    /// When a phrase is empty or has 2 GiB or more, or all are too many or too short to be kept.
    pub fn phrases(&self, phrases: Vec<Vec<u8>>, sample: &[Id]) -> Result<Phrases, Error> {
        let vocab = self.vocab();
        let ids = vocab.id_max().min(LOW_BITS) as usize + 1;
        let mut bits = vec![0; ids.div_ceil(u64::BITS as usize)];
        let mut all: Vec<(usize, Entry)> = Vec::new();
        let weights = Weights::of(vocab, sample);
        let longest = weights.longest;
        let mut add = |phrase: usize, id: Id, start: i32| {
            let index = vocab.index_of(id).expect("all ids are the vocabulary's");
            bits[(id & LOW_BITS) as usize / 64] |= 1 << (id % 64);
            all.push((index, Entry { phrase: phrase as u32, start }));
            if all.len() > ENTRIES_MAX { Err(Error::PhrasesTooMany) } else { Ok(()) }
        };
        for (number, phrase) in phrases.iter().enumerate() {
            if phrase.is_empty() {
                return Err(Error::EmptyNeedle);
            }
            if phrase.len() > i32::MAX as usize {
                return Err(Error::TextTooLong { bytes: phrase.len() });
            }
            let k = weights.rarest(phrase);
            let mut refused = Ok(());
            each_over(vocab, phrase, k, longest, |id, start| {
                refused = refused.clone().and_then(|()| add(number, id, start));
            });
            refused?;
        }
        each_around(vocab, &phrases, longest, add)?;
        all.sort_by_key(|(index, _)| *index);
        let (mut places, mut place) = (Vec::with_capacity(vocab.iter().len() + 1), 0);
        for index in 0..=vocab.iter().len() {
            place += all[place..].iter().take_while(|(other, _)| *other < index).count();
            places.push(place as u32);
        }
        let entries = all.into_iter().map(|(_, entry)| entry).collect();
        Ok(Phrases { phrases, bits, entries, places })
    }

    /// Calls `each` with every occurrence of phrases in ids; which of them are asked for says the `range` in
    /// which one of their ids lies, so that ranges which together are all have all, each once.
    ///
    /// Those of one phrase come from left to right, overlapping ones too. A special, and a number that
    /// is no id, stand for no text.
    pub fn find_phrases<N: Number>(
        &self,
        phrases: &Phrases,
        ids: &[N],
        range: Range<usize>,
        mut each: impl FnMut(Occurrence),
    ) {
        let is_marked = |id: Id| {
            let word = phrases.bits.get((id & LOW_BITS) as usize / 64).copied().unwrap_or(0);
            word >> (id % 64) & 1
        };
        let mut start = range.start;
        for chunk in ids[range].chunks(TOGETHER) {
            let mut marked = 0_u64;
            for (number, id) in chunk.iter().enumerate() {
                marked |= is_marked(id.id()) << number;
            }
            while marked != 0 {
                let at = start + marked.trailing_zeros() as usize;
                marked &= marked - 1;
                let Some(index) = self.vocab().index_of(ids[at].id()) else { continue };
                for entry in phrases.of(index) {
                    let found =
                        self.verify(&phrases.phrases[entry.phrase as usize], ids, at, entry);
                    found.into_iter().for_each(&mut each);
                }
            }
            start += chunk.len();
        }
    }

    /// Returns where the phrase is, if the neighbours of an id spell the rest of it.
    fn verify<N: Number>(
        &self,
        phrase: &[u8],
        ids: &[N],
        at: usize,
        entry: &Entry,
    ) -> Option<Occurrence> {
        let token = |number: usize| self.vocab().token(ids.get(number)?.id());
        let (mut first, mut offset) = (at, entry.start.max(0) as usize);
        let mut before = &phrase[..(-entry.start).max(0) as usize];
        while !before.is_empty() {
            first = first.checked_sub(1)?;
            let left = token(first)?;
            let shared = left.len().min(before.len());
            before = before.strip_suffix(&left[left.len() - shared..])?;
            offset = left.len() - shared;
        }
        let own = i64::from(entry.start) + phrase.len() as i64 - token(at)?.len() as i64;
        let mut after = &phrase[phrase.len() - own.max(0) as usize..];
        let mut end = at + 1;
        while !after.is_empty() {
            let right = token(end)?;
            after = after.strip_prefix(&right[..right.len().min(after.len())])?;
            end += 1;
        }
        Some(Occurrence { first, offset, end, phrase: entry.phrase as usize })
    }
}

/// How often tokens are met, as far as a sample of ids tells.
struct Weights<'v> {
    vocab: &'v Vocab,
    longest: usize,
    /// By index.
    weights: Vec<f64>,
    /// The sums of those before, in the order of their bytes, and of their bytes read from the end.
    by_start: Vec<f64>,
    by_end: Vec<f64>,
}

impl<'v> Weights<'v> {
    fn of(vocab: &'v Vocab, sample: &[Id]) -> Self {
        // What the sample does not have is met less often than what it has once. Without one, low ids
        // are met more often, about as the inverse of the number.
        let longest = vocab.iter().map(|(_, token)| token.len()).max().unwrap_or(0);
        let mut weights: Vec<f64> =
            (0..vocab.iter().len()).map(|index| 1.0 / (index + 300) as f64).collect();
        for index in sample.iter().filter_map(|&id| vocab.index_of(id)) {
            weights[index] += 1.0;
        }
        let sums = |order: &[u32]| {
            let sum = |sum: &mut f64, &index: &u32| {
                *sum += weights[index as usize];
                Some(*sum)
            };
            [0.0].into_iter().chain(order.iter().scan(0.0, sum)).collect()
        };
        let (by_start, by_end) =
            (sums(vocab.indices_by_bytes()), sums(vocab.indices_by_reversed_bytes()));
        Self { vocab, longest, weights, by_start, by_end }
    }

    /// Returns the byte of a phrase that should be the rarest to be met, by the tokens that can stand
    /// for it.
    fn rarest(&self, phrase: &[u8]) -> usize {
        let Self { vocab, longest, .. } = *self;
        let first = phrase.len().saturating_sub(LOOKED_AT_MAX) / 2;
        let last = phrase.len().min(first + LOOKED_AT_MAX);
        // What each byte adds to the sum of the byte before.
        let mut steps = vec![0.0; phrase.len() + 1];
        for at in first.saturating_sub(longest)..last {
            vocab.for_each_prefix(&phrase[at..], |id, length| {
                let weight = vocab.index_of(id).map_or(0.0, |index| self.weights[index]);
                steps[at] += weight;
                steps[at + length] -= weight;
            });
            if phrase.len() - at < longest {
                let across = vocab.range_starting_with(&phrase[at..]);
                steps[at] += self.by_start[across.end] - self.by_start[across.start];
            }
            if at + 1 < longest {
                let across = vocab.range_ending_with(&phrase[..=at]);
                let weight = self.by_end[across.end] - self.by_end[across.start];
                steps[0] += weight;
                steps[at + 1] -= weight;
            }
        }
        let (mut sum, mut best) = (0.0, (f64::INFINITY, first));
        for (at, step) in steps.iter().enumerate().take(last) {
            sum += step;
            if at >= first && sum < best.0 {
                best = (sum, at);
            }
        }
        best.1
    }
}

/// Calls `each` with the tokens that can stand for a byte of a phrase, but those that are longer than it at
/// both ends, and the bytes from where they begin to where it does.
fn each_over(
    vocab: &Vocab,
    phrase: &[u8],
    k: usize,
    longest: usize,
    mut each: impl FnMut(Id, i32),
) {
    for at in (k + 1).saturating_sub(longest)..=k {
        vocab.for_each_prefix(&phrase[at..], |id, length| {
            if at + length > k {
                each(id, -(at as i32));
            }
        });
        let rest = &phrase[at..];
        if rest.len() < longest {
            let across = vocab.starting_with(rest).filter(|(_, token)| token.len() > rest.len());
            across.for_each(|(id, _)| each(id, -(at as i32)));
        }
    }
    for at in k + 1..=phrase.len().min(longest) {
        let across = vocab.ending_with(&phrase[..at]).filter(|(_, token)| token.len() > at);
        across.for_each(|(id, token)| each(id, (token.len() - at) as i32));
    }
}

/// Calls `each` with the tokens that are longer than a phrase at both ends, and where in them it begins.
fn each_around(
    vocab: &Vocab,
    phrases: &[Vec<u8>],
    longest: usize,
    mut each: impl FnMut(usize, Id, i32) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut numbers: HashMap<&[u8], Vec<usize>> = HashMap::new();
    // By length, a bit for each first byte.
    let mut begun: Vec<[u64; 4]> = vec![[0; 4]; longest];
    for (number, phrase) in phrases.iter().enumerate().filter(|(_, p)| p.len() + 2 <= longest) {
        numbers.entry(phrase).or_default().push(number);
        begun[phrase.len()][usize::from(phrase[0]) / 64] |= 1 << (phrase[0] % 64);
    }
    let lengths: Vec<usize> = (0..longest).filter(|&length| begun[length] != [0; 4]).collect();
    for (id, token) in vocab.iter() {
        for &length in lengths.iter().take_while(|&&length| length + 2 <= token.len()) {
            for start in 1..token.len() - length {
                let byte = token[start];
                if begun[length][usize::from(byte) / 64] >> (byte % 64) & 1 == 0 {
                    continue;
                }
                for &number in numbers.get(&token[start..start + length]).into_iter().flatten() {
                    each(number, id, start as i32)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{OUTSIDE, PARTS, Random, patterns, vocab_of};
    use crate::vocab::specials::AllowedSpecials;
    use crate::{Counter, Progress, Splitter, learn};

    /// Texts that are short, repeat themselves and break off inside characters.
    pub(crate) trait Odd {
        fn odd(&mut self, most: usize) -> Vec<u8>;
    }

    impl Odd for Random {
        fn odd(&mut self, most: usize) -> Vec<u8> {
            let count = 1 + self.below(most);
            let mut text: Vec<u8> = (0..count)
                .flat_map(|_| match self.below(3) {
                    0 => ["a", "ab", "b", "aa", " a", "'s", "é", "中"][self.below(8)].as_bytes(),
                    _ => PARTS[self.below(PARTS.len())].as_bytes(),
                })
                .copied()
                .collect();
            if self.below(6) == 0 && text.len() > 1 {
                text.pop();
            }
            if self.below(6) == 0 && text.len() > 1 {
                text.remove(0);
            }
            text
        }
    }

    /// Trained ones and such as no training makes, by patterns of every kind.
    pub(crate) fn tokenizers(random: &mut Random) -> Vec<Tokenizer> {
        let published = patterns();
        let all = published.values().map(String::as_str).chain(OUTSIDE);
        let all = all.chain([r"(\w)\1*|\W", r"(?s).+", r"(?s:.)"]);
        all.map(|pattern| {
            let splitter = Splitter::new(pattern).unwrap();
            let text: Vec<u8> = (0..300).flat_map(|_| random.odd(3)).collect();
            let vocab = if random.below(4) == 0 {
                let tokens: std::collections::BTreeSet<String> = (0..60)
                    .map(|_| String::from_utf8_lossy(&random.odd(3)).into_owned())
                    .filter(|token| token.len() > 1)
                    .collect();
                vocab_of(tokens.iter().map(String::as_str))
            } else {
                let progress = Progress::default();
                let mut counter = Counter::new(splitter.clone(), 1, None);
                counter.add(&[&text], 1, &progress).unwrap();
                let counts = counter.finish(1, &progress).unwrap();
                let options = learn::LearnOptions::new(20 + random.below(150));
                let learned = learn::learn(&counts, &options, &progress).unwrap();
                Vocab::try_from_merges(&learned.pairs()).unwrap()
            };
            Tokenizer::new(vocab, splitter, vec![(9000, "<|end|>".to_owned())]).unwrap()
        })
        .collect()
    }

    /// All occurrences, by decoding.
    fn by_decoding(tokenizer: &Tokenizer, phrases: &[Vec<u8>], ids: &[Id]) -> Vec<Occurrence> {
        let mut found = Vec::new();
        for from in 0..ids.len() {
            let texts = ids[from..].iter().map_while(|&id| tokenizer.vocab().token(id));
            let texts: Vec<&[u8]> = texts.collect();
            let text = texts.concat();
            for (phrase, bytes) in phrases.iter().enumerate() {
                for offset in 0..texts.first().map_or(0, |token| token.len()) {
                    if !text[offset..].starts_with(bytes) {
                        continue;
                    }
                    let (mut end, mut length) = (from, 0);
                    while length < offset + bytes.len() {
                        length += texts[end - from].len();
                        end += 1;
                    }
                    found.push(Occurrence { first: from, offset, end, phrase });
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn phrases_are_found_where_the_decoded_text_has_them() {
        let mut random = Random(43);
        for tokenizer in tokenizers(&mut random) {
            for round in 0..40 {
                let text: Vec<u8> = (0..20).flat_map(|_| random.odd(4)).collect();
                let mut phrases: Vec<Vec<u8>> =
                    (0..1 + random.below(6)).map(|_| random.odd(3)).collect();
                let at = random.below(text.len() - 8);
                phrases.push(text[at..at + 1 + random.below(8)].to_vec());
                let mut ids = Vec::new();
                tokenizer.encode(&text, &tokenizer.specials().allow_all(), &mut ids).unwrap();
                if round % 4 == 0 {
                    // Ids that no encoding gives, and numbers that are no ids.
                    let odd = |id: &mut Id| *id = [u32::MAX, 0, 97, 8000][*id as usize % 4];
                    let at = random.below(ids.len());
                    odd(&mut ids[at]);
                    ids.swap(0, at);
                    tokenizer.encode(&random.odd(3), &AllowedSpecials::none(), &mut ids).unwrap();
                }
                let made =
                    tokenizer.phrases(phrases.clone(), &ids[..round.min(ids.len())]).unwrap();
                let middle = random.below(ids.len());
                let mut found = Vec::new();
                for range in [0..middle, middle..ids.len()] {
                    tokenizer.find_phrases(&made, &ids, range, |hit| found.push(hit));
                }
                found.sort();
                let expected = by_decoding(&tokenizer, &phrases, &ids);
                assert_eq!(found, expected, "{:?} {text:x?}", tokenizer.splitter().pattern());
                if let Ok(narrow) =
                    ids.iter().map(|&id| u16::try_from(id)).collect::<Result<Vec<_>, _>>()
                {
                    let mut again = Vec::new();
                    let all = 0..narrow.len();
                    tokenizer.find_phrases(&made, &narrow, all, |hit| again.push(hit));
                    again.sort();
                    assert_eq!(again, found);
                }
            }
        }
    }

    #[test]
    fn ids_may_be_far_apart() {
        let bytes = (0..=u8::MAX).map(|byte| (Id::from(byte), vec![byte]));
        let far = (1 << 30) + Id::from(b'x');
        let vocab = Vocab::try_from_tokens(bytes.chain([(far, b"ab".to_vec())]).collect()).unwrap();
        let splitter = Splitter::new(crate::pattern::NANOCHAT).unwrap();
        let tokenizer = Tokenizer::new(vocab, splitter, Vec::new()).unwrap();
        let made = tokenizer.phrases(vec![b"b".to_vec()], &[]).unwrap();
        let mut found = Vec::new();
        let ids = [far, Id::from(b'x'), (1 << 29) + Id::from(b'x')];
        tokenizer.find_phrases(&made, &ids, 0..3, |hit| found.push((hit.first, hit.offset)));
        assert_eq!(found, [(0, 1)]);
    }

    #[test]
    fn an_empty_phrase_is_refused() {
        let splitter = Splitter::new(crate::pattern::NANOCHAT).unwrap();
        let tokenizer = Tokenizer::new(vocab_of([]), splitter, Vec::new()).unwrap();
        assert_eq!(tokenizer.phrases(vec![Vec::new()], &[]).unwrap_err(), Error::EmptyNeedle);
    }
}
