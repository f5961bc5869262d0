//! How much of a text that goes on can be without a place to cut.

use super::{Engine, Splitter};
use crate::sys::unicode::CHARACTER_BYTES_MAX;

impl Splitter {
    /// Returns the most bytes at the end of a text of which more text may change the pieces.
    ///
    /// # Errors
    ///
    /// Why there is no bound, if there is none.
    pub fn held_max(&self) -> Result<usize, String> {
        if self.layers.as_ref().is_some_and(|layers| layers.go_before()) {
            return Err("a match or a run of the rules may go on for ever".to_owned());
        }
        match &self.engine {
            Engine::Scanner { transducer, .. } => held_max(
                transducer.class_count(),
                |point| transducer.class_of(point),
                |before, after| transducer.is_safe_cut(before, after),
            ),
            Engine::Dfa(automaton) => held_max(
                automaton.class_count(),
                |point| automaton.class_of(point),
                |before, after| automaton.is_safe_cut(before, after),
            ),
            Engine::Regex { unfit, .. } => {
                Err(format!("the pattern runs on the backtracking engine: {unfit}"))
            }
            Engine::Function { name } => Err(format!("the split is the function {name}")),
        }
    }

    /// Returns a character of each class that the pattern tells apart, as far as that is known.
    pub(crate) fn examples(&self) -> Vec<char> {
        let found = match &self.engine {
            Engine::Scanner { transducer, .. } => {
                examples(transducer.class_count(), |point| transducer.class_of(point))
            }
            Engine::Dfa(automaton) => {
                examples(automaton.class_count(), |point| automaton.class_of(point))
            }
            Engine::Regex { .. } | Engine::Function { .. } => Vec::new(),
        };
        found.into_iter().flatten().collect()
    }
}

/// Finds a character of each class, one that shows if there is such.
fn examples(classes: usize, class_of: impl Fn(u32) -> u8) -> Vec<Option<char>> {
    let mut examples = vec![None; classes];
    for character in '\0'..=char::MAX {
        let example = &mut examples[class_of(character as u32) as usize];
        let shows = |c: &char| c.is_ascii_graphic();
        if example.is_none_or(|known| !shows(&known) && shows(&character)) {
            *example = Some(character);
        }
    }
    examples
}

/// Finds the longest run of classes no two of which are cut apart in any case.
fn held_max(
    classes: usize,
    class_of: impl Fn(u32) -> u8,
    is_safe_cut: impl Fn(u8, u8) -> bool,
) -> Result<usize, String> {
    let examples = examples(classes, class_of);
    let met: Vec<(u8, char)> =
        (0..).zip(&examples).filter_map(|(class, example)| Some((class, (*example)?))).collect();
    // Runs of one character, then of two …: as many rounds as classes, or the run can go on for ever.
    let mut ends: Vec<(u8, char)> = met.clone();
    for length in 1..=met.len() {
        let goes_on = |&(after, _): &(u8, char)| {
            ends.iter().find(|(before, _)| !is_safe_cut(*before, after)).copied()
        };
        let next: Vec<_> = met.iter().copied().filter(|after| goes_on(after).is_some()).collect();
        if next.is_empty() {
            return Ok(length * CHARACTER_BYTES_MAX);
        }
        ends = next;
    }
    let twin = met.iter().find(|(class, _)| !is_safe_cut(*class, *class));
    let example = twin.or(ends.first()).map_or(' ', |(_, example)| *example);
    Err(format!("text may go on for ever without a place to cut, as a run of {example:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_bounded_pieces_has_a_bound() {
        let held = |pattern| Splitter::new(pattern).unwrap().held_max();
        assert_eq!(held(r"(?s:.)"), Ok(4));
        assert_eq!(
            held(crate::pattern::NANOCHAT),
            Err("text may go on for ever without a place to cut, as a run of '!'".to_owned())
        );
        assert!(held(r"\w+(?=\s)|\w+|\W").unwrap_err().contains("for ever"));
    }
}
