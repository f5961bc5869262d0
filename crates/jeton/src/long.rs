//! Long tokens, found by their bytes: all that [`ShortTokens`](crate::short::ShortTokens) has no
//! room for. There are few, and a piece of so many bytes is rarely one of them.

use crate::huge::Huge;
use crate::image::{Reader, Writer};
use crate::short::drawn_seeds;

/// Bytes that are mixed at once; no token here has fewer.
const STEP: usize = 16;

/// An open-addressed table of the indices of tokens, at most half full.
#[derive(Clone, Debug)]
pub(crate) struct LongTokens {
    /// One more than the index, zero where the slot is empty.
    slots: Huge<u32>,
    /// Chosen anew for every table, so that no vocabulary can be made whose tokens all collide.
    seeds: [u64; 2],
}

impl LongTokens {
    /// Makes an empty table for so many tokens.
    pub(crate) fn with_capacity(tokens: usize) -> Self {
        let slots = Huge::zeros((tokens * 2).next_power_of_two().max(2));
        let seeds = drawn_seeds();
        Self { slots, seeds }
    }

    /// Puts the table into an image.
    pub(crate) fn write_image<'v>(&'v self, image: &mut Writer<'v>) {
        self.seeds.iter().for_each(|&seed| image.number(seed));
        image.row(&self.slots);
    }

    /// Takes the table out of an image.
    pub(crate) fn from_image(image: &mut Reader) -> Option<Self> {
        let seeds = [image.number()?, image.number()?];
        Some(Self { slots: image.table()?, seeds })
    }

    /// Adds the index of a token that is not in the table yet.
    pub(crate) fn insert(&mut self, token: &[u8], index: u32) {
        let mut at = self.home(token);
        while self.slots[at] != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = index + 1;
    }

    /// Returns the index of a token, which `at` gives the bytes of.
    pub(crate) fn get<'t>(&self, token: &[u8], at: impl Fn(u32) -> &'t [u8]) -> Option<u32> {
        let mut slot = self.home(token);
        loop {
            let index = self.slots[slot].checked_sub(1)?;
            if at(index) == token {
                return Some(index);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    fn home(&self, token: &[u8]) -> usize {
        let [mut state, seed] = self.seeds;
        let mut mix = |bytes: &[u8; STEP]| {
            let bytes = u128::from_le_bytes(*bytes);
            let [low, high] = [bytes as u64, (bytes >> 64) as u64];
            let product = u128::from(low ^ state) * u128::from(high ^ seed);
            state = product as u64 ^ (product >> 64) as u64;
        };
        let (steps, rest) = token.as_chunks();
        steps.iter().for_each(&mut mix);
        if let (false, Some(last)) = (rest.is_empty(), token.last_chunk()) {
            mix(last);
        }
        // Without the length, bytes that repeat would be alike.
        mix(&(token.len() as u128).to_le_bytes());
        state as usize & (self.slots.len() - 1)
    }
}
