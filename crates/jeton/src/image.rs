//! The tables of a vocabulary as one row of bytes that can be mapped: an image.
//!
//! An image is derived from a `.jeton` file and can be made again at any time. It holds what takes
//! time to make of the tokens, each table as it lies in memory; the tokens, pattern and specials come
//! from the file. Numbers are those of this machine: an image is for it, and for this engine.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | magic | 8 | `jetonimg` |
//! | checksum | 8 | of all parts that follow, without the gaps between them |
//! | engine | 8 | the number of the engine that made it |
//! | file | 32 | the checksum of the `.jeton` file |
//! | counts | 4 + 4 | how many numbers and rows there are |
//! | numbers | 8 each | what tables are made with |
//! | rows | 8 + 8 each | where each begins, and its bytes |
//! | | | the rows, each at a multiple of 64 bytes |
//!
//! Reading checks all of it: that it is of this engine and this file, that every row lies within, and
//! the checksum, which shows damage and keeps nobody from making an image on purpose. Who may write
//! images is for the caller to see to: their tables are trusted as the engine's own are.

use std::hash::{BuildHasher, Hasher};
use std::io;

use bytemuck::{Pod, Zeroable};
use foldhash::fast::FixedState;

use crate::huge::Huge;
pub use crate::huge::Shared;
use crate::vocab::Vocab;

/// Names the engine: images of other names are not read.
pub const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("JETON_SOURCES"));

const MAGIC: [u8; 8] = *b"jetonimg";

/// Where rows begin is a multiple of it: no value needs more.
const ALIGNMENT: usize = 64;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    checksum: u64,
    engine: u64,
    file: [u8; 32],
    numbers: u32,
    rows: u32,
}

/// Numbers and rows that an image has at most.
const COUNT_MAX: u32 = 64;

/// Writes the image of a vocabulary that came from a file with this checksum.
///
/// # Errors
///
/// When `out` cannot be written.
pub fn write(vocab: &Vocab, file: &[u8; 32], out: &mut impl io::Write) -> io::Result<()> {
    let mut writer = Writer::default();
    vocab.write_image(&mut writer);
    let Writer { numbers, rows } = writer;
    let mut head = Vec::new();
    let first = size_of::<Header>() + numbers.len() * 8 + rows.len() * 16;
    let mut end = first;
    let mut places: Vec<u64> = Vec::new();
    for row in &rows {
        let start = end.next_multiple_of(ALIGNMENT);
        places.extend([start as u64, row.len() as u64]);
        end = start + row.len();
    }
    let mut header = Header {
        magic: MAGIC,
        checksum: 0,
        engine: hash_of(0, ENGINE.as_bytes()),
        file: *file,
        numbers: numbers.len() as u32,
        rows: rows.len() as u32,
    };
    head.extend_from_slice(bytemuck::bytes_of(&header));
    head.extend_from_slice(bytemuck::cast_slice(&numbers));
    head.extend_from_slice(bytemuck::cast_slice(&places));
    header.checksum = rows.iter().fold(hash_of(0, &head), |hash, row| hash_of(hash, row));
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

/// What an image is made of, in the order in which it is read.
#[derive(Default)]
pub(crate) struct Writer<'v> {
    numbers: Vec<u64>,
    rows: Vec<&'v [u8]>,
}

impl<'v> Writer<'v> {
    pub(crate) fn number(&mut self, number: u64) {
        self.numbers.push(number);
    }

    pub(crate) fn row<T: Pod>(&mut self, row: &'v [T]) {
        self.rows.push(bytemuck::cast_slice(row));
    }
}

/// An image that is whole: its numbers and rows, in the order in which they were written.
pub(crate) struct Reader {
    image: Shared,
    numbers: std::vec::IntoIter<u64>,
    rows: std::vec::IntoIter<(usize, usize)>,
}

