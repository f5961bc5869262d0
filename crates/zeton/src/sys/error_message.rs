//! The messages of [`Error`]: one line that names the input found, the input expected and the next
//! step.
//!
//! For example, `Error::SharedBytes` prints
//! ``ids 256 and 257 are both b"ab"; every id must stand for its own bytes``. A pattern is printed
//! as its author wrote it, between backquotes; a text is printed as a string literal.

use std::fmt;

use super::bounds;
use super::error::Error;

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

/// Formats a pattern as its author wrote it, between backquotes, cut after 80 characters. Only
/// control characters are escaped, because a message is one line.
struct QuotedPattern<'s>(&'s str);

impl fmt::Display for QuotedPattern<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let excerpt: String = self.0.chars().take(80).collect();
        let more = if excerpt.len() < self.0.len() { "…" } else { "" };
        write!(f, "`")?;
        for c in excerpt.chars() {
            match c.is_control() {
                true => write!(f, "{}", c.escape_default())?,
                false => write!(f, "{c}")?,
            }
        }
        write!(f, "{more}`")
    }
}

/// Names that a message lists at most. A longer list hides the name that matters.
const LISTED_NAMES_MAX: usize = 12;

/// Formats the names that are known, for a message that refuses another one.
struct KnownNames<'n>(&'n [String]);

impl fmt::Display for KnownNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "; there are none");
        }
        let shown = self.0.iter().take(LISTED_NAMES_MAX);
        let shown: Vec<String> = shown.map(|name| QuotedText(name).to_string()).collect();
        write!(f, "; give one of {}", shown.join(", "))?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl Error {
    /// Returns the first clause of the message, the name and the known names, for an error about an
    /// unknown name. The bridge adds the nearest known name to it.
    #[must_use]
    pub fn unknown_name(&self) -> Option<(String, &str, &[String])> {
        match self {
            Self::UnknownSpecial { name, known } => Some((
                format!("{} is not a special of this tokenizer", QuotedText(name)),
                name,
                known,
            )),
            Self::UnknownBorder { name, known } => {
                Some((format!("at={} is not a border", QuotedText(name)), name, known))
            }
            _ => None,
        }
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
            Self::UnknownSpecial { known, .. } | Self::UnknownBorder { known, .. } => {
                let (refused, ..) = self.unknown_name().expect("both are about a name");
                write!(f, "{refused}{}", KnownNames(known))
            }
            Self::PatternTooLong { bytes } => {
                let most = bounds::PATTERN_BYTES_MAX;
                write!(f, "the pattern has {bytes} bytes; it may have at most {most}")
            }
            Self::PatternSyntax { pattern, reason } => {
                let reason = reason.lines().last().unwrap_or_default();
                write!(f, "pattern {} does not compile: {reason}", QuotedPattern(pattern))
            }
            Self::PatternBound { pattern, at, reason } => {
                let (pattern, reason) =
                    (QuotedPattern(pattern), reason.lines().last().unwrap_or_default());
                write!(
                    f,
                    "cannot split this text: pattern {pattern} exceeds a bound at byte {at}: \
                     {reason}; cut the text, or give a pattern without nested repetitions"
                )
            }
            Self::PatternSurrogate { pattern } => {
                write!(
                    f,
                    "pattern {pattern} has a lone surrogate, which is not a character; remove it"
                )
            }
            Self::PatternDrops { pattern, text } => {
                let (pattern, text) = (QuotedPattern(pattern), QuotedText(text));
                write!(
                    f,
                    "pattern {pattern} drops part of {text}; a pattern must cover all text, so add \
                     |[\\s\\S] at its end"
                )
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
                    "this call needs a pattern, but the tokenizer splits by the Python function {name}, \
                     which can only encode and count whole texts; give a tokenizer with a pattern or rules"
                )
            }
            Self::SplitIsPattern { pattern } => {
                let pattern = QuotedPattern(pattern);
                write!(f, "this tokenizer splits by the pattern {pattern}; leave out split=")
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
            Self::CharacterTooLong { ids, ids_max } => {
                write!(
                    f,
                    "a character takes {ids} tokens, but a chunk has at most {ids_max}; give n={ids} or more"
                )
            }
            Self::NegativeIds { ids } => {
                write!(f, "a number of tokens is {ids}; it must be at least 0")
            }
            Self::EmptyChunks => {
                write!(f, "n=0 leaves no room for a token in a chunk; n must be at least 1")
            }
            Self::TooFewThreads { threads } => {
                write!(
                    f,
                    "threads is {threads}; it must be at least 1, or None for one thread for each core"
                )
            }
            Self::UnknownHandler { name } => {
                write!(
                    f,
                    "errors={name:?} is not an error handler; give \"replace\", \"ignore\" or \"strict\""
                )
            }
            Self::EmptyStop => write!(f, "a stop is empty; give at least one character"),
            Self::SurrogateStop { stop } => {
                write!(
                    f,
                    "the stop {stop} has a lone surrogate, which no decoded text has; remove it"
                )
            }
            Self::StopsTooLong { bytes, most } => {
                write!(f, "the stops have {bytes} bytes in all; they may have at most {most}")
            }
            Self::PiecesNotText => {
                write!(
                    f,
                    "the pieces, joined, are not the text; a split must return all of the text"
                )
            }
            Self::OverlapTooLong { overlap, ids_max } => {
                write!(
                    f,
                    "overlap={overlap} leaves no room for new text in chunks of n={ids_max} tokens; \
                     give an overlap below n"
                )
            }
            Self::NotUtf8 { bytes } => {
                let bytes = bytes.escape_ascii();
                write!(
                    f,
                    "the bytes b\"{bytes}\" are not UTF-8; give errors=\"replace\" to read them as U+FFFD"
                )
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
                    "the phrases take too much memory to be searched together; search for fewer at a time"
                )
            }
            Self::RewindTooFar { ids, remembered } => {
                write!(
                    f,
                    "cannot take back {ids} ids, because the decoder remembers {remembered}; \
                     make it with a larger rewind_max"
                )
            }
            Self::UnknownId { id, vocab_size } => {
                let last = vocab_size.saturating_sub(1);
                write!(
                    f,
                    "id {id} is not in the vocabulary, whose ids are 0 to {last}; \
                     decode with the tokenizer that encoded the text"
                )
            }
            Self::GapId { id, before, after } => {
                write!(f, "no token has id {id}; the vocabulary has a gap ")?;
                match before {
                    Some(before) => write!(f, "between ids {before} and {after}")?,
                    None => write!(f, "before id {after}")?,
                }
                write!(f, ", so decode with the tokenizer that encoded the text")
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
            Self::NoThread => {
                write!(f, "the system refuses to start a thread; end other processes of this user")
            }
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
                let [one, other] = [QuotedPattern(one), QuotedPattern(other)];
                write!(
                    f,
                    "the counts were made with two patterns, {one} and {other}; count all with one pattern"
                )
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
                write!(f, "the counts file {reason}; it is damaged, so count again")
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
                    "the file has {found} bytes and should have {expected}; it is damaged, so copy it again"
                )
            }
            Self::FileChecksum => {
                write!(
                    f,
                    "the file's checksum does not fit its content; it is damaged, so copy it again"
                )
            }
            Self::FileMalformed { reason } => write!(f, "the file is malformed: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
