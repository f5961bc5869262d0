//! Spellings: the sequences of ids that can spell a phrase inside a longer text.
//!
//! Merges may cross both ends of a phrase. Ids are the merge of a piece if and only if every two
//! neighbours are the merge of their own bytes. So two neighbouring ids in any text pass that test,
//! or a piece ends between them. The tokens that can lie in the phrase or across its ends are the
//! nodes of a graph, and the neighbours that pass are its edges. Each path is a sequence.
//!
//! For example, `w low` with the tokens `ow`, `low`, `er`, ` l`, `we` and ` low`. The pattern cuts
//! before the blank in any context, so the phrase has two parts, with an empty core between them:
//!
//! ```text
//! phrase     w              ␣low
//! starts     w              core: none      ends   ␣low
//!            ow
//!            low
//!            ␣low
//! ```
//!
//! Between the first and the last safe cut all texts have equal ids, the `core`. Only the part
//! before the first and the part after the last cut need a graph.
//!
//! Cost: 12,338 sequences spell `New York` by cl100k. A phrase with more than [`SEQUENCES_MAX`]
//! starts or ends is refused; `the` is one, because nearly every token that ends in `t`
//! can start it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::encode::Tokenizer;
use crate::merge::{BpeModel, MergeBuffers, merge_parts};
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// The number of starts, and of ends, that a phrase may have. Not measured.
pub const SEQUENCES_MAX: usize = 1 << 16;

/// Pairs of neighbours that are tested at most. Not measured; it is some seconds of work.
const EDGES_TESTED_MAX: usize = 1 << 21;

/// The sequences of ids that can spell a phrase: a start, the core, and an end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Spellings {
    /// The ids before the core. The first id of each sequence may begin before the phrase.
    pub starts: Vec<Vec<Id>>,
    /// The ids that every text with the phrase has.
    pub core: Vec<Id>,
    /// The ids after the core. The last id of each sequence may end after the phrase.
    pub ends: Vec<Vec<Id>>,
}

impl Tokenizer {
    /// Returns the sequences of ids that can spell a phrase inside a longer text.
    ///
    /// In every text with the phrase and without specials, its ids there are a start, the core and
    /// an end. Some of the sequences may occur in no text.
    ///
    /// # Errors
    ///
    /// When the phrase is empty, or has more starts or ends than [`SEQUENCES_MAX`].
    pub fn find_spellings(&self, phrase: &[u8]) -> Result<Spellings, Error> {
        if phrase.is_empty() {
            return Err(Error::EmptyNeedle);
        }
        let splitter = self.splitter();
        let cuts = splitter.possible_cuts(phrase);
        let find_sequences = |from: usize, to: usize, open: [bool; 2]| {
            let part = &phrase[from..to];
            let graph = SpellingGraph::try_new(self.model(), part, &cuts[from..=to], open);
            graph.and_then(|graph| graph.collect_paths()).ok_or_else(|| Error::PhraseSpellings {
                phrase: phrase.to_vec(),
                most: SEQUENCES_MAX,
            })
        };
        let cut = splitter.first_safe_cut(phrase).zip(splitter.last_safe_cut(phrase));
        let Some((first, last)) = cut else {
            let starts = find_sequences(0, phrase.len(), [true, true])?;
            return Ok(Spellings { starts, core: Vec::new(), ends: vec![Vec::new()] });
        };
        let mut core = Vec::new();
        self.encode(&phrase[first..last], &AllowedSpecials::none(), &mut core)?;
        let starts = find_sequences(0, first, [true, false])?;
        let ends = find_sequences(last, phrase.len(), [false, true])?;
        Ok(Spellings { starts, core, ends })
    }
}

/// A token at a position of a part of the phrase.
#[derive(Clone, Copy, Debug)]
struct TokenNode {
    id: Id,
    /// The end of the token, or the end of the part if the token crosses it.
    end: usize,
}

/// The tokens of a part of a phrase, with edges to the tokens that may follow each.
struct SpellingGraph {
    nodes: Vec<TokenNode>,
    /// The numbers of the nodes at which a path begins.
    first: Vec<usize>,
    /// The numbers of the nodes that may follow each node.
    next: Vec<Vec<usize>>,
    /// The length of the part.
    end: usize,
}

