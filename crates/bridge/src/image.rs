//! Mapped images of tokenizers: a vocabulary's tables as a file that processes share.
//!
//! Python opens the file and passes its number, so that access rights and names are Python's part.
//! For example, the second process that loads o200k_base maps the image of the first one:
//!
//! ```text
//! process 1   build tables ── write_image ──▶ cache folder/….image
//! process 2   from_image ── mmap ──────────────────┘
//! ```

use pyo3::prelude::*;

use crate::errors::raise;
use crate::tokenizer_core::TokenizerCore;

/// Make a tokenizer from the bytes of a `.zeton` file and the number of an open image file.
///
/// Return None if the image is damaged, or comes from another engine or another file. Nobody may
/// write to or truncate the image file: a new image has to be a new file.
#[pyfunction]
pub(crate) fn from_image(
    py: Python<'_>,
    file: &[u8],
    image: i32,
) -> PyResult<Option<TokenizerCore>> {
    let read = py.detach(|| match file_number::map_or_copy(image) {
        Ok(image) => zeton::storage::tokenizer_file::read_with_image(file, &image),
        Err(_) => Ok(None),
    });
    let read = read.map_err(|error| raise(py, &error))?;
    read.map(|(tokenizer, notes)| TokenizerCore::try_from_result(py, Ok(tokenizer), notes))
        .transpose()
}

/// Write the image of a tokenizer to an open file; `file` is its `.zeton` file, as bytes.
#[pyfunction]
pub(crate) fn write_image(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    file: &[u8],
    image: i32,
) -> PyResult<()> {
    let model = engine.get().tokenizer.model();
    py.detach(|| {
        zeton::storage::mapped_image::write(model, file, &mut file_number::duplicate_file(image)?)
    })?;
    Ok(())
}

#[cfg(unix)]
mod file_number {
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::BorrowedFd;
    use std::sync::Arc;

    use memmap2::{MmapMut, MmapOptions};
    use zeton::storage::mapped_image::SharedBytes;

    /// Returns a file of this process for the number of a file that Python has open. The copy is
    /// closed when it is dropped, and Python's file stays open. A negative or closed number is an
    /// error.
    pub(super) fn duplicate_file(number: i32) -> io::Result<File> {
        if number < 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the number is borrowed during this call only, and the caller keeps its file open
        // that long. Duplicating the number of a closed file is an error.
        let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
        borrowed.try_clone_to_owned().map(File::from)
    }

    /// Returns the bytes of the file with this number: mapped read-only if it lies on a disk of
    /// this machine, copied to new memory otherwise. The caller has released the GIL.
    pub(super) fn map_or_copy(number: i32) -> io::Result<SharedBytes> {
        let mut file = duplicate_file(number)?;
        if is_local(&file) {
            // SAFETY: nobody changes the file while it is mapped. An image appears under its name
            // complete, is never written to again, and may only be removed. The caller guarantees
            // that only this user can write to it.
            let mapped = unsafe { MmapOptions::new().populate().map(&file) };
            return Ok(Arc::new(mapped?));
        }
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let mut copy = MmapMut::map_anon(length)?;
        file.read_exact(&mut copy)?;
        Ok(Arc::new(copy))
    }

    /// Returns whether a file lies on a disk of this machine. A file on another machine may vanish
    /// while it is mapped, which would kill the process.
    #[cfg(target_os = "linux")]
    fn is_local(file: &File) -> bool {
        use std::mem::MaybeUninit;
        use std::os::fd::AsRawFd;

        // The magic numbers of `statfs(2)`: ext2 to ext4, tmpfs, xfs, btrfs, overlayfs, f2fs, zfs,
        // bcachefs.
        const LOCAL: [i64; 8] = [
            0xEF53,
            0x0102_1994,
            0x5846_5342,
            0x9123_683E,
            0x794C_7630,
            0xF2F5_2010,
            0x2FC1_2FC1,
            0xCA45_1A4E,
        ];
        let mut status = MaybeUninit::<libc::statfs>::uninit();
        // SAFETY: the file is open, and `status` has room for a `statfs`.
        let done = unsafe { libc::fstatfs(file.as_raw_fd(), status.as_mut_ptr()) };
        if done != 0 {
            return false;
        }
        // SAFETY: the call succeeded, so it has written all of `status`.
        let kind = unsafe { status.assume_init() }.f_type;
        #[allow(clippy::unnecessary_cast)] // `f_type` has another type on other machines.
        LOCAL.contains(&(kind as i64))
    }

    /// Returns false, because other systems do not report the kind of a file system.
    #[cfg(not(target_os = "linux"))]
    fn is_local(_: &File) -> bool {
        false
    }
}

/// The stand-in for systems without file numbers, which have no images.
#[cfg(not(unix))]
mod file_number {
    use std::fs::File;
    use std::io;

    use zeton::storage::mapped_image::SharedBytes;

    pub(super) fn duplicate_file(_: i32) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn map_or_copy(_: i32) -> io::Result<SharedBytes> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
