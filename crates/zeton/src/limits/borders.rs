//! Borders: the positions at which a limit may cut a text, between units of one kind.
//!
//! A unit is a character, a grapheme cluster, a piece, a word, a sentence, a line or a paragraph.
//! For example, `"a-b c.\n\nd"` has these borders, in bytes:
//!
//! ```text
//! bytes       a  -  b  ␣  c  .  \n \n d
//!             0  1  2  3  4  5  6  7  8  9
//! word        |  |  |  |  |  |  |  |  |  |
//! sentence    |                    |  |  |
//! line        |                    |  |  |
//! paragraph   |                       |  |
//! ```
//!
//! [`Border::find_in`] reads a text from its beginning, because flags, pieces and words depend on
//! all text before them. Reading them from the middle gave wrong borders
//! (`docs/notes/services.md`, *not kept*). It reads only a short lookahead behind the last position
//! that it has to decide.

use std::ops::Range;
use std::str::FromStr;

use unicode_segmentation::UnicodeSegmentation;

use crate::split::Splitter;
use crate::sys::error::Error;

/// Bytes that are read behind the first character that decides a border. Not measured: Unicode's
/// rules need a few characters more.
const LOOKAHEAD_BYTES: usize = 256;

/// Bytes that are searched for the deciding character at most. Not measured.
///
/// A fixed lookahead of 256 bytes was wrong for sentences whose next letter is further away
/// (`docs/notes/services.md`).
const LOOKAHEAD_BYTES_MAX: usize = 1 << 16;

/// The kind of unit between which a text may be cut.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Border {
    /// Code points; a byte that is not UTF-8 is a unit of its own.
    Character,
    /// Grapheme clusters of Unicode: the characters that people see, such as a flag.
    Grapheme,
    /// Pieces of the pattern.
    Piece,
    /// Words of Unicode (annex 29), and each character between them.
    Word,
    /// Sentences of Unicode (annex 29), each with the white space behind it.
    Sentence,
    /// Lines, each with its `\n`, `\r\n` or `\r`.
    Line,
    /// Lines up to the next blank lines, which belong to the paragraph before them.
    Paragraph,
}

/// The name of each border in the Python package.
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
            known: NAMES.map(|(known, _)| known.to_owned()).to_vec(),
        })
    }
}

impl Border {
    /// Returns the next finer border, for a unit that is too long: a paragraph is cut between its
    /// lines. Nothing is finer than a character, which gives `None`.
    #[must_use]
    pub fn next_finer(self) -> Option<Self> {
        match self {
            Self::Paragraph => Some(Self::Line),
            Self::Line => Some(Self::Sentence),
            Self::Sentence => Some(Self::Piece),
            Self::Word | Self::Piece => Some(Self::Grapheme),
            Self::Grapheme => Some(Self::Character),
            Self::Character => None,
        }
    }

    /// Returns the borders of a text within a range of positions, rising. Both ends of the text are
    /// borders of every kind.
    ///
    /// The text is read from its beginning, except for borders between characters.
    pub(crate) fn find_in(
        self,
        splitter: &Splitter,
        text: &[u8],
        range: Range<usize>,
    ) -> Result<Vec<usize>, Error> {
        let mut borders = Vec::new();
        if range.is_empty() || text.is_empty() {
            borders.extend(range.contains(&0).then_some(0));
            return Ok(borders);
        }
        if self == Self::Piece && splitter.find_single_piece(text, range.end).in_text >= range.end {
            // The first piece ends behind the range.
            borders.extend(range.contains(&0).then_some(0));
            return Ok(borders);
        }
        let read_text = &text[..self.find_read_end(splitter, text, range.end)];
        let mut push = |at| {
            if range.contains(&at) {
                borders.push(at);
            }
        };
        match self {
            Self::Character => {
                // The range may begin inside a character, whose first byte is up to three before.
                let is_inside = |at: &usize| read_text[*at] & 0xC0 == 0x80;
                let start = (range.start.saturating_sub(3)..=range.start.min(read_text.len() - 1))
                    .rev()
                    .find(|at| !is_inside(at))
                    .unwrap_or(range.start);
                for_each_unit(&read_text[start..], str::char_indices, |at| push(start + at));
            }
            Self::Piece => {
                let mut end = 0;
                push(0);
                splitter.split(read_text, |piece: &[u8]| {
                    end += piece.len();
                    push(end);
                })?;
            }
            Self::Grapheme => for_each_unit(read_text, |part| part.grapheme_indices(true), push),
            Self::Word => for_each_unit(read_text, str::split_word_bound_indices, push),
            Self::Sentence => for_each_unit(read_text, str::split_sentence_bound_indices, push),
            Self::Line => for_each_line(read_text, |_, end| push(end)),
            Self::Paragraph => {
                let mut after_blank = false;
                for_each_line(read_text, |start, end| {
                    let is_blank = read_text[start..end].iter().all(u8::is_ascii_whitespace);
                    if after_blank && !is_blank {
                        push(start);
                    }
                    after_blank = is_blank;
                });
            }
        }
        // The end of the bytes read is a border only if it is the end of the text.
        borders.retain(|&at| at < read_text.len() || at == text.len());
        if range.contains(&text.len()) && borders.last() != Some(&text.len()) {
            borders.push(text.len());
        }
        if range.start == 0 && borders.first() != Some(&0) {
            borders.insert(0, 0);
        }
        Ok(borders)
    }
}

impl Border {
    /// Returns the position up to which a text has to be read to decide the borders before `at`.
    fn find_read_end(self, splitter: &Splitter, text: &[u8], at: usize) -> usize {
        let Some(rest) = text.get(at..) else { return text.len() };
        let near = &rest[..rest.len().min(LOOKAHEAD_BYTES_MAX)];
        let lookahead = match self {
            Self::Character => 0,
            // The bytes read begin where the text begins, so they have its pieces up to a safe cut.
            Self::Piece => splitter.first_safe_cut(near).unwrap_or(near.len()),
            // The next letter decides whether a sentence or a paragraph ends before it.
            _ => {
                let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte >= 0x80;
                near.iter().position(is_letter).unwrap_or(near.len())
            }
        };
        text.len().min(at.saturating_add(lookahead).saturating_add(LOOKAHEAD_BYTES))
    }
}

/// Calls `visit` with the start of every unit and the end of the text. A byte that is not UTF-8 is
/// a unit of its own.
fn for_each_unit<'t, U, I: Iterator<Item = (usize, U)>>(
    text: &'t [u8],
    units: impl Fn(&'t str) -> I,
    mut visit: impl FnMut(usize),
) {
    let mut start = 0;
    for part in text.utf8_chunks() {
        units(part.valid()).for_each(|(at, _)| visit(start + at));
        let end = start + part.valid().len();
        (end..end + part.invalid().len()).for_each(&mut visit);
        start = end + part.invalid().len();
    }
    visit(start);
}

/// Calls `visit` with the start and the end of every line, in bytes of `text`. The end lies behind
/// the line break.
fn for_each_line(text: &[u8], mut visit: impl FnMut(usize, usize)) {
    let mut start = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte == b'\n' || byte == b'\r' && text.get(at + 1) != Some(&b'\n') {
            visit(start, at + 1);
            start = at + 1;
        }
    }
    if start < text.len() {
        visit(start, text.len());
    }
}
