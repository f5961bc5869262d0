//! Counts become merges: join the most frequent pair, over and over.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use crate::count::Counts;
use crate::error::Error;
use crate::progress::Progress;
use crate::vocab::Id;

type Pair = (Id, Id);

/// Learns at most so many merges; the first makes id 256.
///
/// The pair with the highest count goes first; of equal counts, the smallest pair of ids. There are
/// fewer merges than asked for when every piece has become one token.
///
/// # Errors
///
/// When somebody asked to stop.
pub fn learn(counts: &Counts, merges_max: usize, progress: &Progress) -> Result<Vec<Pair>, Error> {
    let mut words = Words::of(counts, progress)?;
    let mut pairs = words.pairs(progress)?;
    let rank = |(pair, info): (&Pair, &Occurrences)| (info.count, Reverse(*pair));
    // A pair's count only falls, so an entry that is out of date is put back with its true count.
    let mut heap: BinaryHeap<(u64, Reverse<Pair>)> = pairs.iter().map(rank).collect();
    let mut merges = Vec::new();

    while merges.len() < merges_max {
        let Some((count, Reverse(pair))) = heap.pop() else { break };
        match pairs.get(&pair).map_or(0, |info| info.count) {
            0 => {
                pairs.remove(&pair);
                continue;
            }
            current if current < count => {
                heap.push((current, Reverse(pair)));
                continue;
            }
            _ => (),
        }
        let joined = 256 + merges.len() as Id;
        merges.push(pair);
        let occurrences = pairs.remove(&pair).expect("its count was just read");
        let mut born = HashMap::new();
        for &word in &occurrences.words {
            words.join(word, pair, joined, &mut pairs, &mut born);
        }
        born.retain(|_, info: &mut Occurrences| info.count > 0);
        heap.extend(born.iter().map(rank));
        pairs.extend(born);
        progress.advance(1)?;
    }
    Ok(merges)
}

/// Where a pair occurs, and how often in all.
#[derive(Default)]
struct Occurrences {
    count: u64,
    /// Words that held the pair when it came about; it may be gone from some.
    words: Vec<u32>,
}

impl Occurrences {
    fn add(&mut self, word: u32, count: u64) {
        self.count += count;
        if self.words.last() != Some(&word) {
            self.words.push(word);
        }
    }
}

/// The distinct pieces, each as the ids it has been joined to so far.
struct Words {
    /// All parts; word w has `lengths[w]` of them from `starts[w]` on.
    parts: Vec<Id>,
    starts: Vec<u32>,
    lengths: Vec<u32>,
    counts: Vec<u64>,
}

impl Words {
    /// Takes the pieces in the order of their bytes, so that no run differs from another.
    fn of(counts: &Counts, progress: &Progress) -> Result<Self, Error> {
        let mut words =
            Self { parts: Vec::new(), starts: Vec::new(), lengths: Vec::new(), counts: Vec::new() };
        for (piece, count) in counts.sorted().into_iter().filter(|(piece, _)| piece.len() > 1) {
            words.starts.push(words.parts.len() as u32);
            words.lengths.push(piece.len() as u32);
            words.counts.push(count);
            words.parts.extend(piece.iter().map(|&byte| Id::from(byte)));
            progress.advance(0)?;
        }
        Ok(words)
    }

    fn pairs(&self, progress: &Progress) -> Result<HashMap<Pair, Occurrences>, Error> {
        let mut pairs: HashMap<Pair, Occurrences> = HashMap::new();
        for (word, &count) in self.counts.iter().enumerate() {
            let start = self.starts[word] as usize;
            for two in self.parts[start..start + self.lengths[word] as usize].windows(2) {
                pairs.entry((two[0], two[1])).or_default().add(word as u32, count);
            }
            progress.advance(0)?;
        }
        Ok(pairs)
    }

