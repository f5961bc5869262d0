//! Finds the *origin* of each token: the one pair of ids whose merge makes it.
//!
//! The origin is the pair that remains when the bytes of the token are merged alone, just before
//! the last merge. No other pair ever makes the token: if two adjacent parts spell it, no merge
//! crossed their ends, so that they arose as they do alone. A token whose bytes do not merge down
//! to two parts has no origin. It is *unreachable*: only a piece that equals it is encoded as it.
//!
//! Merging every token would find all origins, but takes three quarters of the loading time.
//! Instead, each position is tried where the token falls into two tokens, and
//! [`Origins::border_survives`] decides whether merging keeps that border to the end. For example,
//! cl100k's ` token` (4037) has four of them, tried in the order of the higher id:
//!
//! | border | ids | decision |
//! |---|---|---|
//! | ` t` + `oken` | 259, 1713 | fails: ` t` + `o` merge (rank 311) before `o` + `k` (564) |
//! | ` to` + `ken` | 311, 2779 | survives: the origin of 4037 is (311, 2779) |
//! | ` ` + `token` | 220, 5963 | not tried |
//! | ` tok` + `en` | 9825, 268 | not tried |
//!
//! Tokens are processed by length, because the parts of a token are shorter than the token. Two
//! threads form a pipeline:
//!
//! ```text
//!  tokens by length ──▶ find_borders ──▶ queue of batches ──▶ add_batch ──▶ PairTable
//!                       worker thread    (16 × 1,024 tokens)  this thread
//! ```
//!
//! Cost: o200k (256 bytes and 199,742 tokens, each with a pair) loads without an image in 48 to 52
//! ms on two cores; one thread took 74 to 76.

use std::sync::mpsc::sync_channel;
use std::thread;

use super::{MergeBuffers, PairTable, merge_parts};
use crate::sys::huge_buffer::prefetch;
use crate::vocab::token_index::{TAG_MASK, tag};
use crate::vocab::{PARALLEL_TOKENS_MIN, Vocab};

/// The longest tokens whose borders are tried, in bytes. The tries grow with the square of the
/// length, and the positions of a token's borders are the bits of a `u32`. Few tokens are longer,
/// 212 of cl100k and 266 of o200k, and all of them are merged.
const BORDER_BYTES_MAX: usize = 32;

/// Tokens whose borders are found together, so that their hash table loads overlap. A batch is also
/// one message to the other thread. No measurement chose 1,024.
const BATCH_TOKENS: usize = 1 << 10;

/// How many borders ahead of the current one are prefetched. No measurement chose 64; the distance
/// has to cover the latency of main memory.
const PREFETCH_DISTANCE: usize = 64;

/// Batches in the queue at most, which bounds its memory. No measurement chose 16.
const QUEUED_BATCHES_MAX: usize = 16;

/// Finds the pairs of a vocabulary whose tokens can already be looked up by their bytes.
///
/// Until the end, indices stand for ids: indices have the same order and no gaps.
pub(crate) fn find_pair_origins(vocab: &Vocab) -> PairTable {
    let count = vocab.iter().len();
    let index_of = |byte| vocab.index_of(vocab.byte(byte)).expect("every byte is a token") as u32;
    let mut origins = Origins {
        vocab,
        bytes: std::array::from_fn(|byte| index_of(byte as u8)),
        pairs: PairTable::with_capacity(count - 256, count as u32),
        origins: vec![UNREACHABLE; count],
        buffers: MergeBuffers::default(),
    };
    for byte in origins.bytes {
        origins.origins[byte as usize] = BYTE;
    }
    let (by_length, long) = group_by_length(vocab);
    let hashes = TokenHashes::new(&by_length, count);
    let batches = || {
        let lengths = by_length.iter().enumerate().skip(2);
        let batches =
            lengths.flat_map(|(length, tokens_of_length)| tokens_of_length.batches(length));
        batches.map(|batch| (batch, hashes.find_borders(batch, vocab)))
    };
    thread::scope(|scope| {
        let (send, receive) = sync_channel(QUEUED_BATCHES_MAX);
        let send_all = move || batches().all(|batch| send.send(batch).is_ok());
        let worker = (count >= PARALLEL_TOKENS_MIN)
            .then(|| thread::Builder::new().spawn_scoped(scope, send_all).ok())
            .flatten();
        match worker {
            Some(_) => receive.into_iter().for_each(|batch| origins.add_batch(batch)),
            None => batches().for_each(|batch| origins.add_batch(batch)),
        }
    });
    for token in long {
        origins.add_by_merging(token);
    }
    origins.into_pairs()
}

