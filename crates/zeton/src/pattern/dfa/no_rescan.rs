//! Removes rescanning from the DFA.
//!
//! A DFA that fails falls back to its last accepting position and rescans from there. For example,
//! `\s+(?!\S)|\s|\S+` on `"   x"` reads three blanks, accepts two and rescans the third. So here
//! each state also carries the state of a scan that started at that accepting position. On failure
//! that second scan becomes the current one, at the current character. A [`ScanChain`] is the list
//! of these states, at most [`ACCEPT_SLOTS`] accepting positions deep, and a chain is one state of
//! the new table:
//!
//! ```text
//! DFA states:  0 start   1 text   2 one blank   3 blanks, which accept before their last one
//!
//! character  chain before         action                   chain after
//! ␣          [0]                  none                     [2]
//! ␣          [2]                  SET_ACCEPT[0]            [3 (slot 0), 2]
//! ␣          [3 (slot 0), 2]      SET_ACCEPT[0]            [3 (slot 0), 2]
//! x          [3 (slot 0), 2]      CUT_AT_ACCEPT[0], CUT    [1]
//! end                                                      pieces "  ", " ", "x"
//! ```
//!
//! Cost: the DFA of Kimi's pattern has 34 states, and 100 chains. It rescanned each indented line
//! of source code twice; without rescanning, encoding code runs at 415 instead of 310 MB/s
//! (`docs/notes/splitting.md`, 2026-11-18). A chain that would need a third accepting position
//! stops there, and a failure behind that point is a [`DfaAction::RESCAN`].

use std::collections::HashMap;

use super::DfaTransition;

/// Maximum number of accepting positions of a chain. An indented line of source code needs two:
/// `\s*[\r\n]+` gives back the indentation of the line, and `\s+(?!\S)` gives back its last blank.
pub(crate) const ACCEPT_SLOTS: usize = 2;

/// The actions of one character on a chain, as a bit mask.
///
/// ```text
/// bit  5       4                 3                 2              1              0
///      RESCAN  CUT_AT_ACCEPT[1]  CUT_AT_ACCEPT[0]  SET_ACCEPT[1]  SET_ACCEPT[0]  CUT
/// ```
pub(crate) struct DfaAction;

impl DfaAction {
    /// A piece ends before the character.
    pub(crate) const CUT: u8 = 1;
    /// The position before the character becomes the accepting position of this slot.
    pub(crate) const SET_ACCEPT: [u8; ACCEPT_SLOTS] = [2, 4];
    /// A piece ends at the accepting position of this slot.
    pub(crate) const CUT_AT_ACCEPT: [u8; ACCEPT_SLOTS] = [8, 16];
    /// The text from that accepting position on is rescanned. The rest of the action is void, and
    /// no chain follows.
    pub(crate) const RESCAN: u8 = 32;
}

/// A scan of a piece.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Scan {
    /// The state of the DFA.
    state: usize,
    /// The slot of its last accepting position, if it has accepted.
    accept_slot: Option<usize>,
}

/// The scan of the current piece and, behind each scan that has accepted, the scan of the next
/// piece, which began at that accepting position. `None` ends a chain whose next scan is unknown.
type ScanChain = Vec<Option<Scan>>;

/// Explores the chains of a DFA, whose table has `classes` columns and one for the end of the text.
///
/// Returns the action and the next chain for each chain, the start first, and each class. Returns
/// `None` if there are more than `chains_max` chains. With 0 for `slots`, no second scan is
/// carried, and every failure rescans.
pub(crate) fn build_chain_table(
    table: &[DfaTransition],
    classes: usize,
    slots: usize,
    chains_max: usize,
) -> Option<Vec<(u8, usize)>> {
    ChainBuilder { table, columns: classes + 1, slots }.build(chains_max)
}

/// The table of a DFA, and the depth of the chains to build.
struct ChainBuilder<'a> {
    table: &'a [DfaTransition],
    /// Number of classes, including the end of the text, which is the last.
    columns: usize,
    /// Maximum number of accepting positions of a chain.
    slots: usize,
}

