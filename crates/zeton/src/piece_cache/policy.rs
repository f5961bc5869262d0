//! The policy of the piece cache: every size and threshold, its unit and the measurement behind it.
//!
//! No constant changes an id; they change time and memory only. A full cache takes 26 MiB a thread:
//! 16 MiB of short entries, 8 MiB of ring and 2 MiB of ring index.
//!
//! | constant | value | chosen by |
//! |---|---|---|
//! | [`ENTRY_IDS`] | 3 ids | layout: an entry is half a cache line |
//! | [`GROUP_SLOTS`] | 4 slots | layout: a group is two cache lines |
//! | [`SHORT_SLOTS_MIN`] | 1,024 slots, 32 KiB | not measured |
//! | [`SHORT_SLOTS_MAX`] | 524,288 slots, 16 MiB | multilingual cold 79 → 87, warm 174 → 199 |
//! | [`SPARSE_SLOTS_PER_ENTRY`] | 4 slots | not measured alone |
//! | [`FULL_SLOTS_PER_ENTRY`] | 2 slots | saves 5 of 46 ms on cold code |
//! | [`GROWTH_FACTOR`] | 4 times | not measured |
//! | [`RING_WORDS_MIN`] | 4,096 words, 16 KiB | not measured |
//! | [`RING_WORDS_MAX`] | 2,097,152 words, 8 MiB | half is enough since indirect entries |
//! | [`RING_WORDS_PER_BUCKET`] | 32 words a bucket | layout: room for every long record |
//! | [`BUCKET_ENTRIES`] | 8 entries | layout: a bucket is half a cache line |
//! | [`PIECE_BYTES_MAX`] | 1,024 bytes | not measured |
//! | [`BATCH_PIECES`] | 256 pieces | 32 → 256: warm 154 → 245 MB/s; 1,024: 233 → 226 |
//! | [`BATCH_ROOM`] | 512 pieces | a mask is one instruction, a check two and a branch |
//! | [`MIN_MISSES`] | 48 pieces | cold English 273 → 288, code 188 → 219 MB/s |
//! | [`PENDING_PIECES_MAX`] | 2,048 pieces | not measured |
//! | [`RECENT_MISSES`] | 256 misses | part of the measurement of `MIN_MISSES` |
//! | [`SCRATCHES_KEPT`] | 8 scratches | not measured |
//! | [`TEXT_BYTES_PER_ID`] | 3 bytes an id | not measured; a token has 3 to 5 bytes |
//!
//! MB/s are text per CPU second in the engine, on one core, with cl100k. *Cold* text is encoded for
//! the first time, after 1 MB of other text; *warm* text for the second time. The two builds of a
//! row ran in turn on one machine, so ratios hold and absolute numbers do not. The measurements are
//! in `docs/notes/lookup.md`. A row that says *not measured* gives its reason at the constant.
//!
//! For example, 9 MB of English has 1.96 million pieces, so it is looked up in about 7,700 batches.
//! Of its pieces 60,000 miss their home slot and 43,000 are new, so `MIN_MISSES` leads to fewer
//! than 900 rounds of merging.

use super::short_table::ShortEntry;

// ---- the short table ----

/// Ids within an entry of the short table.
///
/// A key of 16 bytes, 3 ids and their count are 32 bytes, half a cache line. Short pieces with more
/// ids keep them in the ring: in 10 MB of multilingual text, 191,000 of the 281,000 pieces that are
/// not in their home slot.
pub(super) const ENTRY_IDS: usize = 3;

/// Slots of a group of the short table: the associativity of the cache.
///
/// Four entries are two cache lines. One load finds most pieces, because they lie in their home
/// slot; a probe of the whole group loads one line more.
pub(super) const GROUP_SLOTS: usize = 4;

/// Slots of a cache line.
pub(super) const LINE_SLOTS: usize = 2;

/// Slots of the short table after the first insertion: 32 KiB.
///
/// Not measured. It is small because a thread that encodes one short text pays for clearing it.
pub(super) const SHORT_SLOTS_MIN: usize = 1 << 10;

/// Slots of the short table at most: 16 MiB.
///
/// Halving it to 8 MiB sped up cold multilingual text from 33–38 to 42–52 MB/s, because the
/// kernel clears fewer pages; warm text fell from 132–153 to 128–130. Then short pieces with more
/// than three ids moved into the table. They need the 16 MiB: cold 79 → 87, warm 174 → 199 MB/s.
pub(super) const SHORT_SLOTS_MAX: usize = 1 << 19;

/// Slots for each entry: a small table grows once it has no more.
///
/// A sparse table has few collisions, so that nearly all pieces lie in their home slot. The second
/// pass of a batch compares no other slot. The table came with single home slots and kernels in
/// AVX2; together they took warm English from 133 to 83 instructions a piece.
pub(super) const SPARSE_SLOTS_PER_ENTRY: usize = 4;

/// Slots for each entry: the table grows to its bound once it has no more.
///
/// The last growth moves all entries to a new table of 16 MiB, which costs more than a sparse table
/// saves. Cold code does not fill the table, and growing early took 5 of its 46 ms.
pub(super) const FULL_SLOTS_PER_ENTRY: usize = 2;

