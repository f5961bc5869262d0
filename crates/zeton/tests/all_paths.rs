//! All paths from text to ids give the same ids: the specification, cold and warm caches, batches,
//! threads, counting, decoding, and every SIMD level of splitting.
//!
//! Each round draws a vocabulary, a pattern and texts from a seed. For example, seed 1 draws a
//! trained vocabulary of 456 tokens and cl100k's pattern, and a text such as `"Word  中文'sab"`.
//! The expected ids come from [`merge_by_definition`], which joins pairs by their bytes.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[allow(dead_code, reason = "the crate's unit tests use the rest")]
mod support;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use support::{OUTSIDE, PARTS, Random, family, fuzzing};
use zeton::learn::{LearnOptions, learn};
use zeton::pattern::NANOCHAT;
use zeton::{AllowedSpecials, Counter, Id, Progress, Splitter, Tokenizer, Vocab};

fn random_text(random: &mut Random, parts_max: usize) -> Vec<u8> {
    let count = random.below(parts_max);
    let mut text: Vec<u8> = (0..count)
        .flat_map(|_| {
            // Some runs are longer than a block, a window, and the longest cached piece.
            let times = if random.below(50) == 0 { 1 + random.below(200) } else { 1 };
            PARTS[random.below(PARTS.len())].repeat(times).into_bytes()
        })
        .collect();
    if random.below(8) == 0 && !text.is_empty() {
        let at = random.below(text.len());
        text[at] = random.below(256) as u8;
    }
    text
}

/// Returns a vocabulary from training: merges reach every token.
fn trained_vocab(random: &mut Random) -> Vocab {
    let corpus: Vec<Vec<u8>> = (0..20).map(|_| random_text(random, 60)).collect();
    let corpus: Vec<&[u8]> = corpus.iter().map(Vec::as_slice).collect();
    let progress = Progress::default();
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    let mut counter = Counter::new(splitter, 1, None);
    counter.add(&corpus, 1, &progress).unwrap();
    let counts = counter.finish(1, &progress).unwrap();
    let options = LearnOptions::new(random.below(300));
    let learned = learn(&counts, &options, &progress).unwrap();
    Vocab::try_from_merges(&learned.pairs()).unwrap()
}

/// Returns a vocabulary of random tokens, some of which no merge reaches.
fn spelled_vocab(random: &mut Random) -> Vocab {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let spelled = (0..random.below(200)).map(|_| random_text(random, 4));
    let spelled: BTreeSet<Vec<u8>> = spelled.filter(|token| token.len() > 1).collect();
    let gap = random.below(3) as Id;
    let tokens = bytes.chain(spelled).zip(0..);
    let id = |index: Id| if index > 300 { index + gap } else { index };
    Vocab::try_from_tokens(tokens.map(|(token, index)| (id(index), token)).collect()).unwrap()
}

/// Returns a vocabulary of joined tokens with random ranks: a token may rank below its parts.
fn joined_vocab(random: &mut Random) -> Vocab {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    let letters: Vec<u8> = (0..4).flat_map(|_| random_text(random, 3)).collect();
    for _ in 0..random.below(150) {
        let mut part = || match random.below(2) {
            0 if !letters.is_empty() => {
                let at = random.below(letters.len());
                letters[at..letters.len().min(at + 1 + random.below(2))].to_vec()
            }
            _ => tokens[random.below(tokens.len())].clone(),
        };
        tokens.push([part(), part()].concat());
    }
    let mut seen = BTreeSet::new();
    tokens.retain(|token| token.len() < 60 && seen.insert(token.clone()));
    for at in (1..tokens.len()).rev() {
        tokens.swap(at, random.below(at + 1));
    }
    Vocab::try_from_tokens((0..).zip(tokens).collect()).unwrap()
}

/// The specification: merges the lowest-ranked pair of neighbours, leftmost first, until no pair
/// is a token.
fn merge_by_definition(vocab: &Vocab, piece: &[u8]) -> Vec<Id> {
    if let Some(id) = vocab.find(piece) {
        return vec![id];
    }
    let mut ends: Vec<usize> = (0..=piece.len()).collect();
    loop {
        let ranked = ends.windows(3).enumerate();
        let ranks = ranked.filter_map(|(at, w)| Some((vocab.find(&piece[w[0]..w[2]])?, at)));
        let Some((_, at)) = ranks.min() else { break };
        ends.remove(at + 1);
    }
    ends.windows(2).map(|w| vocab.find(&piece[w[0]..w[1]]).unwrap()).collect()
}

