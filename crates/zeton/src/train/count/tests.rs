use std::collections::BTreeMap;
use std::io::{Seek, Write};

use super::*;
use crate::Vocab;
use crate::merge::BpeModel;
use crate::pattern::NANOCHAT;
use crate::testing::Random;

fn temp_file() -> TempFileFactory {
    Box::new(tempfile::tempfile)
}

fn budget(memory_max: usize) -> Option<MemoryBudget> {
    Some(MemoryBudget { memory_max, temp_file: temp_file() })
}

fn count(texts: &[&[u8]], threads: usize, batch: usize, memory: Option<usize>) -> Counts {
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    let mut counter = Counter::new(splitter, threads, memory.and_then(budget));
    for texts in texts.chunks(batch) {
        counter.add(texts, 1, &Progress::default()).unwrap();
    }
    counter.finish(texts.len() as u64, &Progress::default()).unwrap()
}

fn map_of(counts: &Counts) -> BTreeMap<Vec<u8>, u64> {
    let mut pieces = BTreeMap::new();
    counts
        .for_each(|piece, count| {
            assert_eq!(pieces.insert(piece.to_vec(), count), None, "a piece comes once");
            Ok(())
        })
        .unwrap();
    pieces
}

fn bytes_of(counts: &Counts) -> Vec<u8> {
    let mut bytes = Vec::new();
    counts.write(&mut bytes, &Progress::default()).unwrap();
    bytes
}

fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

/// Returns words of many lengths, around the limits of the three tables and far above.
fn random_text(random: &mut Random, words: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..words {
        text.push(b' ');
        let length = [random.below(9), random.below(20), random.below(200)][random.below(3)];
        let letters = [2, 26][random.below(2)];
        text.extend((0..length).map(|_| b'a' + random.below(letters) as u8));
        if random.below(50) == 0 {
            text.push(0);
        }
    }
    text
}

/// The specification: counts the pieces of each text in a map.
fn count_by_map(texts: &[&[u8]], weight: u64) -> BTreeMap<Vec<u8>, u64> {
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    let mut pieces = BTreeMap::new();
    for text in texts {
        let count_piece = |piece: &[u8]| *pieces.entry(piece.to_vec()).or_default() += weight;
        splitter.split(text, count_piece).unwrap();
    }
    pieces
}

#[test]
fn counts_do_not_depend_on_threads_batches_order_or_memory() {
    let mut random = Random(3);
    let long = "one two  three\n\nfour's 12345 ".repeat(200_000);
    let other = random_text(&mut random, 60_000);
    let texts: Vec<&[u8]> = vec![b"a b a", long.as_bytes(), b"", b"b\xFF a", &other, b"two"];
    let reversed: Vec<&[u8]> = texts.iter().rev().copied().collect();
    let expected = count_by_map(&texts, 1);
    assert!(expected[&b" two"[..]] >= 200_000 && expected.len() > 30_000);
    let file = bytes_of(&count(&texts, 1, 6, None));
    for (threads, batch, memory) in [
        (1, 6, None),
        (2, 1, None),
        (3, 2, None),
        (1, 6, Some(1 << 20)),
        (2, 2, Some(1 << 19)),
        (2, 6, Some(1 << 23)),
        (8, 1, Some(1)),
    ] {
        let found = count(&reversed, threads, batch, memory);
        assert!(map_of(&found) == expected, "{threads} threads, memory {memory:?}");
        assert_eq!(found.len(), expected.len());
        assert!(bytes_of(&found) == file, "{threads} threads, memory {memory:?}");
        assert!(map_of(&found) == expected, "written counts can still be read");
    }
    assert_ne!(bytes_of(&count(&texts[1..], 1, 1, None)), file);
}

#[test]
fn a_budget_bounds_the_tables() {
    let mut random = Random(5);
    let text = random_text(&mut random, 300_000);
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    let mut counter = Counter::new(splitter, 1, budget(1 << 20));
    for part in text.chunks(100_000) {
        counter.add(&[part], 1, &Progress::default()).unwrap();
        let (_, bytes) = counter.buffered();
        assert!(bytes <= 2 << 20, "{bytes} bytes");
    }
    let files: usize = counter.workers.iter().map(|worker| worker.files.0.len()).sum();
    assert!((2..2 * spill_file::FILES_MAX).contains(&files), "{files} files");
    assert!(counter.workers[0].files.0[0].0 > 0, "files were merged");
}

