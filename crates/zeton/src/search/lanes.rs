//! Sixty-four elements at once: which of them are equal to one, and which bytes are of words.
//!
//! A bit set of 64 is what every level makes, so the search is written once and compiled for each.

#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::simd_fn;
use crate::sys::simd_level::{SimdKind, SimdLevel};

/// What a text is made of: bytes, or ids of two or four bytes.
pub trait Element: Copy + Ord + Send + Sync + std::fmt::Debug + 'static {
    /// Slots of the table of shifts; elements that share one take the smaller shift.
    const SLOTS: usize;

    /// The slot of this element.
    fn slot(self) -> usize;

    /// How often it is met, roughly: the search looks for the rarest of a needle first.
    fn commonness(self) -> u32;

    /// The small letter of a capital of ASCII; everything else as it is.
    #[must_use]
    fn small(self) -> Self;

    /// The element as a number.
    fn number(self) -> u32;
}

impl Element for u8 {
    const SLOTS: usize = 256;

    #[inline(always)]
    fn slot(self) -> usize {
        usize::from(self)
    }

    fn commonness(self) -> u32 {
        u32::from(COMMONNESS[usize::from(self)])
    }

    #[inline(always)]
    fn small(self) -> Self {
        self.to_ascii_lowercase()
    }

    #[inline(always)]
    fn number(self) -> u32 {
        self.into()
    }
}

/// Ids are given by rank, and a low rank was met often.
macro_rules! element_of_ids {
    ($width:ty) => {
        impl Element for $width {
            const SLOTS: usize = 1024;

            #[inline(always)]
            fn slot(self) -> usize {
                self as usize % Self::SLOTS
            }

            fn commonness(self) -> u32 {
                u32::MAX - u32::from(self)
            }

            #[inline(always)]
            fn small(self) -> Self {
                self
            }

            #[inline(always)]
            fn number(self) -> u32 {
                self.into()
            }
        }
    };
}
element_of_ids!(u16);
element_of_ids!(u32);

/// The place of each byte in the order of bytes by their number in English, code and other
/// languages, the rarest first.
#[rustfmt::skip]
const COMMONNESS: [u8; 256] = [
     43,  47,  50,  48,  42,  41,  40,  39,  38, 175, 240,  37,  46, 206,  36,  35,
     45,  34,  33,  44,  32,  31,  30,  29,  28,  27,  26,  49,  25,  24,  74,  23,
    255, 147, 231, 176, 149,  82, 100, 211, 223, 224, 181,  86, 234, 226, 233, 227,
    222, 219, 209, 190, 186, 185, 179, 168, 174, 172, 225, 202, 200, 215, 208, 153,
    139, 213, 187, 201, 184, 203, 193, 155, 180, 220, 125, 122, 189, 195, 196, 188,
    183,  78, 198, 216, 218, 165, 121, 171,  79, 112,  70, 159, 157, 158,  64, 221,
    169, 252, 232, 242, 244, 254, 239, 237, 246, 249, 178, 229, 245, 241, 250, 251,
    238, 173, 247, 248, 253, 243, 230, 236, 204, 235, 160, 192,  99, 191,  61,  22,
    197, 212, 194, 154, 167, 126, 124, 145, 156, 115, 144, 151, 142, 132, 117, 129,
    109,  90,  88,  85, 119, 143,  84, 105, 103, 113,  98,  91, 116, 107,  80, 131,
     94, 104,  77, 101, 207, 161, 120, 166, 148,  97, 130,  93, 102, 111, 136, 127,
    170, 146, 138, 106, 134, 140,  89,  92, 210, 162, 135, 114, 133, 123, 163, 110,
     21,  20,  62, 108,  83,  69,  57,  19,  54,  60,  55,  52,  56,  18,  72,  67,
    214, 177,  59,  58,  53,  65,  63,  68, 199, 205,  66,  73,  17,  16,  71,  15,
    228, 128,  96, 217, 137, 182, 152, 141, 118,  95,  81, 150, 164,  87,  14,  75,
     76,  13,  12,  51,  11,  10,   9,   8,   7,   6,   5,   4,   3,   2,   1,   0,
];