/// All tokens of one length, as flat arrays in the order of processing.
#[derive(Clone, Default)]
struct TokensOfLength {
    /// The index of each token.
    tokens: Vec<u32>,
    /// The bytes of all tokens, one after the other.
    bytes: Vec<u8>,
}

/// Some tokens of one length.
#[derive(Clone, Copy)]
struct TokenBatch<'s> {
    tokens: &'s [u32],
    bytes: &'s [u8],
    length: usize,
}

impl TokensOfLength {
    /// Returns the tokens, each of `length` bytes, in batches of at most [`BATCH_TOKENS`], the unit
    /// that one thread sends to another.
    fn batches(&self, length: usize) -> impl Iterator<Item = TokenBatch<'_>> {
        let (tokens, bytes) =
            (self.tokens.chunks(BATCH_TOKENS), self.bytes.chunks(BATCH_TOKENS * length));
        tokens.zip(bytes).map(move |(tokens, bytes)| TokenBatch { tokens, bytes, length })
    }
}

/// Returns the tokens of up to [`BORDER_BYTES_MAX`] bytes, grouped by length, and the longer ones
/// sorted by length.
fn group_by_length(vocab: &Vocab) -> (Vec<TokensOfLength>, Vec<u32>) {
    let mut counts = [0; BORDER_BYTES_MAX + 1];
    for (_, token) in vocab.iter().filter(|(_, token)| token.len() <= BORDER_BYTES_MAX) {
        counts[token.len()] += 1;
    }
    let tokens_of_length = |(length, &count): (usize, &usize)| TokensOfLength {
        tokens: Vec::with_capacity(count),
        bytes: Vec::with_capacity(count * length),
    };
    let mut by_length: Vec<TokensOfLength> =
        counts.iter().enumerate().map(tokens_of_length).collect();
    let mut long = Vec::new();
    for (index, (_, token)) in (0..).zip(vocab.iter()) {
        match by_length.get_mut(token.len()) {
            Some(tokens_of_length) => {
                tokens_of_length.tokens.push(index);
                tokens_of_length.bytes.extend_from_slice(token);
            }
            None => long.push(index),
        }
    }
    long.sort_by_key(|&index| vocab.token_at(index as usize).len());
    (by_length, long)
}

/// The pair that makes a token, or one of the three markers below.
type Origin = [u32; 2];

/// The marker of a byte, which exists before any merge.
const BYTE: Origin = [u32::MAX, 0];

/// The marker of a token that no merge makes.
const UNREACHABLE: Origin = [u32::MAX, 1];

/// The marker of a token that ranks below one of its parts, or below a part of a part.
const OUT_OF_ORDER: Origin = [u32::MAX, 2];

/// A position where a token falls into two tokens.
#[derive(Clone, Copy)]
struct CandidateBorder {
    /// The token, by its number within the batch.
    number: u32,
    /// The position, in bytes.
    at: u32,
    /// The index of the left token.
    left: u32,
    /// The index of the right token.
    right: u32,
}

/// The origins of all tokens that are shorter than the next one to process.
struct Origins<'v> {
    vocab: &'v Vocab,
    /// The index of each byte's token.
    bytes: [u32; 256],
    /// The origins of the tokens so far, as pairs of indices.
    pairs: PairTable,
    /// The origin of each token, by its index.
    origins: Vec<Origin>,
    buffers: MergeBuffers,
}

