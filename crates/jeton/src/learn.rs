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
/// When there are too many pieces, or somebody asked to stop.
pub fn learn(counts: &Counts, merges_max: usize, progress: &Progress) -> Result<Vec<Pair>, Error> {
    let mut words = Words::of(counts, progress)?;
    let mut pairs = words.pairs(progress)?;
    let rank = |(pair, found): (&Pair, &Occurrences)| (found.count, Reverse(*pair));
    // A pair's count only falls, so an entry that is out of date is put back with its true count.
    let mut heap: BinaryHeap<(u64, Reverse<Pair>)> = pairs.iter().map(rank).collect();
    let mut merges = Vec::new();

    while merges.len() < merges_max {
        let Some((count, Reverse(pair))) = heap.pop() else { break };
        let Some(found) = pairs.remove(&pair).filter(|found| found.count > 0) else { continue };
        if found.count < count {
            heap.push((found.count, Reverse(pair)));
            pairs.insert(pair, found);
            continue;
        }
        merges.push(pair);
        let born = words.join(pair, &found.places, &mut pairs, progress)?;
        heap.extend(born.iter().map(rank));
        pairs.extend(born);
        progress.advance(1)?;
    }
    Ok(merges)
}

/// How often a pair occurs, and where.
#[derive(Default)]
struct Occurrences {
    count: u64,
    /// The cells where it began when it came about, rising; it may be gone from some.
    places: Vec<u32>,
}

impl Occurrences {
    fn add(&mut self, place: usize, count: u64) {
        self.count += count;
        self.places.push(place as u32);
    }
}

/// The distinct pieces, laid out in cells: a cell a byte, and an `END` around every word.
///
/// A token's id stands in its first and in its last cell. So the next token begins a token's length
/// further on, and the last cell of the token before is one cell back; a join touches no others.
struct Words {
    cells: Vec<Id>,
    /// The word of each cell, and the count of each word.
    word_of: Vec<u32>,
    counts: Vec<u64>,
    /// The bytes of each id.
    lengths: Vec<u32>,
}

const END: Id = Id::MAX;
/// A cell inside a token: no place in it begins a pair any more.
const INSIDE: Id = Id::MAX - 1;

/// Places that are joined between two looks at whether to stop.
const PLACES_AT_ONCE: usize = 1 << 16;

impl Words {
    /// Takes the pieces in the order of their bytes, so that no run differs from another.
    fn of(counts: &Counts, progress: &Progress) -> Result<Self, Error> {
        let mut words =
            Self { cells: vec![END], word_of: vec![0], counts: Vec::new(), lengths: vec![1; 256] };
        for (piece, count) in
            counts.sorted(progress)?.into_iter().filter(|(piece, _)| piece.len() > 1)
        {
            words.cells.extend(piece.iter().map(|&byte| Id::from(byte)));
            words.cells.push(END);
            words.word_of.resize(words.cells.len(), words.counts.len() as u32);
            words.counts.push(count);
            progress.advance(0)?;
        }
        match u32::try_from(words.cells.len()) {
            Ok(_) => Ok(words),
            Err(_) => Err(Error::CorpusTooLarge),
        }
    }

    fn count_at(&self, place: usize) -> u64 {
        self.counts[self.word_of[place] as usize]
    }

    /// Finds all pairs of bytes.
    fn pairs(&self, progress: &Progress) -> Result<HashMap<Pair, Occurrences>, Error> {
        let mut pairs: HashMap<Pair, Occurrences> = HashMap::new();
        for (place, two) in self.cells.windows(2).enumerate() {
            if two[0] != END && two[1] != END {
                pairs.entry((two[0], two[1])).or_default().add(place, self.count_at(place));
            }
            if place % PLACES_AT_ONCE == 0 {
                progress.advance(0)?;
            }
        }
        Ok(pairs)
    }

    /// Joins a pair wherever it occurs, from left to right, and returns the pairs that come about.
    ///
    /// All of those hold the new id. In `abab` joined by (a, b), the first join makes (ab, a) and
    /// the second breaks it again. The pairs that a join breaks lose their counts in `pairs`.
    fn join(
        &mut self,
        (left, right): Pair,
        places: &[u32],
        pairs: &mut HashMap<Pair, Occurrences>,
        progress: &Progress,
    ) -> Result<HashMap<Pair, Occurrences>, Error> {
        let joined = self.lengths.len() as Id;
        let [left_length, right_length] = [left, right].map(|id| self.lengths[id as usize]);
        self.lengths.push(left_length + right_length);
        let mut born: HashMap<Pair, Occurrences> = HashMap::new();
        for (done, &place) in places.iter().enumerate() {
            if done % PLACES_AT_ONCE == 0 {
                progress.advance(0)?;
            }
            let place = place as usize;
            let middle = place + left_length as usize;
            // An earlier join may have taken either part.
            if self.cells[place] != left || self.cells[middle] != right {
                continue;
            }
            let (after_place, count) = (middle + right_length as usize, self.count_at(place));
            let (before, after) = (self.cells[place - 1], self.cells[after_place]);
            if before != END {
                let holder = if before == joined { &mut born } else { &mut *pairs };
                fall(holder, (before, left), count);
                let before_place = place - self.lengths[before as usize] as usize;
                born.entry((before, joined)).or_default().add(before_place, count);
            }
            if after != END {
                fall(pairs, (right, after), count);
                born.entry((joined, after)).or_default().add(place, count);
            }
            (self.cells[middle - 1], self.cells[middle]) = (INSIDE, INSIDE);
            (self.cells[place], self.cells[after_place - 1]) = (joined, joined);
        }
        born.retain(|_, found| found.count > 0);
        Ok(born)
    }
}

/// Takes a pair's count down; the pair that is being joined is in no map, and is done with.
fn fall(pairs: &mut HashMap<Pair, Occurrences>, pair: Pair, count: u64) {
    if let Some(found) = pairs.get_mut(&pair) {
        found.count -= count;
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
        counter.finish(&Progress::default()).unwrap()
    }

    /// The specification: count all pairs anew for every merge.
    fn learn_by_recount(counts: &Counts, merges_max: usize) -> Vec<Pair> {
        let sorted = counts.sorted(&Progress::default()).unwrap();
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
