//! Operations on blocks of 64 elements, with one bit an element, for each SIMD level.
//!
//! A search is a [`SimdKernel`], written once, generic in its [`BlockOps`], and compiled for every
//! level. For example, in the first bytes of a block, bit 0 at the left:
//!
//! ```text
//! block                  c a t s   a n d   A n t s
//! equal('a', 0)          . 1 . . . 1 . . . . . . .
//! equal('a', 0x20)       . 1 . . . 1 . . . 1 . . .      case_bit 0x20: A counts as a
//! word_bytes             1 1 1 1 . 1 1 1 . 1 1 1 1      letters, digits and _
//! ```
//!
//! Cost: one comparison and one mask for 64 bytes with AVX-512; two or four vectors with AVX2 and
//! SSE2. Ids take two or four times as many vectors.

use super::element::Element;
#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::simd_fn;
use crate::sys::simd_level::{SimdKind, SimdLevel};

/// An algorithm that is compiled for each SIMD level.
pub(super) trait SimdKernel {
    /// The result of a run.
    type Result;
    fn run<B: BlockOps>(self) -> Self::Result;
}

/// Runs a kernel, compiled for a SIMD level. The kernel and all its calls are inlined into one
/// function per level.
#[inline]
pub(super) fn run_kernel<K: SimdKernel>(level: SimdLevel, kernel: K) -> K::Result {
    match level.kind() {
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx512 => unsafe { run_by_avx512(kernel) },
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx2 => unsafe { run_by_avx2(kernel) },
        #[cfg(target_arch = "x86_64")]
        SimdKind::Baseline => kernel.run::<x86::Sse2>(),
        #[cfg(not(target_arch = "x86_64"))]
        SimdKind::Baseline => kernel.run::<ScalarOps>(),
    }
}

#[cfg(target_arch = "x86_64")]
simd_fn! { avx512,
    fn run_by_avx512<K: SimdKernel>(kernel: K) -> K::Result {
        kernel.run::<x86::Avx512>()
    }
}

#[cfg(target_arch = "x86_64")]
simd_fn! { avx2,
    fn run_by_avx2<K: SimdKernel>(kernel: K) -> K::Result {
        kernel.run::<x86::Avx2>()
    }
}

/// The number of elements that are compared together: one bit of a `u64` each.
pub(super) const BLOCK: usize = 64;

/// Bit i of each result stands for element i of the block.
pub(super) trait BlockOps {
    /// Returns the elements that equal `value` once the bits of `case_bit` are set in them. Only
    /// bytes have a `case_bit` other than 0.
    fn equal<E: Element>(block: &[E; BLOCK], value: E, case_bit: u8) -> u64;

    /// Returns two masks of a block, one bit a byte: letters, digits and underscores of ASCII, and
    /// bytes beyond ASCII.
    fn word_bytes(block: &[u8; BLOCK]) -> (u64, u64);
}

/// Operations element by element: the reference of the SIMD levels.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(super) struct ScalarOps;

#[cfg(any(test, not(target_arch = "x86_64")))]
impl BlockOps for ScalarOps {
    #[inline(always)]
    fn equal<E: Element>(block: &[E; BLOCK], value: E, case_bit: u8) -> u64 {
        let (value, case_bit) = (value.to_u32(), u32::from(case_bit));
        block
            .iter()
            .rev()
            .fold(0, |bits, element| bits << 1 | u64::from(element.to_u32() | case_bit == value))
    }

