//! A vocabulary with the tables that merging reads: which pairs merge, and where a piece may be cut.

use std::thread;

use super::{CharBridges, PairTable, find_pair_origins};
use crate::sys::sections::{SectionReader, SectionWriter};
use crate::vocab::{Id, SHARED_TOKENS, Vocab};

/// Tokens that are looked up in an image before it is used.
const PROBES: usize = 512;

/// A [`Vocab`] and all that merging needs to know of it. It follows from the tokens and never changes.
///
/// Two are equal when their vocabularies are.
#[derive(Clone, Debug)]
pub struct BpeModel {
    vocab: Vocab,
    pairs: PairTable,
    /// Where pieces may be cut, and what merging them may begin with.
    bridges: CharBridges,
}

impl BpeModel {
    /// Finds the pairs and the bridges of a vocabulary, side by side if it is large.
    #[must_use]
    pub fn new(vocab: Vocab) -> Self {
        let (pairs, bridges) = find_pairs_and_bridges(&vocab);
        let all_reached = pairs.len() + 256 == vocab.iter().len();
        let is_before = |part: Id, joined: Id| {
            part < joined || vocab.token(part).is_some_and(|token| token.len() == 1)
        };
        let rising =
            pairs.all(|(left, right), joined| is_before(left, joined) && is_before(right, joined));
        Self { vocab, pairs, bridges: bridges.of_vocab(all_reached, rising) }
    }

    /// Writes the vocabulary and its tables into an image.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        self.vocab.write_image(image);
        self.pairs.write_image(image);
        self.bridges.write_image(image);
    }

    /// Reads a model out of an image; `None` if its parts do not fit each other.
    pub(crate) fn from_image(image: &mut SectionReader) -> Option<Self> {
        let vocab = Vocab::from_image(image)?;
        let (pairs, bridges) = (PairTable::from_image(image)?, CharBridges::from_image(image)?);
        let model = Self { vocab, pairs, bridges };
        model.is_found().then_some(model)
    }

    /// Returns whether some tokens, from all parts of the vocabulary, are found as they should be.
    fn is_found(&self) -> bool {
        let Self { vocab, pairs, .. } = self;
        let step = (vocab.iter().len() / PROBES).max(1);
        vocab.iter().step_by(step).all(|(id, token)| {
            let pair = match *token {
                [left, right] => pairs.get(vocab.byte(left), vocab.byte(right)),
                _ => Some(id),
            };
            vocab.find(token) == Some(id) && pair == Some(id)
        })
    }

    /// Returns the tokens.
    #[must_use]
    #[inline]
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// Returns the table of the pairs that merge.
    #[must_use]
    #[inline]
    pub fn pairs(&self) -> &PairTable {
        &self.pairs
    }

    /// Returns which characters tokens bridge.
    #[inline]
    pub(crate) fn bridges(&self) -> &CharBridges {
        &self.bridges
    }

    /// Calls `each` with the parts that merging a piece begins with.
    #[inline]
    pub(crate) fn parts(&self, piece: &[u8], each: impl FnMut(Id)) {
        self.bridges.parts(piece, self.vocab.byte_ids(), each);
    }
}

impl PartialEq for BpeModel {
    fn eq(&self, other: &Self) -> bool {
        self.vocab == other.vocab
    }
}

impl Eq for BpeModel {}

/// Finds which pairs merge and what bridges characters, on two threads if that is worth a start.
fn find_pairs_and_bridges(vocab: &Vocab) -> (PairTable, CharBridges) {
    thread::scope(|scope| {
        let bridges = || CharBridges::of(vocab.iter());
        let worker = (vocab.iter().len() >= SHARED_TOKENS)
            .then(|| thread::Builder::new().spawn_scoped(scope, bridges).ok())
            .flatten();
        let pairs = find_pair_origins(vocab);
        (pairs, worker.map_or_else(bridges, |worker| worker.join().expect("no worker panics")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::{MergeBuffers, merge};
    use crate::testing::model_of;

    #[test]
    fn pairs_of_ids_with_gaps_are_found() {
        let bytes = (0..=u8::MAX).map(|byte| (Id::from(byte), vec![byte]));
        let tokens = bytes.chain([(300, b"ab".to_vec()), (1_000_000, b"abc".to_vec())]);
        let model = BpeModel::new(Vocab::new(tokens.collect()).unwrap());
        assert_eq!(model.pairs().get(300, u32::from(b'c')), Some(1_000_000));
    }

    #[test]
    fn a_token_may_rank_below_its_parts() {
        let tokens: [&[u8]; 6] = [
            "中文".as_bytes(),
            "A中".as_bytes(),
            b"\xE4\xB8",
            "中".as_bytes(),
            b"\xE6\x96",
            "文".as_bytes(),
        ];
        let spelled = (256..).zip(tokens.map(<[u8]>::to_vec));
        let bytes = (0..=u8::MAX).map(|byte| (Id::from(byte), vec![byte]));
        let model = BpeModel::new(Vocab::new(bytes.chain(spelled).collect()).unwrap());
        let mut ids = Vec::new();
        merge(&model, "A中文".as_bytes(), &mut MergeBuffers::default(), &mut ids);
        assert_eq!(ids, [257, 261]);
    }

    #[test]
    fn a_token_that_no_merge_reaches_has_no_pair() {
        let model = model_of(["abc", "ab"]);
        assert_eq!(model.pairs().len(), 2);
        let model = model_of(["abc"]);
        assert_eq!(model.pairs().len(), 0);
    }
}
