//! The ids that can spell a phrase inside a longer text, where merges may cross its ends.
//!
//! Ids are the merge of a piece if, and only if, every two neighbours are the merge of their own bytes.
//! So the ids around any place in a text are neighbours that pass that test, or a piece ends between
//! them. All tokens that can lie in the phrase or across its ends, with the steps from each to those
//! that may follow, are a graph; the sequences are its paths. Between the first and the last place
//! where the pattern cuts in any case, there is but one.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::encode::Tokenizer;
use crate::merge::{BpeModel, MergeBuffers, merge_parts};
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// Sequences that are told at most, of each end.
pub const SEQUENCES_MAX: usize = 1 << 16;

/// Neighbours that are tried at most: some seconds of work.
const TRIED_MAX: usize = 1 << 21;

/// All ids that can spell a phrase: one of the starts, the core, and one of the ends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Spellings {
    /// The first id of each may begin before the phrase.
    pub starts: Vec<Vec<Id>>,
    /// What is the same in every text.
    pub core: Vec<Id>,
    /// The last id of each may end after the phrase.
    pub ends: Vec<Vec<Id>>,
}

impl Tokenizer {
    /// Returns all ids that can spell a phrase inside a longer text.
    ///
    /// Of every text that holds the phrase, specials aside, the ids there are one of the starts, the
    /// core and one of the ends. Some that are told may be met in no text.
    ///
    /// # Errors
    ///
    /// When the phrase is empty, or has more starts or ends than [`SEQUENCES_MAX`].
    pub fn spellings(&self, phrase: &[u8]) -> Result<Spellings, Error> {
        if phrase.is_empty() {
            return Err(Error::EmptyNeedle);
        }
        let splitter = self.splitter();
        let cuts = splitter.possible_cuts(phrase);
        let within = |from: usize, to: usize, open: [bool; 2]| {
            let graph = Graph::new(self.model(), &phrase[from..to], &cuts[from..=to], open);
            graph.and_then(|graph| graph.paths()).ok_or_else(|| Error::PhraseSpellings {
                phrase: phrase.to_vec(),
                most: SEQUENCES_MAX,
            })
        };
        let cut = splitter.first_safe_cut(phrase).zip(splitter.last_safe_cut(phrase));
        let Some((first, last)) = cut else {
            let starts = within(0, phrase.len(), [true, true])?;
            return Ok(Spellings { starts, core: Vec::new(), ends: vec![Vec::new()] });
        };
        let mut core = Vec::new();
        self.encode(&phrase[first..last], &AllowedSpecials::none(), &mut core)?;
        let starts = within(0, first, [true, false])?;
        Ok(Spellings { starts, core, ends: within(last, phrase.len(), [false, true])? })
    }
}

/// A token at a place of the phrase.
#[derive(Clone, Copy, Debug)]
struct Node {
    id: Id,
    /// Where it ends, or the end of the phrase, if that is before.
    end: usize,
}

/// The tokens of a part of a phrase, and which may follow each.
struct Graph {
    nodes: Vec<Node>,
    /// The nodes at which a path begins.
    first: Vec<usize>,
    next: Vec<Vec<usize>>,
    end: usize,
}

impl Graph {
    /// Finds the tokens and steps, unless there are too many. Where a part is `open`, at its start or its
    /// end, tokens may cross it.
    fn new(model: &BpeModel, part: &[u8], cuts: &[bool], open: [bool; 2]) -> Option<Self> {
        let vocab = model.vocab();
        let end = part.len();
        let (mut nodes, mut first) = (Vec::new(), Vec::new());
        let (mut begun, mut ended) = (vec![Vec::new(); end + 1], vec![Vec::new(); end + 1]);
        let mut add = |id: Id, from: Option<usize>, end: usize| {
            let number = nodes.len();
            from.map_or(&mut first, |from| &mut begun[from]).push(number);
            ended[end].push(number);
            nodes.push(Node { id, end });
        };
        for at in 0..end {
            let from = Some(at).filter(|&at| at > 0);
            vocab.for_each_prefix(&part[at..], |id, length| add(id, from, at + length));
            if open[1] {
                let across = vocab.starting_with(&part[at..]).filter(|(_, t)| t.len() > end - at);
                across.for_each(|(id, _)| add(id, from, end));
            }
        }
        if open[0] {
            for at in 1..=end {
                let across = vocab.ending_with(&part[..at]).filter(|(_, t)| t.len() > at);
                across.for_each(|(id, _)| add(id, None, at));
            }
        }
        if open == [true, true] {
            let around = |token: &[u8]| {
                token.len() > end + 1
                    && token[1..token.len() - 1].windows(end).any(|inside| inside == part)
            };
            vocab.iter().filter(|(_, t)| around(t)).for_each(|(id, _)| add(id, None, end));
        }
        let tried: usize = (1..end).map(|at| ended[at].len() * begun[at].len()).sum();
        if tried > TRIED_MAX {
            return None;
        }
        let mut next = vec![Vec::new(); nodes.len()];
        let mut buffers = MergeBuffers::default();
        for at in 1..end {
            for &left in &ended[at] {
                let follows = |&right: &usize| {
                    cuts[at] || are_apart(model, nodes[left].id, nodes[right].id, &mut buffers)
                };
                next[left] = begun[at].iter().copied().filter(follows).collect();
            }
        }
        Some(Self { nodes, first, next, end })
    }

