//! The `.zeton` file: a tokenizer as portable bytes. `docs/format.md` specifies the format.
//!
//! All numbers are little-endian; *text* is a `u32` length and that many bytes of UTF-8.
//!
//! ```text
//! ┌──────────────────────────┬─────────┬────────────────┐
//! │ "zeton" 0D 0A 1A       8 │ version │ file length  8 │   header
//! │                          │       2 │                │
//! ├──────────────────────────┴─────────┴────────────────┤
//! │ pattern, or rules as JSON                      text │
//! ├─────────────────────────────────────────────────────┤
//! │ number of tokens 4 │ number of runs of ids 4        │
//! │ per run: first id 4, number of ids 4                │   "ids 0 to 257" is one run: 0, 258
//! │ per token: length 4                                 │
//! │ bytes of all tokens, without separators             │
//! ├─────────────────────────────────────────────────────┤
//! │ number of specials 4 │ per special: id 4, name text │
//! ├─────────────────────────────────────────────────────┤
//! │ number of notes 4 │ per note: name text, value text │
//! ├─────────────────────────────────────────────────────┤
//! │ SHA-256 of all bytes before                      32 │
//! └─────────────────────────────────────────────────────┘
//! ```
//!
//! For example, a vocabulary of the 256 bytes and `ab` = 256, with one special `<|end|>` = 300, the
//! default pattern and the note `version` → `0.1.0`, has 1,508 bytes.
//!
//! - **Canonical**: a tokenizer and its notes have exactly one file, so the checksum is a name.
//! - **Untrusted**: each length is compared with the bytes that remain before any allocation.
//! - **Merges are not stored**, because they follow from the tokens.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::mapped_image;
use crate::encode::Tokenizer;
use crate::merge::BpeModel;
use crate::split::Splitter;
use crate::sys::error::Error;
use crate::sys::huge_buffer::SharedBytes;
use crate::vocab::specials::SPECIALS_MAX;
use crate::vocab::{Id, TOKENS_MAX, TokenArrays, Vocab};

/// The highest version that is read. A file with rules or a Python function as its split has it.
pub use crate::sys::bounds::FILE_VERSION as VERSION;
/// The version of a file with a pattern: the first, so that older readers accept it.
const VERSION_OF_PATTERNS: u16 = 1;

/// The most bytes of a file: 1 GiB.
pub const FILE_BYTES_MAX: usize = 1 << 30;

/// The first bytes. As in PNG, the line ends reveal a transfer that treated the file as text.
const MAGIC: &[u8; 8] = b"zeton\r\n\x1A";
const CHECKSUM_BYTES: usize = 32;
const HEADER_BYTES: usize = MAGIC.len() + 2 + 8;

/// Provenance of a tokenizer as names and values, for example `version` → `0.1.0`.
pub type Notes = BTreeMap<String, String>;

/// Serializes a tokenizer and its notes.
///
/// # Errors
///
/// If the file would be larger than [`FILE_BYTES_MAX`].
pub fn write(tokenizer: &Tokenizer, notes: &Notes) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&version_of(tokenizer.splitter()).to_le_bytes());
    out.extend_from_slice(&[0; 8]); // The file length, filled in at the end.

    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    text(&mut out, tokenizer.splitter().pattern());

    let tokens: Vec<(Id, &[u8])> = tokenizer.vocab().iter().collect();
    let runs: Vec<&[(Id, &[u8])]> = tokens.chunk_by(|a, b| a.0 + 1 == b.0).collect();
    out.extend_from_slice(&(tokens.len() as u32).to_le_bytes());
    out.extend_from_slice(&(runs.len() as u32).to_le_bytes());
    for run in runs {
        out.extend_from_slice(&run[0].0.to_le_bytes());
        out.extend_from_slice(&(run.len() as u32).to_le_bytes());
    }
    for (_, token) in &tokens {
        out.extend_from_slice(&(token.len() as u32).to_le_bytes());
    }
    for (_, token) in &tokens {
        out.extend_from_slice(token);
    }

    let specials = tokenizer.specials().entries();
    out.extend_from_slice(&(specials.len() as u32).to_le_bytes());
    for (id, name) in specials {
        out.extend_from_slice(&id.to_le_bytes());
        text(&mut out, name);
    }
    out.extend_from_slice(&(notes.len() as u32).to_le_bytes());
    for (name, value) in notes {
        text(&mut out, name);
        text(&mut out, value);
    }

    let length = out.len() + CHECKSUM_BYTES;
    if length > FILE_BYTES_MAX {
        return Err(malformed(format!("it would have {length} bytes, at most {FILE_BYTES_MAX}")));
    }
    out[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&(length as u64).to_le_bytes());
    let checksum = Sha256::digest(&out);
    out.extend_from_slice(&checksum);
    Ok(out)
}