#[test]
fn weights_multiply_and_counts_go_beyond_32_bits() {
    let progress = Progress::default();
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    let mut counter = Counter::new(splitter, 2, None);
    counter.add(&[b"a a b", b"a"], 3_000_000_000, &progress).unwrap();
    counter.add(&[b"a"], 1, &progress).unwrap();
    let counts = counter.finish(3, &progress).unwrap();
    let found = map_of(&counts);
    assert_eq!(found[&b"a"[..]], 6_000_000_001);
    assert_eq!(found[&b" a"[..]], 3_000_000_000);
    assert_eq!(counts.totals(), CorpusTotals { pieces: 3, bytes: 18_000_000_001, texts: 3 });
    let reread = Counts::read([Ok(file_of(&bytes_of(&counts)))], &temp_file(), &progress).unwrap();
    assert_eq!((map_of(&reread), reread.totals()), (found, counts.totals()));
}

#[test]
fn counts_beyond_64_bits_are_refused() {
    let progress = Progress::default();
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    let mut counter = Counter::new(splitter, 1, None);
    counter.add(&[b"ab"], u64::MAX / 2, &progress).unwrap();
    assert_eq!(counter.add(&[b"ab"], 1, &progress), Err(Error::CountsTooLarge));
}

#[test]
fn files_merge_to_the_counts_of_all_texts() {
    let mut random = Random(7);
    let texts: Vec<Vec<u8>> = (0..40).map(|_| random_text(&mut random, 400)).collect();
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let files = texts.iter().map(|text| Ok(file_of(&bytes_of(&count(&[text], 1, 1, None)))));
    let merged = Counts::read(files, &temp_file(), &Progress::default()).unwrap();
    assert_eq!(merged.pattern(), NANOCHAT);
    assert!(bytes_of(&merged) == bytes_of(&count(&texts, 1, 1, None)));
}

#[test]
fn a_damaged_file_is_refused_wherever_the_damage_is() {
    let progress = Progress::default();
    let whole =
        bytes_of(&count(&[b"some words, some more words, and a_longer_one_than_15"], 1, 1, None));
    let read = |bytes: &[u8]| Counts::read([Ok(file_of(bytes))], &temp_file(), &progress).map(drop);
    assert_eq!(read(&whole), Ok(()));
    for at in 0..whole.len() {
        read(&whole[..at]).unwrap_err();
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            read(&damaged).unwrap_err();
        }
    }
    read(&[&whole[..], b"x"].concat()).unwrap_err();
    assert_eq!(read(b"zeton\r\n\x1a"), Err(Error::NotCounts));
    assert!(matches!(read(b"counts\r\n\x07\x00"), Err(Error::CountsVersion { version: 7 })));
}

#[test]
fn a_damaged_length_does_not_exhaust_memory() {
    let mut bytes = b"counts\r\n\x01\x00\x01a".to_vec();
    for number in [u64::MAX >> 1, 1] {
        spill_file::write_number(number, &mut bytes);
    }
    let error =
        Counts::read([Ok(file_of(&bytes))], &temp_file(), &Progress::default()).unwrap_err();
    assert!(matches!(error, Error::CountsMalformed { .. }), "{error}");
}

#[test]
fn files_of_two_patterns_are_not_merged() {
    let progress = Progress::default();
    let one = count(&[b"a b"], 1, 1, None);
    let splitter = Splitter::parse(r"\w+|\W").unwrap();
    let mut counter = Counter::new(splitter, 1, None);
    counter.add(&[b"a b"], 1, &progress).unwrap();
    let other = counter.finish(1, &progress).unwrap();
    let files = [one, other].map(|counts| Ok(file_of(&bytes_of(&counts))));
    let error = Counts::read(files, &temp_file(), &progress).unwrap_err();
    assert!(matches!(error, Error::CountsPatterns { .. }), "{error}");
}

#[test]
fn a_full_disk_is_reported() {
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    let full_disk: TempFileFactory = Box::new(|| Err(io::Error::other("no space")));
    let mut counter =
        Counter::new(splitter, 1, Some(MemoryBudget { memory_max: 1, temp_file: full_disk }));
    let text = random_text(&mut Random(1), 50_000);
    let error = counter.add(&[&text], 1, &Progress::default()).unwrap_err();
    assert!(error.to_string().contains("no space"), "{error}");
}

#[test]
fn the_tokens_of_a_corpus_are_summed_over_its_pieces() {
    let progress = Progress::default();
    let counts = count(&[b"ab ab abc"], 1, 1, None);
    let model = BpeModel::new(Vocab::try_from_merges(&[(97, 98), (32, 256)]).unwrap());
    assert_eq!(counts.tokens(&model, &progress), Ok(4));
}

