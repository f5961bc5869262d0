//! Code points of one width → UTF-8: what a text is in memory elsewhere becomes what is split here.

use crate::sys::simd_level::{SimdKind, SimdLevel};

/// A code point in one, two or four bytes.
pub trait Unit: Copy + Into<u32> {
    /// Bytes that the UTF-8 of such a code point has at most.
    const UTF8_BYTES_MAX: usize;

    /// The unit of a code point that fits into one.
    fn of(point: u32) -> Self;
}

impl Unit for u8 {
    const UTF8_BYTES_MAX: usize = 2;

    #[inline(always)]
    fn of(point: u32) -> Self {
        point as Self
    }
}

impl Unit for u16 {
    const UTF8_BYTES_MAX: usize = 3;

    #[inline(always)]
    fn of(point: u32) -> Self {
        point as Self
    }
}

impl Unit for u32 {
    const UTF8_BYTES_MAX: usize = 4;

    #[inline(always)]
    fn of(point: u32) -> Self {
        point
    }
}

/// Units that are looked at together.
const STEP: usize = 16;

/// Units that are written before they are copied to where they belong: the room is on the stack,
/// stays in the first cache, and need not be filled with zeros for every text.
const BLOCK: usize = 32 * STEP;

/// Bytes of a block: four for each unit, and what a store of 64 bytes may write beyond them.
type Room = [u8; 4 * BLOCK + 64];

/// Returns the UTF-8 of code points; none if one of them is a surrogate or above U+10FFFF.
///
/// ```
/// assert_eq!(zeton::sys::unicode::transcode(&[0x61_u16, 0xe9, 0x20ac]), Some("aé€".into()));
/// assert_eq!(zeton::sys::unicode::transcode(&[0xd800_u16]), None);
/// ```
///
/// Memory would do for any characters; pages of it that the text does not reach are never touched. To
/// count first would take as long as to write: a text that is four bytes a character comes from memory
/// no faster than it is transcoded.
pub fn transcode<U: Unit>(units: &[U]) -> Option<Vec<u8>> {
    let mut text = crate::sys::huge_buffer::vec(units.len() * U::UTF8_BYTES_MAX);
    transcode_into(units, &mut text)?;
    Some(text)
}

/// Appends the UTF-8 of code points to a text, or of some of them before one that has none.
pub fn transcode_into<U: Unit>(units: &[U], text: &mut Vec<u8>) -> Option<()> {
    match SimdLevel::detect().kind() {
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx512 => unsafe { avx512::transcode(units, text) },
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx2 => unsafe { avx2::transcode(units, text) },
        SimdKind::Baseline => transcode_plainly(units, text),
    }
}

fn transcode_plainly<U: Unit>(units: &[U], text: &mut Vec<u8>) -> Option<()> {
    let put = |points: [u32; STEP], room: &mut Room, end| put_each(&points, room, end);
    transcode_by(units, text, |units, room| write(units, room, put))
}

#[inline(always)]
fn transcode_by<U: Unit>(
    units: &[U],
    text: &mut Vec<u8>,
    write: impl Fn(&[U], &mut Room) -> Option<usize>,
) -> Option<()> {
    let mut room = [0; size_of::<Room>()];
    for block in units.chunks(BLOCK) {
        let end = write(block, &mut room)?;
        text.extend_from_slice(&room[..end]);
    }
    Some(())
}

/// Writes the UTF-8 of at most a block, by `put` where it is not ASCII; returns where it ends, if all
/// units are characters.
#[inline(always)]
fn write<U: Unit>(
    units: &[U],
    room: &mut Room,
    put: impl Fn([u32; STEP], &mut Room, usize) -> Option<usize>,
) -> Option<usize> {
    let (steps, rest) = units.as_chunks::<STEP>();
    let mut end = 0;
    for step in steps {
        let points: [u32; STEP] = step.map(Into::into);
        if points.iter().fold(0, |all, point| all | point) < 0x80 {
            room[end..end + STEP].copy_from_slice(&points.map(|point| point as u8));
            end += STEP;
        } else {
            end = put(points, room, end)?;
        }
    }
    put_each(rest, room, end)
}

#[inline(always)]
fn put_each<U: Unit>(units: &[U], room: &mut Room, end: usize) -> Option<usize> {
    let is_strange = |point: u32| (point & !0x7ff == 0xd800) | (point > 0x10_ffff);
    if units.iter().fold(false, |strange, &unit| strange | is_strange(unit.into())) {
        return None;
    }
    Some(units.iter().fold(end, |end, &unit| put(unit.into(), room, end)))
}

