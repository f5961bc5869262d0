//! Possible cuts: positions in a part of a text where a piece may end, for unknown text around it.
//!
//! A phrase is searched in arrays of ids, and the pieces at its ends depend on the text around it.
//! So the table of the pattern is simulated from every state at once, and each position where any
//! of these simulations cuts is possible. For example, with nanochat's pattern:
//!
//! ```text
//! part           t h e   c a t
//! possible cut    ^   ^          ' before the part would make 't a contraction
//! ```
//!
//! The answer may include a position where no piece ends, never the reverse. Cost: a part of n
//! bytes takes at most n steps for each configuration, and there are at most [`CONFIGURATIONS_MAX`]
//! of them in a DFA.

use std::collections::HashSet;

use super::{SplitEngine, Splitter};
use crate::pattern::{Actions, Dfa, DfaTransition, Transducer};
use crate::sys::unicode::{CHARACTER_BYTES_MAX, read_char};

/// Maximum number of configurations (state, position, last accept) of a DFA. A part that has more
/// gets every position between characters. Not measured.
const CONFIGURATIONS_MAX: usize = 1 << 18;

impl Splitter {
    /// Returns for each position in a part of a text whether a piece may end there, for some text
    /// around the part. The first and the last position always may. The phrase search calls it for
    /// each phrase.
    pub(crate) fn possible_cuts(&self, part: &[u8]) -> Vec<bool> {
        let (first, last) = find_whole_characters(part);
        let mut cuts = match &self.engine {
            _ if !self.is_plain() => None,
            SplitEngine::Scanner { transducer, .. } => {
                simulate_transducer(transducer, part, first, last)
            }
            SplitEngine::Dfa(automaton) => simulate_dfa(automaton, part, first, last),
            SplitEngine::Regex { .. } | SplitEngine::Function { .. } => None,
        }
        .unwrap_or_else(|| cut_between_characters(part));
        cuts[..=first].fill(true);
        cuts[last..].fill(true);
        cuts
    }
}

/// Returns the range of whole characters, which the text around the part cannot change.
/// Continuation bytes at the start, and a cut-off character at the end, lie outside of it.
fn find_whole_characters(part: &[u8]) -> (usize, usize) {
    let is_continuation = |byte: u8| byte & 0xC0 == 0x80;
    let first = part.iter().take_while(|&&byte| is_continuation(byte)).count();
    let cut_off = (1..CHARACTER_BYTES_MAX.min(part.len() + 1)).find_map(|length| {
        let at = part.len() - length;
        let needed = part[at].leading_ones() as usize;
        (!is_continuation(part[at])).then_some((needed > length).then_some(at))
    });
    (first, cut_off.flatten().unwrap_or(part.len()).max(first))
}

/// Returns every position between characters. It is the answer for rules, for backtracking and for
/// a part with too many configurations.
fn cut_between_characters(part: &[u8]) -> Vec<bool> {
    let mut cuts = vec![false; part.len() + 1];
    let mut at = 0;
    while at < part.len() {
        cuts[at] = true;
        at += read_char(&part[at..]).map_or(1, |(_, length)| length);
    }
    cuts
}

/// Simulates a transducer from every state, and returns for each position of the part whether a
/// piece may end there. `first..last` are the whole characters of the part. It is never `None`,
/// unlike the simulation of a DFA.
fn simulate_transducer(
    transducer: &Transducer,
    part: &[u8],
    first: usize,
    last: usize,
) -> Option<Vec<bool>> {
    let mut cuts = vec![false; part.len() + 1];
    let states = transducer.state_names().len() as u8;
    // States with the positions of their marks, as far as they are inside the part.
    let mut configurations: HashSet<(u8, [Option<usize>; 2])> =
        (0..states).map(|state| (state, [None; 2])).collect();
    let mut at = first;
    while at < last {
        let (class, length) = match read_char(&part[at..]) {
            Some((point, length)) => (transducer.class_of(point), length),
            None => (transducer.class_of_bad_byte(), 1),
        };
        let step = |(state, mut marks): (u8, [Option<usize>; 2])| {
            let step = transducer.step(state, class);
            for (cut, end) in [
                (Actions::CUT_MARK_0, marks[0]),
                (Actions::CUT_MARK_1, marks[1]),
                (Actions::CUT_HERE, Some(at)),
            ] {
                if let Some(end) = end.filter(|_| step.actions.contains(cut)) {
                    cuts[end] = true;
                }
            }
            if step.actions.contains(Actions::SET_MARK_0) {
                marks[0] = Some(at + length);
            }
            if step.actions.contains(Actions::SET_MARK_1) {
                marks[1] = Some(at);
            }
            (step.next, marks)
        };
        configurations = configurations.into_iter().map(step).collect();
        at += length;
    }
    // The text behind the part may cut at a mark, unless it sets the mark again first.
    for (number, cut, set) in [
        (0, Actions::CUT_MARK_0, Actions::SET_MARK_0),
        (1, Actions::CUT_MARK_1, Actions::SET_MARK_1),
    ] {
        let uses = find_fixpoint(usize::from(states), |state, uses: &[bool]| {
            (0..transducer.class_count()).any(|class| {
                let step = transducer.step(state as u8, class as u8);
                let later = !step.actions.contains(set) && uses[usize::from(step.next)];
                step.actions.contains(cut) || later
            })
        });
        for (state, marks) in &configurations {
            if let Some(end) = marks[number].filter(|_| uses[usize::from(*state)]) {
                cuts[end] = true;
            }
        }
    }
    Some(cuts)
}