impl Origins<'_> {
    /// Adds a batch of tokens with their candidate borders. It runs on the thread that owns the
    /// pair table, in the order of lengths.
    fn add_batch(&mut self, (batch, mut borders): (TokenBatch, Vec<CandidateBorder>)) {
        self.prefetch_borders(borders.iter().take(PREFETCH_DISTANCE));
        let mut rest = borders.as_mut_slice();
        for (number, &token) in (0..).zip(batch.tokens) {
            let own = rest.iter().take_while(|border| border.number == number).count();
            self.prefetch_borders(rest.iter().skip(PREFETCH_DISTANCE).take(own));
            let (own, following) = rest.split_at_mut(own);
            self.add_by_borders(token, own);
            rest = following;
        }
    }

    /// Prefetches the origins of both parts of some borders, and their pair, because
    /// `border_survives` reads them soon.
    fn prefetch_borders<'b>(&self, borders: impl Iterator<Item = &'b CandidateBorder>) {
        for border in borders {
            prefetch(&self.origins[border.left as usize]);
            prefetch(&self.origins[border.right as usize]);
            self.pairs.prefetch_pair(border.left, border.right);
        }
    }

    /// Adds a token by the border that survives. If none does, or a border is undecidable, the
    /// bytes are merged.
    fn add_by_borders(&mut self, token: u32, borders: &mut [CandidateBorder]) {
        // Nine of ten tokens consist of the two parts that arise first.
        borders.sort_unstable_by_key(|border| border.left.max(border.right));
        for border in borders {
            match self.border_survives(border.left, border.right) {
                Some(false) => {}
                Some(true) => return self.add(token, border.left, border.right),
                None => break,
            }
        }
        self.add_by_merging(token);
    }

    /// Adds a token by merging its bytes. It adds nothing if more than two parts remain: the token
    /// is unreachable.
    fn add_by_merging(&mut self, token: u32) {
        let bytes = self.vocab.token_at(token as usize).iter();
        let parts = bytes.map(|&byte| self.bytes[usize::from(byte)]);
        if let &[left, right] = merge_parts(&self.pairs, parts, &mut self.buffers) {
            self.add(token, left, right);
        }
    }

    /// Records the origin of a token: inserts the pair into `pairs`, and sets `origins[token]` to
    /// the pair or to [`OUT_OF_ORDER`].
    fn add(&mut self, token: u32, left: u32, right: u32) {
        self.pairs.insert(left, right, token);
        let is_in_order = |part: u32| match self.origins[part as usize] {
            BYTE => true,
            OUT_OF_ORDER => false,
            _ => part < token,
        };
        self.origins[token as usize] =
            if is_in_order(left) && is_in_order(right) { [left, right] } else { OUT_OF_ORDER };
    }

    /// Returns whether merging the bytes of two tokens ends with these two. `None` if one of them
    /// is out of order.
    ///
    /// Each token arises as it does alone, unless a merge crosses the border between them. Ranks
    /// rise from parts to wholes, so that merges happen in the order of their ranks. The history of
    /// the border is thus replayed backwards. The neighbour of the border with the higher rank is
    /// undone, one after the other, until both neighbours are bytes. The border fails if two
    /// neighbours on the way have a pair of lower rank than the merge just undone, because that
    /// pair merges first. If the ranks are equal, the leftmost pair merges first: a merge left of
    /// the border precedes one across it, which precedes one right of it.
    ///
    /// For example, ` to` (311) and `ken` (2779): undoing `ken` leaves ` to` + `k`, whose pair
    /// ` tok` ranks 9825, later than 2779. Undoing ` to` leaves `o` + `k`, whose pair ranks 564 and
    /// thus later than 311. Both neighbours are bytes now, and the border survives.
    fn border_survives(&self, mut left: u32, mut right: u32) -> Option<bool> {
        let [mut left_parts, mut right_parts] =
            [left, right].map(|part| self.origins[part as usize]);
        if left_parts == OUT_OF_ORDER || right_parts == OUT_OF_ORDER {
            return None;
        }
        if left_parts == UNREACHABLE || right_parts == UNREACHABLE {
            return Some(false);
        }
        loop {
            let limit = match (left_parts, right_parts) {
                (BYTE, BYTE) => return Some(true),
                (BYTE, _) => self.undo(&mut right, &mut right_parts, 0) + 1,
                (_, BYTE) => self.undo(&mut left, &mut left_parts, 1),
                _ if left > right => self.undo(&mut left, &mut left_parts, 1),
                _ => self.undo(&mut right, &mut right_parts, 0) + 1,
            };
            if self.pairs.rank(left, right) < limit {
                return Some(false);
            }
        }
    }

    /// Undoes the last merge of a part beside the border: replaces `token` by its own part that
    /// touches the border, and `parts` by the parts of that one. Returns the rank of the undone
    /// merge.
    #[inline]
    fn undo(&self, token: &mut u32, parts: &mut Origin, side: usize) -> u32 {
        let undone = *token;
        *token = parts[side];
        *parts = self.origins[*token as usize];
        undone
    }

    /// Returns the pairs with ids in place of indices, in a new table. Without gaps between ids
    /// both are equal, and the table is returned as it is.
    fn into_pairs(self) -> PairTable {
        let id = |index: u32| self.vocab.id_at(index as usize);
        if self.vocab.id_max() as usize + 1 == self.origins.len() {
            return self.pairs;
        }
        let found = self.pairs.collect_by_rank();
        let mut pairs = PairTable::with_capacity(found.len(), self.vocab.id_max());
        for ((left, right), token) in found {
            pairs.insert(id(left), id(right), id(token));
        }
        pairs
    }
}

