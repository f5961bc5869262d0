//! The instructions that this machine has, by what splitting, looking up and merging make of them.

use std::sync::OnceLock;

/// A set of instructions, the best first. One that was not made by [`Tier::all`] or [`Tier::best`] may not
/// be there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tier {
    /// AVX-512 with bytes that are moved at will (VBMI and VBMI2), and all below.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2, BMI, LZCNT and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Plain,
}

impl Tier {
    /// Returns those that this machine has.
    pub(crate) fn all() -> Vec<Self> {
        let mut tiers = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let bits = is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let avx2 = bits && is_x86_feature_detected!("avx2");
            let bytes = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vbmi2");
            if avx2 && bytes {
                tiers.push(Self::Avx512);
            }
            if avx2 {
                tiers.push(Self::Avx2);
            }
        }
        tiers.push(Self::Plain);
        tiers
    }

    #[inline]
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Tier> = OnceLock::new();
        *BEST.get_or_init(|| Self::all()[0])
    }
}
