//! Arrays for large tables: in huge pages, or inside a mapped file.
//!
//! A table of 8 MiB spans 2048 pages of 4 KiB, more than the TLB of a core holds, so nearly every
//! random look-up would also miss the TLB. In huge pages of 2 MiB it spans four.
//!
//! A `HugeBuffer` is a slice and the owner that keeps its memory alive:
//!
//! ```text
//! HugeBuffer<u32> { start, length, owner }
//!                     │             ├─ Mapping    anonymous memory in huge pages, writable
//!                     │             ├─ Heap       a Vec, writable, below 2 MiB
//!                     │             ├─ Immutable  either of these behind an Arc; clones share it
//!                     │             └─ External   a mapped file (SharedBytes), never written
//!                     └─▶ [ 0 │ 1 │ 2 │ … │ length − 1 ]   inside the owner's memory
//! ```
//!
//! For example, the token table of `o200k_base` is `External` when it comes from the cache folder:
//! all processes that load the tokenizer share the pages of one mapped image.
//!
//! First writes to new memory are expensive, too. A page fault costs 1.9 to 2.7 µs per 4 KiB, so 10
//! MB cost 5 ms in small pages and 1.7 ms in huge ones (`docs/notes/memory.md`). Hence
//! [`vec_with_capacity`] advises huge pages for large results as well.

use std::any::Any;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::MmapMut;

/// Immutable bytes with any number of owners, for example a mapped file.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// An array of plain values whose memory has one of four owners.
///
/// It dereferences to a slice. Only a buffer that owns its memory alone can be written.
pub(crate) struct HugeBuffer<T> {
    start: NonNull<T>,
    length: usize,
    owner: Owner<T>,
}

/// The owner of a buffer's memory.
enum Owner<T> {
    /// Anonymous memory from the system, advised to use huge pages.
    Mapping(MmapMut),
    /// Memory from the allocator.
    Heap(Vec<T>),
    /// A `Mapping` or a `Heap` that clones share.
    Immutable(Arc<dyn Any + Send + Sync>),
    /// Bytes that live outside this crate, such as a mapped image.
    External(SharedBytes),
}

// SAFETY: a buffer is a slice of `T` and its owner. Access goes through `Deref` (shared reference,
// reads) and `DerefMut` (unique reference, writes), as for a `Vec<T>`. Each kind of owner is itself
// `Send` and `Sync`, so moving or sharing the buffer is sound if it is sound for `T`.
#[allow(unsafe_code)]
unsafe impl<T: Pod + Send> Send for HugeBuffer<T> {}
// SAFETY: a shared buffer only gives out `&[T]` through `Deref`, as a `Vec<T>` does, and each kind
// of owner is itself `Sync`.
#[allow(unsafe_code)]
unsafe impl<T: Pod + Sync> Sync for HugeBuffer<T> {}

/// From this size on, a buffer is a mapping of its own: the size of one huge page on x86-64.
const MAPPED_BYTES: usize = 1 << 21;

impl<T: Pod> HugeBuffer<T> {
    /// Allocates `length` zeros, in huge pages from 2 MiB on.
    ///
    /// Falls back to the allocator where the system refuses a mapping, and to small pages if
    /// the system has no huge ones. Both are slower but correct.
    pub(crate) fn zeros(length: usize) -> Self {
        let bytes = length * size_of::<T>();
        let mapping = (bytes >= MAPPED_BYTES).then(|| MmapMut::map_anon(bytes).ok()).flatten();
        let Some(mut mapping) = mapping else {
            let mut values = vec![T::zeroed(); length];
            let start = NonNull::from(values.as_mut_slice()).cast();
            return Self { start, length, owner: Owner::Heap(values) };
        };
        #[cfg(target_os = "linux")]
        let _ = mapping.advise(memmap2::Advice::HugePage);
        let values: &mut [T] = bytemuck::cast_slice_mut(&mut mapping);
        let start = NonNull::from(values).cast();
        Self { start, length, owner: Owner::Mapping(mapping) }
    }

    /// Views `length` values at byte `from` of `bytes`, without a copy.
    ///
    /// Returns `None` if the range ends beyond `bytes` or is not aligned for `T`.
    pub(crate) fn try_from_shared(bytes: &SharedBytes, from: usize, length: usize) -> Option<Self> {
        let to = from.checked_add(length.checked_mul(size_of::<T>())?)?;
        let range = (**bytes).as_ref().get(from..to)?;
        let values: &[T] = bytemuck::try_cast_slice(range).ok()?;
        let start = NonNull::from(values).cast();
        Some(Self { start, length, owner: Owner::External(bytes.clone()) })
    }