/// Something that is compiled for each level.
pub(super) trait Job {
    type Result;
    fn run<L: Lanes>(self) -> Self::Result;
}

/// Runs a job, compiled for a SIMD level.
#[inline]
pub(super) fn run<J: Job>(level: SimdLevel, job: J) -> J::Result {
    match level.kind() {
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx512 => unsafe { run_by_avx512(job) },
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx2 => unsafe { run_by_avx2(job) },
        #[cfg(target_arch = "x86_64")]
        SimdKind::Baseline => job.run::<x86::Sse2>(),
        #[cfg(not(target_arch = "x86_64"))]
        SimdKind::Baseline => job.run::<Scalar>(),
    }
}

#[cfg(target_arch = "x86_64")]
simd_fn! { avx512,
    fn run_by_avx512<J: Job>(job: J) -> J::Result {
        job.run::<x86::Avx512>()
    }
}

#[cfg(target_arch = "x86_64")]
simd_fn! { avx2,
    fn run_by_avx2<J: Job>(job: J) -> J::Result {
        job.run::<x86::Avx2>()
    }
}

/// The elements that are looked at together.
pub(super) const BLOCK: usize = 64;

/// Bit i of each result stands for element i.
pub(super) trait Lanes {
    /// Those that are equal to `value` once the bits of `mark` are set in them.
    fn equal<E: Element>(block: &[E; BLOCK], value: E, mark: u8) -> u64;

    /// The letters, digits and underscores of ASCII, and the bytes beyond ASCII.
    fn words(block: &[u8; BLOCK]) -> (u64, u64);
}

/// One by one: the reference that the SIMD lanes are tested against.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(super) struct Scalar;

#[cfg(any(test, not(target_arch = "x86_64")))]
impl Lanes for Scalar {
    #[inline(always)]
    fn equal<E: Element>(block: &[E; BLOCK], value: E, mark: u8) -> u64 {
        let (value, mark) = (value.number(), u32::from(mark));
        block
            .iter()
            .rev()
            .fold(0, |bits, element| bits << 1 | u64::from(element.number() | mark == value))
    }

