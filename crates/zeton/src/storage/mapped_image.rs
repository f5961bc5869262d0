//! A vocabulary and its tables as one row of bytes that can be mapped: an image.
//!
//! An image is derived from a `.zeton` file and can be made again at any time. It holds the tokens and
//! what takes time to make of them, as it lies in memory; the pattern and specials come from the
//! file. Numbers are those of this machine: an image is for it, and for this engine.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | magic | 8 | `zetonimg` |
//! | checksum | 8 | of all parts that follow, without the gaps between them |
//! | engine | 8 | the number of the engine that made it |
//! | seed | 8 + 8 | drawn for this image |
//! | file | 8 | the hash of the whole `.zeton` file by that seed |
//! | counts | 4 + 4 | how many numbers and rows there are |
//! | numbers | 8 each | what tables are made with |
//! | rows | 8 + 8 each | where each begins, and its bytes |
//! | | | the rows, each at a multiple of 64 bytes |
//!
//! Reading checks all of it: that it is of this engine and this file, that every row lies within, and
//! the checksum. The file itself was read and its SHA-256 checked when the image was made; its hash
//! tells that it is the same still, several times as fast, and who does not know the seed cannot make
//! another file with that hash. The checksum shows damage and keeps nobody from making an image on
//! purpose: who may write images is for the caller to see to. Tables are trusted as our own.

use std::hash::{BuildHasher, RandomState};
use std::io;

use bytemuck::{Pod, Zeroable};

use crate::merge::BpeModel;
pub use crate::sys::huge_buffer::SharedBytes;
use crate::sys::sections::{SectionReader, SectionWriter};

/// Names the engine: images of other names are not read.
pub const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("ZETON_SOURCES"));

const MAGIC: [u8; 8] = *b"zetonimg";

/// Where rows begin is a multiple of it: no value needs more.
const ALIGNMENT: usize = 64;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    checksum: u64,
    engine: u64,
    seed: [u64; 2],
    file: u64,
    numbers: u32,
    rows: u32,
}

/// Numbers and rows that an image has at most.
const COUNT_MAX: u32 = 64;

/// Writes the image of a vocabulary that was read from this file.
///
/// # Errors
///
/// When `out` cannot be written.
pub fn write(model: &BpeModel, file: &[u8], out: &mut impl io::Write) -> io::Result<()> {
    let mut writer = SectionWriter::default();
    model.write_image(&mut writer);
    let SectionWriter { numbers, rows } = writer;
    let mut head = Vec::new();
    let first = size_of::<Header>() + numbers.len() * 8 + rows.len() * 16;
    let mut end = first;
    let mut places: Vec<u64> = Vec::new();
    for row in &rows {
        let start = end.next_multiple_of(ALIGNMENT);
        places.extend([start as u64, row.len() as u64]);
        end = start + row.len();
    }
    let seed = [1, 2].map(|number| RandomState::new().hash_one(number));
    let mut header = Header {
        magic: MAGIC,
        checksum: 0,
        engine: hash_of(SEED, ENGINE.as_bytes()),
        seed,
        file: hash_of(seed, file),
        numbers: numbers.len() as u32,
        rows: rows.len() as u32,
    };
    head.extend_from_slice(bytemuck::bytes_of(&header));
    head.extend_from_slice(bytemuck::cast_slice(&numbers));
    head.extend_from_slice(bytemuck::cast_slice(&places));
    header.checksum =
        rows.iter().fold(hash_of(SEED, &head), |hash, row| hash_of([hash, SEED[1]], row));
    head[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));

    out.write_all(&head)?;
    let mut end = first;
    for row in rows {
        let gap = end.next_multiple_of(ALIGNMENT) - end;
        out.write_all(&[0; ALIGNMENT][..gap])?;
        out.write_all(row)?;
        end += gap + row.len();
    }
    Ok(())
}

/// Reads an image; nothing if it is damaged, of another engine or of another file.
pub(crate) fn read(image: &SharedBytes, file: &[u8]) -> Option<SectionReader> {
    let bytes = (**image).as_ref();
    let header: Header = bytemuck::pod_read_unaligned(bytes.get(..size_of::<Header>())?);
    let ours = header.magic == MAGIC
        && header.engine == hash_of(SEED, ENGINE.as_bytes())
        && header.file == hash_of(header.seed, file);
    if !ours || header.numbers > COUNT_MAX || header.rows > COUNT_MAX {
        return None;
    }
    let words = header.numbers as usize + 2 * header.rows as usize;
    let first = size_of::<Header>() + words * 8;
    let words = bytes.get(size_of::<Header>()..first)?.as_chunks().0;
    let mut numbers: Vec<u64> = words.iter().map(|&word| u64::from_ne_bytes(word)).collect();
    let places = numbers.split_off(header.numbers as usize);

    let mut head = bytes[..first].to_vec();
    let blank = Header { checksum: 0, ..header };
    head[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&blank));
    let mut checksum = hash_of(SEED, &head);
    let (mut rows, mut end) = (Vec::new(), first);
    for place in places.as_chunks::<2>().0 {
        let [start, length] = place.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        if start != end.next_multiple_of(ALIGNMENT) {
            return None;
        }
        end = start.checked_add(length)?;
        checksum = hash_of([checksum, SEED[1]], bytes.get(start..end)?);
        rows.push((start, length));
    }
    (checksum == header.checksum && end == bytes.len())
        .then(|| SectionReader::new(image, numbers, rows))
}

