//! Training: a corpus becomes a list of merges.
//!
//! ```text
//! texts --count--> pieces with counts --learn--> merges
//! ```
//!
//! [`count`] splits texts and counts each distinct piece. [`learn`] needs these counts only: it
//! replaces the most frequent pair of neighbouring tokens by a new token, over and over.
//! For example, the counts `low` × 5 and `lot` × 2 give the merges `lo` (count 7) and `low` (5).

pub mod count;
pub mod learn;
