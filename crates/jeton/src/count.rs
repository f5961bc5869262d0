//! A corpus becomes counts: how often each distinct piece occurs. Learning needs no more of it.

use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use sha2::{Digest, Sha256};

use crate::encode::THREADS_MAX;
use crate::error::Error;
use crate::progress::Progress;
use crate::split::Splitter;

/// Long texts are counted in parts of this size, so that threads share them and a stop is heeded.
const PART_BYTES: usize = 1 << 20;

/// Distinct pieces and their counts.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The pieces, one after the other.
    bytes: Vec<u8>,
    /// Where each ends in `bytes`, and how often it occurs.
    entries: Vec<(usize, u64)>,
    /// Indices, found by the bytes of their pieces.
    index: HashTable<u32>,
    hasher: RandomState,
}

impl Counts {
    /// Adds to the count of a piece.
    #[inline]
    fn add(&mut self, piece: &[u8], count: u64) {
        let (bytes, entries, hasher) = (&self.bytes, &self.entries, &self.hasher);
        let at = |index: u32| slice(bytes, entries, index as usize);
        let hash_of = |piece: &[u8]| {
            let mut hasher = hasher.build_hasher();
            hasher.write(piece);
            hasher.finish()
        };
        let entry = self.index.entry(hash_of(piece), |&i| at(i) == piece, |&i| hash_of(at(i)));
        match entry {
            Entry::Occupied(known) => self.entries[*known.get() as usize].1 += count,
            Entry::Vacant(place) => {
                place.insert(self.entries.len() as u32);
                self.bytes.extend_from_slice(piece);
                self.entries.push((self.bytes.len(), count));
            }
        }
    }

    /// Returns the pieces and their counts, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        (0..self.entries.len())
            .map(|index| (slice(&self.bytes, &self.entries, index), self.entries[index].1))
    }

    /// Returns the pieces and their counts in the order of the pieces' bytes.
    ///
    /// They are sorted in groups by their first two bytes, so that a stop is heeded soon.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub fn sorted(&self, progress: &Progress) -> Result<Vec<(&[u8], u64)>, Error> {
        let mut groups = vec![Vec::new(); 1 << 16];
        for (piece, count) in self.iter() {
            let second = piece.get(1).copied().unwrap_or(0);
            groups[usize::from(piece[0]) << 8 | usize::from(second)].push((piece, count));
        }
        let mut all = Vec::with_capacity(self.len());
        for mut group in groups {
            group.sort_unstable();
            all.append(&mut group);
            progress.advance(0)?;
        }
        Ok(all)
    }

    /// Returns the number of distinct pieces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Checks that the counts take their share of the memory, and that 32 bits number their bytes.
    fn check(&self, budget: Option<usize>, shares: usize) -> Result<(), Error> {
        let memory = self.bytes.len() + self.entries.len() * 16 + self.index.capacity() * 5;
        match budget {
            Some(budget) if memory > budget / shares => Err(Error::MemoryExceeded { budget }),
            _ if u32::try_from(self.bytes.len()).is_err() => Err(Error::CorpusTooLarge),
            _ => Ok(()),
        }
    }

    /// Returns the SHA-256 of the counts: equal for equal corpora, whatever the order of their texts.
    ///
    /// It covers, piece by piece in the order of their bytes: the length and the count as 64-bit
    /// little-endian numbers, then the piece.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub fn digest(&self, progress: &Progress) -> Result<[u8; 32], Error> {
        let mut sha = Sha256::new();
        for (piece, count) in self.sorted(progress)? {
            sha.update((piece.len() as u64).to_le_bytes());
            sha.update(count.to_le_bytes());
            sha.update(piece);
            progress.advance(0)?;
        }
        Ok(sha.finalize().into())
    }
}

fn slice<'b>(bytes: &'b [u8], entries: &[(usize, u64)], index: usize) -> &'b [u8] {
    let start = if index == 0 { 0 } else { entries[index - 1].0 };
    &bytes[start..entries[index].0]
}

/// Counts a corpus that comes in batches, on several threads.
#[derive(Debug)]
pub struct Counter {
    splitter: Splitter,
    memory_max: Option<usize>,
    /// One for each thread, so that none waits for another.
    counts: Vec<Counts>,
}

