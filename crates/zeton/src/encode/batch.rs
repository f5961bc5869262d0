//! Batch encoding: many texts → one array of ids, on many threads.
//!
//! ```text
//! texts            "aé€"  "aé€"  …            grouped into at least 64 KiB per group
//! group numbers    0        1        2  …     each thread takes the next free group
//! thread A         ids of group 0, then of group 2, …     one ThreadIds each
//! thread B         ids of group 1, …
//! EncodedBatch     ids of groups 0, 1, 2, …   concatenated in the order of the texts
//! ```
//!
//! For example, with the vocabulary of `docs/learn.md`, `"low"` and `"low lower"` give
//! `ids = [257, 257, 260]` and `ends = [1, 3]`. The first text has one id, the second two.
//!
//! Each thread appends to one array of its own, because one vector per text was slower: 3,641 texts
//! of English took 63 ms then and 44 now on one thread (`docs/notes/threads.md`). Two threads are
//! 1.3 to 1.7 times as fast as one; each has a piece cache of its own and merges its own misses.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::Tokenizer;
use super::parallel::concatenate;
use crate::sys::error::Error;
use crate::sys::huge_buffer;
use crate::sys::threads::{BYTES_PER_THREAD, THREADS_MAX, map_in_parallel, run_on_threads};
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// A text whose bytes exist already, or are produced on the thread that encodes it.
///
/// For example, the bridge's wide `str` is transcoded to UTF-8 there, in parallel.
pub trait TextSource: Sync {
    /// Returns an upper bound of the text's bytes. It decides about groups and capacities, and the
    /// text need not be read.
    fn bytes_max(&self) -> usize;

    /// Returns the bytes, storing them in `buffer` if they have to be produced.
    ///
    /// Returns `None` if the text has no bytes, such as a `str` with a lone surrogate.
    fn read<'t>(&'t self, buffer: &'t mut Vec<u8>) -> Option<&'t [u8]>;
}

impl TextSource for &[u8] {
    fn bytes_max(&self) -> usize {
        self.len()
    }

    fn read<'t>(&'t self, _: &'t mut Vec<u8>) -> Option<&'t [u8]> {
        Some(self)
    }
}

/// The ids of many texts in one array, with the end of each text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EncodedBatch {
    /// The ids of the first text, then the ids of the second, …
    pub ids: Vec<Id>,
    /// The index in `ids` at which each text ends.
    pub ends: Vec<usize>,
}

impl EncodedBatch {
    /// Allocates an empty batch with room for the ids of texts of `bytes` bytes.
    fn with_bytes(bytes: usize) -> Self {
        // A token has three to five bytes; the smallest of these avoids growing.
        Self { ids: huge_buffer::vec_with_capacity(bytes / 3), ends: Vec::new() }
    }

    /// Copies the ids of all threads to one list, in the order of the texts. A single thread's list
    /// becomes the result without a copy.
    fn from_threads(mut threads: Vec<ThreadIds>) -> Self {
        if let [_] = threads[..] {
            return threads.remove(0).batch;
        }
        let mut groups: Vec<_> = threads.iter().flat_map(ThreadIds::iter_groups).collect();
        groups.sort_by_key(|group| group.number);
        let (mut ends, mut count) = (Vec::new(), 0);
        for group in &groups {
            ends.extend(group.ends.iter().map(|end| count + end - group.first));
            count += group.ids.len();
        }
        let parts: Vec<&[Id]> = groups.iter().map(|group| group.ids).collect();
        Self { ids: concatenate(&parts, threads.len()), ends }
    }

    /// Returns the ids of each text, borrowed, in the order of the texts.
    pub fn iter(&self) -> impl Iterator<Item = &[Id]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.ids[std::mem::replace(&mut start, end)..end])
    }
}

