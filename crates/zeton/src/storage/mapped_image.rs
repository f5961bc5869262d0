//! The mapped image: a vocabulary and its tables, laid out in a file as they lie in memory.
//!
//! Building the tables of a large vocabulary takes most of the time of loading it. An image keeps
//! them, so that the next load only maps it, and processes share its pages. For example, o200k_base
//! loads in 48 to 52 ms on two cores without an image, and in 4.5 ms with one
//! (`docs/notes/loading.md` and `memory.md`).
//!
//! An image is derived from a `.zeton` file and can be written anew at any time. Pattern and
//! specials still come from the file. Numbers have the byte order of the machine, because an image
//! is read only by the engine that wrote it.
//!
//! ```text
//! byte 0       8        16       24             40     48       52      56
//! ┌────────────┬────────┬────────┬──────────────┬──────┬────────┬───────┐
//! │ "zetonimg" │checksum│ engine │ seed         │ file │ numbers│ arrays│
//! │ 8          │ 8      │ 8      │ 8 + 8        │ 8    │ 4      │ 4     │
//! ├────────────┴────────┴────────┴──────────────┴──────┴────────┴───────┤
//! │ numbers × 8 bytes: seeds and lengths of tables                      │
//! ├─────────────────────────────────────────────────────────────────────┤
//! │ arrays × (start 8, length 8), in bytes                              │
//! ├───────┬─────────────────────┬───────┬───────────────────────────────┤
//! │ zeros │ array 0             │ zeros │ array 1                     … │
//! └───────┴─────────────────────┴───────┴───────────────────────────────┘
//!         each array starts at a multiple of 64
//! ```
//!
//! - *checksum*: hash of the parts after it; the gaps between arrays are excluded;
//! - *engine*: hash of [`ENGINE`], which names version, sources and architecture;
//! - *seed*: two random numbers, drawn for this image;
//! - *file*: hash of the whole `.zeton` file, keyed by the seed.
//!
//! # Trust
//!
//! Reading checks the magic, the engine, the hash of the file, the bounds of every array and the
//! checksum. Writing follows a full read of the file with its SHA-256; the keyed hash then proves
//! that the file is unchanged, several times as fast. Without knowing the seed, an attacker cannot
//! construct a file with that hash.
//!
//! The checksum detects damage, not intent: an attacker with write access to the cache folder can
//! forge an image, and its tables are trusted. The caller therefore checks the owner of folder and
//! file.

use std::hash::{BuildHasher, RandomState};
use std::io;

use bytemuck::{Pod, Zeroable};

use crate::merge::BpeModel;
pub use crate::sys::huge_buffer::SharedBytes;
use crate::sys::sections::{SectionReader, SectionWriter};

/// The name of this engine: version, and a hash of sources and target. Only its own images are
/// read.
pub const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("ZETON_SOURCES"));

const MAGIC: [u8; 8] = *b"zetonimg";

/// The alignment of arrays: a cache line, which suffices for every value.
const ALIGNMENT: usize = 64;

/// The first 56 bytes; the module's header draws them.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ImageHeader {
    magic: [u8; 8],
    checksum: u64,
    engine: u64,
    seed: [u64; 2],
    file: u64,
    numbers: u32,
    arrays: u32,
}

/// The most numbers, and the most arrays, of an image. A model has six numbers and ten arrays.
const COUNT_MAX: u32 = 64;

/// Writes the image of `model`, which was read from the `.zeton` file with the bytes `file`.
///
/// # Errors
///
/// If `out` cannot be written.
pub fn write(model: &BpeModel, file: &[u8], out: &mut impl io::Write) -> io::Result<()> {
    let mut writer = SectionWriter::default();
    model.write_image(&mut writer);
    let SectionWriter { numbers, arrays } = writer;
    let mut head = Vec::new();
    let first = size_of::<ImageHeader>() + numbers.len() * 8 + arrays.len() * 16;
    let mut end = first;
    let mut places: Vec<u64> = Vec::new();
    for array in &arrays {
        let start = end.next_multiple_of(ALIGNMENT);
        places.extend([start as u64, array.len() as u64]);
        end = start + array.len();
    }
    let seed = [1, 2].map(|number| RandomState::new().hash_one(number));
    let mut header = ImageHeader {
        magic: MAGIC,
        checksum: 0,
        engine: hash_of(SEED, ENGINE.as_bytes()),
        seed,
        file: hash_of(seed, file),
        numbers: numbers.len() as u32,
        arrays: arrays.len() as u32,
    };
    head.extend_from_slice(bytemuck::bytes_of(&header));
    head.extend_from_slice(bytemuck::cast_slice(&numbers));
    head.extend_from_slice(bytemuck::cast_slice(&places));
    header.checksum =
        arrays.iter().fold(hash_of(SEED, &head), |hash, array| hash_of([hash, SEED[1]], array));
    head[..size_of::<ImageHeader>()].copy_from_slice(bytemuck::bytes_of(&header));

    out.write_all(&head)?;
    let mut end = first;
    for array in arrays {
        let gap = end.next_multiple_of(ALIGNMENT) - end;
        out.write_all(&[0; ALIGNMENT][..gap])?;
        out.write_all(array)?;
        end += gap + array.len();
    }
    Ok(())
}

