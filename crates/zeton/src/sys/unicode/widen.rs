//! UTF-8 → code points of one width: what is decoded becomes what a text is in memory elsewhere.

use std::mem::MaybeUninit;

use super::Unit;
#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::{SimdKind, SimdLevel};

/// How many bytes the widest character of a text needs, if each has as many.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Width {
    /// One; and UTF-8 is the same.
    Ascii,
    /// One: up to U+FF.
    One,
    /// Two: up to U+FFFF.
    Two,
    /// Four.
    Four,
}

/// Bytes that are counted together: their number fits into one.
const COUNTED: usize = 128;

/// Returns how many characters a text has, and how wide they are.
///
/// ```
/// use zeton::sys::unicode::{Width, measure};
/// assert_eq!(measure("aé€"), (3, Width::Two));
/// ```
#[must_use]
pub fn measure(text: &str) -> (usize, Width) {
    let (mut characters, mut highest) = (0, 0);
    for bytes in text.as_bytes().chunks(COUNTED) {
        let (mut begun, mut high) = (0_u8, 0);
        for &byte in bytes {
            begun += u8::from(byte & 0xC0 != 0x80);
            high = high.max(byte);
        }
        characters += usize::from(begun);
        highest = highest.max(high);
    }
    let width = match highest {
        0..0x80 => Width::Ascii,
        0x80..0xC4 => Width::One,
        0xC4..0xF0 => Width::Two,
        _ => Width::Four,
    };
    (characters, width)
}

/// Writes the code points of a text, each of which fits into a unit; returns how many.
///
/// # Panics
///
/// When there is not a unit for each.
///
/// ```
/// let mut units = Box::new_uninit_slice(3);
/// assert_eq!(zeton::sys::unicode::widen::<u16>("aé€", &mut units), 3);
/// ```
pub fn widen<U: Unit>(text: &str, units: &mut [MaybeUninit<U>]) -> usize {
    let text = text.as_bytes();
    #[cfg(target_arch = "x86_64")]
    if SimdLevel::detect().kind() != SimdKind::Baseline {
        // SAFETY: a `SimdLevel` above the baseline has all features of AVX2's.
        #[allow(unsafe_code)]
        let (at, count) = unsafe { avx2::widen(text, units) };
        return count + widen_from(at, text, &mut units[count..]);
    }
    widen_from(0, text, units)
}

/// Bytes of ASCII that are widened together.
const ASCII: usize = 32;

/// Bytes whose characters are found together.
const STEP: usize = size_of::<u64>();

/// The highest bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The plain way, from a place on.
fn widen_from<U: Unit>(mut at: usize, text: &[u8], units: &mut [MaybeUninit<U>]) -> usize {
    let mut count = 0;
    while let Some(step) = text[at..].first_chunk::<{ STEP + 3 }>() {
        if let Some(ascii) = text[at..].first_chunk::<ASCII>().filter(|bytes| bytes.is_ascii()) {
            put_ascii(ascii, &mut units[count..]);
            (at, count) = (at + ASCII, count + ASCII);
            continue;
        }
        let word = u64::from_le_bytes(*step.first_chunk().expect("a step has as many"));
        // Bytes 10xxxxxx continue what others began.
        let mut begun = !(word & !(word << 1)) & HIGH;
        while begun != 0 {
            let place = begun.trailing_zeros() as usize / 8;
            let bytes = [0, 1, 2, 3].map(|after| step[place + after]);
            units[count].write(U::of(point(bytes)));
            begun &= begun - 1;
            count += 1;
        }
        at += STEP;
    }
    for (place, &byte) in text.iter().enumerate().skip(at) {
        if byte & 0xC0 != 0x80 {
            let bytes = [0, 1, 2, 3].map(|after| text.get(place + after).copied().unwrap_or(0));
            units[count].write(U::of(point(bytes)));
            count += 1;
        }
    }
    count
}

#[inline(always)]
fn put_ascii<U: Unit, const N: usize>(bytes: &[u8; N], units: &mut [MaybeUninit<U>]) {
    for (place, &byte) in units[..N].iter_mut().zip(bytes) {
        place.write(U::of(byte.into()));
    }
}

/// By the upper half of the first byte: how far the bits of a character are from where they would be
/// if it had four bytes, and which are its own.
const OWN: [(u32, u32); 16] = {
    let mut own = [(18, 0x7F); 16];
    (own[0xC], own[0xD]) = ((12, 0x7FF), (12, 0x7FF));
    own[0xE] = (6, 0xFFFF);
    own[0xF] = (0, 0x1F_FFFF);
    own
};

/// The code point that these bytes begin with.
#[inline(always)]
fn point([first, second, third, fourth]: [u8; 4]) -> u32 {
    let six = |byte: u8| u32::from(byte & 0x3F);
    let four = u32::from(first) << 18 | six(second) << 12 | six(third) << 6 | six(fourth);
    let (shift, own) = OWN[usize::from(first >> 4)];
    four >> shift & own
}