#[test]
fn the_most_common_pieces_come_in_order() {
    let counts = count(&[b"b b b a a c c c"], 1, 1, None);
    let found = counts.most_common(3, &Progress::default()).unwrap();
    assert_eq!(found, [(b" c".to_vec(), 3), (b" a".to_vec(), 2), (b" b".to_vec(), 2)]);
    assert_eq!(counts.most_common(0, &Progress::default()), Ok(Vec::new()));
}

#[test]
fn the_held_out_parts_depend_on_the_texts_alone() {
    let progress = Progress::default();
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    let mut random = Random(9);
    let texts: Vec<Vec<u8>> = (0..20).map(|_| random_text(&mut random, 5_000)).collect();
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let bytes = |parts: &[&[u8]]| parts.iter().map(|part| part.len()).sum::<usize>();
    let [mut counted, mut held_out] = hold_out(&splitter, texts.clone(), 0.1, &progress).unwrap();
    assert_eq!(bytes(&counted) + bytes(&held_out), bytes(&texts));
    let share = bytes(&held_out) as f64 / bytes(&texts) as f64;
    assert!((0.07..0.13).contains(&share), "{share}");
    let reversed = texts.iter().rev().copied().collect();
    let [mut counted_reversed, mut held_out_reversed] =
        hold_out(&splitter, reversed, 0.1, &progress).unwrap();
    for parts in [&mut counted, &mut held_out, &mut counted_reversed, &mut held_out_reversed] {
        parts.sort_unstable();
    }
    assert!(counted == counted_reversed && held_out == held_out_reversed);
    let all = hold_out(&splitter, texts.clone(), 0.0, &progress);
    assert_eq!(all, Ok([texts, Vec::new()]));
}

/// All threads count different pieces, so that together they exceed the bound of one by far.
#[test]
fn tables_of_many_threads_are_combined_beyond_the_bound_of_one() {
    let word = |number: usize| [17_576, 676, 26, 1].map(|step| b'a' + (number / step % 26) as u8);
    let text =
        |at: usize| (at * 2000..(at + 1) * 2000).flat_map(|n| [&b" "[..], &word(n)].concat());
    let texts: Vec<Vec<u8>> = (0..64).map(|at| text(at).collect()).collect();
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let expected = count_by_map(&texts, 1);
    assert_eq!(expected.len(), 128_000);
    for megabytes in [1, 8, 18, 19, 20, 24, 32] {
        let found = count(&texts, 8, 64, Some(megabytes << 20));
        assert!(map_of(&found) == expected, "{megabytes} MB");
    }
}

#[test]
fn a_stop_takes_effect_within_a_text_that_cannot_be_cut() {
    let progress = Progress::default();
    progress.stop();
    let text = b"ab ".repeat(1 << 20);
    for pattern in [NANOCHAT, r"\w+|\W", r"(\w)\1*|\W"] {
        let splitter = Splitter::parse(pattern).unwrap();
        let held_out = hold_out(&splitter, vec![&text], 0.1, &progress);
        assert_eq!(held_out, Err(Error::Stopped), "{pattern}");
        let mut worker = CountWorker::new(usize::MAX);
        let added = worker.add(&text, 1, PieceEnds::BySplitter(&splitter), None, &progress);
        assert_eq!(added, Err(Error::Stopped), "{pattern}");
        let counted: u64 = worker.tables.iter().map(|(_, count)| count).sum();
        assert!(pattern == NANOCHAT || counted < 1 << 18, "{counted} pieces of {pattern}");
    }
}

#[test]
fn pieces_that_the_caller_has_split_count_equally() {
    let mut random = Random(11);
    let texts: Vec<Vec<u8>> = (0..20).map(|_| random_text(&mut random, 300)).collect();
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    for memory in [None, Some(1 << 16)] {
        let mut counter = Counter::new(splitter.clone(), 1, memory.and_then(budget));
        for text in &texts {
            let (mut ends, mut end) = (Vec::new(), 0);
            let mut push_end = |piece: &[u8]| {
                end += piece.len();
                ends.push(end);
            };
            splitter.split(text, &mut push_end).unwrap();
            counter.add_pieces(text, &ends, 1, &Progress::default()).unwrap();
        }
        let found = counter.finish(texts.len() as u64, &Progress::default()).unwrap();
        assert!(bytes_of(&found) == bytes_of(&count(&texts, 1, 3, memory)), "{memory:?}");
    }
}