    #[inline(always)]
    fn word_bytes(block: &[u8; BLOCK]) -> (u64, u64) {
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

    use super::{BLOCK, BlockOps, Element};

    pub(in crate::search) struct Avx512;
    pub(in crate::search) struct Avx2;
    pub(in crate::search) struct Sse2;

    // SAFETY, for all blocks below: each is inlined into a function that is compiled with its
    // level's features, and only `run_kernel` names these types, for a level that detection found.
    // A block has 64 elements of one, two or four bytes, as `size_of` says, so each unaligned load
    // reads inside of it.

    impl BlockOps for Avx512 {
        #[inline(always)]
        fn equal<E: Element>(block: &[E; BLOCK], value: E, case_bit: u8) -> u64 {
            let (start, value) = (block.as_ptr().cast::<__m512i>(), value.to_u32() as i32);
            unsafe {
                let load = |at: usize| _mm512_loadu_si512(start.add(at));
                match size_of::<E>() {
                    1 => {
                        let marked = _mm512_or_si512(load(0), _mm512_set1_epi8(case_bit as i8));
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
        fn word_bytes(block: &[u8; BLOCK]) -> (u64, u64) {
            unsafe {
                let bytes = _mm512_loadu_si512(block.as_ptr().cast());
                let in_range = |bytes, first: u8, count: u8| {
                    let moved = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first as i8));
                    _mm512_cmplt_epu8_mask(moved, _mm512_set1_epi8(count as i8))
                };
                let small = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
                let line = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'_' as i8));
                let words = in_range(small, b'a', 26) | in_range(bytes, b'0', 10) | line;
                (words, _mm512_movepi8_mask(bytes))
            }
        }
    }

    impl BlockOps for Avx2 {
        #[inline(always)]
        fn equal<E: Element>(block: &[E; BLOCK], value: E, case_bit: u8) -> u64 {
            let (start, value) = (block.as_ptr().cast::<__m256i>(), value.to_u32() as i32);
            unsafe {
                let load = |at: usize| _mm256_loadu_si256(start.add(at));
                match size_of::<E>() {
                    1 => {
                        let (case_bit, value) =
                            (_mm256_set1_epi8(case_bit as i8), _mm256_set1_epi8(value as i8));
                        let half = |at| {
                            let marked = _mm256_or_si256(load(at), case_bit);
                            let same = _mm256_cmpeq_epi8(marked, value);
                            u64::from(_mm256_movemask_epi8(same) as u32)
                        };
                        half(0) | half(1) << 32
                    }
                    2 => {
                        let value = _mm256_set1_epi16(value as i16);
                        let same = |at| _mm256_cmpeq_epi16(load(at), value);
                        let half = |at| {
                            // Packing works within each half of the vector, so quarters 1 and 2 are
                            // swapped afterwards.
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
        fn word_bytes(block: &[u8; BLOCK]) -> (u64, u64) {
            let (mut words, mut high) = (0, 0);
            for at in 0..2 {
                unsafe {
                    let bytes = _mm256_loadu_si256(block.as_ptr().cast::<__m256i>().add(at));
                    // AVX2 compares signed bytes only, so a range is moved to the lowest numbers.
                    let in_range = |bytes, first: u8, count: u8| {
                        let moved = 0x80_u8.wrapping_sub(first) as i8;
                        let moved = _mm256_add_epi8(bytes, _mm256_set1_epi8(moved));
                        _mm256_cmpgt_epi8(_mm256_set1_epi8((0x80 + count) as i8), moved)
                    };
                    let small = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
                    let line = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'_' as i8));
                    let word =
                        _mm256_or_si256(in_range(small, b'a', 26), in_range(bytes, b'0', 10));
                    let word = _mm256_movemask_epi8(_mm256_or_si256(word, line)) as u32;
                    words |= u64::from(word) << (32 * at);
                    high |= u64::from(_mm256_movemask_epi8(bytes) as u32) << (32 * at);
                }
            }
            (words, high)
        }
    }

    impl BlockOps for Sse2 {
        #[inline(always)]
        fn equal<E: Element>(block: &[E; BLOCK], value: E, case_bit: u8) -> u64 {
            let (start, value) = (block.as_ptr().cast::<__m128i>(), value.to_u32() as i32);
            let mut bits = 0;
            unsafe {
                let load = |at: usize| _mm_loadu_si128(start.add(at));
                match size_of::<E>() {
                    1 => {
                        let (case_bit, value) =
                            (_mm_set1_epi8(case_bit as i8), _mm_set1_epi8(value as i8));
                        for at in 0..4 {
                            let same = _mm_cmpeq_epi8(_mm_or_si128(load(at), case_bit), value);
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
        fn word_bytes(block: &[u8; BLOCK]) -> (u64, u64) {
            let (mut words, mut high) = (0, 0);
            for at in 0..4 {
                unsafe {
                    let bytes = _mm_loadu_si128(block.as_ptr().cast::<__m128i>().add(at));
                    // SSE2 compares signed bytes only, so a range is moved to the lowest numbers.
                    let in_range = |bytes, first: u8, count: u8| {
                        let moved = 0x80_u8.wrapping_sub(first) as i8;
                        let moved = _mm_add_epi8(bytes, _mm_set1_epi8(moved));
                        _mm_cmplt_epi8(moved, _mm_set1_epi8((0x80 + count) as i8))
                    };
                    let small = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
                    let line = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'_' as i8));
                    let word = _mm_or_si128(in_range(small, b'a', 26), in_range(bytes, b'0', 10));
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

    struct EqualKernel<'b, E>(&'b [E; BLOCK], E, u8);

    impl<E: Element> SimdKernel for EqualKernel<'_, E> {
        type Result = u64;
        fn run<B: BlockOps>(self) -> u64 {
            B::equal(self.0, self.1, self.2)
        }
    }

    struct WordsKernel<'b>(&'b [u8; BLOCK]);

    impl SimdKernel for WordsKernel<'_> {
        type Result = (u64, u64);
        fn run<B: BlockOps>(self) -> (u64, u64) {
            B::word_bytes(self.0)
        }
    }

    fn assert_equal<E: Element>(values: &[E], random: &mut Random, case_bit: u8) {
        for _ in 0..2000 {
            let block = std::array::from_fn(|_| values[random.below(values.len())]);
            let value = values[random.below(values.len())];
            let plain = EqualKernel(&block, value, case_bit).run::<ScalarOps>();
            for level in SimdLevel::detect_all() {
                assert_eq!(
                    run_kernel(level, EqualKernel(&block, value, case_bit)),
                    plain,
                    "{level:?} {block:?}"
                );
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
                let plain = WordsKernel(&block).run::<ScalarOps>();
                for level in SimdLevel::detect_all() {
                    assert_eq!(
                        run_kernel(level, WordsKernel(&block)),
                        plain,
                        "{level:?}: {byte} at {at}"
                    );
                }
            }
        }
    }
}
