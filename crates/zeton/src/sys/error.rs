//! The one error type of the crate.
//!
//! Every error is a refusal of some input, not a failure inside the engine. Its message is one line
//! that names the input found, the input expected and the next step. For example,
//! [`Error::SharedBytes`] prints
//! ``ids 256 and 257 are both b"ab"; every id must stand for its own bytes``.
//!
//! [`Error::kind`] groups the variants; the bridge maps each [`ErrorKind`] to a Python exception.

use std::fmt;

use super::bounds;

/// The reason why some input was refused. `Display` gives the message for the user.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant, below, documents it")]
pub enum Error {
    // Tokens that do not form a vocabulary.
    MissingByte { byte: u8 },
    EmptyToken { id: u32 },
    VocabTooLarge,
    IdOutOfRange { id: i128 },
    TooManyTokens { tokens: usize },
    SharedBytes { token: Vec<u8>, first: u32, second: u32 },
    SharedId { id: u32, first: Vec<u8>, second: Vec<u8> },
    UnknownPart { id: u32, part: u32 },
    // Specials that do not fit the vocabulary, and unknown names of specials.
    EmptySpecial { id: u32 },
    SpecialTooLong { bytes: usize },
    SpecialsTooLong { bytes: usize },
    TooManySpecials { specials: usize },
    DoubledSpecial { name: String },
    SpecialClash { name: String, id: u32, token: Vec<u8> },
    UnknownSpecial { name: String },
    // Patterns and rules that cannot be used.
    PatternTooLong { bytes: usize },
    PatternSyntax { pattern: String, reason: String },
    PatternBound { pattern: String, reason: String },
    PatternDrops { pattern: String, text: String },
    SplitNotGiven { name: String },
    SplitIsFunction { name: String },
    SplitIsPattern { pattern: String },
    Rules { place: String, reason: String },
    // Texts that cannot be encoded or cut.
    TextTooLong { bytes: usize },
    EndTooLong { bytes: usize },
    UnknownBorder { name: String, known: String },
    CharacterTooLong { ids: usize, ids_max: usize },
    NegativeIds { ids: String },
    OverlapTooLong { overlap: usize, ids_max: usize },
    NotUtf8 { bytes: Vec<u8> },
    RewindTooFar { ids: usize, remembered: usize },
    // Ids outside the vocabulary.
    UnknownId { id: i128, vocab_size: usize },
    // Needles that cannot be searched for.
    EmptyNeedle,
    NeedleTooLong { length: usize, most: usize },
    NeedlesTooLong { bytes: usize },
    TooManyNeedles { needles: usize },
    NeedleNotUtf8,
    PhraseSpellings { phrase: Vec<u8>, most: usize },
    PhrasesTooMany,
    // Training requests that cannot be fulfilled.
    CorpusTooLarge,
    CountsTooLarge,
    FirstIdTaken { first: u32, taken: u32 },
    CountsPatterns { one: String, other: String },
    CountsUnusable { doing: &'static str, reason: String },
    NoThread,
    Stopped,
    // Bytes that are not a counts file.
    NotCounts,
    CountsVersion { version: u16 },
    CountsMalformed { reason: String },
    // Bytes that are not a `.zeton` file.
    NotAFile,
    FileVersion { version: u16 },
    FileLength { found: usize, expected: u64 },
    FileChecksum,
    FileMalformed { reason: String },
}

/// The group of an [`Error`]. The bridge raises one Python exception type per group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorKind {
    /// The tokens do not form a vocabulary.
    Vocab,
    /// The specials do not fit the vocabulary, or a name is unknown.
    Special,
    /// The pattern cannot be used.
    Pattern,
    /// The split rules cannot be used.
    Rules,
    /// The text cannot be encoded.
    Text,
    /// An id is outside the vocabulary.
    Id,
    /// A needle cannot be searched for.
    Search,
    /// The training request cannot be fulfilled.
    Train,
    /// The caller cancelled the work.
    Stopped,
    /// The bytes are not a `.zeton` file.
    File,
}

