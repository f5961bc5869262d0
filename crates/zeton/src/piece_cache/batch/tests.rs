//! All levels put the same ends, make the same keys and find the same.

use super::*;
use crate::testing::Random;

/// A chunk of random pieces of a text, up to its end, and what of them is known.
fn random_chunk(random: &mut Random, text: &[u8], learned: &mut PieceCache) -> LookupBatch {
    let mut chunk = LookupBatch::default();
    chunk.starts[0] = random.below(text.len()) as u32;
    while chunk.count < PIECES && (chunk.starts[chunk.count] as usize) < text.len() {
        let start = chunk.starts[chunk.count] as usize;
        let end = (start + 1 + random.below(20)).min(text.len());
        let ids: Vec<Id> = (0..1 + random.below(4) as Id).collect();
        if random.below(2) == 0 {
            let key = Key::from_piece(text, start, end - start);
            learned.put(&text[start..end], key, hash(&text[start..end]), PaddedIds::from(&ids[..]));
        }
        chunk.count += 1;
        chunk.starts[chunk.count] = end as u32;
    }
    chunk
}

#[test]
fn all_simd_levels_make_the_same_keys_and_find_the_same() {
    let mut random = Random(17);
    let mut learned = PieceCache::default();
    let (mut all_found, mut all_missed) = (0, 0);
    for _ in 0..3000 {
        let text: Vec<u8> = (0..1 + random.below(2000)).map(|_| random.below(3) as u8).collect();
        let mut plain = random_chunk(&mut random, &text, &mut learned);
        // What chunks before have left.
        plain.waiting.found_count = random.below((WAITING - PIECES) * IDS);
        plain.waiting.missed_count = random.below(WAITING - PIECES);
        let before = (plain.waiting.found_count, plain.waiting.missed_count);
        let given = plain.clone();
        let slots = learned.short.slots();
        plain.make_keys(baseline(), &text, slots);
        plain.find(baseline(), slots);
        let count = plain.count;
        let found = |chunk: &LookupBatch| chunk.waiting.found[..chunk.waiting.found_count].to_vec();
        let missed = |chunk: &LookupBatch| {
            let missed = &chunk.waiting.missed[..chunk.waiting.missed_count];
            missed.iter().map(|it| (it.piece, it.place)).collect::<Vec<_>>()
        };
        for level in SimdLevel::detect_all() {
            let mut chunk = given.clone();
            chunk.make_keys(level, &text, slots);
            assert_eq!(plain.keys[..count], chunk.keys[..count], "{level:?}");
            assert_eq!(plain.homes[..count], chunk.homes[..count], "{level:?}");
            chunk.find(level, slots);
            assert_eq!(found(&plain), found(&chunk), "{level:?}");
            assert_eq!(missed(&plain), missed(&chunk), "{level:?}");
        }
        all_found += plain.waiting.found_count - before.0;
        all_missed += plain.waiting.missed_count - before.1;
    }
    assert!(all_found > 10_000 && all_missed > 10_000);
}

#[test]
fn all_simd_levels_put_the_same_ends() {
    let mut random = Random(18);
    for round in 0..20_000 {
        let mut plain = LookupBatch { count: random.below(BATCH_PIECES), ..LookupBatch::default() };
        // Texts have up to four gigabytes, and so may a piece that has begun before the block.
        let most = [0, 1 << 31, u32::MAX as usize - (1 << 21)][random.below(3)];
        let first = most + random.below(1 << 20);
        let before = if random.below(20) == 0 { first } else { random.below(20) };
        plain.starts[plain.count] = (first - before.min(first)) as u32;
        let mut word = || (0..4).fold(0, |word, _| word << 16 | random.below(1 << 16) as u64);
        let bits = (0..1 + round % 4).fold(u64::MAX, |bits, _| bits & word());
        let cuts = if round % 4 == 3 { !bits } else { bits } | 1 << random.below(64);
        let count = cuts.count_ones() as usize;
        let given = plain.clone();
        plain.put_ends(baseline(), first, cuts);
        let ends = |chunk: &LookupBatch| chunk.starts[chunk.count..=chunk.count + count].to_vec();
        for level in SimdLevel::detect_all() {
            let mut chunk = given.clone();
            chunk.put_ends(level, first, cuts);
            assert_eq!(ends(&plain), ends(&chunk), "{level:?}, {cuts:x}");
            let is_long = plain.any_is_long(baseline(), cuts);
            assert_eq!(chunk.any_is_long(level, cuts), is_long, "{level:?}, {cuts:x}");
        }
    }
}

/// Returns the level that every machine has, as the reference for the others.
fn baseline() -> SimdLevel {
    SimdLevel::detect_all().pop().expect("every machine has the baseline")
}
