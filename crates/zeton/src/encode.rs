//! Text becomes ids: specials are cut out, the rest is split and each piece is merged.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::batch::in_one_row;
use crate::chunk::{Chunks, Taker};
use crate::decode::Rows;
use crate::error::Error;
use crate::merge::{Lent, Pool, merge, merge_unknown};
use crate::specials::{Allowed, Specials};
use crate::split::Splitter;
use crate::vocab::{Id, Vocab};

/// A vocabulary, a splitter and specials that fit each other. It never changes.
///
/// Two are equal when they encode and decode alike: the same pattern, tokens and specials.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tokenizer {
    vocab: Vocab,
    splitter: Splitter,
    specials: Specials,
    pool: Pool,
    rows: Rows,
    longest: Longest,
}

impl Tokenizer {
    /// Puts the parts together; specials are ids and names.
    ///
    /// # Errors
    ///
    /// When the specials do not fit the vocabulary.
    pub fn new(
        vocab: Vocab,
        splitter: Splitter,
        specials: Vec<(Id, String)>,
    ) -> Result<Self, Error> {
        let specials = Specials::new(specials, &vocab)?;
        let (pool, rows, longest) = Default::default();
        Ok(Self { vocab, splitter, specials, pool, rows, longest })
    }

    /// Returns the tokens.
    #[must_use]
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// Returns the splitter.
    #[must_use]
    pub fn splitter(&self) -> &Splitter {
        &self.splitter
    }

    /// Returns the specials.
    #[must_use]
    pub fn specials(&self) -> &Specials {
        &self.specials
    }

    /// Lends what encoding reuses from call to call.
    pub(crate) fn lend(&self) -> Lent<'_> {
        self.pool.lend()
    }

    /// Returns the table that decoding reads.
    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns one more than the highest id: the rows that an embedding needs.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        let special = self.specials.entries().last().map_or(0, |(id, _)| *id);
        self.vocab.id_max().max(special) as usize + 1
    }

    /// Returns the most bytes that an id stands for, a token's or a special's.
    pub(crate) fn token_bytes_max(&self) -> usize {
        *self.longest.0.get_or_init(|| {
            let tokens = self.vocab.iter().map(|(_, token)| token.len());
            let specials = self.specials.entries().iter().map(|(_, name)| name.len());
            tokens.chain(specials).max().unwrap_or(1)
        })
    }

    /// Appends the ids of a text to `ids`. Any bytes may be given, UTF-8 or not.
    ///
    /// # Errors
    ///
    /// When the text has 4 GiB or more, or as [`Splitter::split`] for a pattern outside the family.
    #[inline]
    pub fn encode(&self, text: &[u8], allowed: &Allowed, ids: &mut Vec<Id>) -> Result<(), Error> {
        self.encode_with(text, allowed, &mut self.pool.lend(), ids)
    }

    /// Returns how many ids a text has.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn count(&self, text: &[u8], allowed: &Allowed) -> Result<usize, Error> {
        let mut count = 0;
        self.encode_with(text, allowed, &mut self.pool.lend(), &mut count)?;
        Ok(count)
    }

    #[inline]
    pub(crate) fn encode_with(
        &self,
        text: &[u8],
        allowed: &Allowed,
        scratch: &mut Lent<'_>,
        taker: &mut impl Taker,
    ) -> Result<(), Error> {
        refuse_too_long(text)?;
        let mut start = 0;
        while let Some((place, id)) = allowed.find(text, start) {
            self.encode_ordinary(&text[start..place.start], scratch, taker)?;
            taker.take_one(id);
            start = place.end;
        }
        self.encode_ordinary(&text[start..], scratch, taker)
    }

    /// A stretch without specials: the end of the stretch is the end of the text for the pattern.
    pub(crate) fn encode_ordinary(
        &self,
        text: &[u8],
        scratch: &mut Lent<'_>,
        taker: &mut impl Taker,
    ) -> Result<(), Error> {
        if text.len() < CHUNKED_BYTES {
            return self.splitter.split(text, |piece| match self.vocab.find(piece) {
                Some(id) => taker.take_one(id),
                None => taker.take_new(|ids| {
                    merge_unknown(&self.vocab, piece, scratch.get(), ids);
                }),
            });
        }
        let mut chunks = Chunks::new(&self.vocab, text, scratch.get(), taker);
        self.splitter.split_ends(text, &mut chunks)?;
        chunks.finish();
        Ok(())
    }

    /// Appends the ids of pieces that somebody else has split, to `ids`.
    ///
    /// # Errors
    ///
    /// When a piece has 4 GiB or more.
    pub fn encode_pieces<'p>(
        &self,
        pieces: impl IntoIterator<Item = &'p [u8]>,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        let mut scratch = self.pool.lend();
        for piece in pieces {
            refuse_too_long(piece)?;
            merge(&self.vocab, piece, scratch.get(), ids);
        }
        Ok(())
    }

    /// Encodes one text on so many threads: it is cut where its pieces stay what they are.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn encode_parallel(
        &self,
        text: &[u8],
        allowed: &Allowed,
        threads: usize,
    ) -> Result<Vec<Id>, Error> {
        let parts: Vec<Vec<Id>> = self.take_parallel(text, allowed, threads)?;
        Ok(match <[Vec<Id>; 1]>::try_from(parts) {
            Ok([whole]) => whole,
            Err(parts) => in_one_row(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), threads),
        })
    }

    /// Counts the ids of one text on so many threads.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn count_parallel(
        &self,
        text: &[u8],
        allowed: &Allowed,
        threads: usize,
    ) -> Result<usize, Error> {
        Ok(self.take_parallel::<usize>(text, allowed, threads)?.into_iter().sum())
    }

    /// Cuts one text into parts that have the ids that they have within the whole.
    fn take_parallel<T: Taker + Send>(
        &self,
        text: &[u8],
        allowed: &Allowed,
        threads: usize,
    ) -> Result<Vec<T>, Error> {
        refuse_too_long(text)?;
        let threads = threads.clamp(1, THREADS_MAX).min(text.len() / BYTES_PER_THREAD);
        if threads < 2 {
            let mut taken = T::with_room(text.len());
            self.encode_with(text, allowed, &mut self.pool.lend(), &mut taken)?;
            return Ok(vec![taken]);
        }
        // A few parts a thread, so that none waits long for the last.
        let bytes = (text.len() / (threads * 4)).max(BYTES_PER_THREAD);
        let (mut parts, mut start) = (Vec::new(), 0);
        while let Some((place, id)) = allowed.find(text, start) {
            parts.extend(self.splitter.parts(&text[start..place.start], bytes).into_iter().map(Ok));
            parts.push(Err(id));
            start = place.end;
        }
        parts.extend(self.splitter.parts(&text[start..], bytes).into_iter().map(Ok));
        in_parallel(
            &parts,
            |part| part.map_or(0, <[u8]>::len),
            threads,
            || self.pool.lend(),
            |part, scratch| {
                let mut taken = T::with_room(part.map_or(0, <[u8]>::len));
                match *part {
                    Ok(text) => self.encode_ordinary(text, scratch, &mut taken)?,
                    Err(special) => taken.take_one(special),
                }
                Ok(taken)
            },
        )
    }
}