/// A compact hash table of the tokens by their bytes: a Bloom filter with one hash function, then
/// an open-addressed table.
///
/// Lookups are probabilistic, because no bytes are compared. `find_borders` compares them in the
/// end. If a false positive hides a border, the token is merged instead, which gives the same pair.
struct TokenHashes {
    /// One bit for each hash value. One in ten byte strings that are no token passes.
    filter: Vec<u64>,
    /// The shift that turns a hash into a bit number of the filter.
    filter_shift: u32,
    /// A tag of seven bits above an index plus one, as in [`crate::vocab::token_index`]; zero if
    /// the slot is empty.
    slots: Vec<u32>,
    /// The shift that turns a hash into a slot number.
    slots_shift: u32,
}

/// Bits of the filter per token, before rounding up to a power of two: at most one bit in eight is
/// set.
const FILTER_BITS_PER_TOKEN: usize = 8;

/// The base of the polynomial hash: 2⁶⁴ divided by the golden ratio, an odd number without a
/// pattern.
const HASH_FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// The powers of [`HASH_FACTOR`]. The hash of a suffix is `hash(whole) - hash(prefix) * power`,
/// which takes constant time.
const HASH_POWERS: [u64; BORDER_BYTES_MAX + 1] = {
    let mut powers = [1; BORDER_BYTES_MAX + 1];
    let mut at = 1;
    while at <= BORDER_BYTES_MAX {
        powers[at] = HASH_FACTOR.wrapping_mul(powers[at - 1]);
        at += 1;
    }
    powers
};

impl TokenHashes {
    /// Builds the filter and the hash table of all `count` tokens. They tell whether a part of a
    /// token is a token too, and which one.
    fn new(by_length: &[TokensOfLength], count: usize) -> Self {
        let bits = (count * FILTER_BITS_PER_TOKEN).next_power_of_two();
        let slots = (count * 5 / 4).next_power_of_two();
        let mut hashes = Self {
            filter: vec![0; bits / 64],
            filter_shift: 64 - bits.trailing_zeros(),
            slots: vec![0; slots],
            slots_shift: 64 - slots.trailing_zeros(),
        };
        for (length, tokens_of_length) in by_length.iter().enumerate().skip(1) {
            for (token, bytes) in
                tokens_of_length.tokens.iter().zip(tokens_of_length.bytes.chunks_exact(length))
            {
                let hash = mix_bits(bytes.iter().fold(0, extend_hash));
                let bit = hash >> hashes.filter_shift;
                hashes.filter[bit as usize / 64] |= 1 << (bit % 64);
                let mut at = (hash >> hashes.slots_shift) as usize;
                while hashes.slots[at] != 0 {
                    at = (at + 1) & (slots - 1);
                }
                hashes.slots[at] = tag(hash) | (token + 1);
            }
        }
        hashes
    }

