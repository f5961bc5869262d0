//! A vocabulary with the tables that merging reads: which pairs merge, and where a piece may be
//! cut.

use std::thread;

use super::{CharBridges, PairTable, find_pair_origins};
use crate::sys::sections::{SectionReader, SectionWriter};
use crate::vocab::{Id, PARALLEL_TOKENS_MIN, Vocab};

/// Tokens that are looked up in a mapped image before it is used. They are spread over the whole
/// vocabulary, so that an image of mismatched sections is refused without a full check. No
/// measurement chose 512.
const PROBES: usize = 512;

/// A [`Vocab`] with every table that merging needs. All tables follow from the tokens, and nothing
/// changes after construction. Two models are equal if their vocabularies are equal. For example,
/// the 256 bytes with `ab` = 256 and `abc` = 257 have two pairs: (97, 98) → 256 and (256, 99) →
/// 257.
#[derive(Clone, Debug)]
pub struct BpeModel {
    vocab: Vocab,
    pairs: PairTable,
    /// Where pieces may be cut, and the parts that merging may begin with.
    bridges: CharBridges,
}

impl BpeModel {
    /// Derives the pair table and the char bridges of a vocabulary.
    ///
    /// It takes most of the time of loading a tokenizer without an image. A vocabulary of at least
    /// 16,384 tokens uses up to three threads, which end with the call.
    #[must_use]
    pub fn new(vocab: Vocab) -> Self {
        let (pairs, bridges) = find_pairs_and_bridges(&vocab);
        let every_token_reachable = pairs.len() + 256 == vocab.iter().len();
        let is_part_first = |part: Id, merged_id: Id| {
            part < merged_id || vocab.token(part).is_some_and(|token| token.len() == 1)
        };
        let ranks_rise = pairs.all(|(left, right), merged_id| {
            is_part_first(left, merged_id) && is_part_first(right, merged_id)
        });
        Self {
            vocab,
            pairs,
            bridges: bridges.with_vocab_properties(every_token_reachable, ranks_rise),
        }
    }

    /// Appends the vocabulary, the pairs and the bridges to the sections of an image. The arrays
    /// are borrowed and copied when the image is written.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        self.vocab.write_image(image);
        self.pairs.write_image(image);
        self.bridges.write_image(image);
    }

    /// Reads a model from the sections of an image, whose memory it shares. Returns `None` if the
    /// sections do not fit each other; then the image is not used.
    pub(crate) fn try_from_image(image: &mut SectionReader) -> Option<Self> {
        let vocab = Vocab::try_from_image(image)?;
        let (pairs, bridges) =
            (PairTable::try_from_image(image)?, CharBridges::try_from_image(image)?);
        let model = Self { vocab, pairs, bridges };
        model.is_consistent().then_some(model)
    }

    /// Returns whether a sample of the tokens is found by its bytes, and tokens of two bytes by
    /// their pair.
    fn is_consistent(&self) -> bool {
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

    /// Returns the vocabulary.
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

    /// Returns the table of the characters that tokens bridge.
    #[inline]
    pub(crate) fn bridges(&self) -> &CharBridges {
        &self.bridges
    }

    /// Calls `visit` with each id that merging a piece begins with: characters where that is exact,
    /// else bytes.
    #[inline]
    pub(crate) fn for_each_part(&self, piece: &[u8], visit: impl FnMut(Id)) {
        self.bridges.for_each_part(piece, self.vocab.byte_ids(), visit);
    }
}

impl PartialEq for BpeModel {
    fn eq(&self, other: &Self) -> bool {
        self.vocab == other.vocab
    }
}

impl Eq for BpeModel {}

/// Finds the pairs that merge and the characters that tokens bridge, on two threads if the
/// vocabulary is large.
fn find_pairs_and_bridges(vocab: &Vocab) -> (PairTable, CharBridges) {
    thread::scope(|scope| {
        let bridges = || CharBridges::from_tokens(vocab.iter());
        let worker = (vocab.iter().len() >= PARALLEL_TOKENS_MIN)
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
    fn finds_pairs_of_ids_with_gaps() {
        let bytes = (0..=u8::MAX).map(|byte| (Id::from(byte), vec![byte]));
        let tokens = bytes.chain([(300, b"ab".to_vec()), (1_000_000, b"abc".to_vec())]);
        let model = BpeModel::new(Vocab::try_from_tokens(tokens.collect()).unwrap());
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
        let entries = (256..).zip(tokens.map(<[u8]>::to_vec));
        let bytes = (0..=u8::MAX).map(|byte| (Id::from(byte), vec![byte]));
        let model = BpeModel::new(Vocab::try_from_tokens(bytes.chain(entries).collect()).unwrap());
        let mut ids = Vec::new();
        merge(&model, "A中文".as_bytes(), &mut MergeBuffers::default(), &mut ids);
        assert_eq!(ids, [257, 261]);
    }

    #[test]
    fn an_unreachable_token_has_no_pair() {
        let model = model_of(["abc", "ab"]);
        assert_eq!(model.pairs().len(), 2);
        let model = model_of(["abc"]);
        assert_eq!(model.pairs().len(), 0);
    }
}