impl SpellingGraph {
    /// Finds nodes and edges, or `None` if there are too many pairs to test.
    ///
    /// `open` says for the start and the end of the part whether tokens may cross it. `cuts` says
    /// for each position whether a piece may end there.
    fn try_new(model: &BpeModel, part: &[u8], cuts: &[bool], open: [bool; 2]) -> Option<Self> {
        let vocab = model.vocab();
        let end = part.len();
        let (mut nodes, mut first) = (Vec::new(), Vec::new());
        let mut starting_at = vec![Vec::new(); end + 1];
        let mut ending_at = vec![Vec::new(); end + 1];
        let mut add = |id: Id, from: Option<usize>, end: usize| {
            let number = nodes.len();
            from.map_or(&mut first, |from| &mut starting_at[from]).push(number);
            ending_at[end].push(number);
            nodes.push(TokenNode { id, end });
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
            let is_enclosing = |token: &[u8]| {
                token.len() > end + 1
                    && token[1..token.len() - 1].windows(end).any(|inside| inside == part)
            };
            vocab.iter().filter(|(_, t)| is_enclosing(t)).for_each(|(id, _)| add(id, None, end));
        }
        let tested: usize = (1..end).map(|at| ending_at[at].len() * starting_at[at].len()).sum();
        if tested > EDGES_TESTED_MAX {
            return None;
        }
        let mut next = vec![Vec::new(); nodes.len()];
        let mut buffers = MergeBuffers::default();
        for at in 1..end {
            for &left in &ending_at[at] {
                let follows = |&right: &usize| {
                    cuts[at]
                        || can_be_neighbours(model, nodes[left].id, nodes[right].id, &mut buffers)
                };
                next[left] = starting_at[at].iter().copied().filter(follows).collect();
            }
        }
        Some(Self { nodes, first, next, end })
    }

    /// Returns all paths through the graph, sorted by their ids. `None` if there are more than
    /// [`SEQUENCES_MAX`], which the caller reports as an error.
    fn collect_paths(&self) -> Option<Vec<Vec<Id>>> {
        if self.end == 0 {
            return Some(vec![Vec::new()]);
        }
        // The number of paths from each node to the end. Nodes that end later come first, because
        // the next nodes of a node end behind it.
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

/// Returns whether two ids may stand side by side: the merge of their bytes gives the two ids
/// again. The buffers are overwritten.
fn can_be_neighbours(model: &BpeModel, left: Id, right: Id, buffers: &mut MergeBuffers) -> bool {
    let token = |id: Id| model.vocab().token(id).expect("all ids are the vocabulary's");
    let bytes = token(left).iter().chain(token(right)).map(|&byte| model.vocab().byte(byte));
    merge_parts(model.pairs(), bytes, buffers) == [left, right]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Splitter;
    use crate::pattern::NANOCHAT;
    use crate::phrases::tests::{OddText, tokenizers};
    use crate::testing::{Random, vocab_of};

    #[test]
    fn merges_may_cross_both_ends() {
        let vocab = vocab_of(["ow", "low", "er", " l", "we", " low"]);
        let tokenizer =
            Tokenizer::try_from_vocab(vocab, Splitter::parse(NANOCHAT).unwrap(), Vec::new())
                .unwrap();
        let spelled = |parts: &[Vec<Id>]| -> Vec<Vec<u8>> {
            parts.iter().map(|ids| tokenizer.decode(ids).unwrap()).collect()
        };
        let found = tokenizer.find_spellings(b"w low").unwrap();
        assert_eq!(spelled(&found.starts), [&b"w"[..], b"ow", b"low", b" low"]);
        assert_eq!(spelled(&found.ends), [b" low"]);
        assert!(found.core.is_empty());
        let found = tokenizer.find_spellings(b"w a b").unwrap();
        assert_eq!(tokenizer.decode(&found.core).unwrap(), b" a");
        assert_eq!(tokenizer.find_spellings(b""), Err(Error::EmptyNeedle));
        assert!(tokenizer.find_spellings(b"o").unwrap().starts.contains(&vec![257]));
    }

    #[test]
    fn the_ids_of_every_text_with_the_phrase_are_among_them() {
        let mut random = Random(41);
        for tokenizer in tokenizers(&mut random) {
            let vocab = tokenizer.vocab();
            for _ in 0..60 {
                let [left, phrase, right] = [3, 2, 3].map(|most| random.odd_text(most));
                let Ok(found) = tokenizer.find_spellings(&phrase) else { continue };
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