    /// Returns all candidate borders of a batch, sorted by token and position. It reads no origins,
    /// so that another thread may run it before `add_batch`.
    fn find_borders(
        &self,
        TokenBatch { bytes, length, .. }: TokenBatch,
        vocab: &Vocab,
    ) -> Vec<CandidateBorder> {
        let mut candidates = Vec::with_capacity(4 * BATCH_TOKENS);
        for (number, bytes) in (0..).zip(bytes.chunks_exact(length)) {
            let mut starts = [0; BORDER_BYTES_MAX + 1];
            let mut whole = 0;
            for (byte, start) in bytes.iter().zip(&mut starts[1..]) {
                whole = extend_hash(whole, byte);
                *start = whole;
            }
            let parts = |at: usize| {
                let end = whole.wrapping_sub(starts[at].wrapping_mul(HASH_POWERS[length - at]));
                [mix_bits(starts[at]), mix_bits(end)]
            };
            // Pass 1: the filter rejects most positions, without a branch.
            let mut positions = 0_u32;
            for at in 1..length {
                let [left, right] = parts(at);
                positions |= (self.may_contain(left) & self.may_contain(right)) << at;
            }
            while positions != 0 {
                let at = positions.trailing_zeros();
                positions &= positions - 1;
                candidates.push((number, at, parts(at as usize)));
            }
        }
        // Pass 2: the table. Consecutive loads are independent, so their cache misses overlap.
        let border = |(number, at, [left, right]): (u32, u32, [u64; 2])| {
            Some(CandidateBorder { number, at, left: self.get(left)?, right: self.get(right)? })
        };
        let mut borders: Vec<CandidateBorder> = candidates.into_iter().filter_map(border).collect();
        // Pass 3: the bytes, because different bytes can have equal tags and slots.
        borders.retain(|border| {
            let [left, right] =
                [border.left, border.right].map(|part| vocab.token_at(part as usize));
            let start = border.number as usize * length;
            bytes[start..start + length].split_at(border.at as usize) == (left, right)
        });
        borders
    }

    /// Returns 1 if the filter may contain a token with this hash, and 0 if there is none. A number
    /// saves a branch.
    #[inline]
    fn may_contain(&self, hash: u64) -> u32 {
        let bit = hash >> self.filter_shift;
        (self.filter[bit as usize / 64] >> (bit % 64)) as u32 & 1
    }

