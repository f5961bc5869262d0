//! Transcodes code points of 1, 2 or 4 bytes to UTF-8.
//!
//! A Python `str` stores its characters as Latin-1, UCS-2 or UTF-32, whichever is the narrowest
//! that fits; the engine splits UTF-8. For example, `"aé€"` is three 16-bit units:
//!
//! ```text
//! 0061 00E9 20AC  →  61 | C3 A9 | E2 82 AC
//! ```
//!
//! The bridge calls [`transcode`] for a whole `str`, and [`transcode_into`] for a block of a large
//! one. Units are read 16 at a time; a step of only ASCII is narrowed and stored. All
//! remaining steps go through a SIMD kernel:
//!
//! | level | characters at once | method |
//! |---|---|---|
//! | AVX-512 | 16, of 1 to 4 bytes | encode each in 4 bytes, `vpcompressb` drops the unused |
//! | AVX2 | 4, of 1 to 3 bytes | encode each in 3 bytes, `pshufb` drops the unused |
//! | baseline | 1 | encode each on its own |
//!
//! Five million characters of many languages in UTF-32 take 4.5 ms with AVX2 and 17 ms with the
//! scalar code (`docs/notes/python-boundary.md`).

use crate::sys::simd_level::{SimdKind, SimdLevel};

/// A code point stored in one, two or four bytes: `u8` (Latin-1), `u16` (UCS-2) or `u32` (UTF-32).
pub trait CodeUnit: Copy + Into<u32> {
    /// The most UTF-8 bytes of a code point that fits this unit.
    const UTF8_BYTES_MAX: usize;

    /// Converts a code point to a unit. The caller has made sure that it fits; higher bits would be
    /// cut off.
    fn from_point(point: u32) -> Self;
}

impl CodeUnit for u8 {
    const UTF8_BYTES_MAX: usize = 2;

    #[inline(always)]
    fn from_point(point: u32) -> Self {
        point as Self
    }
}

impl CodeUnit for u16 {
    const UTF8_BYTES_MAX: usize = 3;

    #[inline(always)]
    fn from_point(point: u32) -> Self {
        point as Self
    }
}

impl CodeUnit for u32 {
    const UTF8_BYTES_MAX: usize = 4;

    #[inline(always)]
    fn from_point(point: u32) -> Self {
        point
    }
}

/// Units per step: one 64-byte vector of UTF-32.
const STEP: usize = 16;

/// Units per block. A block is written to a buffer on the stack and then appended to the text,
/// because the buffer stays in the L1 cache and is zeroed only once per call.
const BLOCK: usize = 32 * STEP;

/// The UTF-8 of a block: four bytes per unit, and padding because stores are 64 bytes wide.
type BlockBuffer = [u8; 4 * BLOCK + 64];

/// Returns the UTF-8 of `units`, or `None` if one is a surrogate or above U+10FFFF.
///
/// ```
/// assert_eq!(zeton::sys::unicode::transcode(&[0x61_u16, 0xe9, 0x20ac]), Some("aé€".into()));
/// assert_eq!(zeton::sys::unicode::transcode(&[0xd800_u16]), None);
/// ```
///
/// The result is allocated for the widest characters; pages beyond the text are never touched.
/// Counting its bytes first gains nothing (15 against 15 ms, `docs/notes/python-boundary.md`),
/// because UTF-32 is read from memory no faster than it is transcoded.
pub fn transcode<U: CodeUnit>(units: &[U]) -> Option<Vec<u8>> {
    let mut text = crate::sys::huge_buffer::vec_with_capacity(units.len() * U::UTF8_BYTES_MAX);
    transcode_into(units, &mut text)?;
    Some(text)
}

/// Appends the UTF-8 of `units` to `text`.
///
/// Returns `None` if a unit is a surrogate or above U+10FFFF; `text` may then hold a part of the
/// units before it.
pub fn transcode_into<U: CodeUnit>(units: &[U], text: &mut Vec<u8>) -> Option<()> {
    match SimdLevel::detect().kind() {
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx512 => unsafe { avx512::transcode(units, text) },
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx2 => unsafe { avx2::transcode(units, text) },
        SimdKind::Baseline => transcode_scalar(units, text),
    }
}