impl Reader {
    /// Reads an image; nothing if it is damaged, of another engine or of another file.
    pub(crate) fn new(image: &Shared, file: &[u8]) -> Option<Self> {
        let bytes = (**image).as_ref();
        let header: Header = bytemuck::pod_read_unaligned(bytes.get(..size_of::<Header>())?);
        let ours = header.magic == MAGIC
            && header.engine == hash_of(0, ENGINE.as_bytes())
            && header.file == file;
        if !ours || header.numbers > COUNT_MAX || header.rows > COUNT_MAX {
            return None;
        }
        let words = header.numbers as usize + 2 * header.rows as usize;
        let first = size_of::<Header>() + words * 8;
        let words = bytes.get(size_of::<Header>()..first)?.as_chunks().0;
        let words: Vec<u64> = words.iter().map(|&word| u64::from_ne_bytes(word)).collect();
        let (numbers, places) = words.split_at(header.numbers as usize);

        let mut head = bytes[..first].to_vec();
        let blank = Header { checksum: 0, ..header };
        head[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&blank));
        let mut checksum = hash_of(0, &head);
        let (mut rows, mut end) = (Vec::new(), first);
        for place in places.as_chunks::<2>().0 {
            let [start, length] = place.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
            if start != end.next_multiple_of(ALIGNMENT) {
                return None;
            }
            end = start.checked_add(length)?;
            checksum = hash_of(checksum, bytes.get(start..end)?);
            rows.push((start, length));
        }
        (checksum == header.checksum && end == bytes.len()).then(|| Self {
            image: image.clone(),
            numbers: numbers.to_vec().into_iter(),
            rows: rows.into_iter(),
        })
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        self.numbers.next()
    }

    pub(crate) fn row<T: Pod>(&mut self) -> Option<Huge<T>> {
        let (start, bytes) = self.rows.next()?;
        let whole = bytes % size_of::<T>() == 0;
        whole.then(|| Huge::lent(&self.image, start, bytes / size_of::<T>())).flatten()
    }

    /// A table that is open-addressed: a power of two slots.
    pub(crate) fn table<T: Pod>(&mut self) -> Option<Huge<T>> {
        self.row().filter(|slots: &Huge<T>| slots.len().is_power_of_two())
    }
}

/// Mixes bytes into a hash, which differs with any accidental change of them.
fn hash_of(hash: u64, bytes: &[u8]) -> u64 {
    let mut hasher = FixedState::with_seed(hash).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::{Random, vocab_of};

    const FILE: [u8; 32] = [7; 32];

    /// Bytes that lie as mapped ones do.
    fn shared(bytes: &[u8]) -> Shared {
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

    fn sample() -> (Vocab, Vec<u8>) {
        let vocab = vocab_of(["ab", "abc", "中文", "a token of more than sixteen bytes", "中"]);
        let mut image = Vec::new();
        write(&vocab, &FILE, &mut image).unwrap();
        (vocab, image)
    }

    fn read(vocab: &Vocab, image: &[u8], file: &[u8; 32]) -> Option<Vocab> {
        Vocab::from_image(vocab.tokens(), &mut Reader::new(&shared(image), file)?)
    }

    #[test]
    fn a_vocabulary_is_read_back() {
        let (vocab, image) = sample();
        let again = read(&vocab, &image, &FILE).unwrap();
        for (id, token) in vocab.iter() {
            assert_eq!(again.find(token), Some(id));
            assert_eq!(again.token(id), Some(token));
        }
        assert_eq!(again.pairs().by_rank(), vocab.pairs().by_rank());
        assert_eq!(again.find(b"a token of more than sixteen letters"), None);
        let mut image_again = Vec::new();
        write(&again, &FILE, &mut image_again).unwrap();
        assert!(image_again == image);
    }

    #[test]
    fn what_is_damaged_is_not_read() {
        let (vocab, image) = sample();
        let mut random = Random(1);
        for length in (0..256).chain((0..300).map(|_| random.below(image.len()))) {
            assert!(read(&vocab, &image[..length], &FILE).is_none(), "{length}");
        }
        assert!(read(&vocab, &[image.as_slice(), b"\0"].concat(), &FILE).is_none());
        let mut damaged = image.clone();
        let head = size_of::<Header>() * 8;
        for bit in (0..head).chain((0..3000).map(|_| random.below(image.len() * 8))) {
            damaged[bit / 8] ^= 1 << (bit % 8);
            // A gap between rows may hold anything: nobody reads it.
            if let Some(read) = read(&vocab, &damaged, &FILE) {
                let mut again = Vec::new();
                write(&read, &FILE, &mut again).unwrap();
                assert!(again == image, "bit {bit}");
                assert!(bit >= head);
            }
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn what_is_of_another_file_is_not_read() {
        let (vocab, image) = sample();
        assert!(read(&vocab, &image, &[8; 32]).is_none());
        // Under the same checksum, which does not happen, what is found there tells.
        let other = vocab_of(["xy", "abc", "中文", "a token of more than sixteen bytes", "中"]);
        assert!(read(&other, &image, &FILE).is_none());
    }
}