    /// Returns the index of the first token with the tag of this hash, or `None` if no token has
    /// it. The token can be a false positive.
    #[inline]
    fn get(&self, hash: u64) -> Option<u32> {
        let mut at = (hash >> self.slots_shift) as usize;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            if slot & TAG_MASK == tag(hash) {
                return Some((slot & !TAG_MASK) - 1);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

/// Extends the hash of a string by one byte, so that the hashes of all prefixes of a token take one
/// pass.
#[inline]
fn extend_hash(hash: u64, byte: &u8) -> u64 {
    hash.wrapping_mul(HASH_FACTOR).wrapping_add(u64::from(*byte) + 1)
}

/// Makes the high and the low bits of a hash depend on all of its bits.
#[inline]
fn mix_bits(hash: u64) -> u64 {
    let product = (hash ^ hash >> 32).wrapping_mul(HASH_FACTOR);
    product ^ product >> 32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::testing::Random;
    use crate::vocab::Id;

    /// The definition: merges every token alone, by length.
    fn find_pairs_by_merging(vocab: &Vocab) -> PairTable {
        let mut tokens: Vec<(Id, &[u8])> =
            vocab.iter().filter(|(_, token)| token.len() > 1).collect();
        tokens.sort_by_key(|(_, token)| token.len());
        let mut pairs = PairTable::with_capacity(tokens.len(), vocab.id_max());
        let mut buffers = MergeBuffers::default();
        for (id, token) in tokens {
            let parts = token.iter().map(|&byte| vocab.byte(byte));
            if let &[left, right] = merge_parts(&pairs, parts, &mut buffers) {
                pairs.insert(left, right, id);
            }
        }
        pairs
    }

    fn assert_equal(vocab: &Vocab, name: &str) -> usize {
        let (found, expected) = (
            find_pair_origins(vocab).collect_by_rank(),
            find_pairs_by_merging(vocab).collect_by_rank(),
        );
        assert!(found == expected, "{name}");
        found.len()
    }

    #[test]
    fn the_bundled_vocabularies_have_the_pairs_that_merging_finds() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/zeton/vocabs");
        for (name, pairs) in [
            ("r50k_base", 50_000),
            ("p50k_base", 50_024),
            ("cl100k_base", 100_000),
            ("o200k_base", 199_742),
        ] {
            let file = std::fs::read(folder.join(name).with_extension("zeton")).unwrap();
            let (tokenizer, _) = crate::storage::tokenizer_file::read(&file).unwrap();
            assert_eq!(assert_equal(tokenizer.vocab(), name), pairs, "{name}");
        }
    }

    /// Returns a vocabulary of random tokens over a few letters, under random ids. Tokens are
    /// random bytes, or concatenations of earlier tokens as in training, or of any tokens. Their
    /// lengths lie on both sides of every limit.
    fn random_vocab(random: &mut Random) -> Vocab {
        let letters = 1 + random.below(3);
        let concatenated_tenths = random.below(11);
        let count = 1 + random.below(80);
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        for _ in 0..count {
            let token = if random.below(10) < concatenated_tenths {
                let mut part = || match random.below(2) {
                    0 => tokens[97 + random.below(letters)].clone(),
                    _ => tokens
                        [256.min(tokens.len() - 1) + random.below(tokens.len().max(257) - 256)]
                    .clone(),
                };
                [part(), part()].concat()
            } else {
                let length =
                    if random.below(20) == 0 { 2 + random.below(60) } else { 2 + random.below(6) };
                (0..length).map(|_| b"abc"[random.below(letters)]).collect()
            };
            if token.len() < 3 * BORDER_BYTES_MAX {
                tokens.push(token);
            }
        }
        let mut distinct = BTreeSet::new();
        tokens.retain(|token| distinct.insert(token.clone()));
        for _ in 0..[0, 0, 3, tokens.len()][random.below(4)] {
            let (one, other) = (random.below(tokens.len()), random.below(tokens.len()));
            tokens.swap(one, other);
        }
        let (gap, after) = (random.below(3) as Id, random.below(tokens.len()) as Id);
        let ids = (0..).map(|id| if id > after { id + gap } else { id });
        Vocab::try_from_tokens(ids.zip(tokens).collect()).unwrap()
    }

    #[test]
    fn random_vocabularies_have_the_pairs_that_merging_finds() {
        let mut random = Random(11);
        let (mut tokens, mut unreachable) = (0, 0);
        for round in 0..4000 {
            let vocab = random_vocab(&mut random);
            let pairs = assert_equal(&vocab, &format!("round {round}"));
            tokens += vocab.iter().len() - 256;
            unreachable += vocab.iter().len() - 256 - pairs;
        }
        assert!(unreachable > tokens / 20 && unreachable < tokens / 2, "{unreachable} of {tokens}");
    }

    /// Other publishers' vocabularies, as lines of `token rank` in base64.
    #[test]
    #[ignore = "needs ZETON_VOCABS: a folder of .tiktoken files"]
    fn published_vocabularies_have_the_pairs_that_merging_finds() {
        let folder = std::env::var("ZETON_VOCABS").unwrap();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let tokens = text.lines().filter_map(|line| {
                let (token, id) = line.split_once(' ')?;
                Some((id.parse().ok()?, from_base64(token)))
            });
            let Ok(vocab) = Vocab::try_from_tokens(tokens.collect()) else { continue };
            let pairs = assert_equal(&vocab, &path.display().to_string());
            println!("{}: {} tokens, {pairs} pairs", path.display(), vocab.iter().len());
        }
    }

    fn from_base64(text: &str) -> Vec<u8> {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
        for letter in text.bytes() {
            let Some(value) = LETTERS.iter().position(|&other| other == letter) else { break };
            (bits, count) = (bits << 6 | value as u32, count + 6);
            if count >= 8 {
                count -= 8;
                bytes.push((bits >> count) as u8);
            }
        }
        bytes
    }
}