fn transcode_scalar<U: CodeUnit>(units: &[U], text: &mut Vec<u8>) -> Option<()> {
    let encode =
        |points: [u32; STEP], buffer: &mut BlockBuffer, end| encode_each(&points, buffer, end);
    transcode_blocks(units, text, |units, buffer| write(units, buffer, encode))
}

/// Transcodes units block by block, and appends the UTF-8 to `text`. `write` fills the buffer from
/// one block and returns its end, or `None` at a unit that is no character, which ends the work.
#[inline(always)]
fn transcode_blocks<U: CodeUnit>(
    units: &[U],
    text: &mut Vec<u8>,
    write: impl Fn(&[U], &mut BlockBuffer) -> Option<usize>,
) -> Option<()> {
    let mut buffer = [0; size_of::<BlockBuffer>()];
    for block in units.chunks(BLOCK) {
        let end = write(block, &mut buffer)?;
        text.extend_from_slice(&buffer[..end]);
    }
    Some(())
}

/// Writes the UTF-8 of at most one block and returns its end, or `None` if a unit is no character.
///
/// Steps of 16 units that are all ASCII are narrowed here; `encode` writes the remaining steps.
#[inline(always)]
fn write<U: CodeUnit>(
    units: &[U],
    buffer: &mut BlockBuffer,
    encode: impl Fn([u32; STEP], &mut BlockBuffer, usize) -> Option<usize>,
) -> Option<usize> {
    let (steps, rest) = units.as_chunks::<STEP>();
    let mut end = 0;
    for step in steps {
        let points: [u32; STEP] = step.map(Into::into);
        if points.iter().fold(0, |all, point| all | point) < 0x80 {
            buffer[end..end + STEP].copy_from_slice(&points.map(|point| point as u8));
            end += STEP;
        } else {
            end = encode(points, buffer, end)?;
        }
    }
    encode_each(rest, buffer, end)
}

/// Writes the UTF-8 of units to the buffer from `end` on, in a scalar loop. Returns the new end, or
/// `None` if some unit is no character; then nothing is written.
#[inline(always)]
fn encode_each<U: CodeUnit>(units: &[U], buffer: &mut BlockBuffer, end: usize) -> Option<usize> {
    let is_invalid = |point: u32| (point & !0x7ff == 0xd800) | (point > 0x10_ffff);
    if units.iter().fold(false, |invalid, &unit| invalid | is_invalid(unit.into())) {
        return None;
    }
    Some(units.iter().fold(end, |end, &unit| encode_char(unit.into(), buffer, end)))
}

/// Writes one character at `end` and returns its end. Always stores four bytes; the next character
/// overwrites the surplus.
#[inline(always)]
fn encode_char(point: u32, buffer: &mut BlockBuffer, end: usize) -> usize {
    let tail = |shift: u32| 0x80 | (point >> shift & 0x3f) as u8;
    let (bytes, length) = match point {
        0..0x80 => ([point as u8, 0, 0, 0], 1),
        0x80..0x800 => ([0xc0 | (point >> 6) as u8, tail(0), 0, 0], 2),
        0x800..0x1_0000 => ([0xe0 | (point >> 12) as u8, tail(6), tail(0), 0], 3),
        _ => ([0xf0 | (point >> 18) as u8, tail(12), tail(6), tail(0)], 4),
    };
    buffer[end..end + 4].copy_from_slice(&bytes);
    end + length
}

