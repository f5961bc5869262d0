//! Memory for large tables that are read at random, in huge pages where the system gives them.
//!
//! A table of 8 MiB lies in 2048 small pages, more than a core remembers the places of: every other
//! look-up would first look for its page.

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