    /// Makes the buffer immutable, so that clones share its memory instead of copying it. A
    /// vocabulary calls it once its tables are complete.
    pub(crate) fn share(&mut self)
    where
        T: Send + Sync,
    {
        let empty = Owner::Heap(Vec::new());
        self.owner = match std::mem::replace(&mut self.owner, empty) {
            Owner::Mapping(mapping) => Owner::Immutable(Arc::new(mapping)),
            Owner::Heap(values) => Owner::Immutable(Arc::new(values)),
            shared => shared,
        };
    }
}

impl<T: Pod> From<Vec<T>> for HugeBuffer<T> {
    fn from(mut values: Vec<T>) -> Self {
        let start = NonNull::from(values.as_mut_slice()).cast();
        Self { start, length: values.len(), owner: Owner::Heap(values) }
    }
}

/// Prefetches the cache line at which `value` starts. It does nothing where the target is not
/// x86-64.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint. It changes no memory and no register of the program,
        // and it cannot fault at any address.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Allocates an empty vector with this capacity, in huge pages if it is large.
///
/// For results that are written once, because the page faults of small pages cost more than the
/// writes themselves.
#[must_use]
pub fn vec_with_capacity<T>(capacity: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(capacity);
    advise_huge_pages(values.spare_capacity_mut());
    values
}

/// Advises the system to back memory that has not been written yet with huge pages.
///
/// It does nothing below 4 MiB, because only a range of two huge pages surely contains an aligned
/// one, and nothing outside of Linux.
pub fn advise_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    if size_of_val(memory) < 2 * MAPPED_BYTES {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        let range = memory.as_mut_ptr_range();
        let start = (range.start as usize).next_multiple_of(PAGE_BYTES);
        let end = range.end as usize / PAGE_BYTES * PAGE_BYTES;
        // SAFETY: `start..end` is `memory`'s range rounded inwards to whole pages, so the pages
        // belong to `memory`. `MADV_HUGEPAGE` never changes their contents. Its result is ignored,
        // because small pages are only slower.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_HUGEPAGE) };
    }
}

/// The smallest page of Linux, 4 KiB. Where pages are larger, the advice fails harmlessly.
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 1 << 12;

impl<T: Pod> Deref for HugeBuffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: each constructor takes `start` from a slice of `length` initialised values inside
        // the owner's memory. The owner lives as long as `self` and never reallocates; moving it,
        // or putting it behind an `Arc` in `share`, does not move the values. The slice of an
        // `External` owner borrows from the value behind its `Arc`, which nobody can borrow mutably
        // while this buffer has a clone of the `Arc`. Writes only happen through `deref_mut`, which
        // needs `&mut self`.
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
            matches!(self.owner, Owner::Mapping(_) | Owner::Heap(_)),
            "values that are shared are never written"
        );
        // SAFETY: the assertion proves that the owner is a `Mapping` or a `Heap`. Their
        // constructors take `start` from a unique slice of `length` initialised values in memory
        // that this buffer alone owns and never reallocates, and `&mut self` excludes any
        // concurrent access.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length)
        }
    }
}

impl<T: Pod> Clone for HugeBuffer<T> {
    fn clone(&self) -> Self {
        let owner = match &self.owner {
            Owner::Immutable(shared) => Owner::Immutable(shared.clone()),
            Owner::External(bytes) => Owner::External(bytes.clone()),
            Owner::Mapping(_) | Owner::Heap(_) => {
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
    fn clones_share_memory_only_after_share() {
        for length in [0, 1, 1000, 1 << 19] {
            let mut buffer: HugeBuffer<u32> = HugeBuffer::zeros(length);
            buffer.iter_mut().zip(0..).for_each(|(value, number)| *value = number);
            let copy = buffer.clone();
            assert_eq!(buffer[..], copy[..]);
            assert!(length == 0 || buffer.as_ptr() != copy.as_ptr());
            buffer.share();
            let shared = buffer.clone();
            assert_eq!(buffer.as_ptr(), shared.as_ptr());
            drop(buffer);
            assert_eq!(shared[..], copy[..]);
        }
    }

    #[test]
    fn a_view_lies_within_its_bytes_and_is_aligned() {
        let bytes: SharedBytes = Arc::new(bytemuck::cast_slice::<u64, u8>(&[1, 2, 3, 4]).to_vec());
        let aligned = (*bytes).as_ref().as_ptr().cast::<u32>().is_aligned();
        let view = HugeBuffer::<u32>::try_from_shared(&bytes, 8, 4);
        assert_eq!(view.is_some(), aligned);
        assert!(view.is_none_or(|view| view[..] == [2, 0, 3, 0]));
        assert!(HugeBuffer::<u32>::try_from_shared(&bytes, 8, 7).is_none(), "it ends beyond");
        assert!(HugeBuffer::<u32>::try_from_shared(&bytes, 2, 1).is_none(), "it is not aligned");
        assert!(HugeBuffer::<u32>::try_from_shared(&bytes, usize::MAX, 1).is_none());
        assert!(HugeBuffer::<u32>::try_from_shared(&bytes, 0, usize::MAX).is_none());
    }
}