/// Encodes four characters of one to three bytes at once.
///
/// Each is encoded in three bytes of its own 32-bit lane, right-aligned; one `pshufb` then moves
/// the used bytes together. For example, `a`, `é`, `€` and `b`:
///
/// ```text
/// lanes     -- -- 61    -- C3 A9    E2 82 AC    -- -- 62     (low byte first, -- is unused)
/// lengths   1           2           3           1            lanes of ≥ 2 bytes: 0110
///                                                            lanes of   3 bytes: 0100
/// output    61 C3 A9 E2 82 AC 62                             row 0100_0110 of PACKED_QUADS
/// ```
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{BlockBuffer, CodeUnit};
    use crate::sys::simd_level::simd_fn;

    /// The compaction of four characters (a quad) whose lengths are known.
    struct PackedQuad {
        /// The `pshufb` control: the used bytes in order, then 0x80, which stores a zero.
        shuffle: [u8; 16],
        /// The bytes of all four characters together.
        length: usize,
    }

    /// A row per combination of lengths:
    ///
    /// ```text
    /// bit    7 6 5 4            3 2 1 0
    ///        lane has 3 bytes   lane has 2 bytes or more
    /// ```
    static PACKED_QUADS: [PackedQuad; 1 << 8] = {
        let mut quads = [const { PackedQuad { shuffle: [0x80; 16], length: 0 } }; 1 << 8];
        let mut lengths = 0;
        while lengths < quads.len() {
            let mut lane = 0;
            while lane < 4 {
                let own = 1 + (lengths >> lane & 1) + (lengths >> lane >> 4 & 1);
                let mut byte = 3 - own;
                while byte < 3 {
                    let PackedQuad { shuffle, length } = &mut quads[lengths];
                    shuffle[*length] = (lane * 4 + byte) as u8;
                    *length += 1;
                    byte += 1;
                }
                lane += 1;
            }
            lengths += 1;
        }
        quads
    };

    simd_fn! { avx2,
        pub(super) fn transcode<U: CodeUnit>(units: &[U], text: &mut Vec<u8>) -> Option<()> {
            super::transcode_blocks(units, text, |units, buffer| {
                super::write(units, buffer, |points, buffer, mut end| {
                    for four in points.as_chunks().0 {
                        end = encode_quad(four, buffer, end)?;
                    }
                    Some(end)
                })
            })
        }
    }

    simd_fn! { avx2,
        /// Writes four characters at `end` and returns their end, or `None` if one is invalid.
        /// Always stores 16 bytes; the next characters overwrite the surplus.
        #[inline]
        fn encode_quad(four: &[u32; 4], buffer: &mut BlockBuffer, end: usize) -> Option<usize> {
            // SAFETY: `four` is an array of four `u32`, so 16 bytes are readable; the load is
            // unaligned.
            #[allow(unsafe_code)]
            let points = unsafe { _mm_loadu_si128(four.as_ptr().cast()) };
            let all = |number: i32| _mm_set1_epi32(number);
            let high = _mm_srli_epi32::<16>(points);
            let surrogates = _mm_cmpeq_epi32(_mm_srli_epi32::<11>(points), all(0xd800 >> 11));
            // Characters of four bytes are rare: the scalar code writes them and refuses
            // surrogates.
            if _mm_testz_si128(_mm_or_si128(high, surrogates), all(-1)) == 0 {
                return super::encode_each(four, buffer, end);
            }
            let two = _mm_cmpgt_epi32(points, all(0x7f));
            let three = _mm_cmpgt_epi32(points, all(0x7ff));
            let lanes = |mask: __m128i| _mm_movemask_ps(_mm_castsi128_ps(mask)) as usize;
            let quad = &PACKED_QUADS[(lanes(two) | lanes(three) << 4) % PACKED_QUADS.len()];

            let tail = _mm_and_si128(_mm_slli_epi32::<2>(points), all(0x3f00));
            let tail = _mm_or_si128(tail, _mm_and_si128(_mm_slli_epi32::<16>(points), all(0x3f_0000)));
            let encoded =
                _mm_or_si128(_mm_or_si128(_mm_srli_epi32::<12>(points), tail), all(0x80_80e0));
            // Three bytes: E0 | top, 80 | middle, 80 | low. For two bytes the middle byte becomes
            // the leading C0 | high; ASCII is the third byte unchanged.
            let encoded = _mm_or_si128(encoded, _mm_andnot_si128(three, all(0x4000)));
            let encoded = _mm_blendv_epi8(_mm_slli_epi32::<16>(points), encoded, two);

            let target = &mut buffer[end..end + 16];
            // SAFETY: `quad.shuffle` and `target` have 16 bytes each, by their types and by the
            // bounds check of the slice; both accesses are unaligned.
            #[allow(unsafe_code)]
            unsafe {
                let shuffle = _mm_loadu_si128(quad.shuffle.as_ptr().cast());
                _mm_storeu_si128(target.as_mut_ptr().cast(), _mm_shuffle_epi8(encoded, shuffle));
            }
            Some(end + quad.length)
        }
    }
}