/// Parses a file.
///
/// # Errors
///
/// If the bytes are not a whole, undamaged and valid file of a known version.
pub fn read(bytes: &[u8]) -> Result<(Tokenizer, Notes), Error> {
    read_with(bytes, Splitter::parse)
}

/// Parses a file whose split is a Python function, which the caller supplies. The tokenizer knows
/// the function by its name only, and cannot split by itself.
///
/// # Errors
///
/// The errors of [`read`], and [`Error::SplitIsPattern`] if the file has a pattern.
pub fn read_by_function(bytes: &[u8]) -> Result<(Tokenizer, Notes), Error> {
    read_with(bytes, |pattern| {
        let has_pattern = || Error::SplitIsPattern { pattern: pattern.to_owned() };
        Splitter::recognise_function(pattern).ok_or_else(has_pattern)
    })
}

/// Parses a file, compiling its pattern by `splitter`. All checks of a file without an image are
/// here: magic, version, length, SHA-256, fields.
fn read_with(
    bytes: &[u8],
    splitter: impl FnOnce(&str) -> Result<Splitter, Error>,
) -> Result<(Tokenizer, Notes), Error> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(Error::NotAFile)?;
    let mut reader = FieldReader { rest };
    let too_short = |_| Error::FileLength {
        found: bytes.len(),
        expected: (HEADER_BYTES + CHECKSUM_BYTES) as u64,
    };
    let version = reader.read_u16().map_err(too_short)?;
    if !(VERSION_OF_PATTERNS..=VERSION).contains(&version) {
        return Err(Error::FileVersion { version });
    }
    let expected = reader.read_u64().map_err(too_short)?;
    if expected != bytes.len() as u64 || bytes.len() < HEADER_BYTES + CHECKSUM_BYTES {
        return Err(Error::FileLength { found: bytes.len(), expected });
    }
    let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    if Sha256::digest(content).as_slice() != checksum {
        return Err(Error::FileChecksum);
    }

    let mut reader = FieldReader { rest: &content[HEADER_BYTES..] };
    let pattern = reader.read_text()?;
    let splitter = splitter(pattern)?;
    if version_of(&splitter) != version || splitter.pattern() != pattern {
        return Err(malformed("its rules are spelled otherwise, or do not fit its version"));
    }
    let vocab = Vocab::try_from_arrays(reader.read_tokens()?)?;
    reader.finish(BpeModel::new(vocab), splitter)
}

/// Returns the version that a tokenizer file with this splitter has: a pattern keeps the older
/// version, which older engines read.
fn version_of(splitter: &Splitter) -> u16 {
    match splitter.has_rules() || splitter.is_function() {
        true => VERSION,
        false => VERSION_OF_PATTERNS,
    }
}

/// Parses a file, taking its tables from its [image](crate::storage::mapped_image). The bridge
/// calls it before [`read`] if the cache folder has an image.
///
/// Returns `None` if the image is damaged, or belongs to another engine or another file; then
/// [`read`] does the work. The tokens are skipped and the SHA-256 is not computed, because the
/// image carries a hash of the whole file.
///
/// # Errors
///
/// The errors of [`read`]. They are unlikely, because the file was read when its image was written.
pub fn read_with_image(
    bytes: &[u8],
    image: &SharedBytes,
) -> Result<Option<(Tokenizer, Notes)>, Error> {
    let content =
        bytes.len().checked_sub(CHECKSUM_BYTES).and_then(|end| bytes.get(HEADER_BYTES..end));
    let model = mapped_image::read(image, bytes)
        .and_then(|mut sections| BpeModel::try_from_image(&mut sections));
    let (Some(rest), Some(model)) = (content, model) else { return Ok(None) };
    let mut reader = FieldReader { rest };
    let splitter = Splitter::parse(reader.read_text()?)?;
    reader.skip_tokens(model.vocab())?;
    reader.finish(model, splitter).map(Some)
}

fn malformed(reason: impl Into<String>) -> Error {
    Error::FileMalformed { reason: reason.into() }
}

/// A cursor over the fields of a file. Each method consumes the bytes that it returns.
struct FieldReader<'b> {
    rest: &'b [u8],
}

