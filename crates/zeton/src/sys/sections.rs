//! Tables as numbers and arrays: the content of a mapped image, without its file format.
//!
//! Each table writes its parameters as `u64` numbers and its values as arrays, and reads both back
//! in the order in which it wrote them. [`crate::storage::mapped_image`] puts them into a file and
//! checks them. For example, a token index of 8 slots writes
//!
//! ```text
//! numbers  seed₀ seed₁           put_number twice       next_number twice
//! arrays   [u32; 8] as bytes     put_array once         next_table once
//! ```

use bytemuck::Pod;

use super::huge_buffer::{HugeBuffer, SharedBytes};

/// Collects the numbers and arrays of tables.
#[derive(Default)]
pub(crate) struct SectionWriter<'v> {
    pub(crate) numbers: Vec<u64>,
    pub(crate) arrays: Vec<&'v [u8]>,
}

impl<'v> SectionWriter<'v> {
    pub(crate) fn put_number(&mut self, number: u64) {
        self.numbers.push(number);
    }

    pub(crate) fn put_array<T: Pod>(&mut self, values: &'v [T]) {
        self.arrays.push(bytemuck::cast_slice(values));
    }
}

/// Reads the numbers and arrays of tables from mapped memory, in the order of writing.
pub(crate) struct SectionReader {
    memory: SharedBytes,
    numbers: std::vec::IntoIter<u64>,
    arrays: std::vec::IntoIter<(usize, usize)>,
}

impl SectionReader {
    /// Makes a reader of these numbers, and of the arrays of `memory` at each `(start, length)` in
    /// bytes. The memory is shared and stays alive.
    pub(crate) fn new(
        memory: &SharedBytes,
        numbers: Vec<u64>,
        arrays: Vec<(usize, usize)>,
    ) -> Self {
        Self { memory: memory.clone(), numbers: numbers.into_iter(), arrays: arrays.into_iter() }
    }

    /// Returns the next number of the image, or `None` if there is no further one; then the caller
    /// rejects the image.
    pub(crate) fn next_number(&mut self) -> Option<u64> {
        self.numbers.next()
    }

    /// Returns the next array of the image, which shares its memory. `None` at the end, or if its
    /// bytes are not whole values; then the caller rejects the image.
    pub(crate) fn next_array<T: Pod>(&mut self) -> Option<HugeBuffer<T>> {
        let (start, bytes) = self.arrays.next()?;
        let has_whole_values = bytes % size_of::<T>() == 0;
        has_whole_values
            .then(|| HugeBuffer::try_from_shared(&self.memory, start, bytes / size_of::<T>()))
            .flatten()
    }

    /// Returns the next array if its length is a power of two, as an open-addressed hash table has.
    pub(crate) fn next_table<T: Pod>(&mut self) -> Option<HugeBuffer<T>> {
        self.next_array().filter(|slots: &HugeBuffer<T>| slots.len().is_power_of_two())
    }
}
