//! Widens UTF-8 to code points of 1, 2 or 4 bytes, the inverse of `transcode`.
//!
//! Decoded ids are UTF-8, and a Python `str` stores Latin-1, UCS-2 or UTF-32. So the bridge first
//! calls [`measure`] for the number of characters and the width, allocates a `str` of that size,
//! and has [`widen`] fill it in place. For example, `"aé€"`:
//!
//! ```text
//! 61 | C3 A9 | E2 82 AC  →  measure: (3, CharWidth::Two)  →  widen: 0061 00E9 20AC
//! ```
//!
//! Nine MB of many languages take 0.7 ms to measure, and 5.4 ms to widen with AVX2, four characters
//! at a time, where the scalar code takes 11.2 (`docs/notes/python-boundary.md`).

use std::mem::MaybeUninit;

use super::CodeUnit;
#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::{SimdKind, SimdLevel};

/// The width of the narrowest `str` that holds a text, in bytes per character.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CharWidth {
    /// One byte, and the UTF-8 of the text is identical.
    Ascii,
    /// One byte: up to U+00FF.
    One,
    /// Two bytes: up to U+FFFF.
    Two,
    /// Four bytes: up to U+10FFFF.
    Four,
}

/// Bytes per block of counting, below 256, so that a `u8` holds the count and the loop vectorises.
const COUNT_BLOCK: usize = 128;

/// Returns the number of characters of a text and the width of the widest.
///
/// ```
/// use zeton::sys::unicode::{CharWidth, measure};
/// assert_eq!(measure("aé€"), (3, CharWidth::Two));
/// ```
#[must_use]
pub fn measure(text: &str) -> (usize, CharWidth) {
    let (mut characters, mut highest) = (0, 0);
    for bytes in text.as_bytes().chunks(COUNT_BLOCK) {
        let (mut starts, mut high) = (0_u8, 0);
        for &byte in bytes {
            starts += u8::from(byte & 0xC0 != 0x80);
            high = high.max(byte);
        }
        characters += usize::from(starts);
        highest = highest.max(high);
    }
    // C4 is the first byte of U+0100, and F0 that of U+10000.
    let width = match highest {
        0..0x80 => CharWidth::Ascii,
        0x80..0xC4 => CharWidth::One,
        0xC4..0xF0 => CharWidth::Two,
        _ => CharWidth::Four,
    };
    (characters, width)
}

/// Writes the code points of `text` to `units`; returns their number.
///
/// Each code point must fit the unit; [`measure`] gives the width that suffices.
///
/// # Panics
///
/// If `units` is shorter than the number of characters.
///
/// ```
/// let mut units = Box::new_uninit_slice(3);
/// assert_eq!(zeton::sys::unicode::widen::<u16>("aé€", &mut units), 3);
/// ```
pub fn widen<U: CodeUnit>(text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    let text = text.as_bytes();
    #[cfg(target_arch = "x86_64")]
    if SimdLevel::detect().kind() != SimdKind::Baseline {
        // SAFETY: detection found a level above the baseline, which implies all features of
        // `SimdKind::Avx2`.
        #[allow(unsafe_code)]
        let (at, count) = unsafe { avx2::widen(text, units) };
        return count + widen_scalar(at, text, &mut units[count..]);
    }
    widen_scalar(0, text, units)
}

/// Bytes of ASCII that the scalar code widens at once; the loop vectorises.
const ASCII_RUN: usize = 32;

/// Bytes per step of the scalar code: one 64-bit word.
const STEP: usize = size_of::<u64>();

