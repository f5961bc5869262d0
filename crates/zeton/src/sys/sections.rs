//! Tables as numbers and rows: what a memory image stores, without its file format.
//!
//! A table writes its parameters as numbers and its values as rows, and reads them back in the same
//! order. [`crate::storage::mapped_image`] lays them out in a file and checks them.

use bytemuck::Pod;

use super::huge_buffer::{HugeBuffer, SharedBytes};

/// The numbers and rows of some tables, in the order in which they are read back.
#[derive(Default)]
pub(crate) struct SectionWriter<'v> {
    pub(crate) numbers: Vec<u64>,
    pub(crate) rows: Vec<&'v [u8]>,
}

impl<'v> SectionWriter<'v> {
    pub(crate) fn number(&mut self, number: u64) {
        self.numbers.push(number);
    }

    pub(crate) fn row<T: Pod>(&mut self, row: &'v [T]) {
        self.rows.push(bytemuck::cast_slice(row));
    }
}

/// Numbers and rows of mapped memory, in the order in which they were written.
pub(crate) struct SectionReader {
    memory: SharedBytes,
    numbers: std::vec::IntoIter<u64>,
    rows: std::vec::IntoIter<(usize, usize)>,
}

impl SectionReader {
    /// Reads these numbers, and rows by their start and length in bytes.
    pub(crate) fn new(memory: &SharedBytes, numbers: Vec<u64>, rows: Vec<(usize, usize)>) -> Self {
        Self { memory: memory.clone(), numbers: numbers.into_iter(), rows: rows.into_iter() }
    }

    /// The next number, if one is left.
    pub(crate) fn number(&mut self) -> Option<u64> {
        self.numbers.next()
    }

    /// The next row, if one is left and it holds whole values.
    pub(crate) fn row<T: Pod>(&mut self) -> Option<HugeBuffer<T>> {
        let (start, bytes) = self.rows.next()?;
        let whole = bytes % size_of::<T>() == 0;
        whole.then(|| HugeBuffer::lent(&self.memory, start, bytes / size_of::<T>())).flatten()
    }

    /// The next row, if its length is a power of two, as that of an open-addressed table.
    pub(crate) fn table<T: Pod>(&mut self) -> Option<HugeBuffer<T>> {
        self.row().filter(|slots: &HugeBuffer<T>| slots.len().is_power_of_two())
    }
}
