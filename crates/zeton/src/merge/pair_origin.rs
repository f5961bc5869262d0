//! Which pair makes each token: the last two parts when its bytes are merged alone.
//!
//! That pair is the only one by which merging ever makes the token: two neighbours that spell it are
//! a stretch that no merge crossed, so they came about as they would have alone. Its parts are
//! shorter than itself, so going by length all pairs that it needs are known. A token whose bytes do
//! not merge down to two parts has no pair: only a piece that equals it is ever encoded as it.
//!
//! Merging every token would do, and takes three quarters of the time that loading takes. Instead,
//! the places are tried where a token falls into two tokens, and [`Origins::stand`] tells whether
//! merging keeps that border to the end. Where none does, the token is merged after all.

use std::sync::mpsc::sync_channel;
use std::thread;

use super::{MergeBuffers, PairTable, merge_parts};
use crate::sys::huge_buffer::prefetch;
use crate::vocab::token_index::{MARK, mark};
use crate::vocab::{SHARED_TOKENS, Vocab};

/// Bytes of the longest tokens whose borders are tried; there are few beyond, and tries grow with
/// the square of the length.
const TRIED_MAX: usize = 32;

/// Tokens whose borders are looked for together, so that the loads overlap, and handed on.
const BATCH: usize = 1 << 10;

/// How far ahead the memory of borders is asked for.
const BORDERS_AHEAD: usize = 64;

/// Batches that wait to be handed on, at most.
const BATCHES_AHEAD: usize = 16;

/// Finds the pairs of a vocabulary, whose bytes can be found already.
///
/// Until the end, indices stand for ids: they rank alike and have no gaps.
pub(crate) fn find_pair_origins(vocab: &Vocab) -> PairTable {
    let count = vocab.iter().len();
    let index_of = |byte| vocab.index_of(vocab.byte(byte)).expect("every byte is a token") as u32;
    let mut origins = Origins {
        vocab,
        bytes: std::array::from_fn(|byte| index_of(byte as u8)),
        pairs: PairTable::with_capacity(count - 256, count as u32),
        origins: vec![NONE; count],
        buffers: MergeBuffers::default(),
    };
    for byte in origins.bytes {
        origins.origins[byte as usize] = BYTE;
    }
    let (shelves, long) = by_length(vocab);
    let hashed = Hashed::of(&shelves, count);
    let batches = || {
        let lengths = shelves.iter().enumerate().skip(2);
        let batches = lengths.flat_map(|(length, shelf)| shelf.batches(length));
        batches.map(|batch| (batch, hashed.borders(batch, vocab)))
    };
    thread::scope(|scope| {
        let (send, receive) = sync_channel(BATCHES_AHEAD);
        let send_all = move || batches().all(|batch| send.send(batch).is_ok());
        let worker = (count >= SHARED_TOKENS)
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

/// The tokens of one length: what is done with one after the other lies one after the other.
#[derive(Clone, Default)]
struct Shelf {
    tokens: Vec<u32>,
    bytes: Vec<u8>,
}

/// Some tokens of one length.
#[derive(Clone, Copy)]
struct Batch<'s> {
    tokens: &'s [u32],
    bytes: &'s [u8],
    length: usize,
}

impl Shelf {
    fn batches(&self, length: usize) -> impl Iterator<Item = Batch<'_>> {
        let (tokens, bytes) = (self.tokens.chunks(BATCH), self.bytes.chunks(BATCH * length));
        tokens.zip(bytes).map(move |(tokens, bytes)| Batch { tokens, bytes, length })
    }
}

/// Puts all tokens up to [`TRIED_MAX`] on the shelf of their length; the others come by length.
fn by_length(vocab: &Vocab) -> (Vec<Shelf>, Vec<u32>) {
    let mut counts = [0; TRIED_MAX + 1];
    for (_, token) in vocab.iter().filter(|(_, token)| token.len() <= TRIED_MAX) {
        counts[token.len()] += 1;
    }
    let shelf = |(length, &count): (usize, &usize)| Shelf {
        tokens: Vec::with_capacity(count),
        bytes: Vec::with_capacity(count * length),
    };
    let mut shelves: Vec<Shelf> = counts.iter().enumerate().map(shelf).collect();
    let mut long = Vec::new();
    for (index, (_, token)) in (0..).zip(vocab.iter()) {
        match shelves.get_mut(token.len()) {
            Some(shelf) => {
                shelf.tokens.push(index);
                shelf.bytes.extend_from_slice(token);
            }
            None => long.push(index),
        }
    }
    long.sort_by_key(|&index| vocab.at(index as usize).len());
    (shelves, long)
}

/// How a token came about: its parts, or one of these.
type Origin = [u32; 2];

/// A byte, which is there before any merge.
const BYTE: Origin = [u32::MAX, 0];

/// A token that no merge makes.
const NONE: Origin = [u32::MAX, 1];

/// A token with a rank below that of a part of it, or of a part of a part.
const ODD: Origin = [u32::MAX, 2];

/// A place where a token seems to fall into two tokens.
#[derive(Clone, Copy)]
struct Border {
    /// Which token, of those that are looked up together.
    number: u32,
    at: u32,
    left: u32,
    right: u32,
}

/// The origins of all tokens that are shorter than the next.
struct Origins<'v> {
    vocab: &'v Vocab,
    bytes: [u32; 256],
    pairs: PairTable,
    origins: Vec<Origin>,
    buffers: MergeBuffers,
}

