//! The elements that a search compares: bytes, or ids of two or four bytes.
//!
//! A search needs an element's equality, its slot in the table of shifts, and how frequent it is.
//! For example, the byte `e` has the frequency rank 254 of 255, `q` 173 and byte FF 0.

/// An element of a text: a byte, or an id of two or four bytes.
pub trait Element: Copy + Ord + Send + Sync + std::fmt::Debug + 'static {
    /// The number of slots of the table of shifts. Elements that share a slot take the smaller
    /// shift.
    const SLOTS: usize;

    /// Returns the slot of this element in the tables of shifts. Ids share slots; bytes do not.
    fn slot(self) -> usize;

    /// Returns how frequent the element is, roughly: the search tests the rarest of a needle first.
    fn frequency_rank(self) -> u32;

    /// Returns the small letter of a capital of ASCII, and any other element unchanged, to compare
    /// without case.
    #[must_use]
    fn fold_case(self) -> Self;

    /// Returns the element as a number of 32 bits, as the kernels broadcast it to a vector.
    fn to_u32(self) -> u32;
}

impl Element for u8 {
    const SLOTS: usize = 256;

    #[inline(always)]
    fn slot(self) -> usize {
        usize::from(self)
    }

    fn frequency_rank(self) -> u32 {
        u32::from(FREQUENCY_RANKS[usize::from(self)])
    }

    #[inline(always)]
    fn fold_case(self) -> Self {
        self.to_ascii_lowercase()
    }

    #[inline(always)]
    fn to_u32(self) -> u32 {
        self.into()
    }
}

/// Ids follow ranks, and a merge of low rank was frequent in training. Their low ten bits are the
/// slot. 1,024 slots of four bytes are 4 KiB of L1; other numbers were not measured.
macro_rules! element_of_ids {
    ($width:ty) => {
        impl Element for $width {
            const SLOTS: usize = 1024;

            #[inline(always)]
            fn slot(self) -> usize {
                self as usize % Self::SLOTS
            }

            fn frequency_rank(self) -> u32 {
                u32::MAX - u32::from(self)
            }

            #[inline(always)]
            fn fold_case(self) -> Self {
                self
            }

            #[inline(always)]
            fn to_u32(self) -> u32 {
                self.into()
            }
        }
    };
}
element_of_ids!(u16);
element_of_ids!(u32);

/// The rank of each byte by its frequency in English, code and other languages, the rarest first.
///
/// The counts of that corpus are not kept. A wrong rank costs time only.
#[rustfmt::skip]
const FREQUENCY_RANKS: [u8; 256] = [
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
