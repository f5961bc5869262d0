//! The scalar scanner: runs a transducer, one character a step.
//!
//! It is the reference of the SIMD path, and splits texts below eight bytes, text behind an unknown
//! byte of a block, and every grammar that the mask algebra does not cover.
//!
//! A step looks up (state, class) and gets the next state with its actions. Marks are positions
//! where a later step may cut, because the decision needs lookahead. For example, `"  x"` with
//! cl100k:
//!
//! ```text
//! character  state        actions                  next state
//! ␣          start                                 one blank
//! ␣          one blank    set mark 1 before it     more blank
//! x          more blank   cut at mark 1            word         " "
//! end        word         cut here                 start        " x"
//! ```
//!
//! Cost: 164 MB/s on long runs of blanks (`docs/notes/splitting.md`), a load that depends on the
//! one before it for each character.

use crate::pattern::{Actions, Transducer};
use crate::sys::unicode::read_char;

/// Calls `visit` with every piece of `text`, in order, by the transducer one character at a time.
/// Pieces are borrowed; nothing is allocated.
pub(crate) fn split<'t>(transducer: &Transducer, text: &'t [u8], mut visit: impl FnMut(&'t [u8])) {
    let mut start = 0;
    scan(transducer, text, 0, |end| {
        visit(&text[start..end]);
        start = end;
        true
    });
}

/// Calls `visit` with the end of every piece from `start` on, the start of a piece, until `visit`
/// returns `false`. The SIMD path calls it at unknown bytes, and stops it once it is past them.
#[inline]
pub(crate) fn scan(
    transducer: &Transducer,
    text: &[u8],
    start: usize,
    mut visit: impl FnMut(usize) -> bool,
) {
    let mut state = Transducer::START;
    let (mut at, mut marks) = (start, [0, 0]);
    loop {
        let (class, length) = match text.get(at) {
            Some(&byte) if byte < 128 => (transducer.class_of_ascii(byte), 1),
            Some(_) => match read_char(&text[at..]) {
                Some((point, length)) => (transducer.class_of(point), length),
                None => (transducer.class_of_bad_byte(), 1),
            },
            None => (transducer.class_of_end(), 0),
        };
        let step = transducer.step(state, class);
        state = step.next;
        if step.actions != Actions::NONE {
            for (cut, end) in [
                (Actions::CUT_MARK_0, marks[0]),
                (Actions::CUT_MARK_1, marks[1]),
                (Actions::CUT_HERE, at),
            ] {
                if step.actions.contains(cut) && !visit(end) {
                    return;
                }
            }
            if step.actions.contains(Actions::SET_MARK_0) {
                marks[0] = at + length;
            }
            if step.actions.contains(Actions::SET_MARK_1) {
                marks[1] = at;
            }
        }
        if length == 0 {
            return;
        }
        at += length;
    }
}
