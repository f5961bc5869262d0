//! `.zst` files, decoded as they are read.

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

/// Bytes that are decoded at a time.
const STEP_BYTES: usize = 1 << 17;

/// A file of zstd frames, read as what they hold, one after the other.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct ZstdReader(Mutex<Frames>);

#[pymethods]
impl ZstdReader {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let source = BufReader::new(File::open(path)?);
        Ok(Self(Mutex::new(Frames { source, decoder: FrameDecoder::new(), open: false })))
    }

    /// Reads up to `size` bytes; none at the end.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = py.detach(|| self.0.lock().expect("no reader panics").read(size));
        Ok(PyBytes::new(py, &read.map_err(PyOSError::new_err)?))
    }
}

struct Frames {
    source: BufReader<File>,
    decoder: FrameDecoder,
    /// Whether a frame has begun and not all of it has been read.
    open: bool,
}

impl Frames {
    fn read(&mut self, size: usize) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        while bytes.len() < size {
            if !self.open && !self.begin_frame()? {
                break;
            }
            if !self.decoder.is_finished() {
                let step = BlockDecodingStrategy::UptoBytes(STEP_BYTES);
                self.decoder.decode_blocks(&mut self.source, step).map_err(damaged)?;
            }
            let left = (size - bytes.len()) as u64;
            (&mut self.decoder).take(left).read_to_end(&mut bytes).map_err(damaged)?;
            if self.decoder.is_finished() && self.decoder.can_collect() == 0 {
                self.end_frame()?;
            }
        }
        Ok(bytes)
    }

    /// Passes over frames to be skipped; returns whether there was one to decode.
    fn begin_frame(&mut self) -> Result<bool, String> {
        while !self.source.fill_buf().map_err(damaged)?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.open = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.source).take(length.into());
                    std::io::copy(&mut skipped, &mut std::io::sink()).map_err(damaged)?;
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }

    fn end_frame(&mut self) -> Result<(), String> {
        self.open = false;
        let stored = self.decoder.get_checksum_from_data();
        match stored.is_none() || stored == self.decoder.get_calculated_checksum() {
            true => Ok(()),
            false => Err(damaged("the checksum of a frame does not fit")),
        }
    }
}

fn damaged(error: impl Display) -> String {
    format!("not a whole zstd file: {error}")
}