    /// Joins a pair wherever it occurs in a word, from left to right.
    ///
    /// Takes the pairs that this breaks off the counts in `pairs`, and counts the new ones in
    /// `born`: every pair that holds the new id. In `abab` joined by (a, b), the first join makes
    /// (ab, a), which the second breaks: such a pair is in `born` from the start.
    fn join(
        &mut self,
        word: u32,
        (left, right): Pair,
        joined: Id,
        pairs: &mut HashMap<Pair, Occurrences>,
        born: &mut HashMap<Pair, Occurrences>,
    ) {
        let (start, count) = (self.starts[word as usize] as usize, self.counts[word as usize]);
        let length = self.lengths[word as usize] as usize;
        let parts = &mut self.parts[start..start + length];
        let mut fall = |pair: Pair, born: &mut HashMap<Pair, Occurrences>| {
            // The pair being joined is in neither: its count is done with.
            let holder = if pair.0 == joined { born.get_mut(&pair) } else { pairs.get_mut(&pair) };
            if let Some(info) = holder {
                info.count -= count;
            }
        };
        let (mut read, mut written) = (0, 0);
        while read < length {
            if read + 1 == length || (parts[read], parts[read + 1]) != (left, right) {
                parts[written] = parts[read];
                (read, written) = (read + 1, written + 1);
                continue;
            }
            if written > 0 {
                let before = parts[written - 1];
                fall((before, left), born);
                born.entry((before, joined)).or_default().add(word, count);
            }
            if read + 2 < length {
                let after = parts[read + 2];
                fall((right, after), born);
                born.entry((joined, after)).or_default().add(word, count);
            }
            parts[written] = joined;
            (read, written) = (read + 2, written + 1);
        }
        self.lengths[word as usize] = written as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::Counter;
    use crate::split::Splitter;
    use crate::testing::Random;
    use crate::vocab::Vocab;

    fn counts(texts: &[&str]) -> Counts {
        let splitter = Splitter::new(crate::pattern::NANOCHAT).unwrap();
        let mut counter = Counter::new(splitter, 1, None);
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        counter.add(&texts, &Progress::default()).unwrap();
        counter.finish().unwrap()
    }

    /// The specification: count all pairs anew for every merge.
    fn learn_by_recount(counts: &Counts, merges_max: usize) -> Vec<Pair> {
        let sorted = counts.sorted();
        let mut words: Vec<(Vec<Id>, u64)> = sorted
            .iter()
            .map(|(piece, count)| (piece.iter().map(|&byte| Id::from(byte)).collect(), *count))
            .collect();
        let mut merges = Vec::new();
        while merges.len() < merges_max {
            let mut pairs: HashMap<Pair, u64> = HashMap::new();
            for (parts, count) in &words {
                for two in parts.windows(2) {
                    *pairs.entry((two[0], two[1])).or_default() += count;
                }
            }
            let best = pairs.into_iter().max_by_key(|(pair, count)| (*count, Reverse(*pair)));
            let Some((pair, _)) = best else { break };
            let joined = 256 + merges.len() as Id;
            merges.push(pair);
            for (parts, _) in &mut words {
                let mut at = 0;
                while at + 1 < parts.len() {
                    if (parts[at], parts[at + 1]) == pair {
                        parts[at] = joined;
                        parts.remove(at + 1);
                    }
                    at += 1;
                }
            }
        }
        merges
    }

    #[test]
    fn learns_what_counting_anew_would() {
        let mut random = Random(17);
        for _ in 0..300 {
            let letters = 1 + random.below(4);
            let texts: Vec<String> = (0..1 + random.below(6))
                .map(|_| {
                    (0..random.below(40))
                        .map(|_| ["a", "b", " ", "c"][random.below(letters)])
                        .collect()
                })
                .collect();
            let counts = counts(&texts.iter().map(String::as_str).collect::<Vec<_>>());
            let expected = learn_by_recount(&counts, 60);
            let found = learn(&counts, 60, &Progress::default()).unwrap();
            assert_eq!(found, expected, "{texts:?}");
        }
    }

    #[test]
    fn the_vocabulary_finds_the_learned_pairs_again() {
        let text = "it was the best of times, it was the worst of times, it was the age of wisdom";
        let merges = learn(&counts(&[text, "times of wisdom"]), 200, &Progress::default()).unwrap();
        let pairs = Vocab::from_merges(&merges).unwrap().pairs().by_rank();
        assert_eq!(pairs.into_iter().map(|(pair, _)| pair).collect::<Vec<_>>(), merges);
    }

    #[test]
    fn stops_when_asked() {
        let progress = Progress::default();
        progress.stop();
        assert_eq!(learn(&counts(&["abc abd"]), 10, &progress), Err(Error::Stopped));
    }
}
