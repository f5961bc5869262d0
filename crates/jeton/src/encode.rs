//! Text becomes ids: specials are cut out, the rest is split and each piece is merged.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::error::Error;
use crate::merge::{Scratch, merge};
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
        Ok(Self { vocab, splitter, specials })
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

    /// Returns one more than the highest id: the rows that an embedding needs.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        let special = self.specials.entries().last().map_or(0, |(id, _)| *id);
        self.vocab.id_max().max(special) as usize + 1
    }

    /// Appends the ids of a text to `ids`. Any bytes may be given, UTF-8 or not.
    ///
    /// # Errors
    ///
    /// When the text has 4 GiB or more, or as [`Splitter::split`] for a pattern outside the family.
    pub fn encode(&self, text: &[u8], allowed: &Allowed, ids: &mut Vec<Id>) -> Result<(), Error> {
        let mut scratch = Scratch::default();
        self.encode_with(text, allowed, &mut scratch, ids)
    }

    fn encode_with(
        &self,
        text: &[u8],
        allowed: &Allowed,
        scratch: &mut Scratch,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        refuse_too_long(text)?;
        let mut start = 0;
        while let Some((place, id)) = allowed.find(text, start) {
            self.encode_ordinary(&text[start..place.start], scratch, ids)?;
            ids.push(id);
            start = place.end;
        }
        self.encode_ordinary(&text[start..], scratch, ids)
    }

    /// A stretch without specials: the end of the stretch is the end of the text for the pattern.
    fn encode_ordinary(
        &self,
        text: &[u8],
        scratch: &mut Scratch,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        self.splitter.split(text, |piece| merge(&self.vocab, piece, scratch, ids))
    }

    /// Encodes many texts on so many threads; the ids of each are in its place.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn encode_batch(
        &self,
        texts: &[&[u8]],
        allowed: &Allowed,
        threads: usize,
    ) -> Result<Vec<Vec<Id>>, Error> {
        in_parallel(
            texts,
            |text| text.len(),
            threads,
            |text, scratch: &mut Scratch| {
                let mut ids = Vec::with_capacity(text.len() / 3);
                self.encode_with(text, allowed, scratch, &mut ids)?;
                Ok(ids)
            },
        )
    }
}

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
const BYTES_PER_THREAD: usize = 1 << 16;

/// Applies `work` to each item on up to `threads` threads, and keeps the order.
///
/// Threads live as long as the call: nothing is left behind for a fork to lose.
pub(crate) fn in_parallel<T: Sync, S: Default, R: Send>(
    items: &[T],
    size: impl Fn(&T) -> usize,
    threads: usize,
    work: impl Fn(&T, &mut S) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let bytes: usize = items.iter().map(size).sum();
    let threads = threads.min(THREADS_MAX).min(bytes / BYTES_PER_THREAD).min(items.len());
    if threads < 2 {
        let mut state = S::default();
        return items.iter().map(|item| work(item, &mut state)).collect();
    }
    // Each thread takes the next few items that nobody has taken.
    let chunk = items.len().div_ceil(threads * 16);
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut state, mut done) = (S::default(), Vec::new());
        loop {
            let start = next.fetch_add(chunk, Relaxed);
            let Some(rest) = items.get(start..) else { return Ok(done) };
            let taken = &rest[..rest.len().min(chunk)];
            let results: Result<Vec<R>, Error> =
                taken.iter().map(|item| work(item, &mut state)).collect();
            done.push((start, results?));
        }
    };
    let done = thread::scope(|scope| {
        // This thread works too, so a system that gives no more threads makes it slower only.
        let others =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, run).ok());
        let workers: Vec<_> = others.collect();
        let own = run();
        let join = |worker: thread::ScopedJoinHandle<_>| worker.join().expect("no worker panics");
        workers.into_iter().map(join).chain([own]).collect::<Result<Vec<_>, Error>>()
    })?;
    let mut done: Vec<(usize, Vec<R>)> = done.into_iter().flatten().collect();
    done.sort_by_key(|(start, _)| *start);
    Ok(done.into_iter().flat_map(|(_, results)| results).collect())
}
