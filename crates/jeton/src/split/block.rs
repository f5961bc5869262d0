//! Sixty-four bytes as bit masks, one a class: bit i stands for byte i.

/// The bytes of one block by what they are. All but `high` are ASCII.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Block {
    pub(super) letters: u64,
    pub(super) capitals: u64,
    pub(super) numbers: u64,
    pub(super) blanks: u64,
    pub(super) newlines: u64,
    /// White space but for the two above.
    pub(super) white: u64,
    pub(super) apostrophes: u64,
    pub(super) slashes: u64,
    /// Bytes of characters beyond ASCII, or of none.
    pub(super) high: u64,
}

impl Block {
    /// Classifies sixty-four bytes, sixteen at a time.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn of(bytes: &[u8; 64]) -> Self {
        let mut block = Self::default();
        for (at, sixteen) in bytes.chunks_exact(16).enumerate() {
            let sixteen = sixteen.try_into().expect("a chunk of sixteen");
            // SAFETY: every x86-64 has SSE2, and `classify` asks for nothing else.
            #[allow(unsafe_code)]
            let part = unsafe { sse2::classify(sixteen) };
            let shift = 16 * at;
            block.letters |= part.letters << shift;
            block.capitals |= part.capitals << shift;
            block.numbers |= part.numbers << shift;
            block.blanks |= part.blanks << shift;
            block.newlines |= part.newlines << shift;
            block.white |= part.white << shift;
            block.apostrophes |= part.apostrophes << shift;
            block.slashes |= part.slashes << shift;
            block.high |= part.high << shift;
        }
        block
    }

    /// Classifies sixty-four bytes, one at a time.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn of(bytes: &[u8; 64]) -> Self {
        Self::one_by_one(bytes)
    }

    /// The plain way, which every other equals.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(super) fn one_by_one(bytes: &[u8; 64]) -> Self {
        let mask = |is: fn(&u8) -> bool| {
            bytes.iter().enumerate().fold(0, |mask, (at, byte)| mask | u64::from(is(byte)) << at)
        };
        Self {
            letters: mask(u8::is_ascii_alphabetic),
            capitals: mask(u8::is_ascii_uppercase),
            numbers: mask(u8::is_ascii_digit),
            blanks: mask(|&byte| byte == b' '),
            newlines: mask(|&byte| byte == b'\n' || byte == b'\r'),
            white: mask(|&byte| matches!(byte, b'\t' | 0x0B | 0x0C)),
            apostrophes: mask(|&byte| byte == b'\''),
            slashes: mask(|&byte| byte == b'/'),
            high: mask(|byte| !byte.is_ascii()),
        }
    }
}

/// Sixteen bytes at once, by instructions that every machine of this kind has.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set_epi64x, _mm_set1_epi8,
    };

    use super::Block;

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn classify(bytes: &[u8; 16]) -> Block {
        let [low, high] = [0, 8].map(|at| {
            i64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight of sixteen bytes"))
        });
        let bytes = _mm_set_epi64x(high, low);
        let small = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        let letters = within(small, b'a', 26);
        let newlines = mask(_mm_or_si128(equal(bytes, b'\n'), equal(bytes, b'\r')));
        Block {
            letters,
            capitals: within(bytes, b'A', 26),
            numbers: within(bytes, b'0', 10),
            blanks: mask(equal(bytes, b' ')),
            newlines,
            white: within(bytes, b'\t', 5) & !newlines,
            apostrophes: mask(equal(bytes, b'\'')),
            slashes: mask(equal(bytes, b'/')),
            high: mask(bytes),
        }
    }

    /// The bytes from `first` on, so many of them.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn within(bytes: __m128i, first: u8, count: u8) -> u64 {
        // Signed comparison is all there is: the range is moved to the lowest numbers.
        let moved = _mm_add_epi8(bytes, _mm_set1_epi8(0x80_u8.wrapping_sub(first) as i8));
        mask(_mm_cmplt_epi8(moved, _mm_set1_epi8((0x80 + count) as i8)))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn equal(bytes: __m128i, byte: u8) -> __m128i {
        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn mask(lanes: __m128i) -> u64 {
        u64::from(_mm_movemask_epi8(lanes) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_class_at_every_place() {
        for byte in 0..=u8::MAX {
            for at in 0..64 {
                for other in [b'a', b' ', 0xC3] {
                    let mut bytes = [other; 64];
                    bytes[at] = byte;
                    assert_eq!(Block::of(&bytes), Block::one_by_one(&bytes), "{byte} at {at}");
                }
            }
        }
    }
}