/// Compares all paths on random vocabularies, patterns and texts until the time is over; returns
/// the number of texts.
fn compare_all_paths(seed: u64, time: Duration) -> usize {
    let mut random = Random(seed);
    let outside = OUTSIDE.map(str::to_owned);
    let patterns: Vec<String> = family().into_iter().chain(outside).collect();
    let (start, mut texts) = (Instant::now(), 0);
    while start.elapsed() < time {
        let splitter = Splitter::parse(&patterns[random.below(patterns.len())]).unwrap();
        let specials = vec![(9000, "<|end|>".to_owned())];
        let vocab = match random.below(3) {
            0 => trained_vocab(&mut random),
            1 => spelled_vocab(&mut random),
            _ => joined_vocab(&mut random),
        };
        let tokenizer = Tokenizer::try_from_vocab(vocab, splitter, specials).unwrap();
        let (none, all) = (AllowedSpecials::none(), tokenizer.specials().allow_all());
        for _ in 0..40 {
            let size = if random.below(10) == 0 { 2000 } else { 60 };
            let text = random_text(&mut random, size);
            let (mut expected, mut lengths) = (Vec::new(), Vec::new());
            let add = |piece: &[u8]| {
                expected.extend(merge_by_definition(tokenizer.vocab(), piece));
                lengths.push(piece.len());
            };
            tokenizer.splitter().split_by_reference(&text, add).unwrap();
            let state = (seed, texts, String::from_utf8_lossy(&text).into_owned());
            for (level, found) in tokenizer.splitter().split_at_each_simd_level(&text) {
                assert_eq!(found, lengths, "{level} {state:?}");
            }
            if random.below(4) == 0 {
                let counted = tokenizer.count(&text, &none).unwrap();
                assert_eq!(counted, expected.len(), "counted {state:?}");
            }
            for warmth in ["cold", "warm"] {
                let mut ids = Vec::new();
                tokenizer.encode(&text, &none, &mut ids).unwrap();
                assert_eq!(ids, expected, "{warmth} {state:?}");
            }
            assert_eq!(tokenizer.decode(&expected).unwrap(), text, "{state:?}");
            let mut with_specials = Vec::new();
            tokenizer.encode(&text, &all, &mut with_specials).unwrap();
            assert_eq!(tokenizer.decode(&with_specials).unwrap(), text, "{state:?}");
            texts += 1;
        }
        // A thread takes at least 64 KiB.
        let long: Vec<u8> = (0..60).flat_map(|_| random_text(&mut random, 4000)).collect();
        let mut ids = Vec::new();
        tokenizer.encode(&long, &all, &mut ids).unwrap();
        assert_eq!(tokenizer.encode_parallel(&long, &all, 3).unwrap(), ids, "{seed} {texts}");
        let batch = cut_anywhere(&mut random, &long);
        let found = tokenizer.encode_batch(&batch, &all, 3).unwrap().unwrap();
        let counts = tokenizer.count_batch(&batch, &all, 3).unwrap().unwrap();
        assert_eq!((found.iter().count(), counts.len()), (batch.len(), batch.len()));
        for (text, (found, count)) in batch.iter().zip(found.iter().zip(counts)) {
            ids.clear();
            tokenizer.encode(text, &all, &mut ids).unwrap();
            assert_eq!((found, count), (&ids[..], ids.len()), "{seed} {texts}");
        }
    }
    texts
}

/// Cuts a text into texts of a few bytes or kilobytes, some of which are empty.
fn cut_anywhere<'t>(random: &mut Random, mut text: &'t [u8]) -> Vec<&'t [u8]> {
    let mut texts = Vec::new();
    while !text.is_empty() {
        let most = [1, 50, 8000][random.below(3)];
        let (one, rest) = text.split_at(random.below(most + 1).min(text.len()));
        texts.push(one);
        text = rest;
    }
    texts
}

#[test]
fn all_paths_agree() {
    assert!(compare_all_paths(1, Duration::from_secs(2)) > 0);
}

/// Compares all paths for `ZETON_FUZZ_SECONDS`, with a new seed. `ARCHITECTURE.md` has the command.
#[test]
#[ignore = "runs as long as ZETON_FUZZ_SECONDS says"]
fn fuzz_all_paths() {
    let (time, seed) = fuzzing();
    let texts = compare_all_paths(seed, time);
    println!("{texts} texts, all paths equal");
}