impl Error {
    /// Returns the group of this error. The bridge chooses the class of the Python exception by it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        use Error::*;
        match self {
            MissingByte { .. }
            | EmptyToken { .. }
            | VocabTooLarge
            | TooManyTokens { .. }
            | IdOutOfRange { .. }
            | SharedBytes { .. }
            | SharedId { .. }
            | UnknownPart { .. } => ErrorKind::Vocab,
            EmptySpecial { .. }
            | SpecialTooLong { .. }
            | SpecialsTooLong { .. }
            | TooManySpecials { .. }
            | DoubledSpecial { .. }
            | SpecialClash { .. }
            | UnknownSpecial { .. } => ErrorKind::Special,
            PatternTooLong { .. }
            | PatternSyntax { .. }
            | PatternBound { .. }
            | PatternDrops { .. }
            | SplitNotGiven { .. }
            | SplitIsFunction { .. }
            | SplitIsPattern { .. } => ErrorKind::Pattern,
            Rules { .. } => ErrorKind::Rules,
            TextTooLong { .. }
            | EndTooLong { .. }
            | UnknownBorder { .. }
            | CharacterTooLong { .. }
            | NegativeIds { .. }
            | OverlapTooLong { .. }
            | NotUtf8 { .. } => ErrorKind::Text,
            UnknownId { .. } | RewindTooFar { .. } => ErrorKind::Id,
            EmptyNeedle
            | NeedleTooLong { .. }
            | NeedlesTooLong { .. }
            | TooManyNeedles { .. }
            | NeedleNotUtf8
            | PhraseSpellings { .. }
            | PhrasesTooMany => ErrorKind::Search,
            CorpusTooLarge
            | CountsTooLarge
            | FirstIdTaken { .. }
            | CountsPatterns { .. }
            | CountsUnusable { .. }
            | NoThread => ErrorKind::Train,
            Stopped => ErrorKind::Stopped,
            NotCounts
            | CountsVersion { .. }
            | CountsMalformed { .. }
            | NotAFile
            | FileVersion { .. }
            | FileLength { .. }
            | FileChecksum
            | FileMalformed { .. } => ErrorKind::File,
        }
    }
}

/// Formats bytes as a Rust byte-string literal, cut after 40 bytes to keep the message short.
struct QuotedBytes<'b>(&'b [u8]);

impl fmt::Display for QuotedBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let excerpt = &self.0[..self.0.len().min(40)];
        let more = if excerpt.len() < self.0.len() { "…" } else { "" };
        write!(f, "b\"{}{more}\"", excerpt.escape_ascii())
    }
}

/// Formats text as a Rust string literal, cut after 80 characters to keep the message short.
struct QuotedText<'s>(&'s str);