/// The highest bit of each byte of a word.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Widens UTF-8 from byte `at` of `text` on to code points of type `U`, without SIMD. The first one
/// is written to `units[0]`. Returns the number of units that this call wrote. [`widen`] calls it
/// for the bytes that the SIMD kernel leaves, or for the whole text.
fn widen_scalar<U: CodeUnit>(mut at: usize, text: &[u8], units: &mut [MaybeUninit<U>]) -> usize {
    let mut count = 0;
    while let Some(step) = text[at..].first_chunk::<{ STEP + 3 }>() {
        if let Some(ascii) = text[at..].first_chunk::<ASCII_RUN>().filter(|bytes| bytes.is_ascii())
        {
            put_ascii(ascii, &mut units[count..]);
            (at, count) = (at + ASCII_RUN, count + ASCII_RUN);
            continue;
        }
        let word = u64::from_le_bytes(*step.first_chunk().expect("a step has eleven bytes"));
        // A bit per byte that starts a character: all except the continuation bytes 10xxxxxx.
        let mut starts = !(word & !(word << 1)) & HIGH_BITS;
        while starts != 0 {
            let place = starts.trailing_zeros() as usize / 8;
            let bytes = [0, 1, 2, 3].map(|after| step[place + after]);
            units[count].write(U::from_point(decode_char(bytes)));
            starts &= starts - 1;
            count += 1;
        }
        at += STEP;
    }
    for (place, &byte) in text.iter().enumerate().skip(at) {
        if byte & 0xC0 != 0x80 {
            let bytes = [0, 1, 2, 3].map(|after| text.get(place + after).copied().unwrap_or(0));
            units[count].write(U::from_point(decode_char(bytes)));
            count += 1;
        }
    }
    count
}

/// Writes `N` bytes of ASCII to the first `N` of `units`, one unit a byte.
#[inline(always)]
fn put_ascii<U: CodeUnit, const N: usize>(bytes: &[u8; N], units: &mut [MaybeUninit<U>]) {
    for (place, &byte) in units[..N].iter_mut().zip(bytes) {
        place.write(U::from_point(byte.into()));
    }
}

/// Shift and mask to decode a character, by the upper half of its first byte.
///
/// `decode_char` combines four bytes as if the character had four. A shorter one lies higher by six
/// bits per missing byte: it is shifted down, and the mask removes the length bits of its first
/// byte.
const SHIFT_AND_MASK: [(u32, u32); 16] = {
    let mut table = [(18, 0x7F); 16];
    (table[0xC], table[0xD]) = ((12, 0x7FF), (12, 0x7FF));
    table[0xE] = (6, 0xFFFF);
    table[0xF] = (0, 0x1F_FFFF);
    table
};

/// Decodes the character at the start of four bytes, branch-free. The bytes are valid UTF-8.
#[inline(always)]
fn decode_char([first, second, third, fourth]: [u8; 4]) -> u32 {
    let six = |byte: u8| u32::from(byte & 0x3F);
    let four = u32::from(first) << 18 | six(second) << 12 | six(third) << 6 | six(fourth);
    let (shift, mask) = SHIFT_AND_MASK[usize::from(first >> 4)];
    four >> shift & mask
}