/// Encodes sixteen characters of any lengths at once.
///
/// Each is encoded in the four bytes of its 32-bit lane, left-aligned towards the high byte;
/// `vpcompressb` then removes the unused bytes. The lane of `é` (U+00E9):
///
/// ```text
/// byte       3 (last)  2          1         0
/// marks      1000_0000 1100_0000  0000_0000 0000_0000    bit 7 set: the character has this byte
/// encoded    1010_1001 1100_0011  unused    unused       = C3 A9 in memory order
/// ```
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{BlockBuffer, CodeUnit, STEP};
    use crate::sys::simd_level::simd_fn;

    simd_fn! { avx512,
        pub(super) fn transcode<U: CodeUnit>(units: &[U], text: &mut Vec<u8>) -> Option<()> {
            super::transcode_blocks(units, text, |units, buffer| {
                let (steps, rest) = units.as_chunks::<STEP>();
                let mut end = 0;
                for step in steps {
                    end = encode_step(step.map(Into::into), buffer, end)?;
                }
                super::encode_each(rest, buffer, end)
            })
        }
    }

    simd_fn! { avx512,
        /// Writes sixteen characters at `end` and returns their end, or `None` if one is invalid.
        /// May store 64 bytes; the next characters overwrite the surplus.
        #[inline]
        fn encode_step(points: [u32; STEP], buffer: &mut BlockBuffer, end: usize) -> Option<usize> {
            let target: &mut [u8; 64] =
                (&mut buffer[end..end + 64]).try_into().expect("the range has 64 bytes");
            // SAFETY: `points` is an array of sixteen `u32`, so 64 bytes are readable; the load is
            // unaligned.
            #[allow(unsafe_code)]
            let points = unsafe { _mm512_loadu_si512(points.as_ptr().cast()) };
            let two = _mm512_cmpge_epu32_mask(points, _mm512_set1_epi32(0x80));
            if two == 0 {
                let bytes = _mm512_cvtepi32_epi8(points);
                // SAFETY: `target` is a unique reference to 64 bytes; 16 of them are written,
                // unaligned.
                #[allow(unsafe_code)]
                unsafe {
                    _mm_storeu_si128(target.as_mut_ptr().cast(), bytes);
                }
                return Some(end + STEP);
            }
            let three = _mm512_cmpge_epu32_mask(points, _mm512_set1_epi32(0x800));
            let four = _mm512_cmpge_epu32_mask(points, _mm512_set1_epi32(0x1_0000));
            let high = _mm512_and_si512(points, _mm512_set1_epi32(!0x7ff));
            let surrogates = _mm512_cmpeq_epi32_mask(high, _mm512_set1_epi32(0xd800));
            let above = _mm512_cmpgt_epu32_mask(points, _mm512_set1_epi32(0x10_ffff));
            if surrogates | above != 0 {
                return None;
            }

            // The last byte of a character is the highest of its lane. Bit 7 of a byte of `marks`
            // is set exactly if the character has that byte.
            let marks = _mm512_set1_epi32(0x8000_0000_u32 as i32);
            let marks = _mm512_mask_mov_epi32(marks, two, _mm512_set1_epi32(0x80c0_0000_u32 as i32));
            let marks = _mm512_mask_mov_epi32(marks, three, _mm512_set1_epi32(0x8080_e000_u32 as i32));
            let marks = _mm512_mask_mov_epi32(marks, four, _mm512_set1_epi32(0x8080_80f0_u32 as i32));
            let has = _mm512_movepi8_mask(marks);

            let six = |bits: __m512i, at: i32| _mm512_and_si512(bits, _mm512_set1_epi32(0x3f << at));
            let tail = six(_mm512_slli_epi32::<24>(points), 24);
            let tail = _mm512_or_si512(tail, six(_mm512_slli_epi32::<10>(points), 16));
            let tail = _mm512_or_si512(tail, six(_mm512_srli_epi32::<4>(points), 8));
            let tail = _mm512_or_si512(tail, _mm512_srli_epi32::<18>(points));
            let encoded = _mm512_or_si512(tail, marks);
            // ASCII is the highest byte unchanged, without the mark's bit.
            let one = _mm512_slli_epi32::<24>(points);
            let encoded = _mm512_mask_mov_epi32(one, two, encoded);

            let bytes = _mm512_maskz_compress_epi8(has, encoded);
            // SAFETY: `target` is a unique reference to 64 bytes, all of which are written,
            // unaligned.
            #[allow(unsafe_code)]
            unsafe {
                _mm512_storeu_si512(target.as_mut_ptr().cast(), bytes);
            }
            Some(end + has.count_ones() as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transcodes by every implementation that this machine supports, the scalar one first.
    fn transcode_all<U: CodeUnit>(units: &[U]) -> Vec<Option<Vec<u8>>> {
        let run = |transcode: &dyn Fn(&mut Vec<u8>) -> Option<()>| {
            let mut text = Vec::new();
            transcode(&mut text).map(|()| text)
        };
        let mut results = vec![run(&|text| transcode_scalar(units, text)), transcode(units)];
        #[cfg(target_arch = "x86_64")]
        if SimdLevel::detect_all().iter().any(|level| level.kind() == SimdKind::Avx2) {
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[allow(unsafe_code)]
            results.push(run(&|text| unsafe { avx2::transcode(units, text) }));
        }
        results
    }

    /// Compares with the standard library, in every width that holds the characters.
    fn check(characters: &[char]) {
        let expected = Some(characters.iter().collect::<String>().into_bytes());
        let points: Vec<u32> = characters.iter().map(|&character| character.into()).collect();
        assert!(transcode_all(&points).iter().all(|result| *result == expected), "{characters:?}");
        if let Ok(units) =
            points.iter().map(|&point| point.try_into()).collect::<Result<Vec<u16>, _>>()
        {
            assert!(
                transcode_all(&units).iter().all(|result| *result == expected),
                "{characters:?}"
            );
        }
        if let Ok(units) =
            points.iter().map(|&point| point.try_into()).collect::<Result<Vec<u8>, _>>()
        {
            assert!(
                transcode_all(&units).iter().all(|result| *result == expected),
                "{characters:?}"
            );
        }
    }

    #[test]
    fn agrees_with_the_standard_library_on_every_character() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        check(&all);
        all.chunks(1000).for_each(check);
        check(&[]);
    }

    #[test]
    fn encodes_each_length_at_every_place_of_a_step() {
        for &character in
            &['\u{80}', 'ÿ', 'Ā', '\u{7ff}', '\u{800}', '’', '\u{ffff}', '😀', char::MAX]
        {
            for length in 0..70 {
                for place in 0..length {
                    let mut characters = vec!['a'; length];
                    characters[place] = character;
                    check(&characters);
                }
            }
        }
    }

    #[test]
    fn encodes_mixtures_at_every_phase() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..200 {
            let highest = [0x80, 0x100, 0x800, 0x1_0000, 0x11_0000][round % 5];
            let rare = [1, 2, 10, 50][round % 4];
            let mut characters = Vec::new();
            while characters.len() < 64 + round * 7 {
                let below = if random(rare) == 0 { highest } else { 0x80 };
                characters.extend(char::from_u32(random(below) as u32));
            }
            for phase in 0..64 {
                check(&characters[phase..]);
            }
        }
    }

    #[test]
    fn refuses_surrogates_and_large_numbers_at_every_place() {
        for length in [1, 15, 16, 17, 64, 600, 1100] {
            for place in 0..length {
                for invalid in [0xd800, 0xdbff, 0xdc00, 0xdfff, 0x11_0000, u32::MAX] {
                    let mut units = vec![0x61_u32; length];
                    units[place] = invalid;
                    assert!(transcode_all(&units).iter().all(Option::is_none));
                    if let Ok(invalid) = u16::try_from(invalid) {
                        let mut units = vec![0x4e00_u16; length];
                        units[place] = invalid;
                        assert!(transcode_all(&units).iter().all(Option::is_none));
                    }
                }
            }
        }
    }
}