/// Checks an image and returns its sections; `None` if it is damaged, or belongs to another engine
/// or another file. `file` is the whole `.zeton` file; both are hashed once, and no array is
/// copied.
pub(crate) fn read(image: &SharedBytes, file: &[u8]) -> Option<SectionReader> {
    let bytes = (**image).as_ref();
    let header: ImageHeader = bytemuck::pod_read_unaligned(bytes.get(..size_of::<ImageHeader>())?);
    let is_ours = header.magic == MAGIC
        && header.engine == hash_of(SEED, ENGINE.as_bytes())
        && header.file == hash_of(header.seed, file);
    if !is_ours || header.numbers > COUNT_MAX || header.arrays > COUNT_MAX {
        return None;
    }
    let words = header.numbers as usize + 2 * header.arrays as usize;
    let first = size_of::<ImageHeader>() + words * 8;
    let words = bytes.get(size_of::<ImageHeader>()..first)?.as_chunks().0;
    let mut numbers: Vec<u64> = words.iter().map(|&word| u64::from_ne_bytes(word)).collect();
    let places = numbers.split_off(header.numbers as usize);

    let mut head = bytes[..first].to_vec();
    let blank = ImageHeader { checksum: 0, ..header };
    head[..size_of::<ImageHeader>()].copy_from_slice(bytemuck::bytes_of(&blank));
    let mut checksum = hash_of(SEED, &head);
    let (mut arrays, mut end) = (Vec::new(), first);
    for place in places.as_chunks::<2>().0 {
        let [start, length] = place.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        if start != end.next_multiple_of(ALIGNMENT) {
            return None;
        }
        end = start.checked_add(length)?;
        checksum = hash_of([checksum, SEED[1]], bytes.get(start..end)?);
        arrays.push((start, length));
    }
    (checksum == header.checksum && end == bytes.len())
        .then(|| SectionReader::new(image, numbers, arrays))
}

/// The key of the hashes that need no secret: the first digits of pi.
const SEED: [u64; 2] = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344];

/// Hashes bytes by the key `seed`. Any accidental change gives another hash.
///
/// Folded multiplication: each 16 bytes are combined with the state by one 64 × 64 → 128-bit
/// product whose halves are XORed. Four independent states take 64 bytes per round, so that the
/// products overlap and the hash is as fast as memory on any machine.
fn hash_of(seed: [u64; 2], bytes: &[u8]) -> u64 {
    let step = |state: u64, bytes: &[u8; 16]| {
        let bytes = u128::from_le_bytes(*bytes);
        let product = u128::from(bytes as u64 ^ state) * u128::from((bytes >> 64) as u64 ^ seed[1]);
        product as u64 ^ (product >> 64) as u64
    };
    let mut states = [0, 1, 2, 3].map(|number| seed[0].wrapping_add(SEED[0].wrapping_mul(number)));
    let (blocks, rest) = bytes.as_chunks::<64>();
    for block in blocks {
        for (state, bytes) in states.iter_mut().zip(block.as_chunks().0) {
            *state = step(*state, bytes);
        }
    }
    let mut hash = states.into_iter().fold(bytes.len() as u64, |hash, state| {
        step(hash, &(u128::from(state) << 64 | u128::from(state)).to_le_bytes())
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

    const FILE: &[u8] = b"the bytes of a .zeton file";

    /// Copies bytes to a mapping, which is aligned to a page as that of a file.
    fn shared(bytes: &[u8]) -> SharedBytes {
        let mut mapped = memmap2::MmapMut::map_anon(bytes.len().max(1)).unwrap();
        mapped[..bytes.len()].copy_from_slice(bytes);
        struct MappedPrefix(memmap2::MmapMut, usize);
        impl AsRef<[u8]> for MappedPrefix {
            fn as_ref(&self) -> &[u8] {
                &self.0[..self.1]
            }
        }
        Arc::new(MappedPrefix(mapped, bytes.len()))
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
    fn reads_back_a_vocabulary() {
        let (model, image) = sample();
        let copy = read(&image, FILE).unwrap();
        assert_equal(&model, &copy);
        assert_equal(&model, &copy.clone());
        assert_eq!(copy.vocab().find(b"a token of more than sixteen letters"), None);
    }

    #[test]
    fn refuses_a_damaged_image() {
        let (model, image) = sample();
        let mut random = Random(1);
        for length in (0..256).chain((0..300).map(|_| random.below(image.len()))) {
            assert!(read(&image[..length], FILE).is_none(), "{length}");
        }
        assert!(read(&[image.as_slice(), b"\0"].concat(), FILE).is_none());
        let mut damaged = image.clone();
        let head = size_of::<ImageHeader>() * 8;
        let mut survived = 0;
        for bit in (0..head).chain((0..3000).map(|_| random.below(image.len() * 8))) {
            damaged[bit / 8] ^= 1 << (bit % 8);
            // The gaps between arrays are not hashed, because they are never read.
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
    fn refuses_an_image_of_another_file() {
        let (_, image) = sample();
        for at in 0..FILE.len() {
            let mut other = FILE.to_vec();
            other[at] ^= 1;
            assert!(read(&image, &other).is_none());
            assert!(read(&image, &FILE[..at]).is_none());
        }
    }

    #[test]
    fn the_hash_changes_with_every_bit_and_length() {
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