/// Writes one character, and up to three bytes behind it that do not count; returns where it ends.
#[inline(always)]
fn put(point: u32, room: &mut Room, end: usize) -> usize {
    let tail = |shift: u32| 0x80 | (point >> shift & 0x3f) as u8;
    let (bytes, length) = match point {
        0..0x80 => ([point as u8, 0, 0, 0], 1),
        0x80..0x800 => ([0xc0 | (point >> 6) as u8, tail(0), 0, 0], 2),
        0x800..0x1_0000 => ([0xe0 | (point >> 12) as u8, tail(6), tail(0), 0], 3),
        _ => ([0xf0 | (point >> 18) as u8, tail(12), tail(6), tail(0)], 4),
    };
    room[end..end + 4].copy_from_slice(&bytes);
    end + length
}

/// Four characters at once, of one to three bytes: each is spelled with three, and those that it has
/// are pushed together.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Room, Unit};
    use crate::sys::simd_level::simd_fn;

    /// Four characters by their lengths: four bits for those of two bytes or more, and above them
    /// four for those of three.
    struct Form {
        /// Which of the bytes that were spelled they have; the rest is from nowhere.
        bytes: [u8; 16],
        length: usize,
    }

    static FORMS: [Form; 1 << 8] = {
        let mut forms = [const { Form { bytes: [0x80; 16], length: 0 } }; 1 << 8];
        let mut form = 0;
        while form < forms.len() {
            let mut lane = 0;
            while lane < 4 {
                let own = 1 + (form >> lane & 1) + (form >> lane >> 4 & 1);
                let mut byte = 3 - own;
                while byte < 3 {
                    let Form { bytes, length } = &mut forms[form];
                    bytes[*length] = (lane * 4 + byte) as u8;
                    *length += 1;
                    byte += 1;
                }
                lane += 1;
            }
            form += 1;
        }
        forms
    };

    simd_fn! { avx2,
        pub(super) fn transcode<U: Unit>(units: &[U], text: &mut Vec<u8>) -> Option<()> {
            super::transcode_by(units, text, |units, room| {
                super::write(units, room, |points, room, mut end| {
                    for four in points.as_chunks().0 {
                        end = put(four, room, end)?;
                    }
                    Some(end)
                })
            })
        }
    }

    simd_fn! { avx2,
        /// Writes four characters, and bytes behind them that do not count; returns where they end, if
        /// all are characters.
        #[inline]
        fn put(four: &[u32; 4], room: &mut Room, end: usize) -> Option<usize> {
            // SAFETY: four numbers are sixteen bytes.
            #[allow(unsafe_code)]
            let points = unsafe { _mm_loadu_si128(four.as_ptr().cast()) };
            let all = |number: i32| _mm_set1_epi32(number);
            let high = _mm_srli_epi32::<16>(points);
            let surrogates = _mm_cmpeq_epi32(_mm_srli_epi32::<11>(points), all(0xd800 >> 11));
            // Those of four bytes are rare.
            if _mm_testz_si128(_mm_or_si128(high, surrogates), all(-1)) == 0 {
                return super::put_each(four, room, end);
            }
            let two = _mm_cmpgt_epi32(points, all(0x7f));
            let three = _mm_cmpgt_epi32(points, all(0x7ff));
            let lanes = |mask: __m128i| _mm_movemask_ps(_mm_castsi128_ps(mask)) as usize;
            let form = &FORMS[(lanes(two) | lanes(three) << 4) % FORMS.len()];

            let tail = _mm_and_si128(_mm_slli_epi32::<2>(points), all(0x3f00));
            let tail = _mm_or_si128(tail, _mm_and_si128(_mm_slli_epi32::<16>(points), all(0x3f_0000)));
            let spelled =
                _mm_or_si128(_mm_or_si128(_mm_srli_epi32::<12>(points), tail), all(0x80_80e0));
            // What has two bytes begins with the second of them, and ASCII is the third as it is.
            let spelled = _mm_or_si128(spelled, _mm_andnot_si128(three, all(0x4000)));
            let spelled = _mm_blendv_epi8(_mm_slli_epi32::<16>(points), spelled, two);

            let place = &mut room[end..end + 16];
            // SAFETY: sixteen bytes are read and written where there are as many.
            #[allow(unsafe_code)]
            unsafe {
                let bytes = _mm_loadu_si128(form.bytes.as_ptr().cast());
                _mm_storeu_si128(place.as_mut_ptr().cast(), _mm_shuffle_epi8(spelled, bytes));
            }
            Some(end + form.length)
        }
    }
}