impl Origins<'_> {
    /// Adds some tokens, whose borders were looked for.
    fn add_batch(&mut self, (batch, mut borders): (Batch, Vec<Border>)) {
        self.prefetch(borders.iter().take(BORDERS_AHEAD));
        let mut rest = borders.as_mut_slice();
        for (number, &token) in (0..).zip(batch.tokens) {
            let own = rest.iter().take_while(|border| border.number == number).count();
            self.prefetch(rest.iter().skip(BORDERS_AHEAD).take(own));
            let (own, others) = rest.split_at_mut(own);
            self.add_by_borders(token, own);
            rest = others;
        }
    }

    /// Asks for what is needed soon of some borders.
    fn prefetch<'b>(&self, borders: impl Iterator<Item = &'b Border>) {
        for border in borders {
            prefetch(&self.origins[border.left as usize]);
            prefetch(&self.origins[border.right as usize]);
            self.pairs.prefetch(border.left, border.right);
        }
    }

    /// Adds a token by the border that stands, if one of these does.
    fn add_by_borders(&mut self, token: u32, borders: &mut [Border]) {
        // Of ten tokens nine are made of the parts that come about first.
        borders.sort_unstable_by_key(|border| border.left.max(border.right));
        for border in borders {
            match self.stand(border.left, border.right) {
                Some(false) => {}
                Some(true) => return self.add(token, border.left, border.right),
                None => break,
            }
        }
        self.add_by_merging(token);
    }

    /// Adds a token by merging its bytes.
    fn add_by_merging(&mut self, token: u32) {
        let bytes = self.vocab.at(token as usize).iter();
        let parts = bytes.map(|&byte| self.bytes[usize::from(byte)]);
        if let &[left, right] = merge_parts(&self.pairs, parts, &mut self.buffers) {
            self.add(token, left, right);
        }
    }

    fn add(&mut self, token: u32, left: u32, right: u32) {
        self.pairs.insert(left, right, token);
        let in_order = |part: u32| match self.origins[part as usize] {
            BYTE => true,
            ODD => false,
            _ => part < token,
        };
        self.origins[token as usize] =
            if in_order(left) && in_order(right) { [left, right] } else { ODD };
    }

    /// Returns whether merging the bytes of two tokens comes to these two, if neither is odd.
    ///
    /// Each comes about as it does alone, unless a merge crosses the border between them. Ranks
    /// rise from the parts to the whole, so merges happen in the order of their ranks, and undoing
    /// the higher of the two neighbours at the border, again and again, goes back through all
    /// neighbours that were there. Two of them would have merged if their rank is lower than that
    /// of what was just undone. If it is the same, the left goes first: what lies left of the border
    /// before what crosses it, and what crosses it before what lies right of it.
    fn stand(&self, mut left: u32, mut right: u32) -> Option<bool> {
        let [mut left_parts, mut right_parts] =
            [left, right].map(|part| self.origins[part as usize]);
        if left_parts == ODD || right_parts == ODD {
            return None;
        }
        if left_parts == NONE || right_parts == NONE {
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

    /// Replaces a token by the part of it that lies at the border; returns its rank.
    #[inline]
    fn undo(&self, token: &mut u32, parts: &mut Origin, side: usize) -> u32 {
        let undone = *token;
        *token = parts[side];
        *parts = self.origins[*token as usize];
        undone
    }

    /// Returns the pairs, of ids.
    fn into_pairs(self) -> PairTable {
        let id = |index: u32| self.vocab.id_at(index as usize);
        if self.vocab.id_max() as usize + 1 == self.origins.len() {
            return self.pairs;
        }
        let found = self.pairs.by_rank();
        let mut pairs = PairTable::with_capacity(found.len(), self.vocab.id_max());
        for ((left, right), token) in found {
            pairs.insert(id(left), id(right), id(token));
        }
        pairs
    }
}

/// Tokens by a hash of their bytes, in as little memory as may be, so that it stays in the cache.
struct Hashed {
    /// Which bytes may be a token, as bits: of what is none, one in ten passes.
    filter: Vec<u64>,
    filter_shift: u32,
    /// A mark, and below it one more than an index; zero where a slot is empty.
    slots: Vec<u32>,
    slots_shift: u32,
}

/// Bits of the filter for each token.
const BITS_EACH: usize = 8;

/// The factor of the hash, a polynomial of the bytes: odd, and otherwise any.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Its powers.
const POWERS: [u64; TRIED_MAX + 1] = {
    let mut powers = [1; TRIED_MAX + 1];
    let mut at = 1;
    while at <= TRIED_MAX {
        powers[at] = FACTOR.wrapping_mul(powers[at - 1]);
        at += 1;
    }
    powers
};

impl Hashed {
    fn of(shelves: &[Shelf], count: usize) -> Self {
        let bits = (count * BITS_EACH).next_power_of_two();
        let slots = (count * 5 / 4).next_power_of_two();
        let mut hashed = Self {
            filter: vec![0; bits / 64],
            filter_shift: 64 - bits.trailing_zeros(),
            slots: vec![0; slots],
            slots_shift: 64 - slots.trailing_zeros(),
        };
        for (length, shelf) in shelves.iter().enumerate().skip(1) {
            for (token, bytes) in shelf.tokens.iter().zip(shelf.bytes.chunks_exact(length)) {
                let hash = mixed(bytes.iter().fold(0, hash_on));
                let bit = hash >> hashed.filter_shift;
                hashed.filter[bit as usize / 64] |= 1 << (bit % 64);
                let mut at = (hash >> hashed.slots_shift) as usize;
                while hashed.slots[at] != 0 {
                    at = (at + 1) & (slots - 1);
                }
                hashed.slots[at] = mark(hash) | (token + 1);
            }
        }
        hashed
    }

    /// Returns all borders of some tokens.
    fn borders(&self, Batch { bytes, length, .. }: Batch, vocab: &Vocab) -> Vec<Border> {
        let mut hashes = Vec::with_capacity(4 * BATCH);
        for (number, bytes) in (0..).zip(bytes.chunks_exact(length)) {
            let mut starts = [0; TRIED_MAX + 1];
            let mut whole = 0;
            for (byte, start) in bytes.iter().zip(&mut starts[1..]) {
                whole = hash_on(whole, byte);
                *start = whole;
            }
            let parts = |at: usize| {
                let end = whole.wrapping_sub(starts[at].wrapping_mul(POWERS[length - at]));
                [mixed(starts[at]), mixed(end)]
            };
            let mut places = 0_u32;
            for at in 1..length {
                let [left, right] = parts(at);
                places |= (self.may_have(left) & self.may_have(right)) << at;
            }
            while places != 0 {
                let at = places.trailing_zeros();
                places &= places - 1;
                hashes.push((number, at, parts(at as usize)));
            }
        }
        let border = |(number, at, [left, right]): (u32, u32, [u64; 2])| {
            Some(Border { number, at, left: self.get(left)?, right: self.get(right)? })
        };
        let mut borders: Vec<Border> = hashes.into_iter().filter_map(border).collect();
        // Hashes may be equal where bytes are not.
        borders.retain(|border| {
            let [left, right] = [border.left, border.right].map(|part| vocab.at(part as usize));
            let start = border.number as usize * length;
            bytes[start..start + length].split_at(border.at as usize) == (left, right)
        });
        borders
    }

    #[inline]
    fn may_have(&self, hash: u64) -> u32 {
        let bit = hash >> self.filter_shift;
        (self.filter[bit as usize / 64] >> (bit % 64)) as u32 & 1
    }

    /// The token with this hash, or one that is taken for it.
    #[inline]
    fn get(&self, hash: u64) -> Option<u32> {
        let mut at = (hash >> self.slots_shift) as usize;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            if slot & MARK == mark(hash) {
                return Some((slot & !MARK) - 1);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

#[inline]
fn hash_on(hash: u64, byte: &u8) -> u64 {
    hash.wrapping_mul(FACTOR).wrapping_add(u64::from(*byte) + 1)
}

/// The high bits depend on all bytes, and so do the low ones.
#[inline]
fn mixed(hash: u64) -> u64 {
    let mixed = (hash ^ hash >> 32).wrapping_mul(FACTOR);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::testing::Random;
    use crate::vocab::Id;

    /// The rule itself: merge every token alone, by length.
    fn find_pairs_plainly(vocab: &Vocab) -> PairTable {
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
        let (found, expected) =
            (find_pair_origins(vocab).by_rank(), find_pairs_plainly(vocab).by_rank());
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

    /// The bytes under random ids, and random tokens over few letters: spelled anyhow, or joined
    /// from earlier ones, as training does, or from any; lengths on both sides of all limits.
    fn random_vocab(random: &mut Random) -> Vocab {
        let letters = 1 + random.below(3);
        let joined = random.below(11);
        let count = 1 + random.below(80);
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        for _ in 0..count {
            let token = if random.below(10) < joined {
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
            if token.len() < 3 * TRIED_MAX {
                tokens.push(token);
            }
        }
        let mut seen = BTreeSet::new();
        tokens.retain(|token| seen.insert(token.clone()));
        for _ in 0..[0, 0, 3, tokens.len()][random.below(4)] {
            let (one, other) = (random.below(tokens.len()), random.below(tokens.len()));
            tokens.swap(one, other);
        }
        let (gap, after) = (random.below(3) as Id, random.below(tokens.len()) as Id);
        let ids = (0..).map(|id| if id > after { id + gap } else { id });
        Vocab::new(ids.zip(tokens).collect()).unwrap()
    }

    #[test]
    fn random_vocabularies_have_the_pairs_that_merging_finds() {
        let mut random = Random(11);
        let (mut tokens, mut unreached) = (0, 0);
        for round in 0..4000 {
            let vocab = random_vocab(&mut random);
            let pairs = assert_equal(&vocab, &format!("round {round}"));
            tokens += vocab.iter().len() - 256;
            unreached += vocab.iter().len() - 256 - pairs;
        }
        assert!(unreached > tokens / 20 && unreached < tokens / 2, "{unreached} of {tokens}");
    }

    /// Vocabularies of others, as `token rank` in base64, where they are at hand.
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
            let Ok(vocab) = Vocab::new(tokens.collect()) else { continue };
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