impl Counter {
    /// Makes a counter that uses so many threads and, if bounded, so many bytes for its counts.
    #[must_use]
    pub fn new(splitter: Splitter, threads: usize, memory_max: Option<usize>) -> Self {
        let threads = threads.clamp(1, THREADS_MAX);
        Self { splitter, memory_max, counts: vec![Counts::default(); threads] }
    }

    /// Returns what the corpus is split by.
    #[must_use]
    pub fn splitter(&self) -> &Splitter {
        &self.splitter
    }

    /// Counts the pieces of more texts. The order of texts and batches does not matter.
    ///
    /// # Errors
    ///
    /// When the pattern fails on a text, the memory does not suffice, or somebody asked to stop.
    pub fn add(&mut self, texts: &[&[u8]], progress: &Progress) -> Result<(), Error> {
        let splitter = &self.splitter;
        let parts: Vec<&[u8]> =
            texts.iter().flat_map(|text| splitter.parts(text, PART_BYTES)).collect();
        let (budget, shares) = (self.memory_max, self.counts.len());
        let next = AtomicUsize::new(0);
        let count = |counts: &mut Counts| -> Result<(), Error> {
            while let Some(part) = parts.get(next.fetch_add(1, Relaxed)) {
                splitter.split(part, |piece| counts.add(piece, 1))?;
                counts.check(budget, shares)?;
                progress.advance(part.len() as u64)?;
            }
            Ok(())
        };
        let (first, others) = self.counts.split_first_mut().expect("there is a thread at least");
        thread::scope(|scope| {
            // A system that gives no more threads makes this slower only.
            let start = |own| thread::Builder::new().spawn_scoped(scope, || count(own)).ok();
            let others: Vec<_> = others.iter_mut().filter_map(start).collect();
            let first = count(first);
            let join =
                |worker: thread::ScopedJoinHandle<_>| worker.join().expect("no worker panics");
            others.into_iter().map(join).fold(first, Result::and)
        })
    }

    /// Returns all counts.
    ///
    /// # Errors
    ///
    /// When there are more distinct pieces than can be learned from, or somebody asked to stop.
    pub fn finish(self, progress: &Progress) -> Result<Counts, Error> {
        let mut all = self.counts.into_iter();
        let mut joined = all.next().expect("there is a thread at least");
        for counts in all {
            for (piece, count) in counts.iter() {
                joined.add(piece, count);
                progress.advance(0)?;
            }
            joined.check(None, 1)?;
        }
        Ok(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::NANOCHAT;

    fn counted(texts: &[&[u8]], threads: usize, batch: usize) -> Counts {
        let mut counter = Counter::new(Splitter::new(NANOCHAT).unwrap(), threads, None);
        for texts in texts.chunks(batch) {
            counter.add(texts, &Progress::default()).unwrap();
        }
        counter.finish(&Progress::default()).unwrap()
    }

    #[test]
    fn counts_do_not_depend_on_threads_batches_or_order() {
        let long = "one two  three\n\nfour's 12345 ".repeat(200_000);
        let texts: Vec<&[u8]> = vec![b"a b a", long.as_bytes(), b"", b"b\xFF a", b"two"];
        let reversed: Vec<&[u8]> = texts.iter().rev().copied().collect();
        let progress = Progress::default();
        let expected = counted(&texts, 1, 5);
        let in_order = expected.sorted(&progress).unwrap();
        assert!(in_order.is_sorted());
        assert!(in_order.contains(&(b" two", 200_000)));
        for (threads, batch) in [(1, 1), (2, 5), (3, 2), (8, 1)] {
            let found = counted(&reversed, threads, batch);
            assert_eq!(found.sorted(&progress).unwrap(), in_order);
            assert_eq!(found.digest(&progress), expected.digest(&progress));
        }
        assert_ne!(counted(&texts[1..], 1, 1).digest(&progress), expected.digest(&progress));
    }

    #[test]
    fn refuses_to_outgrow_its_memory() {
        let text: Vec<u8> =
            (0..3000).flat_map(|n| [b' '].into_iter().chain(vec![b'x'; n])).collect();
        let mut counter = Counter::new(Splitter::new(NANOCHAT).unwrap(), 1, Some(100_000));
        let error = counter.add(&[&text], &Progress::default()).unwrap_err();
        assert_eq!(error, Error::MemoryExceeded { budget: 100_000 });
    }
}
