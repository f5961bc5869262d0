//! Where a text may be cut so that nobody is surprised: between characters, words, lines …

use std::ops::Range;
use std::str::FromStr;

use unicode_segmentation::UnicodeSegmentation;

use crate::split::Splitter;
use crate::sys::error::Error;

/// Bytes that are read after a place to know whether it is a border; and for what tells it, at most.
const AHEAD: usize = 256;
const AHEAD_MAX: usize = 1 << 16;

/// What a text is cut between.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Border {
    /// Code points; a byte that is not UTF-8 stands alone.
    Character,
    /// Grapheme clusters of Unicode: what people see as one character.
    Grapheme,
    /// Pieces of the pattern.
    Piece,
    /// Words of Unicode, and what is between them.
    Word,
    /// Sentences of Unicode, each with the white space after it.
    Sentence,
    /// Lines, each with its `\n`, `\r\n` or `\r`.
    Line,
    /// Lines up to the next blank ones, with these.
    Paragraph,
}

/// All borders, by their names.
const NAMES: [(&str, Border); 7] = [
    ("character", Border::Character),
    ("grapheme", Border::Grapheme),
    ("piece", Border::Piece),
    ("word", Border::Word),
    ("sentence", Border::Sentence),
    ("line", Border::Line),
    ("paragraph", Border::Paragraph),
];

impl FromStr for Border {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, border)| *border).ok_or_else(|| Error::UnknownBorder {
            name: name.to_owned(),
            known: NAMES.map(|(known, _)| known).join(", "),
        })
    }
}

impl Border {
    /// Returns what to cut between where a text has too few of these.
    #[must_use]
    pub fn finer(self) -> Option<Self> {
        match self {
            Self::Paragraph => Some(Self::Line),
            Self::Line => Some(Self::Sentence),
            Self::Sentence => Some(Self::Piece),
            Self::Word | Self::Piece => Some(Self::Grapheme),
            Self::Grapheme => Some(Self::Character),
            Self::Character => None,
        }
    }

    /// Returns the borders of a text in `places`, by rising place; the ends of the text are such.
    ///
    /// For all but characters, the text is read from its beginning on.
    pub(crate) fn within(
        self,
        splitter: &Splitter,
        text: &[u8],
        places: Range<usize>,
    ) -> Result<Vec<usize>, Error> {
        let mut borders = Vec::new();
        if places.is_empty() || text.is_empty() {
            borders.extend(places.contains(&0).then_some(0));
            return Ok(borders);
        }
        let read = &text[..self.end_of_read(splitter, text, places.end)];
        let mut note = |at| {
            if places.contains(&at) {
                borders.push(at);
            }
        };
        match self {
            Self::Character => {
                // Where the places begin may be inside a character.
                let is_inside = |at: &usize| read[*at] & 0xC0 == 0x80;
                let start = (places.start.saturating_sub(3)..=places.start.min(read.len() - 1))
                    .rev()
                    .find(|at| !is_inside(at))
                    .unwrap_or(places.start);
                each_part(&read[start..], str::char_indices, |at| note(start + at));
            }
            Self::Piece => {
                let mut end = 0;
                note(0);
                splitter.split(read, |piece: &[u8]| {
                    end += piece.len();
                    note(end);
                })?;
            }
            Self::Grapheme => each_part(read, |part| part.grapheme_indices(true), note),
            Self::Word => each_part(read, str::split_word_bound_indices, note),
            Self::Sentence => each_part(read, str::split_sentence_bound_indices, note),
            Self::Line => each_line(read, |_, end| note(end)),
            Self::Paragraph => {
                let mut after_blank = false;
                each_line(read, |start, end| {
                    let is_blank = read[start..end].iter().all(u8::is_ascii_whitespace);
                    if after_blank && !is_blank {
                        note(start);
                    }
                    after_blank = is_blank;
                });
            }
        }
        // What looks like the end is only where reading stopped.
        borders.retain(|&at| at < read.len() || at == text.len());
        if places.contains(&text.len()) && borders.last() != Some(&text.len()) {
            borders.push(text.len());
        }
        if places.start == 0 && borders.first() != Some(&0) {
            borders.insert(0, 0);
        }
        Ok(borders)
    }
}

impl Border {
    /// Returns how far a text has to be read to know the borders before `at`.
    fn end_of_read(self, splitter: &Splitter, text: &[u8], at: usize) -> usize {
        let Some(rest) = text.get(at..) else { return text.len() };
        let near = &rest[..rest.len().min(AHEAD_MAX)];
        let ahead = match self {
            Self::Character => 0,
            // What is read begins with the text, so it splits as the whole up to any safe cut.
            Self::Piece => splitter.first_safe_cut(near).unwrap_or(near.len()),
            // A letter tells whether a sentence, or a paragraph, has ended before it.
            _ => {
                let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte >= 0x80;
                near.iter().position(is_letter).unwrap_or(near.len())
            }
        };
        text.len().min(at.saturating_add(ahead).saturating_add(AHEAD))
    }
}

/// Calls `note` with the beginning of every unit of the UTF-8 in a text; each other byte is a unit.
fn each_part<'t, U, I: Iterator<Item = (usize, U)>>(
    text: &'t [u8],
    units: impl Fn(&'t str) -> I,
    mut note: impl FnMut(usize),
) {
    let mut start = 0;
    for part in text.utf8_chunks() {
        units(part.valid()).for_each(|(at, _)| note(start + at));
        let end = start + part.valid().len();
        (end..end + part.invalid().len()).for_each(&mut note);
        start = end + part.invalid().len();
    }
    note(start);
}

/// Calls `each` with where every line begins and ends.
fn each_line(text: &[u8], mut each: impl FnMut(usize, usize)) {
    let mut start = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte == b'\n' || byte == b'\r' && text.get(at + 1) != Some(&b'\n') {
            each(start, at + 1);
            start = at + 1;
        }
    }
    if start < text.len() {
        each(start, text.len());
    }
}
