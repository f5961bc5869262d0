//! The scanner: interprets a transducer, one character a step. Every other scanner is its twin.

use crate::pattern::{Actions, Transducer};
use crate::sys::unicode::read_char;

/// Calls `each` with every piece of `text`.
pub(crate) fn split<'t>(transducer: &Transducer, text: &'t [u8], mut each: impl FnMut(&'t [u8])) {
    let mut start = 0;
    scan(transducer, text, 0, |end| {
        each(&text[start..end]);
        start = end;
        true
    });
}

/// Calls `each` with the end of every piece from `start` on, where one begins, until it says no.
#[inline]
pub(crate) fn scan(
    transducer: &Transducer,
    text: &[u8],
    start: usize,
    mut each: impl FnMut(usize) -> bool,
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
                if step.actions.contains(cut) && !each(end) {
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
