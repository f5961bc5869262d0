//! Where in a part of a text a piece may end, when nothing is known of what stands around the part.

use std::collections::HashSet;

use super::{Engine, Splitter};
use crate::pattern::{Actions, Dfa, DfaTransition, Transducer};
use crate::sys::unicode::{CHARACTER_BYTES_MAX, read_char};

/// States at places that are looked at before every place is said to be possible.
const RUNS_MAX: usize = 1 << 18;

impl Splitter {
    /// Says for each place in a part of a text whether a piece may end there, whatever surrounds the part.
    ///
    /// A place may be said to be possible that is not, never the other way round. Its first and its
    /// last place always are.
    pub(crate) fn possible_cuts(&self, part: &[u8]) -> Vec<bool> {
        let (first, last) = settled(part);
        let mut cuts = match &self.engine {
            _ if !self.is_plain() => None,
            Engine::Scanner { transducer, .. } => by_transducer(transducer, part, first, last),
            Engine::Dfa(automaton) => by_automaton(automaton, part, first, last),
            Engine::Regex { .. } | Engine::Function { .. } => None,
        }
        .unwrap_or_else(|| between_characters(part));
        cuts[..=first].fill(true);
        cuts[last..].fill(true);
        cuts
    }
}

/// Returns where the characters of a part begin and end that what surrounds it cannot change.
fn settled(part: &[u8]) -> (usize, usize) {
    let goes_on = |byte: u8| byte & 0xC0 == 0x80;
    let first = part.iter().take_while(|&&byte| goes_on(byte)).count();
    let begun = (1..CHARACTER_BYTES_MAX.min(part.len() + 1)).find_map(|length| {
        let at = part.len() - length;
        let needed = part[at].leading_ones() as usize;
        (!goes_on(part[at])).then_some((needed > length).then_some(at))
    });
    (first, begun.flatten().unwrap_or(part.len()).max(first))
}

fn between_characters(part: &[u8]) -> Vec<bool> {
    let mut cuts = vec![false; part.len() + 1];
    let mut at = 0;
    while at < part.len() {
        cuts[at] = true;
        at += read_char(&part[at..]).map_or(1, |(_, length)| length);
    }
    cuts
}

/// Runs the table from every state.
fn by_transducer(
    transducer: &Transducer,
    part: &[u8],
    first: usize,
    last: usize,
) -> Option<Vec<bool>> {
    let mut cuts = vec![false; part.len() + 1];
    let states = transducer.state_names().len() as u8;
    // States with the places of their marks, where these are inside the part.
    let mut runs: HashSet<(u8, [Option<usize>; 2])> =
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
        runs = runs.into_iter().map(step).collect();
        at += length;
    }
    // What follows may cut at a mark that it does not set anew.
    for (number, cut, set) in [
        (0, Actions::CUT_MARK_0, Actions::SET_MARK_0),
        (1, Actions::CUT_MARK_1, Actions::SET_MARK_1),
    ] {
        let uses = reaching(usize::from(states), |state, uses: &[bool]| {
            (0..transducer.class_count()).any(|class| {
                let step = transducer.step(state as u8, class as u8);
                let later = !step.actions.contains(set) && uses[usize::from(step.next)];
                step.actions.contains(cut) || later
            })
        });
        for (state, marks) in &runs {
            if let Some(end) = marks[number].filter(|_| uses[usize::from(*state)]) {
                cuts[end] = true;
            }
        }
    }
    Some(cuts)
}

/// The same for an automaton, which reads again what it has read in vain.
fn by_automaton(automaton: &Dfa, part: &[u8], first: usize, last: usize) -> Option<Vec<bool>> {
    let mut cuts = vec![false; part.len() + 1];
    let (states, columns) = (automaton.state_count(), automaton.class_count());
    let goes_back = reaching(states, |state, goes_back: &[bool]| {
        (0..columns).any(|class| {
            let step = automaton.step(state * columns, class as u8);
            let ends = step.is_cut() || step.is_accept() || class + 1 == columns;
            step == DfaTransition::RESCAN || (!ends && goes_back[automaton.state_of(step.row())])
        })
    });
    // The row of a state, where it is, and its mark, if that is inside the part.
    let mut open: Vec<(usize, usize, Option<usize>)> =
        (0..states).map(|state| (state * columns, first, None)).collect();
    let mut seen: HashSet<_> = open.iter().copied().collect();
    while let Some((row, at, mark)) = open.pop() {
        let next = if at >= last {
            let used = mark.filter(|_| goes_back[automaton.state_of(row)]);
            used.map(|mark| (Dfa::START, mark, None, mark))
        } else {
            let (class, length) = match read_char(&part[at..]) {
                Some((point, length)) => (automaton.class_of(point), length),
                None => (automaton.class_of(char::REPLACEMENT_CHARACTER as u32), 1),
            };
            let step = automaton.step(row, class);
            match step {
                // From before the part on, all is read again, and comes to some state.
                DfaTransition::RESCAN => mark.map(|mark| (Dfa::START, mark, None, mark)),
                _ if step.is_cut() => Some((step.row(), at + length, None, at)),
                _ if step.is_accept() => Some((step.row(), at + length, Some(at), 0)),
                _ => Some((step.row(), at + length, mark, 0)),
            }
        };
        if let Some((row, at, mark, end)) = next {
            cuts[end] = true;
            if seen.insert((row, at, mark)) {
                open.push((row, at, mark));
            }
        }
        if seen.len() > RUNS_MAX {
            return None;
        }
    }
    Some(cuts)
}

/// Finds the states for which something holds, which may hold because it does for a state that follows.
fn reaching(states: usize, holds: impl Fn(usize, &[bool]) -> bool) -> Vec<bool> {
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

    fn places(pattern: &str, part: &str) -> Vec<usize> {
        let cuts = Splitter::new(pattern).unwrap().possible_cuts(part.as_bytes());
        (1..part.len()).filter(|&at| cuts[at]).collect()
    }

    #[test]
    fn words_are_not_cut_but_where_a_contraction_may_have_begun() {
        let pattern = crate::pattern::NANOCHAT;
        assert_eq!(places(pattern, "the cat"), [1, 3]);
        assert_eq!(places(pattern, "xthe 1234"), [4, 5, 7]);
        assert_eq!(places(r"\w+|\W", "the cat"), [3, 4]);
        assert_eq!(places(r"(\w)\1*|\W", "aéb"), [1, 3]);
    }

    #[test]
    fn no_piece_ends_where_none_may() {
        let bytes = [&b"\xE4"[..], b"\xB8", b"\xAD", b"\xFF", b"\xC3", b"\xA9"];
        let mut random = Random(37);
        let family = crate::testing::family();
        for pattern in family.iter().map(String::as_str).chain(OUTSIDE).chain([r"(\w)\1*|\W"]) {
            let splitter = Splitter::new(pattern).unwrap();
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