/// Four characters at once, of one to three bytes each: where those begin tells which bytes go to
/// which lane.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    use super::{Unit, point, put_ascii};
    use crate::sys::simd_level::simd_fn;

    /// Bytes that are looked at together.
    const BLOCK: usize = 64;

    /// Bytes of a vector.
    const VECTOR: usize = 16;

    /// Bytes that tell where four characters end: those that they have at most, and the next.
    const TOLD: usize = 4 * 3 + 1;

    /// Four characters, by where characters begin from the first of them on.
    struct Form {
        /// Bytes that all have together; zero if one of them has four.
        bytes: u8,
        /// The number of the way in which they are long.
        way: u8,
    }

    /// Ways in which four characters may be one to three bytes long.
    const WAYS: usize = 3 * 3 * 3 * 3;

    static FORMS: [Form; 1 << TOLD] = {
        let mut forms = [const { Form { bytes: 0, way: 0 } }; 1 << TOLD];
        let mut way = 0;
        while way < WAYS {
            let (mut begun, mut bytes, mut left, mut each) = (0, 0, way, 0);
            while each < 4 {
                begun |= 1 << bytes;
                bytes += left % 3 + 1;
                left /= 3;
                each += 1;
            }
            // The next begins where they end; others may begin anywhere after it.
            let mut after = 1;
            while after < 1 << (TOLD - bytes) {
                forms[begun | after << bytes] = Form { bytes: bytes as u8, way: way as u8 };
                after += 2;
            }
            way += 1;
        }
        forms
    };

    /// For each byte of the lanes where it comes from, the last of a character first; from nowhere,
    /// where the highest bit is set.
    static SHUFFLES: [[u8; VECTOR]; WAYS] = {
        let mut shuffles = [[0x80; VECTOR]; WAYS];
        let mut way = 0;
        while way < WAYS {
            let (mut end, mut left, mut each) = (0, way, 0);
            while each < 4 {
                let length = left % 3 + 1;
                end += length;
                let mut byte = 0;
                while byte < length {
                    shuffles[way][each * 4 + byte] = (end - 1 - byte) as u8;
                    byte += 1;
                }
                left /= 3;
                each += 1;
            }
            way += 1;
        }
        shuffles
    };

    simd_fn! { avx2,
        /// Writes the code points of most of a text; returns how many bytes they have, and how many they
        /// are.
        pub(super) fn widen<U: Unit>(text: &[u8], units: &mut [MaybeUninit<U>]) -> (usize, usize) {
            let (mut at, mut count) = (0, 0);
            while let Some(block) = text[at..].first_chunk::<BLOCK>() {
                let (high, begun) = look(block);
                if high == 0 {
                    put_ascii(block, &mut units[count..]);
                    (at, count) = (at + BLOCK, count + BLOCK);
                    continue;
                }
                let mut place = 0;
                while place <= BLOCK - VECTOR {
                    let form = &FORMS[(begun >> place) as usize % FORMS.len()];
                    if form.bytes == 0 {
                        let bytes = [0, 1, 2, 3].map(|after| block[place + after]);
                        units[count].write(U::of(point(bytes)));
                        place += bytes[0].leading_ones().max(1) as usize;
                        count += 1;
                        continue;
                    }
                    let points = points(block, place, &SHUFFLES[usize::from(form.way) % WAYS]);
                    for (unit, point) in units[count..count + 4].iter_mut().zip(points) {
                        unit.write(U::of(point));
                    }
                    place += usize::from(form.bytes);
                    count += 4;
                }
                at += place;
            }
            (at, count)
        }
    }

    simd_fn! { avx2,
        /// Which bytes are beyond ASCII, and which begin a character.
        #[inline]
        fn look(block: &[u8; BLOCK]) -> (u64, u64) {
            let (mut high, mut begun) = (0, 0);
            for (half, bytes) in block.as_chunks::<32>().0.iter().enumerate() {
                // SAFETY: 32 bytes are read from where there are as many.
                #[allow(unsafe_code)]
                let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
                // As signed numbers, bytes 10xxxxxx are the lowest.
                let begins = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0xBF_u8 as i8));
                high |= u64::from(_mm256_movemask_epi8(bytes) as u32) << (32 * half);
                begun |= u64::from(_mm256_movemask_epi8(begins) as u32) << (32 * half);
            }
            (high, begun)
        }
    }

    simd_fn! { avx2,
        /// The code points of four characters from a place of a block on.
        #[inline]
        fn points(block: &[u8; BLOCK], place: usize, shuffle: &[u8; VECTOR]) -> [u32; 4] {
            let bytes = &block[place..place + VECTOR];
            let mut points = [0; 4];
            // SAFETY: sixteen bytes are read, and written, where there are as many.
            #[allow(unsafe_code)]
            unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                let bytes = _mm_shuffle_epi8(bytes, _mm_loadu_si128(shuffle.as_ptr().cast()));
                let bits = |mask: i32| _mm_and_si128(bytes, _mm_set1_epi32(mask));
                let spelled = _mm_or_si128(bits(0x7F), _mm_srli_epi32::<2>(bits(0x3F00)));
                let spelled = _mm_or_si128(spelled, _mm_srli_epi32::<4>(bits(0xF_0000)));
                _mm_storeu_si128(points.as_mut_ptr().cast(), spelled);
            }
            points
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    /// Checks a text against the standard library, in every width that holds it.
    fn check(text: &str) {
        fn widened<U: Unit>(text: &str, characters: usize) -> Vec<u32> {
            let [mut one, mut other] = [0, 1].map(|_| vec![MaybeUninit::new(U::of(0)); characters]);
            assert_eq!(widen(text, &mut one), characters);
            assert_eq!(widen_from(0, text.as_bytes(), &mut other), characters);
            // SAFETY: each was written before.
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
        if width != Width::Four {
            assert_eq!(widened::<u16>(text, characters), points);
        }
        if matches!(width, Width::Ascii | Width::One) {
            assert_eq!(widened::<u8>(text, characters), points);
        }
        let expected = match points.iter().max() {
            None | Some(0..0x80) => Width::Ascii,
            Some(0x80..0x100) => Width::One,
            Some(0x100..0x1_0000) => Width::Two,
            _ => Width::Four,
        };
        assert_eq!(width, expected);
    }

    #[test]
    fn every_character_is_read_as_the_standard_library_reads_it() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for some in all.chunks(1000) {
            check(&some.iter().collect::<String>());
        }
    }

    #[test]
    fn every_character_is_read_at_every_place() {
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
    fn mixtures_are_read() {
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