/// The most bytes of a token, once somebody has asked. Two tokenizers do not differ by it.
#[derive(Clone, Debug, Default)]
struct Longest(OnceLock<usize>);

impl PartialEq for Longest {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Longest {}

/// Texts from this size on are looked up by chunks; for shorter ones, making a chunk costs more.
const CHUNKED_BYTES: usize = 24;

/// Places in a text are 32-bit numbers.
pub(crate) fn refuse_too_long(text: &[u8]) -> Result<(), Error> {
    match u32::try_from(text.len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::TextTooLong { bytes: text.len() }),
    }
}

/// Threads that are started at most, whatever is asked for.
pub(crate) const THREADS_MAX: usize = 256;

/// Bytes that are worth a thread of their own.
pub(crate) const BYTES_PER_THREAD: usize = 1 << 16;

/// Runs something on so many threads at once; returns what each comes to.
///
/// Threads live as long as the call: nothing is left behind for a fork to lose.
pub(crate) fn by_threads<R: Send>(threads: usize, run: impl Fn() -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        // This thread works too, so a system that gives no more threads makes it slower only.
        let others =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, &run).ok());
        let others: Vec<_> = others.collect();
        let own = run();
        let join = |worker: thread::ScopedJoinHandle<_>| worker.join().expect("no worker panics");
        others.into_iter().map(join).chain([own]).collect()
    })
}

