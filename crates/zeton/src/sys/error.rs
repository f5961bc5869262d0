//! The one error type of the crate.
//!
//! Every error is a refusal of some input, not a failure inside the engine. Its message is one line
//! that names the input found, the input expected and the next step. For example,
//! [`Error::SharedBytes`] prints
//! ``ids 256 and 257 are both b"ab"; every id must stand for its own bytes``.
//!
//! The messages are in `error_message`. [`Error::kind`] groups the variants; the bridge maps each
//! [`ErrorKind`] to a Python exception.

/// The reason why some input was refused. `Display` gives the message for the user.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each variant documents it")]
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
    UnknownSpecial { name: String, known: Vec<String> },
    // Patterns and rules that cannot be used.
    PatternTooLong { bytes: usize },
    PatternSyntax { pattern: String, reason: String },
    PatternBound { pattern: String, at: usize, reason: String },
    PatternSurrogate { pattern: String },
    PatternDrops { pattern: String, text: String },
    SplitNotGiven { name: String },
    SplitIsFunction { name: String },
    SplitIsPattern { pattern: String },
    Rules { place: String, reason: String },
    // Texts that cannot be encoded or cut.
    TextTooLong { bytes: usize },
    EndTooLong { bytes: usize },
    UnknownBorder { name: String, known: Vec<String> },
    CharacterTooLong { ids: usize, ids_max: usize },
    NegativeIds { ids: String },
    EmptyChunks,
    TooFewThreads { threads: String },
    UnknownHandler { name: String },
    EmptyStop,
    SurrogateStop { stop: String },
    StopsTooLong { bytes: usize, most: usize },
    PiecesNotText,
    OverlapTooLong { overlap: usize, ids_max: usize },
    NotUtf8 { bytes: Vec<u8> },
    RewindTooFar { ids: usize, remembered: usize },
    // Ids outside the vocabulary.
    UnknownId { id: i128, vocab_size: usize },
    GapId { id: u32, before: Option<u32>, after: u32 },
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
            | PatternSurrogate { .. }
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
            | EmptyChunks
            | TooFewThreads { .. }
            | UnknownHandler { .. }
            | EmptyStop
            | SurrogateStop { .. }
            | StopsTooLong { .. }
            | OverlapTooLong { .. }
            | NotUtf8 { .. } => ErrorKind::Text,
            UnknownId { .. } | GapId { .. } | RewindTooFar { .. } => ErrorKind::Id,
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
            | PiecesNotText
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
