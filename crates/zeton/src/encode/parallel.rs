//! One text on many threads.

use std::sync::Mutex;

use super::{Tokenizer, refuse_too_long};
use crate::piece_cache::IdSink;
use crate::sys::error::Error;
use crate::sys::huge_buffer;
use crate::sys::threads::{BYTES_PER_THREAD, THREADS_MAX, by_threads, in_parallel};
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

impl Tokenizer {
    /// Encodes one text on so many threads: it is cut where its pieces stay what they are.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn encode_parallel(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
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
        allowed: &AllowedSpecials,
        threads: usize,
    ) -> Result<usize, Error> {
        Ok(self.take_parallel::<usize>(text, allowed, threads)?.into_iter().sum())
    }

    /// Cuts one text into parts that have the ids that they have within the whole.
    fn take_parallel<T: IdSink + Send>(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
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

/// Puts ids into one row, on so many threads: memory that is written for the first time takes longer than
/// what is written to it.
pub(crate) fn in_one_row(parts: &[&[Id]], threads: usize) -> Vec<Id> {
    let count = parts.iter().map(|part| part.len()).sum();
    let mut ids = huge_buffer::vec(count);
    let mut places = Vec::new();
    let mut rest = &mut ids.spare_capacity_mut()[..count];
    for part in parts {
        let (place, after) = rest.split_at_mut(part.len());
        places.push((place, *part));
        rest = after;
    }
    let places = Mutex::new(places.into_iter());
    let next = || places.lock().expect("nobody panics with the lock").next();
    by_threads(threads.min(THREADS_MAX).min(count / IDS_PER_THREAD), || {
        while let Some((place, part)) = next() {
            for (to, id) in place.iter_mut().zip(part) {
                to.write(*id);
            }
        }
    });
    // SAFETY: the places are so many values of the row, one after the other, and each was written: there is
    // one thread at least, and none ends before all places are taken and filled.
    #[allow(unsafe_code)]
    unsafe {
        ids.set_len(count);
    }
    ids
}

/// Ids that are worth a thread's while where they are only copied.
const IDS_PER_THREAD: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_one_row_are_those_of_all_parts() {
        for threads in [0, 1, 2, 5] {
            for count in [0, 1, 7, 40] {
                let parts: Vec<Vec<Id>> =
                    (0..count).map(|part| (0..part * 3000).map(|id| part ^ id).collect()).collect();
                let parts: Vec<&[Id]> = parts.iter().map(Vec::as_slice).collect();
                assert_eq!(in_one_row(&parts, threads), parts.concat());
            }
        }
    }
}