    /// Returns all paths, by rising ids, unless there are too many.
    fn paths(&self) -> Option<Vec<Vec<Id>>> {
        if self.end == 0 {
            return Some(vec![Vec::new()]);
        }
        // How many ways lead on from each node; what follows a node ends behind it.
        let mut ways = vec![0_usize; self.nodes.len()];
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&number| Reverse(self.nodes[number].end));
        let sum = |ways: &[usize], numbers: &[usize]| {
            numbers.iter().fold(0, |sum: usize, &number| sum.saturating_add(ways[number]))
        };
        for number in order {
            let is_last = self.nodes[number].end == self.end;
            ways[number] = if is_last { 1 } else { sum(&ways, &self.next[number]) };
        }
        if sum(&ways, &self.first) > SEQUENCES_MAX {
            return None;
        }
        let mut paths = BTreeSet::new();
        let mut open: Vec<Vec<usize>> = self.first.iter().map(|&first| vec![first]).collect();
        while let Some(path) = open.pop() {
            let last = path[path.len() - 1];
            if self.nodes[last].end == self.end {
                paths.insert(path.iter().map(|&number| self.nodes[number].id).collect());
            }
            let next = self.next[last].iter().filter(|&&next| ways[next] > 0);
            open.extend(next.map(|&next| [&path[..], &[next]].concat()));
        }
        Some(paths.into_iter().collect())
    }
}

/// Returns whether two ids are the merge of their own bytes.
fn are_apart(model: &BpeModel, left: Id, right: Id, buffers: &mut MergeBuffers) -> bool {
    let token = |id: Id| model.vocab().token(id).expect("all ids are the vocabulary's");
    let bytes = token(left).iter().chain(token(right)).map(|&byte| model.vocab().byte(byte));
    merge_parts(model.pairs(), bytes, buffers) == [left, right]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Splitter;
    use crate::pattern::NANOCHAT;
    use crate::phrases::tests::{Odd, tokenizers};
    use crate::testing::{Random, vocab_of};

    #[test]
    fn merges_may_cross_both_ends() {
        let vocab = vocab_of(["ow", "low", "er", " l", "we", " low"]);
        let tokenizer =
            Tokenizer::new(vocab, Splitter::new(NANOCHAT).unwrap(), Vec::new()).unwrap();
        let spelled = |parts: &[Vec<Id>]| -> Vec<Vec<u8>> {
            parts.iter().map(|ids| tokenizer.decode(ids).unwrap()).collect()
        };
        let found = tokenizer.spellings(b"w low").unwrap();
        assert_eq!(spelled(&found.starts), [&b"w"[..], b"ow", b"low", b" low"]);
        assert_eq!(spelled(&found.ends), [b" low"]);
        assert!(found.core.is_empty());
        let found = tokenizer.spellings(b"w a b").unwrap();
        assert_eq!(tokenizer.decode(&found.core).unwrap(), b" a");
        assert_eq!(tokenizer.spellings(b""), Err(Error::EmptyNeedle));
        assert!(tokenizer.spellings(b"o").unwrap().starts.contains(&vec![257]));
    }

    #[test]
    fn the_ids_of_every_text_with_the_phrase_are_among_them() {
        let mut random = Random(41);
        for tokenizer in tokenizers(&mut random) {
            let vocab = tokenizer.vocab();
            for _ in 0..60 {
                let [left, phrase, right] = [3, 2, 3].map(|most| random.odd(most));
                let Ok(found) = tokenizer.spellings(&phrase) else { continue };
                let mut ids = Vec::new();
                let text = [&left[..], &phrase, &right].concat();
                tokenizer.encode(&text, &AllowedSpecials::none(), &mut ids).unwrap();
                let mut end = 0;
                let over = ids.iter().filter(|&&id| {
                    let start = end;
                    end += vocab.token(id).unwrap().len();
                    end > left.len() && start < left.len() + phrase.len()
                });
                let over: Vec<Id> = over.copied().collect();
                let is_one = found.starts.iter().any(|start| {
                    let rest = over.strip_prefix(&start[..]);
                    rest.and_then(|rest| rest.strip_prefix(&found.core[..]))
                        .is_some_and(|rest| found.ends.iter().any(|end| end == rest))
                });
                assert!(is_one, "{left:x?} {phrase:x?} {right:x?} {over:?} {found:?}");
            }
        }
    }
}