impl fmt::Display for QuotedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let excerpt: String = self.0.chars().take(80).collect();
        let more = if excerpt.len() < self.0.len() { "…" } else { "" };
        write!(f, "{excerpt:?}{more}")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingByte { byte } => {
                write!(f, "byte {byte:#04x} has no token; a vocabulary must hold all 256 bytes")
            }
            Self::EmptyToken { id } => {
                write!(f, "id {id} is an empty token; a token has at least one byte")
            }
            Self::VocabTooLarge => {
                let most = bounds::VOCAB_BYTES_MAX;
                write!(
                    f,
                    "the tokens have more than {most} bytes in all; a vocabulary has at most that"
                )
            }
            Self::IdOutOfRange { id } => {
                write!(f, "id {id} is out of range; ids go from 0 to {}", bounds::ID_MAX)
            }
            Self::TooManyTokens { tokens } => {
                let most = bounds::TOKENS_MAX;
                write!(f, "there are {tokens} tokens; a vocabulary has at most {most}")
            }
            Self::SharedBytes { token, first, second } => {
                let token = QuotedBytes(token);
                write!(
                    f,
                    "ids {first} and {second} are both {token}; every id must stand for its own bytes"
                )
            }
            Self::SharedId { id, first, second } => {
                let (first, second) = (QuotedBytes(first), QuotedBytes(second));
                write!(
                    f,
                    "id {id} is both {first} and {second}; every token must have an id of its own"
                )
            }
            Self::UnknownPart { id, part } => {
                write!(
                    f,
                    "merge {id} joins id {part}, which is not yet known; a merge joins earlier ids"
                )
            }
            Self::EmptySpecial { id } => {
                write!(f, "the special with id {id} is empty; a special has at least one character")
            }
            Self::SpecialTooLong { bytes } => {
                let most = bounds::SPECIAL_BYTES_MAX;
                write!(f, "a special has {bytes} bytes; it may have at most {most}")
            }
            Self::SpecialsTooLong { bytes } => {
                let most = bounds::SPECIALS_BYTES_MAX;
                write!(f, "the specials have {bytes} bytes in all; they may have at most {most}")
            }
            Self::TooManySpecials { specials } => {
                let most = bounds::SPECIALS_MAX;
                write!(f, "there are {specials} specials; a tokenizer has at most {most}")
            }
            Self::DoubledSpecial { name } => {
                write!(f, "the special {} is given twice; give it one id", QuotedText(name))
            }
            Self::SpecialClash { name, id, token } => {
                let (name, token) = (QuotedText(name), QuotedBytes(token));
                write!(
                    f,
                    "the special {name} has id {id}, which is token {token}; give it an id of its own"
                )
            }
            Self::UnknownSpecial { name } => {
                write!(
                    f,
                    "{} is not a special of this tokenizer; see its `specials`",
                    QuotedText(name)
                )
            }
            Self::PatternTooLong { bytes } => {
                let most = bounds::PATTERN_BYTES_MAX;
                write!(f, "the pattern has {bytes} bytes; it may have at most {most}")
            }
            Self::PatternSyntax { pattern, reason } => {
                let reason = reason.lines().last().unwrap_or_default();
                write!(f, "pattern {} does not compile: {reason}", QuotedText(pattern))
            }
            Self::PatternBound { pattern, reason } => {
                let reason = reason.lines().last().unwrap_or_default();
                write!(f, "pattern {} exceeds a bound on this text: {reason}", QuotedText(pattern))
            }
            Self::PatternDrops { pattern, text } => {
                let (pattern, text) = (QuotedText(pattern), QuotedText(text));
                write!(f, "pattern {pattern} drops part of {text}; a pattern must cover all text")
            }
            Self::SplitNotGiven { name } => {
                write!(
                    f,
                    "this tokenizer was saved without its split, the Python function {name}; \
                     give it again: zeton.load(path, split={name})"
                )
            }
            Self::SplitIsFunction { name } => {
                write!(
                    f,
                    "the split {name} is a Python function, which only the tokenizer itself calls, to \
                     encode and count whole texts; give a pattern or rules for anything else"
                )
            }
            Self::SplitIsPattern { pattern } => {
                let pattern = QuotedText(pattern);
                write!(f, "this tokenizer splits by {pattern}, not by a function; give no split")
            }
            Self::Rules { place, reason } if place.is_empty() => {
                write!(f, "the rules cannot be used: {reason}")
            }
            Self::Rules { place, reason } => write!(f, "{place}: {reason}"),
            Self::TextTooLong { bytes } => {
                write!(
                    f,
                    "the text has {bytes} bytes; one text has at most {}, so cut it",
                    u32::MAX
                )
            }
            Self::EndTooLong { bytes } => {
                write!(
                    f,
                    "the last piece has {bytes} bytes, too many to try all completions; cut the text"
                )
            }
            Self::UnknownBorder { name, known } => {
                write!(f, "a text is not cut at {name:?}; give one of {known}")
            }
            Self::CharacterTooLong { ids, ids_max } => {
                write!(
                    f,
                    "a character takes {ids} tokens, a chunk has at most {ids_max}; allow more"
                )
            }
            Self::NegativeIds { ids } => {
                write!(f, "{ids} tokens; give a number from 0 on")
            }
            Self::OverlapTooLong { overlap, ids_max } => {
                write!(
                    f,
                    "overlap={overlap} leaves no room in chunks of {ids_max} tokens; give less"
                )
            }
            Self::NotUtf8 { bytes } => {
                let bytes = bytes.escape_ascii();
                write!(f, "the bytes b\"{bytes}\" are no character of UTF-8; allow them by errors=")
            }
            Self::PhraseSpellings { phrase, most } => {
                let phrase = QuotedBytes(phrase);
                write!(
                    f,
                    "more than {most} sequences of ids can begin or end {phrase}; find_all needs none of them"
                )
            }
            Self::PhrasesTooMany => {
                write!(
                    f,
                    "the phrases are too many or too short to be kept; look for some at a time"
                )
            }
            Self::RewindTooFar { ids, remembered } => {
                write!(
                    f,
                    "{ids} ids cannot be taken back, {remembered} are remembered; raise rewind_max"
                )
            }
            Self::UnknownId { id, vocab_size } => {
                write!(f, "id {id} is not in the vocabulary; its ids are below {vocab_size}")
            }
            Self::EmptyNeedle => {
                write!(f, "a needle is empty; give at least one character, byte or id")
            }
            Self::NeedleTooLong { length, most } => {
                write!(f, "a needle has a length of {length}; it may have at most {most}")
            }
            Self::NeedlesTooLong { bytes } => {
                let most = bounds::NEEDLES_BYTES_MAX;
                write!(f, "the needles have {bytes} bytes in all; they may have at most {most}")
            }
            Self::TooManyNeedles { needles } => {
                let most = bounds::NEEDLES_MAX;
                write!(f, "there are {needles} needles; at most {most} are found together")
            }
            Self::NeedleNotUtf8 => {
                write!(f, "a needle is not UTF-8, so it has no case; leave out ignore_case")
            }
            Self::CorpusTooLarge => {
                write!(f, "the distinct pieces have more than 4,294,967,295 bytes; give less text")
            }
            Self::NoThread => write!(f, "the system gives no thread to work on; end other work"),
            Self::Stopped => write!(f, "stopped before the end"),
            Self::CountsTooLarge => {
                let most = u64::MAX;
                write!(f, "the counts go beyond {most}; give smaller weights or less text")
            }
            Self::FirstIdTaken { first, taken } => {
                write!(
                    f,
                    "new ids are to begin at {first}, but the vocabulary has id {taken}; begin after it"
                )
            }
            Self::CountsPatterns { one, other } => {
                let [one, other] = [QuotedText(one), QuotedText(other)];
                write!(f, "the counts are of two patterns, {one} and {other}; count with one")
            }
            Self::CountsUnusable { doing, reason } => {
                write!(f, "counts cannot be {doing}: {reason}")
            }
            Self::NotCounts => {
                write!(f, "this is not a counts file; it does not begin with `counts`")
            }
            Self::CountsVersion { version } => {
                write!(
                    f,
                    "the counts have format version {version} and this zeton reads 1; update zeton"
                )
            }
            Self::CountsMalformed { reason } => {
                write!(f, "the counts file {reason}; it is damaged, make it anew")
            }
            Self::NotAFile => {
                write!(f, "this is not a .zeton file; it does not begin with `zeton`")
            }
            Self::FileVersion { version } => {
                let known = bounds::FILE_VERSION;
                write!(
                    f,
                    "the file has format version {version} and this zeton reads up to {known}; update zeton"
                )
            }
            Self::FileLength { found, expected } => {
                write!(
                    f,
                    "the file has {found} bytes and should have {expected}; it was cut or added to"
                )
            }
            Self::FileChecksum => {
                write!(f, "the file's checksum does not fit its content; it is damaged")
            }
            Self::FileMalformed { reason } => write!(f, "the file is malformed: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
