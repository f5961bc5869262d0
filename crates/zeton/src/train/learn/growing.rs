//! Pieces that are not learned from, merged along: how many tokens they take as the vocabulary grows.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use foldhash::fast::RandomState;

use super::Pieces;
use super::layout::PIECE_WORK;
use super::pair::Pair;
use super::tokens::Tokens;
use crate::piece_cache::Scratch;
use crate::sys::error::Error;
use crate::sys::progress::Pace;

/// Pieces as the tokens that all merges so far make of them.
///
/// Merges go on from where they were: what joins a token comes after what made it, so no earlier merge
/// has anything to do. Each look takes as long as there are tokens, and no vocabulary is made for it.
#[derive(Debug, Default)]
pub(super) struct Growing {
    /// How often each piece occurs, and how many tokens it has: two or more.
    pieces: Vec<(u64, usize)>,
    /// The tokens of these pieces, one after the other.
    tokens: Vec<u32>,
    /// How often pieces of one token occur, in all.
    whole: u64,
    /// How many merges were made.
    merges: usize,
}

/// What the merges since the last look make of pairs.
type Joins = HashMap<Pair, u32, RandomState>;

/// Pieces of fewer tokens are looked through anew for each join, which is faster than to keep order.
const SHORT_MAX: usize = if cfg!(test) { 4 } else { 32 };

impl Growing {
    /// Takes pieces as the tokens that they begin as.
    ///
    /// # Errors
    ///
    /// When the pieces cannot be read, or somebody asked to stop.
    pub(super) fn of(
        pieces: &dyn Pieces,
        tokens: &Tokens<'_>,
        pace: &mut Pace<'_>,
    ) -> Result<Self, Error> {
        let (mut growing, mut buffers) = (Self::default(), (Scratch::default(), Vec::new()));
        pieces.each(&mut |piece, count| {
            let start = growing.tokens.len();
            tokens.parts_of(piece, &mut buffers, |_, _, token| growing.tokens.push(token));
            match growing.tokens.len() - start {
                0 => {}
                1 => {
                    growing.tokens.truncate(start);
                    growing.whole += count;
                }
                length => growing.pieces.push((count, length)),
            }
            pace.work(PIECE_WORK + piece.len())
        })?;
        Ok(growing)
    }

    /// Returns the bytes that this takes.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<(u64, usize)>() + self.tokens.capacity() * 4
    }

    /// Makes all merges that were learned since; returns how many tokens there are.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn count(&mut self, tokens: &Tokens<'_>, pace: &mut Pace<'_>) -> Result<u64, Error> {
        let learned = tokens.learned();
        let first = (tokens.len() - learned.len()) as u32;
        let mut joins = Joins::default();
        for (number, &pair) in learned.iter().enumerate().skip(self.merges) {
            joins.entry(pair).or_insert(first + number as u32);
        }
        self.merges = learned.len();

        let (mut read, mut kept, mut kept_pieces, mut sum) = (0, 0, 0, self.whole);
        for number in 0..self.pieces.len() {
            let (count, length) = self.pieces[number];
            let piece = &mut self.tokens[read..read + length];
            let left = join_all(piece, &joins, pace)?;
            // Never more than the bytes of the corpus, which fit.
            sum += count * left as u64;
            if left == 1 {
                self.whole += count;
            } else {
                self.tokens.copy_within(read..read + left, kept);
                self.pieces[kept_pieces] = (count, left);
                (kept, kept_pieces) = (kept + left, kept_pieces + 1);
            }
            read += length;
        }
        self.tokens.truncate(kept);
        self.pieces.truncate(kept_pieces);
        Ok(sum)
    }
}

/// Joins pairs, the one that was learned first first, of several of these the leftmost; returns how
/// many tokens are left, which lie in front.
fn join_all(piece: &mut [u32], joins: &Joins, pace: &mut Pace<'_>) -> Result<usize, Error> {
    if piece.len() > SHORT_MAX {
        return join_in_order(piece, joins, pace);
    }
    let mut length = piece.len();
    loop {
        pace.work(PIECE_WORK + length)?;
        let found = |at: usize| Some((*joins.get(&Pair::of(piece[at], piece[at + 1]))?, at));
        let Some((joined, at)) = (0..length - 1).filter_map(found).min() else {
            return Ok(length);
        };
        piece[at] = joined;
        piece.copy_within(at + 2..length, at + 1);
        length -= 1;
    }
}

/// The same for a long piece: a join takes as long as finding it in a heap.
fn join_in_order(piece: &mut [u32], joins: &Joins, pace: &mut Pace<'_>) -> Result<usize, Error> {
    let mut waiting = BinaryHeap::new();
    for at in 0..piece.len() - 1 {
        pace.work(1)?;
        if let Some(&joined) = joins.get(&Pair::of(piece[at], piece[at + 1])) {
            waiting.push(Reverse((joined, at)));
        }
    }
    if waiting.is_empty() {
        return Ok(piece.len());
    }
    // Where the token before, and the one after, begins. A token that is no more has none after.
    let mut before: Vec<Option<usize>> = (0..piece.len()).map(|at| at.checked_sub(1)).collect();
    let mut after: Vec<usize> = (1..=piece.len()).collect();
    while let Some(Reverse((joined, at))) = waiting.pop() {
        pace.work(PIECE_WORK)?;
        let next = after[at];
        if next == GONE || next == piece.len() {
            continue;
        }
        if joins.get(&Pair::of(piece[at], piece[next])) != Some(&joined) {
            continue;
        }
        piece[at] = joined;
        (after[at], after[next]) = (after[next], GONE);
        if let Some(before) = before.get_mut(after[at]) {
            *before = Some(at);
        }
        let neighbours = [before[at], Some(at).filter(|_| after[at] < piece.len())];
        for place in neighbours.into_iter().flatten() {
            if let Some(&joined) = joins.get(&Pair::of(piece[place], piece[after[place]])) {
                waiting.push(Reverse((joined, place)));
            }
        }
    }
    let (mut at, mut length) = (0, 0);
    while at < piece.len() {
        piece[length] = piece[at];
        (at, length) = (after[at], length + 1);
    }
    Ok(length)
}

const GONE: usize = usize::MAX;