/// Factor by which the short table and the ring grow.
///
/// Not measured. Five steps lead from the smallest size to the bound, so entries are moved rarely.
pub(super) const GROWTH_FACTOR: usize = 4;

// ---- the long ring ----

/// Words of 32 bits of the ring after the first insertion: 16 KiB.
///
/// Not measured. It is small because most texts have few long pieces.
pub(super) const RING_WORDS_MIN: usize = 1 << 12;

/// Words of the ring at most: 8 MiB.
///
/// It had 16 MiB as long as short pieces with many ids had records with their bytes. Now their
/// records are ids alone, and half of the ring is enough: cold 79 → 87, warm 174 → 199 MB/s
/// together with [`SHORT_SLOTS_MAX`].
pub(super) const RING_WORDS_MAX: usize = 1 << 21;

/// Words of the ring for each bucket of its index: 2 MiB of index at most.
///
/// The smallest record of a long piece has 6 words: sizes, 16 bytes and an id. So a bucket has 5.3
/// entries on average at most, and the index has room for every record of the ring.
pub(super) const RING_WORDS_PER_BUCKET: usize = 32;

/// Entries of a bucket of the ring's index: half a cache line.
///
/// Eight entries leave room above the average of 5.3. Comparing all eight tags at once saved a
/// quarter of the instructions of a miss, cost more on a hit, and is not built.
pub(super) const BUCKET_ENTRIES: usize = 8;

/// Bytes of a cached piece at most; its ids are no more than its bytes.
///
/// Not measured. One hostile text cannot evict the ring with a few large pieces, and merging a
/// longer piece takes much longer than finding it.
pub(super) const PIECE_BYTES_MAX: usize = 1 << 10;

// ---- the batch ----

/// Pieces from which on a batch is looked up.
///
/// Batches of 256 instead of 32 took warm English from 154 to 245 MB/s; one cache line an entry and
/// a cuckoo table of pairs came with them. Batches of 1,024 took cold English from 233 to 226,
/// because their prefetches touch 64 KB at once, more than L1 holds.
pub(super) const BATCH_PIECES: usize = 256;

/// Pieces that end in a block of the splitter at most: one for each of its 64 bytes.
pub(super) const BLOCK_PIECES_MAX: usize = 64;

/// Pieces of a batch at most: one block is added to a batch that is nearly full.
pub(super) const BATCH_PIECES_MAX: usize = BATCH_PIECES + BLOCK_PIECES_MAX;

/// Length of the arrays of a batch: a power of two, so that `index % BATCH_ROOM` is within bounds.
///
/// The mask is one instruction; a bounds check is two and a branch.
pub(super) const BATCH_ROOM: usize = BATCH_PIECES_MAX.next_power_of_two();

/// Distinct misses from which on they are merged.
///
/// Batches used to merge their own misses. English has four a batch, so that lockstep groups of
/// eight were half full. Of code, 39,000 of 101,000 misses repeat one of the last 48. Merging 48
/// distinct misses at once: cold English 273 → 288, code 188 → 219, multilingual text 78 → 81 MB/s.
pub(super) const MIN_MISSES: usize = 48;

/// Pieces whose ids may be pending at most: room for six of the largest batches.
///
/// Not measured. Warm text has no misses, so its ids are emitted every six or seven batches. The
/// arrays take 56 KB, which L2 holds.
pub(super) const PENDING_PIECES_MAX: usize = 2048;

/// Rows of the table of recent misses: one for each value of the upper 8 bits of a hash.
///
/// With it a piece that repeats within the pending batches is merged once. Two misses that share a
/// row cost one merge more and nothing else.
pub(super) const RECENT_MISSES: usize = 256;

// ---- the pool, and results ----

/// Scratches that a pool keeps at most, 26 MiB each once they are full.
///
/// Not measured. It bounds a tokenizer's memory between calls to 208 MiB, for any number of
/// threads.
pub(super) const SCRATCHES_KEPT: usize = 8;

/// Bytes of text for each id, for the first capacity of a result.
///
/// Not measured. A token has 3 to 5 bytes on average, so most results never grow; pages that are
/// reserved and not written cost nothing.
pub(super) const TEXT_BYTES_PER_ID: usize = 3;

const _: () = {
    // The header's table of memory.
    assert!(SHORT_SLOTS_MAX * size_of::<ShortEntry>() == 16 << 20);
    assert!(RING_WORDS_MAX * size_of::<u32>() == 8 << 20);
    let buckets = RING_WORDS_MAX / RING_WORDS_PER_BUCKET;
    assert!(buckets * BUCKET_ENTRIES * size_of::<u32>() == 2 << 20);
    // A mask keeps an index within a table, so every size is a power of two.
    assert!(SHORT_SLOTS_MIN.is_power_of_two() && SHORT_SLOTS_MAX.is_power_of_two());
    assert!(RING_WORDS_MIN.is_power_of_two() && RING_WORDS_MAX.is_power_of_two());
    // The size of a record is two numbers of 16 bits.
    assert!(PIECE_BYTES_MAX < 1 << 16);
    // Each distinct miss has a number of 16 bits: a batch joins fewer than `MIN_MISSES`.
    assert!(MIN_MISSES + BATCH_PIECES_MAX <= u16::MAX as usize);
    // A row of recent misses is chosen by 8 bits of the hash.
    assert!(RECENT_MISSES <= 1 << 8);
};
