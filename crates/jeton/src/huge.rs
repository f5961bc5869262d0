//! Memory for large tables that are read at random, in huge pages where the system gives them.
//!
//! A table of 8 MiB lies in 2048 small pages, more than a core remembers the places of: every other
//! look-up would first look for its page.

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// A row of values, at first all zeros.
#[derive(Debug)]
pub(crate) struct Huge<T> {
    rows: Rows<T>,
    length: usize,
}

#[derive(Debug)]
enum Rows<T> {
    Mapped(MmapMut),
    Owned(Vec<T>),
}

/// From this size on, memory comes from the system: one huge page.
const MAPPED_BYTES: usize = 1 << 21;

impl<T: Pod> Huge<T> {
    /// Makes a row of so many zeros.
    pub(crate) fn zeros(length: usize) -> Self {
        let bytes = length * size_of::<T>();
        let mapped = (bytes >= MAPPED_BYTES).then(|| MmapMut::map_anon(bytes).ok()).flatten();
        let rows = match mapped {
            Some(mapped) => {
                // Without huge pages it is slower and nothing else.
                #[cfg(target_os = "linux")]
                let _ = mapped.advise(memmap2::Advice::HugePage);
                Rows::Mapped(mapped)
            }
            None => Rows::Owned(vec![T::zeroed(); length]),
        };
        Self { rows, length }
    }
}

/// Asks for the memory of a value, which is needed soon.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: nothing is read or written, whatever the address.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Makes an empty vector that holds so many values, in huge pages if it is large.
///
/// The first write to a small page of the system's costs more than all that is written to it.
#[must_use]
pub fn vec<T>(capacity: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(capacity);
    ask_for_huge_pages(values.spare_capacity_mut());
    values
}

/// Asks the system to put memory that has not been written yet into huge pages, if it is large.
pub fn ask_for_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    if size_of_val(memory) < 2 * MAPPED_BYTES {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        let range = memory.as_mut_ptr_range();
        let start = (range.start as usize).next_multiple_of(PAGE_BYTES);
        let end = range.end as usize / PAGE_BYTES * PAGE_BYTES;
        // SAFETY: the pages lie within `memory`, and the advice changes nothing of what they hold.
        // Without huge pages it is slower and nothing else.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_HUGEPAGE) };
    }
}

/// The smallest unit of advice: no page is larger, on the systems that have larger ones it fails.
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 1 << 12;

impl<T: Pod> Deref for Huge<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.rows {
            Rows::Mapped(mapped) => &bytemuck::cast_slice(mapped)[..self.length],
            Rows::Owned(owned) => owned,
        }
    }
}

impl<T: Pod> DerefMut for Huge<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.rows {
            Rows::Mapped(mapped) => &mut bytemuck::cast_slice_mut(mapped)[..self.length],
            Rows::Owned(owned) => owned,
        }
    }
}

impl<T: Pod> Clone for Huge<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::zeros(self.length);
        copy.copy_from_slice(self);
        copy
    }
}