/// For hashes that need not be hidden: digits of pi.
const SEED: [u64; 2] = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344];

/// Returns a hash of bytes, which differs with any accidental change of them.
///
/// Four lanes of sixteen bytes each: as fast as memory gives them, on any machine.
fn hash_of(seed: [u64; 2], bytes: &[u8]) -> u64 {
    let step = |state: u64, bytes: &[u8; 16]| {
        let bytes = u128::from_le_bytes(*bytes);
        let product = u128::from(bytes as u64 ^ state) * u128::from((bytes >> 64) as u64 ^ seed[1]);
        product as u64 ^ (product >> 64) as u64
    };
    let mut lanes = [0, 1, 2, 3].map(|lane| seed[0].wrapping_add(SEED[0].wrapping_mul(lane)));
    let (blocks, rest) = bytes.as_chunks::<64>();
    for block in blocks {
        for (lane, bytes) in lanes.iter_mut().zip(block.as_chunks().0) {
            *lane = step(*lane, bytes);
        }
    }
    let mut hash = lanes.into_iter().fold(bytes.len() as u64, |hash, lane| {
        step(hash, &(u128::from(lane) << 64 | u128::from(lane)).to_le_bytes())
    });
    for bytes in rest.chunks(16) {
        let mut padded = [0; 16];
        padded[..bytes.len()].copy_from_slice(bytes);
        hash = step(hash, &padded);
    }
    hash
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::{Random, model_of};

    const FILE: &[u8] = b"what the vocabulary was read from";

    /// Bytes that lie as mapped ones do.
    fn shared(bytes: &[u8]) -> SharedBytes {
        let mut mapped = memmap2::MmapMut::map_anon(bytes.len().max(1)).unwrap();
        mapped[..bytes.len()].copy_from_slice(bytes);
        struct Cut(memmap2::MmapMut, usize);
        impl AsRef<[u8]> for Cut {
            fn as_ref(&self) -> &[u8] {
                &self.0[..self.1]
            }
        }
        Arc::new(Cut(mapped, bytes.len()))
    }

    fn sample() -> (BpeModel, Vec<u8>) {
        let model = model_of(["ab", "abc", "中文", "a token of more than sixteen bytes", "中"]);
        let mut image = Vec::new();
        write(&model, FILE, &mut image).unwrap();
        (model, image)
    }

    fn read(image: &[u8], file: &[u8]) -> Option<BpeModel> {
        BpeModel::try_from_image(&mut super::read(&shared(image), file)?)
    }

    fn assert_equal(one: &BpeModel, other: &BpeModel) {
        for (id, token) in one.vocab().iter() {
            assert_eq!(other.vocab().find(token), Some(id));
            assert_eq!(other.vocab().token(id), Some(token));
        }
        assert!(one == other);
        assert_eq!(one.pairs().collect_by_rank(), other.pairs().collect_by_rank());
    }

    #[test]
    fn a_vocabulary_is_read_back() {
        let (model, image) = sample();
        let again = read(&image, FILE).unwrap();
        assert_equal(&model, &again);
        assert_equal(&model, &again.clone());
        assert_eq!(again.vocab().find(b"a token of more than sixteen letters"), None);
    }

    #[test]
    fn what_is_damaged_is_not_read() {
        let (model, image) = sample();
        let mut random = Random(1);
        for length in (0..256).chain((0..300).map(|_| random.below(image.len()))) {
            assert!(read(&image[..length], FILE).is_none(), "{length}");
        }
        assert!(read(&[image.as_slice(), b"\0"].concat(), FILE).is_none());
        let mut damaged = image.clone();
        let head = size_of::<Header>() * 8;
        let mut survived = 0;
        for bit in (0..head).chain((0..3000).map(|_| random.below(image.len() * 8))) {
            damaged[bit / 8] ^= 1 << (bit % 8);
            // A gap between rows may hold anything: nobody reads it.
            if let Some(read) = read(&damaged, FILE) {
                assert!(bit >= head);
                assert_equal(&model, &read);
                survived += 1;
            }
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(survived < 100, "{survived}");
    }

    #[test]
    fn what_is_of_another_file_is_not_read() {
        let (_, image) = sample();
        for at in 0..FILE.len() {
            let mut other = FILE.to_vec();
            other[at] ^= 1;
            assert!(read(&image, &other).is_none());
            assert!(read(&image, &FILE[..at]).is_none());
        }
    }

    #[test]
    fn the_hash_tells_bytes_apart() {
        let mut random = Random(2);
        let mut seen = std::collections::BTreeSet::new();
        for length in 0..200 {
            assert!(seen.insert(hash_of(SEED, &vec![0; length])), "{length}");
            let mut bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
            let whole = hash_of(SEED, &bytes);
            for bit in 0..length * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(hash_of(SEED, &bytes), whole);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}
