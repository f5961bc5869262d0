//! Encodes one large text on many threads.
//!
//! The text is cut at safe cuts, places where the pattern splits in any context. So each part has
//! the ids that it has within the whole text. Specials are parts of their own. For example:
//!
//! ```text
//! text     ordinary ……………………………………………  <|endoftext|>  ordinary ……………
//! parts    Ok(part 0) │ Ok(part 1) │ …   Err(100257)    Ok(part 7) │ …
//! threads  take the next free part; ids are concatenated in order
//! ```
//!
//! Cost: two threads encode cold English 1.51 and warm English 1.35 times as fast as one, because
//! each merges the pieces that are new to it (`docs/notes/threads.md`).

use std::sync::Mutex;

use super::{Tokenizer, refuse_too_long};
use crate::piece_cache::IdSink;
use crate::sys::error::Error;
use crate::sys::huge_buffer;
use crate::sys::threads::{BYTES_PER_THREAD, THREADS_MAX, map_in_parallel, run_on_threads};
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

impl Tokenizer {
    /// Encodes one text on up to `threads` threads, and returns its ids in a new vector. The ids
    /// equal the ids of one thread.
    ///
    /// # Errors
    ///
    /// The errors of [`Tokenizer::encode`].
    pub fn encode_parallel(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        threads: usize,
    ) -> Result<Vec<Id>, Error> {
        let parts: Vec<Vec<Id>> = self.encode_parts(text, allowed, threads)?;
        Ok(match <[Vec<Id>; 1]>::try_from(parts) {
            Ok([whole]) => whole,
            Err(parts) => {
                concatenate(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), threads)
            }
        })
    }

    /// Counts the ids of one text on up to `threads` threads.
    ///
    /// # Errors
    ///
    /// The errors of [`Tokenizer::encode`].
    pub fn count_parallel(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        threads: usize,
    ) -> Result<usize, Error> {
        Ok(self.encode_parts::<usize>(text, allowed, threads)?.into_iter().sum())
    }

    /// Cuts a text into independent parts, and encodes each on some thread into a sink of its own.
    /// Returns the sinks in the order of the text; a short text has one.
    fn encode_parts<T: IdSink + Send>(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        threads: usize,
    ) -> Result<Vec<T>, Error> {
        refuse_too_long(text)?;
        let threads = threads.clamp(1, THREADS_MAX).min(text.len() / BYTES_PER_THREAD);
        if threads < 2 {
            let mut sink = T::with_room_for(text.len());
            self.encode_with(text, allowed, &mut self.pool.acquire(), &mut sink)?;
            return Ok(vec![sink]);
        }
        // Four parts per thread, so that no thread idles long while another one finishes.
        let bytes = (text.len() / (threads * 4)).max(BYTES_PER_THREAD);
        let (mut parts, mut start) = (Vec::new(), 0);
        while let Some((place, id)) = allowed.find(text, start) {
            parts.extend(self.splitter.parts(&text[start..place.start], bytes).into_iter().map(Ok));
            parts.push(Err(id));
            start = place.end;
        }
        parts.extend(self.splitter.parts(&text[start..], bytes).into_iter().map(Ok));
        map_in_parallel(
            &parts,
            |part| part.map_or(0, <[u8]>::len),
            threads,
            || self.pool.acquire(),
            |part, scratch| {
                let mut sink = T::with_room_for(part.map_or(0, <[u8]>::len));
                match *part {
                    Ok(text) => self.encode_ordinary(text, scratch, &mut sink)?,
                    Err(special) => sink.push_id(special),
                }
                Ok(sink)
            },
        )
    }
}

/// Concatenates arrays of ids on up to `threads` threads.
///
/// One thread would spend most of its time in page faults of the new memory. With two threads
/// copying, warm English went from 1.05 to 1.35 times the speed of one (`docs/notes/threads.md`).
pub(crate) fn concatenate(parts: &[&[Id]], threads: usize) -> Vec<Id> {
    let count = parts.iter().map(|part| part.len()).sum();
    let mut ids = huge_buffer::vec_with_capacity(count);
    let mut targets = Vec::new();
    let mut rest = &mut ids.spare_capacity_mut()[..count];
    for part in parts {
        let (target, after) = rest.split_at_mut(part.len());
        targets.push((target, *part));
        rest = after;
    }
    let targets = Mutex::new(targets.into_iter());
    let next = || targets.lock().expect("no thread panics while it holds the lock").next();
    run_on_threads(threads.min(THREADS_MAX).min(count / IDS_PER_THREAD), || {
        while let Some((target, part)) = next() {
            for (to, id) in target.iter_mut().zip(part) {
                to.write(*id);
            }
        }
    });
    // SAFETY: the targets are consecutive and disjoint, and together they are the first `count`
    // values of the spare capacity. All of them are initialised: `run_on_threads` runs the closure
    // at least on this thread, each run ends only when the queue of targets is empty, and
    // `run_on_threads` returns only after every thread has filled the targets that it took.
    #[allow(unsafe_code)]
    unsafe {
        ids.set_len(count);
    }
    ids
}

/// The least number of ids per thread when ids are only copied: 1 MiB. The first writes to it take
/// some 0.5 ms (`docs/notes/memory.md`), which outweighs the start of a thread.
const IDS_PER_THREAD: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concatenates_all_parts_in_order() {
        for threads in [0, 1, 2, 5] {
            for count in [0, 1, 7, 40] {
                let parts: Vec<Vec<Id>> =
                    (0..count).map(|part| (0..part * 3000).map(|id| part ^ id).collect()).collect();
                let parts: Vec<&[Id]> = parts.iter().map(Vec::as_slice).collect();
                assert_eq!(concatenate(&parts, threads), parts.concat());
            }
        }
    }
}