impl Tokenizer {
    /// Encodes many texts on up to `threads` threads.
    ///
    /// Returns `None` if one of them has no bytes (see [`TextSource::read`]).
    ///
    /// # Errors
    ///
    /// The errors of [`Tokenizer::encode`].
    pub fn encode_batch<T: TextSource>(
        &self,
        texts: &[T],
        allowed: &AllowedSpecials,
        threads: usize,
    ) -> Result<Option<EncodedBatch>, Error> {
        let bytes: usize = texts.iter().map(TextSource::bytes_max).sum();
        let groups = group_texts(texts);
        let threads = threads.min(THREADS_MAX).min(groups.len()).max(1);
        let next = AtomicUsize::new(0);
        let run = || {
            let (mut scratch, mut buffer) = (self.borrow_scratch(), Vec::new());
            let batch = EncodedBatch::with_bytes(bytes / threads);
            let mut own = ThreadIds { batch, groups: Vec::new() };
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(texts) = groups.get(number) else { return Ok(Some(own)) };
                own.groups.push((number, texts.len()));
                for text in *texts {
                    let Some(text) = text.read(&mut buffer) else { return Ok(None) };
                    self.encode_with(text, allowed, &mut scratch, &mut own.batch.ids)?;
                    own.batch.ends.push(own.batch.ids.len());
                }
            }
        };
        let all = run_on_threads(threads, run).into_iter();
        let all = all.collect::<Result<Option<Vec<_>>, _>>()?;
        Ok(all.map(EncodedBatch::from_threads))
    }

    /// Counts the ids of each text on up to `threads` threads.
    ///
    /// Returns `None` if one of them has no bytes (see [`TextSource::read`]).
    ///
    /// # Errors
    ///
    /// The errors of [`Tokenizer::encode`].
    pub fn count_batch<T: TextSource>(
        &self,
        texts: &[T],
        allowed: &AllowedSpecials,
        threads: usize,
    ) -> Result<Option<Vec<usize>>, Error> {
        let state = || (self.borrow_scratch(), Vec::new());
        let size = T::bytes_max;
        let counts = map_in_parallel(texts, size, threads, state, |text, (scratch, buffer)| {
            let Some(text) = text.read(buffer) else { return Ok(None) };
            let mut count = 0;
            self.encode_with(text, allowed, scratch, &mut count)?;
            Ok(Some(count))
        })?;
        Ok(counts.into_iter().collect())
    }
}

/// The ids that one thread produced, in the order in which it took groups.
struct ThreadIds {
    batch: EncodedBatch,
    /// The number of each group taken, and the number of its texts.
    groups: Vec<(usize, usize)>,
}

/// The ids of one group of texts, a part of a [`ThreadIds`].
struct GroupIds<'s> {
    number: usize,
    ids: &'s [Id],
    /// The end of each text, as an index in the thread's ids.
    ends: &'s [usize],
    /// The index of the group's first id in the thread's ids.
    first: usize,
}

impl ThreadIds {
    fn iter_groups(&self) -> impl Iterator<Item = GroupIds<'_>> {
        let (mut text, mut first) = (0, 0);
        self.groups.iter().map(move |&(number, texts)| {
            let ends = &self.batch.ends[text..text + texts];
            let end = ends.last().map_or(first, |end| *end);
            let group = GroupIds { number, ids: &self.batch.ids[first..end], ends, first };
            (text, first) = (text + texts, end);
            group
        })
    }
}

/// Groups consecutive texts into at least [`BYTES_PER_THREAD`] each; the last may have fewer. A
/// group is the unit of work that a thread takes.
fn group_texts<T: TextSource>(texts: &[T]) -> Vec<&[T]> {
    let (mut groups, mut first, mut bytes) = (Vec::new(), 0, 0);
    for (number, text) in texts.iter().enumerate() {
        bytes += text.bytes_max();
        if bytes >= BYTES_PER_THREAD {
            groups.push(&texts[first..=number]);
            (first, bytes) = (number + 1, 0);
        }
    }
    groups.push(&texts[first..]);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Splitter;
    use crate::vocab::Vocab;

    /// A text in UCS-2.
    struct Ucs2Text<'t>(&'t [u16]);

    impl TextSource for Ucs2Text<'_> {
        fn bytes_max(&self) -> usize {
            self.0.len() * 3
        }

        fn read<'t>(&'t self, buffer: &'t mut Vec<u8>) -> Option<&'t [u8]> {
            buffer.clear();
            crate::sys::unicode::transcode_into(self.0, buffer)?;
            Some(buffer)
        }
    }

    #[test]
    fn encodes_produced_texts_unless_one_has_no_bytes() {
        let splitter = Splitter::parse(crate::pattern::NANOCHAT).unwrap();
        let tokenizer =
            Tokenizer::try_from_vocab(Vocab::try_from_merges(&[]).unwrap(), splitter, vec![])
                .unwrap();
        let none = AllowedSpecials::none();
        let wide: Vec<u16> = "aé€".encode_utf16().collect();
        let mut texts: Vec<Ucs2Text> = (0..30_000).map(|_| Ucs2Text(&wide)).collect();
        for threads in [1, 3] {
            let batch = tokenizer.encode_batch(&texts, &none, threads).unwrap().unwrap();
            assert_eq!(batch.ends, (1..=30_000).map(|text| text * 6).collect::<Vec<_>>());
            assert_eq!(tokenizer.decode(&batch.ids).unwrap(), "aé€".repeat(30_000).as_bytes());
        }
        texts[17_000] = Ucs2Text(&[0xD800]);
        for threads in [1, 3] {
            assert_eq!(tokenizer.encode_batch(&texts, &none, threads).unwrap(), None);
            assert_eq!(tokenizer.count_batch(&texts, &none, threads).unwrap(), None);
        }
        let empty = tokenizer.encode_batch::<&[u8]>(&[], &none, 2).unwrap();
        assert_eq!(empty, Some(EncodedBatch::default()));
    }
}