/// Applies `work` to each item on up to `threads` threads, and keeps the order.
pub(crate) fn in_parallel<T: Sync, S, R: Send>(
    items: &[T],
    size: impl Fn(&T) -> usize,
    threads: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&T, &mut S) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let bytes: usize = items.iter().map(size).sum();
    let threads = threads.min(THREADS_MAX).min(bytes / BYTES_PER_THREAD).min(items.len());
    if threads < 2 {
        let mut state = state();
        return items.iter().map(|item| work(item, &mut state)).collect();
    }
    // Each thread takes the next few items that nobody has taken.
    let chunk = items.len().div_ceil(threads * 16);
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut state, mut done) = (state(), Vec::new());
        loop {
            let start = next.fetch_add(chunk, Relaxed);
            let Some(rest) = items.get(start..) else { return Ok(done) };
            let taken = &rest[..rest.len().min(chunk)];
            let results: Result<Vec<R>, Error> =
                taken.iter().map(|item| work(item, &mut state)).collect();
            done.push((start, results?));
        }
    };
    let done = by_threads(threads, run).into_iter().collect::<Result<Vec<_>, Error>>()?;
    let mut done: Vec<(usize, Vec<R>)> = done.into_iter().flatten().collect();
    done.sort_by_key(|(start, _)| *start);
    Ok(done.into_iter().flat_map(|(_, results)| results).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::split::tests::family;
    use crate::testing::{OUTSIDE, PARTS, Random, fuzzing};

    fn random_text(random: &mut Random, parts_max: usize) -> Vec<u8> {
        let count = random.below(parts_max);
        let mut text: Vec<u8> = (0..count)
            .flat_map(|_| {
                // Now and then a run that is longer than a block, a window, a piece that is kept.
                let times = if random.below(50) == 0 { 1 + random.below(200) } else { 1 };
                PARTS[random.below(PARTS.len())].repeat(times).into_bytes()
            })
            .collect();
        if random.below(8) == 0 && !text.is_empty() {
            let at = random.below(text.len());
            text[at] = random.below(256) as u8;
        }
        text
    }

    /// A vocabulary as training makes it, every token of which is reached by merges.
    fn trained_vocab(random: &mut Random) -> Vocab {
        let corpus: Vec<Vec<u8>> = (0..20).map(|_| random_text(random, 60)).collect();
        let corpus: Vec<&[u8]> = corpus.iter().map(Vec::as_slice).collect();
        let progress = crate::Progress::default();
        let splitter = Splitter::new(crate::pattern::NANOCHAT).unwrap();
        let mut counter = crate::Counter::new(splitter, 1, None);
        counter.add(&corpus, 1, &progress).unwrap();
        let counts = counter.finish(1, &progress).unwrap();
        let goal = crate::learn::Goal::merges(random.below(300));
        let learned = crate::learn::learn(&counts, &goal, &progress).unwrap();
        Vocab::from_merges(&learned.pairs()).unwrap()
    }

    /// A vocabulary of tokens that are spelled anyhow; some are reached by no merge.
    fn spelled_vocab(random: &mut Random) -> Vocab {
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        let spelled = (0..random.below(200)).map(|_| random_text(random, 4));
        let spelled: BTreeSet<Vec<u8>> = spelled.filter(|token| token.len() > 1).collect();
        let gap = random.below(3) as Id;
        let tokens = bytes.chain(spelled).zip(0..);
        let id = |index: Id| if index > 300 { index + gap } else { index };
        Vocab::new(tokens.map(|(token, index)| (id(index), token)).collect()).unwrap()
    }

    /// A vocabulary of joined tokens whose ranks are in no order: a token may rank below its parts.
    fn joined_vocab(random: &mut Random) -> Vocab {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        let letters: Vec<u8> = (0..4).flat_map(|_| random_text(random, 3)).collect();
        for _ in 0..random.below(150) {
            let mut part = || match random.below(2) {
                0 if !letters.is_empty() => {
                    let at = random.below(letters.len());
                    letters[at..letters.len().min(at + 1 + random.below(2))].to_vec()
                }
                _ => tokens[random.below(tokens.len())].clone(),
            };
            tokens.push([part(), part()].concat());
        }
        let mut seen = BTreeSet::new();
        tokens.retain(|token| token.len() < 60 && seen.insert(token.clone()));
        for at in (1..tokens.len()).rev() {
            tokens.swap(at, random.below(at + 1));
        }
        Vocab::new((0..).zip(tokens).collect()).unwrap()
    }

    /// The rule itself: the lowest-ranked pair of neighbours, leftmost first, until none is a token.
    fn merge_plainly(vocab: &Vocab, piece: &[u8]) -> Vec<Id> {
        if let Some(id) = vocab.find(piece) {
            return vec![id];
        }
        let mut ends: Vec<usize> = (0..=piece.len()).collect();
        loop {
            let ranked = ends.windows(3).enumerate();
            let ranks = ranked.filter_map(|(at, w)| Some((vocab.find(&piece[w[0]..w[2]])?, at)));
            let Some((_, at)) = ranks.min() else { break };
            ends.remove(at + 1);
        }
        ends.windows(2).map(|w| vocab.find(&piece[w[0]..w[1]]).unwrap()).collect()
    }

    /// Random vocabularies, grammars and texts until the time is over; returns the number of texts.
    fn compare_all_paths(seed: u64, time: Duration) -> usize {
        let mut random = Random(seed);
        let outside = OUTSIDE.map(str::to_owned);
        let patterns: Vec<String> = family().into_iter().chain(outside).collect();
        let (start, mut texts) = (Instant::now(), 0);
        while start.elapsed() < time {
            let splitter = Splitter::new(&patterns[random.below(patterns.len())]).unwrap();
            let specials = vec![(9000, "<|end|>".to_owned())];
            let vocab = match random.below(3) {
                0 => trained_vocab(&mut random),
                1 => spelled_vocab(&mut random),
                _ => joined_vocab(&mut random),
            };
            let tokenizer = Tokenizer::new(vocab, splitter, specials).unwrap();
            let (none, all) = (Allowed::none(), tokenizer.specials().allow_all());
            for _ in 0..40 {
                let size = if random.below(10) == 0 { 2000 } else { 60 };
                let text = random_text(&mut random, size);
                let (mut expected, mut lengths) = (Vec::new(), Vec::new());
                tokenizer.splitter().split_plainly(&text, |piece| {
                    expected.extend(merge_plainly(tokenizer.vocab(), piece));
                    lengths.push(piece.len());
                });
                let state = (seed, texts, String::from_utf8_lossy(&text).into_owned());
                for (tier, found) in tokenizer.splitter().split_by_tiers(&text) {
                    assert_eq!(found, lengths, "{tier:?} {state:?}");
                }
                if random.below(4) == 0 {
                    let counted = tokenizer.count(&text, &none).unwrap();
                    assert_eq!(counted, expected.len(), "counted {state:?}");
                }
                for warmth in ["cold", "warm"] {
                    let mut ids = Vec::new();
                    tokenizer.encode(&text, &none, &mut ids).unwrap();
                    assert_eq!(ids, expected, "{warmth} {state:?}");
                }
                assert_eq!(tokenizer.decode(&expected).unwrap(), text, "{state:?}");
                let mut with_specials = Vec::new();
                tokenizer.encode(&text, &all, &mut with_specials).unwrap();
                assert_eq!(tokenizer.decode(&with_specials).unwrap(), text, "{state:?}");
                texts += 1;
            }
            // Threads begin at 64 KiB each.
            let long: Vec<u8> = (0..60).flat_map(|_| random_text(&mut random, 4000)).collect();
            let mut ids = Vec::new();
            tokenizer.encode(&long, &all, &mut ids).unwrap();
            assert_eq!(tokenizer.encode_parallel(&long, &all, 3).unwrap(), ids, "{seed} {texts}");
            let batch = cut_anywhere(&mut random, &long);
            let found = tokenizer.encode_batch(&batch, &all, 3).unwrap().unwrap();
            let counts = tokenizer.count_batch(&batch, &all, 3).unwrap().unwrap();
            assert_eq!((found.iter().count(), counts.len()), (batch.len(), batch.len()));
            for (text, (found, count)) in batch.iter().zip(found.iter().zip(counts)) {
                ids.clear();
                tokenizer.encode(text, &all, &mut ids).unwrap();
                assert_eq!((found, count), (&ids[..], ids.len()), "{seed} {texts}");
            }
        }
        texts
    }

    /// Cuts a text into texts of a few bytes or kilobytes, some of them empty.
    fn cut_anywhere<'t>(random: &mut Random, mut text: &'t [u8]) -> Vec<&'t [u8]> {
        let mut texts = Vec::new();
        while !text.is_empty() {
            let most = [1, 50, 8000][random.below(3)];
            let (one, rest) = text.split_at(random.below(most + 1).min(text.len()));
            texts.push(one);
            text = rest;
        }
        texts
    }

    #[test]
    fn all_paths_agree() {
        assert!(compare_all_paths(1, Duration::from_secs(2)) > 0);
    }

    /// `ZETON_FUZZ_SECONDS=3600 cargo test --release -p zeton fuzz -- --ignored --nocapture`
    #[test]
    #[ignore = "runs as long as ZETON_FUZZ_SECONDS says"]
    fn fuzz_all_paths() {
        let (time, seed) = fuzzing();
        let texts = compare_all_paths(seed, time);
        println!("{texts} texts, all paths equal");
    }
}
