//! Many texts become ids on many threads.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::Tokenizer;
use super::parallel::in_one_row;
use crate::sys::error::Error;
use crate::sys::huge_buffer;
use crate::sys::threads::{BYTES_PER_THREAD, THREADS_MAX, by_threads, in_parallel};
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// A text whose bytes are there, or are made where it is encoded.
pub trait TextSource: Sync {
    /// Returns how many bytes it has at most.
    fn bytes_most(&self) -> usize;

    /// Returns its bytes, which are in `room` if they had to be made; none if it has no bytes.
    fn read<'t>(&'t self, room: &'t mut Vec<u8>) -> Option<&'t [u8]>;
}

impl TextSource for &[u8] {
    fn bytes_most(&self) -> usize {
        self.len()
    }

    fn read<'t>(&'t self, _: &'t mut Vec<u8>) -> Option<&'t [u8]> {
        Some(self)
    }
}

/// The ids of many texts in one row.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Batch {
    /// The ids of the first text, then those of the second, …
    pub ids: Vec<Id>,
    /// Where those of each text end.
    pub ends: Vec<usize>,
}

impl Batch {
    fn with_room(bytes: usize) -> Self {
        // A token has three bytes, or four, or five.
        Self { ids: huge_buffer::vec(bytes / 3), ends: Vec::new() }
    }

    /// Puts what threads have made into the order of the texts.
    fn of(mut shares: Vec<Share>) -> Self {
        if let [_] = shares[..] {
            return shares.remove(0).row;
        }
        let mut parts: Vec<_> = shares.iter().flat_map(Share::parts).collect();
        parts.sort_by_key(|part| part.number);
        let (mut ends, mut count) = (Vec::new(), 0);
        for part in &parts {
            ends.extend(part.ends.iter().map(|end| count + end - part.before));
            count += part.ids.len();
        }
        let parts: Vec<&[Id]> = parts.iter().map(|part| part.ids).collect();
        Self { ids: in_one_row(&parts, shares.len()), ends }
    }

    /// Returns the ids of each text.
    pub fn iter(&self) -> impl Iterator<Item = &[Id]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.ids[std::mem::replace(&mut start, end)..end])
    }
}

impl Tokenizer {
    /// Encodes many texts on so many threads; nothing if one of them has no bytes.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn encode_batch<T: TextSource>(
        &self,
        texts: &[T],
        allowed: &AllowedSpecials,
        threads: usize,
    ) -> Result<Option<Batch>, Error> {
        let bytes: usize = texts.iter().map(TextSource::bytes_most).sum();
        let groups = groups_of(texts);
        let threads = threads.min(THREADS_MAX).min(groups.len()).max(1);
        let next = AtomicUsize::new(0);
        // Each thread takes the next texts that nobody has taken, and keeps their ids in one row.
        let run = || {
            let (mut scratch, mut room) = (self.lend(), Vec::new());
            let mut share = Share { row: Batch::with_room(bytes / threads), groups: Vec::new() };
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(texts) = groups.get(number) else { return Ok(Some(share)) };
                share.groups.push((number, texts.len()));
                for text in *texts {
                    let Some(text) = text.read(&mut room) else { return Ok(None) };
                    self.encode_with(text, allowed, &mut scratch, &mut share.row.ids)?;
                    share.row.ends.push(share.row.ids.len());
                }
            }
        };
        let shares = by_threads(threads, run).into_iter().collect::<Result<Option<Vec<_>>, _>>()?;
        Ok(shares.map(Batch::of))
    }

    /// Counts the ids of many texts on so many threads; nothing if one of them has no bytes.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn count_batch<T: TextSource>(
        &self,
        texts: &[T],
        allowed: &AllowedSpecials,
        threads: usize,
    ) -> Result<Option<Vec<usize>>, Error> {
        let state = || (self.lend(), Vec::new());
        let counts = in_parallel(texts, T::bytes_most, threads, state, |text, (scratch, room)| {
            let Some(text) = text.read(room) else { return Ok(None) };
            let mut count = 0;
            self.encode_with(text, allowed, scratch, &mut count)?;
            Ok(Some(count))
        })?;
        Ok(counts.into_iter().collect())
    }
}

/// What one thread makes of a batch.
struct Share {
    row: Batch,
    /// The groups of texts that it has taken, and how many texts each has.
    groups: Vec<(usize, usize)>,
}

/// The ids of one group of texts.
struct Part<'s> {
    number: usize,
    ids: &'s [Id],
    /// Where those of each text end, counted from the row's beginning.
    ends: &'s [usize],
    /// How many ids the row has before these.
    before: usize,
}

impl Share {
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let (mut text, mut before) = (0, 0);
        self.groups.iter().map(move |&(number, texts)| {
            let ends = &self.row.ends[text..text + texts];
            let end = ends.last().map_or(before, |end| *end);
            let part = Part { number, ids: &self.row.ids[before..end], ends, before };
            (text, before) = (text + texts, end);
            part
        })
    }
}

/// Cuts texts into groups that are worth a thread's while.
fn groups_of<T: TextSource>(texts: &[T]) -> Vec<&[T]> {
    let (mut groups, mut first, mut bytes) = (Vec::new(), 0, 0);
    for (number, text) in texts.iter().enumerate() {
        bytes += text.bytes_most();
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

    /// A text of UTF-16 without pairs of surrogates.
    struct Utf16<'t>(&'t [u16]);

    impl TextSource for Utf16<'_> {
        fn bytes_most(&self) -> usize {
            self.0.len() * 3
        }

        fn read<'t>(&'t self, room: &'t mut Vec<u8>) -> Option<&'t [u8]> {
            room.clear();
            crate::sys::unicode::transcode_into(self.0, room)?;
            Some(room)
        }
    }

    #[test]
    fn a_batch_whose_texts_are_made_is_encoded_unless_one_has_no_bytes() {
        let splitter = Splitter::new(crate::pattern::NANOCHAT).unwrap();
        let tokenizer =
            Tokenizer::new(Vocab::try_from_merges(&[]).unwrap(), splitter, vec![]).unwrap();
        let none = AllowedSpecials::none();
        let wide: Vec<u16> = "aé€".encode_utf16().collect();
        let mut texts: Vec<Utf16> = (0..30_000).map(|_| Utf16(&wide)).collect();
        for threads in [1, 3] {
            let batch = tokenizer.encode_batch(&texts, &none, threads).unwrap().unwrap();
            assert_eq!(batch.ends, (1..=30_000).map(|text| text * 6).collect::<Vec<_>>());
            assert_eq!(tokenizer.decode(&batch.ids).unwrap(), "aé€".repeat(30_000).as_bytes());
        }
        texts[17_000] = Utf16(&[0xD800]);
        for threads in [1, 3] {
            assert_eq!(tokenizer.encode_batch(&texts, &none, threads).unwrap(), None);
            assert_eq!(tokenizer.count_batch(&texts, &none, threads).unwrap(), None);
        }
        let nothing = tokenizer.encode_batch::<&[u8]>(&[], &none, 2).unwrap();
        assert_eq!(nothing, Some(Batch::default()));
    }
}
