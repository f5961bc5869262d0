//! Images of tokenizers: mapped from a file that Python has opened, or written to one.

use pyo3::prelude::*;

use crate::errors::raise;
use crate::tokenizer_core::TokenizerCore;

/// Reads the bytes of a `.zeton` file with the image in an open file, which is given by its number;
/// None if that is damaged, or was made by another engine or of another file.
///
/// The file must be one that nobody writes to or cuts: a name for a new image is a new file.
#[pyfunction]
pub(crate) fn from_image(
    py: Python<'_>,
    file: &[u8],
    image: i32,
) -> PyResult<Option<TokenizerCore>> {
    let read = py.detach(|| match open::shared(image) {
        Ok(image) => zeton::storage::tokenizer_file::read_with_image(file, &image),
        Err(_) => Ok(None),
    });
    let read = read.map_err(|error| raise(py, &error))?;
    read.map(|(tokenizer, notes)| TokenizerCore::of(py, Ok(tokenizer), notes)).transpose()
}

/// Writes the image of a tokenizer, which was read from this `.zeton` file, to an open file.
#[pyfunction]
pub(crate) fn write_image(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    file: &[u8],
    image: i32,
) -> PyResult<()> {
    let model = engine.get().tokenizer.model();
    py.detach(|| zeton::storage::mapped_image::write(model, file, &mut open::file(image)?))?;
    Ok(())
}

#[cfg(unix)]
mod open {
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::BorrowedFd;
    use std::sync::Arc;

    use memmap2::{MmapMut, MmapOptions};
    use zeton::storage::mapped_image::SharedBytes;

    /// The file behind a number of Python's.
    pub(super) fn file(number: i32) -> io::Result<File> {
        if number < 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the number is borrowed for this call only, in which the caller keeps its file
        // open; one that is not open is refused as it is duplicated.
        let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
        borrowed.try_clone_to_owned().map(File::from)
    }

    /// The bytes of a file, which processes share if it lies on a disk of this machine.
    pub(super) fn shared(number: i32) -> io::Result<SharedBytes> {
        let mut file = file(number)?;
        if is_local(&file) {
            // SAFETY: nobody changes the file while it is mapped. Images appear under their names
            // whole and are never written to again, only removed; the caller has seen to it that
            // nobody but this user can write to them.
            let mapped = unsafe { MmapOptions::new().populate().map(&file) };
            return Ok(Arc::new(mapped?));
        }
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let mut copy = MmapMut::map_anon(length)?;
        file.read_exact(&mut copy)?;
        Ok(Arc::new(copy))
    }

    /// A file on another machine may go away while it is mapped, which ends the process.
    #[cfg(target_os = "linux")]
    fn is_local(file: &File) -> bool {
        use std::mem::MaybeUninit;
        use std::os::fd::AsRawFd;

        // ext2 to ext4, tmpfs, xfs, btrfs, overlayfs, f2fs, zfs, bcachefs.
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
        // SAFETY: the file is open, and `status` has room for what is written.
        let done = unsafe { libc::fstatfs(file.as_raw_fd(), status.as_mut_ptr()) };
        if done != 0 {
            return false;
        }
        // SAFETY: it was written to, as the call succeeded.
        let kind = unsafe { status.assume_init() }.f_type;
        #[allow(clippy::unnecessary_cast)] // It is of another type on other machines.
        LOCAL.contains(&(kind as i64))
    }

    /// Where the system does not tell.
    #[cfg(not(target_os = "linux"))]
    fn is_local(_: &File) -> bool {
        false
    }
}

/// Elsewhere, files have no such numbers and there are no images.
#[cfg(not(unix))]
mod open {
    use std::fs::File;
    use std::io;

    use zeton::storage::mapped_image::SharedBytes;

    pub(super) fn file(_: i32) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn shared(_: i32) -> io::Result<SharedBytes> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