/// Sixteen characters at once, of whatever lengths: each is spelled with four bytes, and those that
/// it has are pushed together.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{Room, STEP, Unit};
    use crate::sys::simd_level::simd_fn;

    simd_fn! { avx512,
        pub(super) fn transcode<U: Unit>(units: &[U], text: &mut Vec<u8>) -> Option<()> {
            super::transcode_by(units, text, |units, room| {
                let (steps, rest) = units.as_chunks::<STEP>();
                let mut end = 0;
                for step in steps {
                    end = put(step.map(Into::into), room, end)?;
                }
                super::put_each(rest, room, end)
            })
        }
    }

    simd_fn! { avx512,
        /// Writes sixteen characters, and bytes behind them that do not count; returns where they end,
        /// if all are characters.
        #[inline]
        fn put(points: [u32; STEP], room: &mut Room, end: usize) -> Option<usize> {
            let place: &mut [u8; 64] =
                (&mut room[end..end + 64]).try_into().expect("the range has 64 bytes");
            // SAFETY: sixteen numbers are 64 bytes.
            #[allow(unsafe_code)]
            let points = unsafe { _mm512_loadu_si512(points.as_ptr().cast()) };
            let two = _mm512_cmpge_epu32_mask(points, _mm512_set1_epi32(0x80));
            if two == 0 {
                let bytes = _mm512_cvtepi32_epi8(points);
                // SAFETY: sixteen bytes are written where there are 64.
                #[allow(unsafe_code)]
                unsafe {
                    _mm_storeu_si128(place.as_mut_ptr().cast(), bytes);
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

            // The last byte of a character is the highest of its lane. A byte of these marks has its
            // highest bit set if and only if the character has that byte.
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
            let spelled = _mm512_or_si512(tail, marks);
            // ASCII has seven bits, and no mark.
            let one = _mm512_slli_epi32::<24>(points);
            let spelled = _mm512_mask_mov_epi32(one, two, spelled);

            let bytes = _mm512_maskz_compress_epi8(has, spelled);
            // SAFETY: 64 bytes are written where there are 64.
            #[allow(unsafe_code)]
            unsafe {
                _mm512_storeu_si512(place.as_mut_ptr().cast(), bytes);
            }
            Some(end + has.count_ones() as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way that this machine has, portable code first.
    fn ways<U: Unit>(units: &[U]) -> Vec<Option<Vec<u8>>> {
        let by = |way: &dyn Fn(&mut Vec<u8>) -> Option<()>| {
            let mut text = Vec::new();
            way(&mut text).map(|()| text)
        };
        let mut ways = vec![by(&|text| transcode_plainly(units, text)), transcode(units)];
        #[cfg(target_arch = "x86_64")]
        if SimdLevel::detect_all().iter().any(|level| level.kind() == SimdKind::Avx2) {
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[allow(unsafe_code)]
            ways.push(by(&|text| unsafe { avx2::transcode(units, text) }));
        }
        ways
    }

    /// Checks characters against the standard library, in every width that holds them.
    fn check(characters: &[char]) {
        let expected = Some(characters.iter().collect::<String>().into_bytes());
        let points: Vec<u32> = characters.iter().map(|&character| character.into()).collect();
        assert!(ways(&points).iter().all(|way| *way == expected), "{characters:?}");
        if let Ok(units) =
            points.iter().map(|&point| point.try_into()).collect::<Result<Vec<u16>, _>>()
        {
            assert!(ways(&units).iter().all(|way| *way == expected), "{characters:?}");
        }
        if let Ok(units) =
            points.iter().map(|&point| point.try_into()).collect::<Result<Vec<u8>, _>>()
        {
            assert!(ways(&units).iter().all(|way| *way == expected), "{characters:?}");
        }
    }

    #[test]
    fn every_character_is_spelled_as_the_standard_library_spells_it() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        check(&all);
        all.chunks(1000).for_each(check);
        check(&[]);
    }

    #[test]
    fn every_character_is_spelled_at_every_place_of_a_step() {
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
    fn mixtures_are_spelled_at_every_phase() {
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
    fn what_is_no_character_is_refused_wherever_it_stands() {
        for length in [1, 15, 16, 17, 64, 600, 1100] {
            for place in 0..length {
                for strange in [0xd800, 0xdbff, 0xdc00, 0xdfff, 0x11_0000, u32::MAX] {
                    let mut units = vec![0x61_u32; length];
                    units[place] = strange;
                    assert!(ways(&units).iter().all(Option::is_none));
                    if let Ok(strange) = u16::try_from(strange) {
                        let mut units = vec![0x4e00_u16; length];
                        units[place] = strange;
                        assert!(ways(&units).iter().all(Option::is_none));
                    }
                }
            }
        }
    }
}
