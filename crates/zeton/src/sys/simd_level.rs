//! The SIMD level: the vector instructions that this machine has, found by run-time detection.
//!
//! A kernel compiled with `#[target_feature]` may only run where the machine has its features. A
//! [`SimdLevel`] is the proof: its field is private, and only detection makes one. For example, a
//! caller that has a level whose kind is [`SimdKind::Avx2`] may call any kernel that
//! `simd_fn! { avx2, … }` compiled. That one sentence is the `// SAFETY:` argument of the call.
//!
//! | kind | features | machines |
//! |---|---|---|
//! | `Avx512` | `Avx2` and AVX-512 F, BW, DQ, VL, VBMI, VBMI2, BITALG | Ice Lake, Zen 4, later |
//! | `Avx2` | AVX2, BMI1, BMI2, LZCNT, POPCNT | Haswell, Zen and later |
//! | `Baseline` | SSE2 on x86-64; no SIMD elsewhere | all |

use std::sync::OnceLock;

/// A level that this machine supports. Holding one proves it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct SimdLevel {
    kind: SimdKind,
}

/// The sets of instructions that kernels are compiled for, best first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SimdKind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Baseline,
}

impl SimdLevel {
    /// Returns the best level of this machine. The first call detects it; later calls cost one
    /// load.
    #[inline]
    pub(crate) fn detect() -> Self {
        static BEST: OnceLock<SimdLevel> = OnceLock::new();
        *BEST.get_or_init(|| Self::detect_all()[0])
    }

    /// Returns every level of this machine, best first, so that tests run all of them.
    pub(crate) fn detect_all() -> Vec<Self> {
        let mut kinds = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            // Each line names the features of one arm of `simd_fn!`.
            let has_avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let has_avx512 = has_avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vbmi2")
                && is_x86_feature_detected!("avx512bitalg");
            if has_avx512 {
                kinds.push(SimdKind::Avx512);
            }
            if has_avx2 {
                kinds.push(SimdKind::Avx2);
            }
        }
        kinds.push(SimdKind::Baseline);
        kinds.into_iter().map(|kind| Self { kind }).collect()
    }

    /// Returns the instructions that this machine has been proven to support. Callers of kernels
    /// choose by it, and base their safety on it.
    #[inline(always)]
    pub(crate) fn kind(self) -> SimdKind {
        self.kind
    }

    /// Returns the level's name, for `tok.info`.
    pub(crate) fn name(self) -> &'static str {
        match self.kind {
            #[cfg(target_arch = "x86_64")]
            SimdKind::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            SimdKind::Avx2 => "AVX2",
            SimdKind::Baseline if cfg!(target_arch = "x86_64") => "SSE2",
            SimdKind::Baseline => "plain",
        }
    }
}

/// Compiles one function with all features of a level: `simd_fn! { avx2, fn kernel() { … } }`.
///
/// The lists of features are written here and, for detection, in [`SimdLevel::detect_all`].
/// Kernels of a level share one list, so that they can be inlined into one another.
#[cfg(target_arch = "x86_64")]
macro_rules! simd_fn {
    (avx512, $($function:tt)*) => {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg"
        )]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        $($function)*
    };
    (avx2, $($function:tt)*) => {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        $($function)*
    };
    (sse2, $($function:tt)*) => {
        #[target_feature(enable = "sse2")]
        $($function)*
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use simd_fn;
