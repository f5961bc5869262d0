//! Rows of values: large ones that are read at random in huge pages where the system gives them, and
//! ones that lie in memory which others hold too, such as a mapped file.
//!
//! A table of 8 MiB lies in 2048 small pages, more than a core remembers the places of: every other
//! look-up would first look for its page.

use std::any::Any;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::MmapMut;

/// Bytes that many may hold at once, and that never change.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A row of values.
pub(crate) struct HugeBuffer<T> {
    start: NonNull<T>,
    length: usize,
    owner: Owner<T>,
}

/// What keeps the memory of a row.
enum Owner<T> {
    Mapped(MmapMut),
    Owned(Vec<T>),
    Shared(Arc<dyn Any + Send + Sync>),
    Borrowed(SharedBytes),
}

// SAFETY: a row is its values and what keeps them. It gives them out by its own reference only, to
// be read by a shared one and written by a unique one, as a vector does; all owners are `Send` and
// `Sync` themselves.
#[allow(unsafe_code)]
unsafe impl<T: Pod + Send> Send for HugeBuffer<T> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl<T: Pod + Sync> Sync for HugeBuffer<T> {}

/// From this size on, memory comes from the system: one huge page.
const MAPPED_BYTES: usize = 1 << 21;

impl<T: Pod> HugeBuffer<T> {
    /// Makes a row of so many zeros.
    pub(crate) fn zeros(length: usize) -> Self {
        let bytes = length * size_of::<T>();
        let mapped = (bytes >= MAPPED_BYTES).then(|| MmapMut::map_anon(bytes).ok()).flatten();
        let Some(mut mapped) = mapped else {
            let mut owned = vec![T::zeroed(); length];
            let start = NonNull::from(owned.as_mut_slice()).cast();
            return Self { start, length, owner: Owner::Owned(owned) };
        };
        // Without huge pages it is slower and nothing else.
        #[cfg(target_os = "linux")]
        let _ = mapped.advise(memmap2::Advice::HugePage);
        let values: &mut [T] = bytemuck::cast_slice_mut(&mut mapped);
        let start = NonNull::from(values).cast();
        Self { start, length, owner: Owner::Mapped(mapped) }
    }

    /// Makes a row of bytes that others hold too, if they lie as such values must.
    pub(crate) fn lent(bytes: &SharedBytes, from: usize, length: usize) -> Option<Self> {
        let to = from.checked_add(length.checked_mul(size_of::<T>())?)?;
        let bytes_of_row = (**bytes).as_ref().get(from..to)?;
        let values: &[T] = bytemuck::try_cast_slice(bytes_of_row).ok()?;
        let start = NonNull::from(values).cast();
        Some(Self { start, length, owner: Owner::Borrowed(bytes.clone()) })
    }

    /// Makes clones cheap: from now on they share the values, and nobody writes them.
    pub(crate) fn share(&mut self)
    where
        T: Send + Sync,
    {
        let empty = Owner::Owned(Vec::new());
        self.owner = match std::mem::replace(&mut self.owner, empty) {
            Owner::Mapped(mapped) => Owner::Shared(Arc::new(mapped)),
            Owner::Owned(owned) => Owner::Shared(Arc::new(owned)),
            shared => shared,
        };
    }
}

impl<T: Pod> From<Vec<T>> for HugeBuffer<T> {
    fn from(mut values: Vec<T>) -> Self {
        let start = NonNull::from(values.as_mut_slice()).cast();
        Self { start, length: values.len(), owner: Owner::Owned(values) }
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

impl<T: Pod> Deref for HugeBuffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `start` is where a slice of `length` values lies that the owner keeps. Owners give
        // and take no memory once they are here; moving them, or putting them behind an `Arc`,
        // does not move what they keep. Values change through `deref_mut` only.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.start.as_ptr(), self.length)
        }
    }
}

impl<T: Pod> DerefMut for HugeBuffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        assert!(
            matches!(self.owner, Owner::Mapped(_) | Owner::Owned(_)),
            "values that are shared are never written"
        );
        // SAFETY: as in `deref`; `start` comes from a unique reference to memory that this row alone
        // owns, as was just seen.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length)
        }
    }
}

impl<T: Pod> Clone for HugeBuffer<T> {
    fn clone(&self) -> Self {
        let owner = match &self.owner {
            Owner::Shared(shared) => Owner::Shared(shared.clone()),
            Owner::Borrowed(bytes) => Owner::Borrowed(bytes.clone()),
            Owner::Mapped(_) | Owner::Owned(_) => {
                let mut copy = Self::zeros(self.length);
                copy.copy_from_slice(self);
                return copy;
            }
        };
        Self { start: self.start, length: self.length, owner }
    }
}

impl<T> fmt::Debug for HugeBuffer<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HugeBuffer({} values)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_row_are_equal_and_share_only_what_is_shared() {
        for length in [0, 1, 1000, 1 << 19] {
            let mut row: HugeBuffer<u32> = HugeBuffer::zeros(length);
            row.iter_mut().zip(0..).for_each(|(value, number)| *value = number);
            let copy = row.clone();
            assert_eq!(row[..], copy[..]);
            assert!(length == 0 || row.as_ptr() != copy.as_ptr());
            row.share();
            let shared = row.clone();
            assert_eq!(row.as_ptr(), shared.as_ptr());
            drop(row);
            assert_eq!(shared[..], copy[..]);
        }
    }

    #[test]
    fn a_lent_row_lies_within_what_is_lent() {
        let bytes: SharedBytes = Arc::new(bytemuck::cast_slice::<u64, u8>(&[1, 2, 3, 4]).to_vec());
        let aligned = (*bytes).as_ref().as_ptr().cast::<u32>().is_aligned();
        let row = HugeBuffer::<u32>::lent(&bytes, 8, 4);
        assert_eq!(row.is_some(), aligned);
        assert!(row.is_none_or(|row| row[..] == [2, 0, 3, 0]));
        assert!(HugeBuffer::<u32>::lent(&bytes, 8, 7).is_none(), "it ends beyond");
        assert!(HugeBuffer::<u32>::lent(&bytes, 2, 1).is_none(), "it lies askew");
        assert!(HugeBuffer::<u32>::lent(&bytes, usize::MAX, 1).is_none());
        assert!(HugeBuffer::<u32>::lent(&bytes, 0, usize::MAX).is_none());
    }
}