/// Widens four characters (a quad) of one to three bytes at once.
///
/// A bit mask of the bytes that start a character determines the lengths of the quad. The lengths
/// determine the `pshufb` that moves each character into a 32-bit lane, last byte first. For
/// example, `aé€b` followed by the start of another character:
///
/// ```text
/// bytes     61 C3 A9 E2 82 AC 62 …
/// starts     1  1  0  1  0  0  1  1 …      bit 0 is on the left
/// quad      lengths 1, 2, 3, 1: 7 bytes, pattern number 0 + 1·3 + 2·9 + 0·27 = 21
/// lanes     61 -- --    A9 C3 --    AC 82 E2    62 -- --     (low byte first, -- is zero)
/// ```
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    use super::{CodeUnit, decode_char, put_ascii};
    use crate::sys::simd_level::simd_fn;

    /// Bytes per block: its starts are the bits of a `u64`.
    const BLOCK: usize = 64;

    /// Bytes per vector.
    const VECTOR: usize = 16;

    /// Bits of `starts` that determine a quad: its bytes at most, and the start after them.
    const START_BITS: usize = 4 * 3 + 1;

    /// The lengths of four characters.
    struct QuadLengths {
        /// The bytes of all four together; zero if one of them has four bytes.
        bytes: u8,
        /// The pattern of lengths: each length minus one is a digit in base 3, the first is lowest.
        pattern: u8,
    }

    /// Patterns of four lengths of one to three bytes.
    const PATTERNS: usize = 3 * 3 * 3 * 3;

    /// The lengths of the quad at each possible pattern of starts.
    static QUAD_LENGTHS: [QuadLengths; 1 << START_BITS] = {
        let mut table = [const { QuadLengths { bytes: 0, pattern: 0 } }; 1 << START_BITS];
        let mut pattern = 0;
        while pattern < PATTERNS {
            let (mut starts, mut bytes, mut digits, mut lane) = (0, 0, pattern, 0);
            while lane < 4 {
                starts |= 1 << bytes;
                bytes += digits % 3 + 1;
                digits /= 3;
                lane += 1;
            }
            // A fifth character starts where the quad ends; the bits after it may be anything.
            let mut after = 1;
            while after < 1 << (START_BITS - bytes) {
                table[starts | after << bytes] =
                    QuadLengths { bytes: bytes as u8, pattern: pattern as u8 };
                after += 2;
            }
            pattern += 1;
        }
        table
    };

    /// The `pshufb` control of each pattern: source bytes, last byte of a character first; 0x80
    /// stores a zero.
    static SHUFFLES: [[u8; VECTOR]; PATTERNS] = {
        let mut shuffles = [[0x80; VECTOR]; PATTERNS];
        let mut pattern = 0;
        while pattern < PATTERNS {
            let (mut end, mut digits, mut lane) = (0, pattern, 0);
            while lane < 4 {
                let length = digits % 3 + 1;
                end += length;
                let mut byte = 0;
                while byte < length {
                    shuffles[pattern][lane * 4 + byte] = (end - 1 - byte) as u8;
                    byte += 1;
                }
                digits /= 3;
                lane += 1;
            }
            pattern += 1;
        }
        shuffles
    };

    simd_fn! { avx2,
        /// Widens all of `text` except its last bytes, fewer than a block; returns the bytes read
        /// and the units written.
        pub(super) fn widen<U: CodeUnit>(text: &[u8], units: &mut [MaybeUninit<U>]) -> (usize, usize) {
            let (mut at, mut count) = (0, 0);
            while let Some(block) = text[at..].first_chunk::<BLOCK>() {
                let (high, starts) = find_starts(block);
                if high == 0 {
                    put_ascii(block, &mut units[count..]);
                    (at, count) = (at + BLOCK, count + BLOCK);
                    continue;
                }
                let mut place = 0;
                while place <= BLOCK - VECTOR {
                    let quad = &QUAD_LENGTHS[(starts >> place) as usize % QUAD_LENGTHS.len()];
                    if quad.bytes == 0 {
                        // A character of four bytes is among the next four: widen the first alone.
                        let bytes = [0, 1, 2, 3].map(|after| block[place + after]);
                        units[count].write(U::from_point(decode_char(bytes)));
                        place += bytes[0].leading_ones().max(1) as usize;
                        count += 1;
                        continue;
                    }
                    let shuffle = &SHUFFLES[usize::from(quad.pattern) % PATTERNS];
                    let points = decode_quad(block, place, shuffle);
                    for (unit, point) in units[count..count + 4].iter_mut().zip(points) {
                        unit.write(U::from_point(point));
                    }
                    place += usize::from(quad.bytes);
                    count += 4;
                }
                at += place;
            }
            (at, count)
        }
    }

    simd_fn! { avx2,
        /// Returns two masks of a block's bytes: bytes above ASCII, and bytes that start a
        /// character.
        #[inline]
        fn find_starts(block: &[u8; BLOCK]) -> (u64, u64) {
            let (mut high, mut starts) = (0, 0);
            for (half, bytes) in block.as_chunks::<32>().0.iter().enumerate() {
                // SAFETY: `bytes` is a reference to 32 bytes; the load is unaligned.
                #[allow(unsafe_code)]
                let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
                // As signed numbers, the continuation bytes 10xxxxxx are the lowest.
                let is_start = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0xBF_u8 as i8));
                high |= u64::from(_mm256_movemask_epi8(bytes) as u32) << (32 * half);
                starts |= u64::from(_mm256_movemask_epi8(is_start) as u32) << (32 * half);
            }
            (high, starts)
        }
    }

    simd_fn! { avx2,
        /// Decodes the quad at `place` of a block. `shuffle` is the row of [`SHUFFLES`] for the
        /// lengths of the quad.
        #[inline]
        fn decode_quad(block: &[u8; BLOCK], place: usize, shuffle: &[u8; VECTOR]) -> [u32; 4] {
            let bytes = &block[place..place + VECTOR];
            let mut points = [0; 4];
            // SAFETY: `bytes` and `shuffle` have 16 bytes each, by the bounds check of the slice
            // and by type, and `points` has 16 bytes; all accesses are unaligned.
            #[allow(unsafe_code)]
            unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                let bytes = _mm_shuffle_epi8(bytes, _mm_loadu_si128(shuffle.as_ptr().cast()));
                let bits = |mask: i32| _mm_and_si128(bytes, _mm_set1_epi32(mask));
                let decoded = _mm_or_si128(bits(0x7F), _mm_srli_epi32::<2>(bits(0x3F00)));
                let decoded = _mm_or_si128(decoded, _mm_srli_epi32::<4>(bits(0xF_0000)));
                _mm_storeu_si128(points.as_mut_ptr().cast(), decoded);
            }
            points
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    /// Compares with the standard library, in every width that holds the text.
    fn check(text: &str) {
        fn widened<U: CodeUnit>(text: &str, characters: usize) -> Vec<u32> {
            let [mut one, mut other] =
                [0, 1].map(|_| vec![MaybeUninit::new(U::from_point(0)); characters]);
            assert_eq!(widen(text, &mut one), characters);
            assert_eq!(widen_scalar(0, text.as_bytes(), &mut other), characters);
            // SAFETY: the vectors were filled with initialised units.
            #[allow(unsafe_code)]
            let read = |unit: MaybeUninit<U>| -> u32 { unsafe { unit.assume_init() }.into() };
            let [one, other]: [Vec<u32>; 2] =
                [one, other].map(|units| units.into_iter().map(read).collect());
            assert_eq!(one, other);
            one
        }
        let points: Vec<u32> = text.chars().map(u32::from).collect();
        let (characters, width) = measure(text);
        assert_eq!(characters, points.len());
        assert_eq!(widened::<u32>(text, characters), points);
        if width != CharWidth::Four {
            assert_eq!(widened::<u16>(text, characters), points);
        }
        if matches!(width, CharWidth::Ascii | CharWidth::One) {
            assert_eq!(widened::<u8>(text, characters), points);
        }
        let expected = match points.iter().max() {
            None | Some(0..0x80) => CharWidth::Ascii,
            Some(0x80..0x100) => CharWidth::One,
            Some(0x100..0x1_0000) => CharWidth::Two,
            _ => CharWidth::Four,
        };
        assert_eq!(width, expected);
    }

    #[test]
    fn agrees_with_the_standard_library_on_every_character() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for some in all.chunks(1000) {
            check(&some.iter().collect::<String>());
        }
    }

    #[test]
    fn widens_each_length_at_every_place() {
        let characters =
            ['\u{80}', 'ÿ', 'Ā', '\u{7ff}', '\u{800}', '’', '\u{ffff}', '😀', char::MAX];
        for character in characters {
            for length in 0..150 {
                for place in 0..=length {
                    let mut text = "a".repeat(length);
                    text.insert(place, character);
                    check(&text);
                }
            }
        }
    }

    #[test]
    fn widens_mixtures() {
        let mut random = Random(1);
        for round in 0..2000 {
            let below = [0x80, 0x100, 0x800, 0x1_0000, 0x11_0000][round % 5];
            let rare = [1, 2, 10, 50][round % 4];
            let mut character = || {
                let below = if random.below(rare) == 0 { below } else { 0x80 };
                char::from_u32(random.below(below) as u32).unwrap_or('a')
            };
            check(&(0..round % 300).map(|_| character()).collect::<String>());
        }
    }
}
