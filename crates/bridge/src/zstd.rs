//! `ZstdReader`: a `.zst` file, decoded while it is read.
//!
//! A file is a sequence of frames. Skippable frames are passed over, and the checksum of a frame is
//! verified if it has one:
//!
//! ```text
//! file      frame | skippable frame | frame          read(size) → up to `size` decoded bytes
//! decoded   bytes |                 | bytes                       b"" at the end
//! ```

use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Bytes that are decoded in one step: 128 KiB, the largest block of the format.
const STEP_BYTES: usize = 1 << 17;

/// A reader of the decoded content of a `.zst` file.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct ZstdReader(Mutex<FrameReader>);

#[pymethods]
impl ZstdReader {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let source = BufReader::new(File::open(path)?);
        Ok(Self(Mutex::new(FrameReader { source, decoder: FrameDecoder::new(), in_frame: false })))
    }

    /// Return up to `size` decoded bytes; none at the end.
    ///
    /// Blocks are decoded without the GIL. Damage raises `OSError`.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = py.detach(|| self.0.lock().expect("no reader panics").read(size));
        Ok(PyBytes::new(py, &read.map_err(PyOSError::new_err)?))
    }
}

/// The position in a sequence of frames.
struct FrameReader {
    source: BufReader<File>,
    decoder: FrameDecoder,
    /// Whether a frame has begun and is not read completely.
    in_frame: bool,
}

impl FrameReader {
    /// Decodes up to `size` bytes into a new vector, through as many frames as that takes. An empty
    /// vector is the end of the file. The error is a message for `OSError`.
    fn read(&mut self, size: usize) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        while bytes.len() < size {
            if !self.in_frame && !self.begin_frame()? {
                break;
            }
            if !self.decoder.is_finished() {
                let step = BlockDecodingStrategy::UptoBytes(STEP_BYTES);
                self.decoder.decode_blocks(&mut self.source, step).map_err(describe_damage)?;
            }
            let left = (size - bytes.len()) as u64;
            (&mut self.decoder).take(left).read_to_end(&mut bytes).map_err(describe_damage)?;
            if self.decoder.is_finished() && self.decoder.can_collect() == 0 {
                self.end_frame()?;
            }
        }
        Ok(bytes)
    }

    /// Moves the source to the next frame to decode, past skippable frames. Returns false at the
    /// end of the file. The error is the message of a damaged header.
    fn begin_frame(&mut self) -> Result<bool, String> {
        while !self.source.fill_buf().map_err(describe_damage)?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.source).take(length.into());
                    std::io::copy(&mut skipped, &mut std::io::sink()).map_err(describe_damage)?;
                }
                Err(error) => return Err(describe_damage(error)),
            }
        }
        Ok(false)
    }

    /// Verifies the checksum at the end of the current frame, if the frame has one, so that the
    /// next read begins another frame. The error is the message of a checksum that does not fit.
    fn end_frame(&mut self) -> Result<(), String> {
        self.in_frame = false;
        let stored = self.decoder.get_checksum_from_data();
        match stored.is_none() || stored == self.decoder.get_calculated_checksum() {
            true => Ok(()),
            false => Err(describe_damage("the checksum of a frame does not fit")),
        }
    }
}

/// Makes the message for a damaged or cut file, which a read raises as `OSError`.
fn describe_damage(error: impl Display) -> String {
    format!("not a whole zstd file: {error}")
}