impl ChainBuilder<'_> {
    /// Explores all reachable chains, breadth first; chain 0 is the start of a text. Returns the
    /// action and the next chain of each chain and class, or `None` if there are more than
    /// `chains_max` chains.
    fn build(&self, chains_max: usize) -> Option<Vec<(u8, usize)>> {
        let mut chains = vec![self.new_chain(0)];
        let mut numbers = HashMap::from([(chains[0].clone(), 0)]);
        let mut cells = Vec::new();
        let mut at = 0;
        while at < chains.len() {
            for class in 0..self.columns - 1 {
                let (action, next) = self.next_chain(&chains[at].clone(), class);
                let number = next.map_or(0, |next| {
                    *numbers.entry(next).or_insert_with_key(|next| {
                        chains.push(next.clone());
                        chains.len() - 1
                    })
                });
                cells.push((action, number));
            }
            if chains.len() > chains_max {
                return None;
            }
            at += 1;
        }
        Some(cells)
    }

    /// Returns the chain of a scan that has not accepted. Without slots the chain does not say
    /// whether the scan has accepted, and slot 0 stands for any accepting position.
    fn new_chain(&self, state: usize) -> ScanChain {
        match self.slots {
            0 => vec![Some(Scan { state, accept_slot: Some(0) }), None],
            _ => vec![Some(Scan { state, accept_slot: None })],
        }
    }

    fn step(&self, state: usize, class: usize) -> DfaTransition {
        self.table[state * self.columns + class]
    }

    /// Returns the number of the state after the first character of a piece, whose class is
    /// `class`.
    fn first_state(&self, class: usize) -> usize {
        self.step(0, class).row() / self.columns
    }

    /// Returns the action of a character on a chain and the next chain, or `None` for that if the
    /// character causes a rescan.
    fn next_chain(&self, whole: &[Option<Scan>], class: usize) -> (u8, Option<ScanChain>) {
        let (mut chain, mut action) = (whole, 0);
        while let Some(scan) = chain[0] {
            let transition = self.step(scan.state, class);
            if transition != DfaTransition::RESCAN {
                if transition.is_cut() {
                    let next = self.new_chain(self.first_state(class));
                    return (action | DfaAction::CUT, Some(next));
                }
                let mut next = ScanChain::new();
                action |= self.advance(chain, class, &mut next);
                return (action, Some(next));
            }
            // This scan fails. Its piece ends where it accepted, and the next scan takes over.
            action |= scan.accept_slot.map_or(0, |slot| DfaAction::CUT_AT_ACCEPT[slot]);
            chain = &chain[1..];
        }
        // The scan that takes over is unknown, so that the text is rescanned from the first
        // accepting position on. The first scan has one, because the DFA covers every text.
        let slot = whole[0].and_then(|scan| scan.accept_slot).expect("a failing scan has accepted");
        (DfaAction::RESCAN | DfaAction::CUT_AT_ACCEPT[slot], None)
    }

    /// Appends to `next` the chain after a character on which the first scan of `chain` continues;
    /// returns the accepting positions that the character sets.
    ///
    /// A later scan becomes unknown if the character fails or ends its piece, because the end of
    /// that piece would be one more position to carry.
    fn advance(&self, chain: &[Option<Scan>], class: usize, next: &mut ScanChain) -> u8 {
        let Some(scan) = chain[0] else {
            next.push(None);
            return 0;
        };
        let transition = self.step(scan.state, class);
        let state = transition.row() / self.columns;
        if transition == DfaTransition::RESCAN || transition.is_cut() {
            next.push(None);
            return 0;
        }
        if !transition.is_accept() {
            next.push(Some(Scan { state, ..scan }));
            return match scan.accept_slot {
                Some(_) => self.advance(&chain[1..], class, next),
                None => 0,
            };
        }
        let is_free =
            |slot: &usize| next.iter().flatten().all(|scan| scan.accept_slot != Some(*slot));
        let Some(slot) = scan.accept_slot.or_else(|| (0..self.slots).find(is_free)) else {
            next.push(None);
            return 0;
        };
        next.push(Some(Scan { state, accept_slot: Some(slot) }));
        match self.slots {
            0 => next.push(None),
            _ => next.extend(self.new_chain(self.first_state(class))),
        }
        DfaAction::SET_ACCEPT[slot]
    }
}
