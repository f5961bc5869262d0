//! Every SIMD level appends the ends, makes the keys and finds the ids that the plain code does.

use super::*;
use crate::merge::PaddedIds;
use crate::piece_cache::policy::ENTRY_IDS;
use crate::testing::Random;

/// Returns a batch of random pieces from a random start to the end of a text, and caches half of
/// them.
fn random_batch(random: &mut Random, text: &[u8], cache: &mut PieceCache) -> LookupBatch {
    let mut batch = LookupBatch::default();
    batch.starts[0] = random.below(text.len()) as u32;
    while batch.count < BATCH_PIECES_MAX && (batch.starts[batch.count] as usize) < text.len() {
        let start = batch.starts[batch.count] as usize;
        let end = (start + 1 + random.below(20)).min(text.len());
        let ids: Vec<Id> = (0..1 + random.below(4) as Id).collect();
        if random.below(2) == 0 {
            let (piece, key) = (&text[start..end], Key::from_piece(text, start, end - start));
            cache.insert(piece, key, hash_piece(piece), PaddedIds::from(&ids[..]));
        }
        batch.count += 1;
        batch.starts[batch.count] = end as u32;
    }
    batch
}

#[test]
fn all_simd_levels_make_the_same_keys_and_find_the_same_ids() {
    let mut random = Random(17);
    let mut cache = PieceCache::default();
    let (mut all_hit_ids, mut all_misses) = (0, 0);
    for _ in 0..3000 {
        let text: Vec<u8> = (0..1 + random.below(2000)).map(|_| random.below(3) as u8).collect();
        let mut plain = random_batch(&mut random, &text, &mut cache);
        // Batches before this one may have pending ids.
        plain.pending.hit_id_count =
            random.below((PENDING_PIECES_MAX - BATCH_PIECES_MAX) * ENTRY_IDS);
        plain.pending.miss_count = random.below(PENDING_PIECES_MAX - BATCH_PIECES_MAX);
        let before = (plain.pending.hit_id_count, plain.pending.miss_count);
        let original = plain.clone();
        let slots = cache.short.slots();
        plain.make_keys(baseline(), &text, slots);
        plain.look_up_home(baseline(), slots);
        let count = plain.count;
        let hit_ids =
            |batch: &LookupBatch| batch.pending.hit_ids[..batch.pending.hit_id_count].to_vec();
        let misses = |batch: &LookupBatch| {
            let misses = &batch.pending.misses[..batch.pending.miss_count];
            misses.iter().map(|miss| (miss.piece, miss.hit_ids_before)).collect::<Vec<_>>()
        };
        for level in SimdLevel::detect_all() {
            let mut batch = original.clone();
            batch.make_keys(level, &text, slots);
            assert_eq!(plain.keys[..count], batch.keys[..count], "{level:?}");
            assert_eq!(plain.homes[..count], batch.homes[..count], "{level:?}");
            batch.look_up_home(level, slots);
            assert_eq!(hit_ids(&plain), hit_ids(&batch), "{level:?}");
            assert_eq!(misses(&plain), misses(&batch), "{level:?}");
        }
        all_hit_ids += plain.pending.hit_id_count - before.0;
        all_misses += plain.pending.miss_count - before.1;
    }
    assert!(all_hit_ids > 10_000 && all_misses > 10_000);
}

#[test]
fn all_simd_levels_append_the_same_ends() {
    let mut random = Random(18);
    for round in 0..20_000 {
        let mut plain = LookupBatch { count: random.below(BATCH_PIECES), ..LookupBatch::default() };
        // A text has up to four gigabytes, and so may a piece that began before the block.
        let base = [0, 1 << 31, u32::MAX as usize - (1 << 21)][random.below(3)];
        let first = base + random.below(1 << 20);
        let length_before = if random.below(20) == 0 { first } else { random.below(20) };
        plain.starts[plain.count] = (first - length_before.min(first)) as u32;
        let mut word = || (0..4).fold(0, |word, _| word << 16 | random.below(1 << 16) as u64);
        let bits = (0..1 + round % 4).fold(u64::MAX, |bits, _| bits & word());
        let cuts = if round % 4 == 3 { !bits } else { bits } | 1 << random.below(64);
        let count = cuts.count_ones() as usize;
        let original = plain.clone();
        plain.append_ends(baseline(), first, cuts);
        let ends = |batch: &LookupBatch| batch.starts[batch.count..=batch.count + count].to_vec();
        for level in SimdLevel::detect_all() {
            let mut batch = original.clone();
            batch.append_ends(level, first, cuts);
            assert_eq!(ends(&plain), ends(&batch), "{level:?}, {cuts:x}");
            let is_long = plain.has_long_piece(baseline(), cuts);
            assert_eq!(batch.has_long_piece(level, cuts), is_long, "{level:?}, {cuts:x}");
        }
    }
}

/// Returns the level that every machine has, as the reference for all levels.
fn baseline() -> SimdLevel {
    SimdLevel::detect_all().pop().expect("every machine has the baseline")
}