    #[inline(always)]
    fn words(block: &[u8; BLOCK]) -> (u64, u64) {
        block.iter().rev().fold((0, 0), |(words, high), byte| {
            let word = byte.is_ascii_alphanumeric() || *byte == b'_';
            (words << 1 | u64::from(word), high << 1 | u64::from(!byte.is_ascii()))
        })
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::*;

    use super::{BLOCK, Element, Lanes};

    pub(in crate::search) struct Avx512;
    pub(in crate::search) struct Avx2;
    pub(in crate::search) struct Sse2;

    // SAFETY, for all blocks below: they are inlined into a function that asks for the
    // instructions, and only `run` names these types. A block has 64 elements of one, two or four
    // bytes, as `size_of` says: each load, aligned or not, reads from inside it.

    impl Lanes for Avx512 {
        #[inline(always)]
        fn equal<E: Element>(block: &[E; BLOCK], value: E, mark: u8) -> u64 {
            let (start, value) = (block.as_ptr().cast::<__m512i>(), value.number() as i32);
            unsafe {
                let load = |at: usize| _mm512_loadu_si512(start.add(at));
                match size_of::<E>() {
                    1 => {
                        let marked = _mm512_or_si512(load(0), _mm512_set1_epi8(mark as i8));
                        _mm512_cmpeq_epi8_mask(marked, _mm512_set1_epi8(value as i8))
                    }
                    2 => {
                        let value = _mm512_set1_epi16(value as i16);
                        let half = |at| u64::from(_mm512_cmpeq_epi16_mask(load(at), value));
                        half(0) | half(1) << 32
                    }
                    _ => {
                        let value = _mm512_set1_epi32(value);
                        let part = |at| u64::from(_mm512_cmpeq_epi32_mask(load(at), value));
                        part(0) | part(1) << 16 | part(2) << 32 | part(3) << 48
                    }
                }
            }
        }

        #[inline(always)]
        fn words(block: &[u8; BLOCK]) -> (u64, u64) {
            unsafe {
                let bytes = _mm512_loadu_si512(block.as_ptr().cast());
                let within = |bytes, first: u8, count: u8| {
                    let moved = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first as i8));
                    _mm512_cmplt_epu8_mask(moved, _mm512_set1_epi8(count as i8))
                };
                let small = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
                let line = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'_' as i8));
                let words = within(small, b'a', 26) | within(bytes, b'0', 10) | line;
                (words, _mm512_movepi8_mask(bytes))
            }
        }
    }

    impl Lanes for Avx2 {
        #[inline(always)]
        fn equal<E: Element>(block: &[E; BLOCK], value: E, mark: u8) -> u64 {
            let (start, value) = (block.as_ptr().cast::<__m256i>(), value.number() as i32);
            unsafe {
                let load = |at: usize| _mm256_loadu_si256(start.add(at));
                match size_of::<E>() {
                    1 => {
                        let (mark, value) =
                            (_mm256_set1_epi8(mark as i8), _mm256_set1_epi8(value as i8));
                        let half = |at| {
                            let marked = _mm256_or_si256(load(at), mark);
                            let same = _mm256_cmpeq_epi8(marked, value);
                            u64::from(_mm256_movemask_epi8(same) as u32)
                        };
                        half(0) | half(1) << 32
                    }
                    2 => {
                        let value = _mm256_set1_epi16(value as i16);
                        let same = |at| _mm256_cmpeq_epi16(load(at), value);
                        let half = |at| {
                            // Packing works in halves of a vector: quarters 1 and 2 change places.
                            let packed = _mm256_packs_epi16(same(at), same(at + 1));
                            let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
                            u64::from(_mm256_movemask_epi8(ordered) as u32)
                        };
                        half(0) | half(2) << 32
                    }
                    _ => {
                        let value = _mm256_set1_epi32(value);
                        let mut bits = 0;
                        for at in 0..8 {
                            let same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(load(at), value));
                            bits |= u64::from(_mm256_movemask_ps(same) as u8) << (8 * at);
                        }
                        bits
                    }
                }
            }
        }

        #[inline(always)]
        fn words(block: &[u8; BLOCK]) -> (u64, u64) {
            let (mut words, mut high) = (0, 0);
            for at in 0..2 {
                unsafe {
                    let bytes = _mm256_loadu_si256(block.as_ptr().cast::<__m256i>().add(at));
                    // Signed comparison is all there is: a range is moved to the lowest numbers.
                    let within = |bytes, first: u8, count: u8| {
                        let moved = 0x80_u8.wrapping_sub(first) as i8;
                        let moved = _mm256_add_epi8(bytes, _mm256_set1_epi8(moved));
                        _mm256_cmpgt_epi8(_mm256_set1_epi8((0x80 + count) as i8), moved)
                    };
                    let small = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
                    let line = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'_' as i8));
                    let word = _mm256_or_si256(within(small, b'a', 26), within(bytes, b'0', 10));
                    let word = _mm256_movemask_epi8(_mm256_or_si256(word, line)) as u32;
                    words |= u64::from(word) << (32 * at);
                    high |= u64::from(_mm256_movemask_epi8(bytes) as u32) << (32 * at);
                }
            }
            (words, high)
        }
    }

    impl Lanes for Sse2 {
        #[inline(always)]
        fn equal<E: Element>(block: &[E; BLOCK], value: E, mark: u8) -> u64 {
            let (start, value) = (block.as_ptr().cast::<__m128i>(), value.number() as i32);
            let mut bits = 0;
            unsafe {
                let load = |at: usize| _mm_loadu_si128(start.add(at));
                match size_of::<E>() {
                    1 => {
                        let (mark, value) = (_mm_set1_epi8(mark as i8), _mm_set1_epi8(value as i8));
                        for at in 0..4 {
                            let same = _mm_cmpeq_epi8(_mm_or_si128(load(at), mark), value);
                            bits |= u64::from(_mm_movemask_epi8(same) as u16) << (16 * at);
                        }
                    }
                    2 => {
                        let value = _mm_set1_epi16(value as i16);
                        let same = |at| _mm_cmpeq_epi16(load(at), value);
                        for at in 0..4 {
                            let packed = _mm_packs_epi16(same(2 * at), same(2 * at + 1));
                            bits |= u64::from(_mm_movemask_epi8(packed) as u16) << (16 * at);
                        }
                    }
                    _ => {
                        let value = _mm_set1_epi32(value);
                        for at in 0..16 {
                            let same = _mm_castsi128_ps(_mm_cmpeq_epi32(load(at), value));
                            bits |= u64::from(_mm_movemask_ps(same) as u8) << (4 * at);
                        }
                    }
                }
            }
            bits
        }

        #[inline(always)]
        fn words(block: &[u8; BLOCK]) -> (u64, u64) {
            let (mut words, mut high) = (0, 0);
            for at in 0..4 {
                unsafe {
                    let bytes = _mm_loadu_si128(block.as_ptr().cast::<__m128i>().add(at));
                    // Signed comparison is all there is: a range is moved to the lowest numbers.
                    let within = |bytes, first: u8, count: u8| {
                        let moved = 0x80_u8.wrapping_sub(first) as i8;
                        let moved = _mm_add_epi8(bytes, _mm_set1_epi8(moved));
                        _mm_cmplt_epi8(moved, _mm_set1_epi8((0x80 + count) as i8))
                    };
                    let small = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
                    let line = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'_' as i8));
                    let word = _mm_or_si128(within(small, b'a', 26), within(bytes, b'0', 10));
                    let word = _mm_movemask_epi8(_mm_or_si128(word, line)) as u16;
                    words |= u64::from(word) << (16 * at);
                    high |= u64::from(_mm_movemask_epi8(bytes) as u16) << (16 * at);
                }
            }
            (words, high)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    struct Equal<'b, E>(&'b [E; BLOCK], E, u8);

    impl<E: Element> Job for Equal<'_, E> {
        type Result = u64;
        fn run<L: Lanes>(self) -> u64 {
            L::equal(self.0, self.1, self.2)
        }
    }

    struct Words<'b>(&'b [u8; BLOCK]);

    impl Job for Words<'_> {
        type Result = (u64, u64);
        fn run<L: Lanes>(self) -> (u64, u64) {
            L::words(self.0)
        }
    }

    fn assert_equal<E: Element>(values: &[E], random: &mut Random, mark: u8) {
        for _ in 0..2000 {
            let block = std::array::from_fn(|_| values[random.below(values.len())]);
            let value = values[random.below(values.len())];
            let plain = Equal(&block, value, mark).run::<Scalar>();
            for level in SimdLevel::detect_all() {
                assert_eq!(run(level, Equal(&block, value, mark)), plain, "{level:?} {block:?}");
            }
        }
    }

    #[test]
    fn all_simd_levels_find_the_same_elements() {
        let mut random = Random(1);
        assert_equal(b"abAB\x00\xFF\x80\x20", &mut random, 0);
        assert_equal(b"abAB\x00\xFF\x80\x20", &mut random, 0x20);
        assert_equal(&[0_u16, 1, 256, 0x8000, 0xFFFF, 0x0101], &mut random, 0);
        assert_equal(&[0_u32, 1, 256, 0x8000_0000, u32::MAX, 0x1_0001], &mut random, 0);
    }

    #[test]
    fn all_simd_levels_know_the_characters_of_words() {
        for byte in 0..=u8::MAX {
            for at in 0..BLOCK {
                let mut block = [b' '; BLOCK];
                block[at] = byte;
                let plain = Words(&block).run::<Scalar>();
                for level in SimdLevel::detect_all() {
                    assert_eq!(run(level, Words(&block)), plain, "{level:?}: {byte} at {at}");
                }
            }
        }
    }
}
