//! Search for Python: needles and texts of characters, bytes or ids.
//!
//! Python positions count elements of the text: characters of a `str`, bytes, or ids. The engine
//! counts bytes, so positions are converted on the way in and out. For example, the needle "語" in
//! "né 語":
//!
//! ```text
//! characters   n  é  ␣  語          range 3..4, as Python sees it
//! bytes        6E C3 A9 20 E8 AA 9E range 4..7, as the engine finds it
//! ```
//!
//! - `finder`: one needle, `Finder`;
//! - `finder_many`: many needles, `FinderMany`;
//! - `searched_text`: the memory of a needle or text, and its elements.
//!
//! The GIL is released for large texts that nobody can write to.

mod finder;
mod finder_many;
mod searched_text;

pub(crate) use finder::Finder;
pub(crate) use finder_many::FinderMany;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use searched_text::{SearchedText, TextView};

use crate::text::count_chars;

/// Bytes of a text from which on the GIL is released. Not measured: search reads gigabytes a
/// second, so releasing the GIL pays later than for encoding.
const DETACH_BYTES: usize = 1 << 14;

/// One more than the largest id that a needle or a text may have.
const ID_LIMIT: usize = 1 << 32;

/// The range of a text to search, in its elements, and the matches to report.
#[derive(Clone, Copy)]
struct MatchQuery {
    start: usize,
    end: usize,
    overlapping: bool,
    from_end: bool,
    limit: usize,
}

/// Runs `work` on the elements of a text. The GIL is released if the text has at least
/// [`DETACH_BYTES`] bytes and no Python code can change it; otherwise it is held.
fn run_search<R: Send>(
    py: Python<'_>,
    text: &SearchedText<'_>,
    work: impl Send + FnOnce(TextView<'_>) -> R,
) -> R {
    let view = text.view();
    let bytes = match view {
        TextView::Chars(text, _) | TextView::Bytes(text) => text.len(),
        TextView::Ids16(ids) => size_of_val(ids),
        TextView::Ids32(ids) => size_of_val(ids),
    };
    if bytes >= DETACH_BYTES && text.is_immutable() { py.detach(|| work(view)) } else { work(view) }
}

/// Bytes of a block whose characters are counted before the block with the position is searched.
/// Not measured.
const COUNTED_BLOCK_BYTES: usize = 1 << 10;

/// Converts a position in characters to a position in bytes of the text. A position behind the end
/// becomes the end.
fn char_to_byte(text: &[u8], is_ascii: bool, characters: usize) -> usize {
    if is_ascii {
        return characters.min(text.len());
    }
    let (mut left, mut position) = (characters, 0);
    for block in text.chunks(COUNTED_BLOCK_BYTES) {
        let count = count_chars(block);
        if left < count {
            let starts = block.iter().enumerate().filter(|(_, byte)| **byte & 0xC0 != 0x80);
            return position + starts.map(|(at, _)| at).nth(left).unwrap_or(block.len());
        }
        (left, position) = (left - count, position + block.len());
    }
    text.len()
}

/// Raises `TypeError` if an option that only text has is set: `whole_word` or `ignore_case`. The
/// constructors of finders call it for needles of ids.
fn refuse_text_options(whole_word: bool, ignore_case: bool) -> PyResult<()> {
    match whole_word || ignore_case {
        true => Err(PyTypeError::new_err(
            "ids have no words and no case; leave out whole_word and ignore_case",
        )),
        false => Ok(()),
    }
}