/// Simulates a DFA from every state. A failure rescans the part from the last accept. `None` if
/// there are more than [`CONFIGURATIONS_MAX`] configurations.
fn simulate_dfa(automaton: &Dfa, part: &[u8], first: usize, last: usize) -> Option<Vec<bool>> {
    let mut cuts = vec![false; part.len() + 1];
    let (states, columns) = (automaton.state_count(), automaton.class_count());
    let can_rescan = find_fixpoint(states, |state, can_rescan: &[bool]| {
        (0..columns).any(|class| {
            let step = automaton.step(state * columns, class as u8);
            let ends = step.is_cut() || step.is_accept() || class + 1 == columns;
            step == DfaTransition::RESCAN || (!ends && can_rescan[automaton.state_of(step.row())])
        })
    });
    // Pending configurations: the row of a state, the position, and the last accept inside the
    // part.
    let mut pending: Vec<(usize, usize, Option<usize>)> =
        (0..states).map(|state| (state * columns, first, None)).collect();
    let mut visited: HashSet<_> = pending.iter().copied().collect();
    while let Some((row, at, mark)) = pending.pop() {
        let next = if at >= last {
            let used = mark.filter(|_| can_rescan[automaton.state_of(row)]);
            used.map(|mark| (Dfa::START, mark, None, mark))
        } else {
            let (class, length) = match read_char(&part[at..]) {
                Some((point, length)) => (automaton.class_of(point), length),
                None => (automaton.class_of(char::REPLACEMENT_CHARACTER as u32), 1),
            };
            let step = automaton.step(row, class);
            match step {
                // Without an accept inside the part, the rescan starts before it, and arrives in
                // some state.
                DfaTransition::RESCAN => mark.map(|mark| (Dfa::START, mark, None, mark)),
                _ if step.is_cut() => Some((step.row(), at + length, None, at)),
                _ if step.is_accept() => Some((step.row(), at + length, Some(at), 0)),
                _ => Some((step.row(), at + length, mark, 0)),
            }
        };
        if let Some((row, at, mark, end)) = next {
            cuts[end] = true;
            if visited.insert((row, at, mark)) {
                pending.push((row, at, mark));
            }
        }
        if visited.len() > CONFIGURATIONS_MAX {
            return None;
        }
    }
    Some(cuts)
}

/// Finds the states with a property that may follow from the property of a next state: the least
/// fixed point of `holds`.
fn find_fixpoint(states: usize, holds: impl Fn(usize, &[bool]) -> bool) -> Vec<bool> {
    let mut found = vec![false; states];
    loop {
        let next: Vec<bool> = (0..states).map(|state| holds(state, &found)).collect();
        if next == found {
            return found;
        }
        found = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OUTSIDE, PARTS, Random};

    fn inner_cuts(pattern: &str, part: &str) -> Vec<usize> {
        let cuts = Splitter::parse(pattern).unwrap().possible_cuts(part.as_bytes());
        (1..part.len()).filter(|&at| cuts[at]).collect()
    }

    #[test]
    fn words_are_not_cut_but_where_a_contraction_may_have_begun() {
        let pattern = crate::pattern::NANOCHAT;
        assert_eq!(inner_cuts(pattern, "the cat"), [1, 3]);
        assert_eq!(inner_cuts(pattern, "xthe 1234"), [4, 5, 7]);
        assert_eq!(inner_cuts(r"\w+|\W", "the cat"), [3, 4]);
        assert_eq!(inner_cuts(r"(\w)\1*|\W", "aéb"), [1, 3]);
    }

    #[test]
    fn no_piece_ends_where_none_may() {
        let bytes = [&b"\xE4"[..], b"\xB8", b"\xAD", b"\xFF", b"\xC3", b"\xA9"];
        let mut random = Random(37);
        let family = crate::testing::family();
        for pattern in family.iter().map(String::as_str).chain(OUTSIDE).chain([r"(\w)\1*|\W"]) {
            let splitter = Splitter::parse(pattern).unwrap();
            for _ in 0..300 {
                let mut text = |count: usize| -> Vec<u8> {
                    let mut part = || match random.below(8) {
                        0 => bytes[random.below(bytes.len())],
                        _ => PARTS[random.below(PARTS.len())].as_bytes(),
                    };
                    (0..count).flat_map(|_| part().to_vec()).collect()
                };
                let (left, part, right) = (text(3), text(4), text(3));
                let cuts = splitter.possible_cuts(&part);
                let mut end = 0;
                let whole = [&left[..], &part, &right].concat();
                let check = |piece: &[u8]| {
                    end += piece.len();
                    if let Some(&may) = end.checked_sub(left.len()).and_then(|at| cuts.get(at)) {
                        assert!(may, "{pattern}: {left:x?} {part:x?} {right:x?} at {end}");
                    }
                };
                splitter.split(&whole, check).unwrap();
            }
        }
    }
}