impl<'b> FieldReader<'b> {
    fn read_bytes(&mut self, count: usize) -> Result<&'b [u8], Error> {
        let split = self.rest.split_at_checked(count);
        let (bytes, rest) = split.ok_or_else(|| {
            malformed(format!("{count} bytes are announced where {} are left", self.rest.len()))
        })?;
        self.rest = rest;
        Ok(bytes)
    }

    fn read_array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        Ok(self.read_bytes(N)?.try_into().expect("N bytes were taken"))
    }

    fn read_u16(&mut self) -> Result<u16, Error> {
        self.read_array().map(u16::from_le_bytes)
    }

    fn read_u32(&mut self) -> Result<u32, Error> {
        self.read_array().map(u32::from_le_bytes)
    }

    fn read_u64(&mut self) -> Result<u64, Error> {
        self.read_array().map(u64::from_le_bytes)
    }

    /// Reads the number of `items`, each of which takes at least `bytes_each` bytes.
    ///
    /// Refuses a number above `most`, or one whose items cannot fit the remaining bytes, so that
    /// the caller can allocate for it.
    fn read_count(&mut self, items: &str, most: usize, bytes_each: usize) -> Result<usize, Error> {
        let count = self.read_u32()? as usize;
        if count > most || count.saturating_mul(bytes_each) > self.rest.len() {
            return Err(malformed(format!(
                "{count} {items} are announced, more than can be there"
            )));
        }
        Ok(count)
    }

    fn read_text(&mut self) -> Result<&'b str, Error> {
        let length = self.read_u32()? as usize;
        let bytes = self.read_bytes(length)?;
        std::str::from_utf8(bytes).map_err(|_| malformed("a text in it is not UTF-8"))
    }

    fn read_tokens(&mut self) -> Result<TokenArrays, Error> {
        let count = self.read_count("tokens", TOKENS_MAX, 4)?;
        let runs = self.read_count("runs of ids", count, 8)?;
        let mut ids = Vec::with_capacity(count);
        for _ in 0..runs {
            let (first, length) = (self.read_u32()?, self.read_u32()? as usize);
            // Canonical: each run starts after a gap, and no run is empty.
            let after_gap =
                ids.last().is_none_or(|&last: &Id| u64::from(first) > u64::from(last) + 1);
            let fits = length > 0 && length <= count - ids.len();
            let last = u64::from(first) + length as u64 - u64::from(length > 0);
            if !after_gap || !fits || last > u64::from(Id::MAX) {
                return Err(malformed("its runs of ids do not rise or do not fit its tokens"));
            }
            ids.extend((first..=last as Id).take(length));
        }
        if ids.len() != count {
            return Err(malformed("its runs of ids do not fit its tokens"));
        }
        let (lengths, _) = self.read_bytes(count * 4)?.as_chunks();
        let lengths = lengths.iter().map(|&length| u32::from_le_bytes(length) as usize);
        let bytes = self.read_bytes(lengths.clone().sum())?;
        TokenArrays::try_from_parts(ids, lengths, bytes.to_vec())
    }

    /// Skips the tokens of the file, because they come from the image. `vocab` tells their total
    /// length; a file that is too short is an error.
    fn skip_tokens(&mut self, vocab: &Vocab) -> Result<(), Error> {
        let count = self.read_count("tokens", TOKENS_MAX, 4)?;
        let runs = self.read_count("runs of ids", count, 8)?;
        self.read_bytes(runs * 8 + count * 4 + vocab.bytes_total())?;
        Ok(())
    }

    /// Reads specials and notes, the end of the file, and builds the tokenizer from them. Bytes
    /// behind the end are an error.
    fn finish(&mut self, model: BpeModel, splitter: Splitter) -> Result<(Tokenizer, Notes), Error> {
        let (specials, notes) = (self.read_specials()?, self.read_notes()?);
        if !self.rest.is_empty() {
            return Err(malformed(format!("{} bytes follow its end", self.rest.len())));
        }
        Ok((Tokenizer::try_from_model(model, splitter, specials)?, notes))
    }

    fn read_specials(&mut self) -> Result<Vec<(Id, String)>, Error> {
        let mut specials: Vec<(Id, String)> = Vec::new();
        for _ in 0..self.read_count("specials", SPECIALS_MAX, 8)? {
            let (id, name) = (self.read_u32()?, self.read_text()?.to_owned());
            if specials.last().is_some_and(|(last, _)| *last > id) {
                return Err(malformed("the ids of its specials do not rise"));
            }
            specials.push((id, name));
        }
        Ok(specials)
    }

    fn read_notes(&mut self) -> Result<Notes, Error> {
        let mut notes = Notes::new();
        for _ in 0..self.read_count("notes", usize::MAX, 8)? {
            let (name, value) = (self.read_text()?, self.read_text()?);
            if notes.last_key_value().is_some_and(|(last, _)| last.as_str() >= name) {
                return Err(malformed("the names of its notes do not rise"));
            }
            notes.insert(name.to_owned(), value.to_owned());
        }
        Ok(notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::NANOCHAT;
    use crate::testing::vocab_of;

    fn sample() -> Vec<u8> {
        sample_of(NANOCHAT)
    }

    fn sample_of(pattern: &str) -> Vec<u8> {
        let specials = vec![(300, "<|bos|>".to_owned()), (400, "<|eos|>".to_owned())];
        let splitter = Splitter::parse(pattern).unwrap();
        let tokenizer =
            Tokenizer::try_from_vocab(vocab_of(["ab", "abc"]), splitter, specials).unwrap();
        write(&tokenizer, &Notes::from([("made by".to_owned(), "a test".to_owned())])).unwrap()
    }

    /// Sets the length and the checksum that belong to changed content.
    fn sealed(mut content: Vec<u8>) -> Vec<u8> {
        let length = (content.len() + CHECKSUM_BYTES) as u64;
        content[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
        let checksum = Sha256::digest(&content);
        content.extend_from_slice(&checksum);
        content
    }

    #[test]
    fn a_file_survives_reading_and_writing() {
        let bytes = sample();
        let (tokenizer, notes) = read(&bytes).unwrap();
        assert_eq!(tokenizer.vocab().find(b"abc"), Some(257));
        assert_eq!(tokenizer.specials().id("<|eos|>"), Ok(400));
        assert_eq!(notes["made by"], "a test");
        assert_eq!(write(&tokenizer, &notes).unwrap(), bytes);
    }

    const RULES: &str = r#"{"rules":1,"digits":3,"digits_from":"right","keep_words":["New York"]}"#;

    #[test]
    fn rules_have_a_version_of_their_own_and_one_spelling() {
        let (patterns, rules) = (sample(), sample_of(RULES));
        assert_eq!((patterns[8], rules[8]), (1, 2));
        let (tokenizer, notes) = read(&rules).unwrap();
        assert_eq!(tokenizer.splitter().pattern(), RULES);
        assert_eq!(write(&tokenizer, &notes).unwrap(), rules);
        for (mut content, version) in [(patterns, 2), (rules.clone(), 1)] {
            content[8] = version;
            content.truncate(content.len() - CHECKSUM_BYTES);
            assert!(matches!(read(&sealed(content)), Err(Error::FileMalformed { .. })));
        }
        // Two knobs in reverse order have an equal meaning but not the canonical spelling.
        let spelled =
            String::from_utf8_lossy(&rules[..]).find(r#""digits":3,"digits_from":"right""#);
        let mut content = rules[..rules.len() - CHECKSUM_BYTES].to_vec();
        let other = br#""digits_from":"right","digits":3"#;
        let at =
            spelled.map(|_| rules.windows(9).position(|w| w == b"\"digits\":").unwrap()).unwrap();
        content[at..at + other.len()].copy_from_slice(other);
        assert!(matches!(read(&sealed(content)), Err(Error::FileMalformed { .. })));
    }

    #[test]
    fn refuses_truncation_at_every_byte() {
        let bytes = sample();
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
        }
        assert!(read(&[bytes.as_slice(), b"x"].concat()).is_err());
    }

    #[test]
    fn refuses_every_flipped_bit() {
        let mut bytes = sample();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&bytes).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn refuses_a_version_from_the_future() {
        let mut bytes = sample();
        bytes[8] = 3;
        assert_eq!(
            read(&bytes).unwrap_err().to_string(),
            "the file has format version 3 and this zeton reads up to 2; update zeton"
        );
    }

    /// A forged file with a valid checksum is refused, or it is a valid canonical file.
    #[test]
    fn survives_every_changed_byte_under_a_valid_checksum() {
        survives_every_changed_byte(&sample());
        survives_every_changed_byte(&sample_of(RULES));
    }

    fn survives_every_changed_byte(bytes: &[u8]) {
        let content = &bytes[..bytes.len() - CHECKSUM_BYTES];
        for at in HEADER_BYTES..content.len() {
            for value in [0, 1, 0x7F, 0x80, 0xFF] {
                let mut changed = content.to_vec();
                changed[at] = value;
                if let Ok((tokenizer, notes)) = read(&sealed(changed.clone())) {
                    assert_eq!(write(&tokenizer, &notes).unwrap(), sealed(changed));
                }
            }
        }
        for length in HEADER_BYTES..content.len() {
            assert!(read(&sealed(content[..length].to_vec())).is_err());
        }
    }

    #[test]
    fn refuses_lengths_beyond_the_file_before_it_allocates() {
        let bytes = sample();
        let pattern_bytes = NANOCHAT.len();
        let mut content = bytes[..bytes.len() - CHECKSUM_BYTES].to_vec();
        let tokens_at = HEADER_BYTES + 4 + pattern_bytes;
        content[tokens_at..tokens_at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let message = read(&sealed(content)).unwrap_err().to_string();
        assert_eq!(
            message,
            "the file is malformed: 4294967295 tokens are announced, more than can be there"
        );
    }
}
