//! Special tokens: reserved strings with ids of their own. `<|endoftext|>` is one.
//!
//! Text never becomes a special unless the caller allows it. [`Specials`] are all specials of a
//! tokenizer, [`AllowedSpecials`] the ones that one call may find. For example, with
//! `<|endoftext|>` = 100257 the text `a<|endoftext|>` is cut into the ordinary text `a` and the id
//! 100257 if that special is allowed. Otherwise all of it is ordinary text.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use crate::search::Literals;
use crate::sys::error::Error;
use crate::vocab::{ID_MAX, Id, Vocab};

pub use crate::sys::bounds::{SPECIAL_BYTES_MAX, SPECIALS_BYTES_MAX, SPECIALS_MAX};

/// The specials of a tokenizer, sorted by id.
///
/// Two names may share an id, as in o200k_harmony. Decoding gives the first of them.
#[derive(Clone, Debug)]
pub struct Specials {
    /// The ids and names, sorted by id.
    entries: Vec<(Id, String)>,
    /// The id of each name.
    ids: HashMap<String, Id>,
    /// The finder of all names, built on first use and shared by clones.
    all: Arc<OnceLock<SpecialNames>>,
}

impl Specials {
    /// Checks specials against each other and against a vocabulary.
    ///
    /// # Errors
    ///
    /// If a name is empty, too long or a duplicate, or an id belongs to a token.
    pub fn try_from_entries(mut entries: Vec<(Id, String)>, vocab: &Vocab) -> Result<Self, Error> {
        if entries.len() > SPECIALS_MAX {
            return Err(Error::TooManySpecials { specials: entries.len() });
        }
        let bytes = entries.iter().map(|(_, name)| name.len()).sum();
        if bytes > SPECIALS_BYTES_MAX {
            return Err(Error::SpecialsTooLong { bytes });
        }
        let mut ids = HashMap::with_capacity(entries.len());
        for (id, name) in &entries {
            if name.is_empty() {
                return Err(Error::EmptySpecial { id: *id });
            }
            if name.len() > SPECIAL_BYTES_MAX {
                return Err(Error::SpecialTooLong { bytes: name.len() });
            }
            if *id > ID_MAX {
                return Err(Error::IdOutOfRange { id: (*id).into() });
            }
            if ids.insert(name.clone(), *id).is_some() {
                return Err(Error::DoubledSpecial { name: name.clone() });
            }
            if let Some(token) = vocab.token(*id) {
                let token = token.to_vec();
                return Err(Error::SpecialClash { name: name.clone(), id: *id, token });
            }
        }
        entries.sort_by_key(|(id, _)| *id);
        Ok(Self { entries, ids, all: Arc::default() })
    }

    /// Returns the id of a special.
    ///
    /// # Errors
    ///
    /// If there is no special of this name.
    pub fn id(&self, name: &str) -> Result<Id, Error> {
        let unknown = || Error::UnknownSpecial {
            name: name.to_owned(),
            known: self.entries.iter().map(|(_, name)| name.clone()).collect(),
        };
        self.ids.get(name).copied().ok_or_else(unknown)
    }

    /// Returns the name of the special with an id, or `None` if the id is no special's.
    #[must_use]
    pub fn name(&self, id: Id) -> Option<&str> {
        let at = self.entries.partition_point(|(other, _)| *other < id);
        self.entries.get(at).filter(|(other, _)| *other == id).map(|(_, name)| name.as_str())
    }

    /// Returns the id and the name of each special, sorted by id.
    #[must_use]
    pub fn entries(&self) -> &[(Id, String)] {
        &self.entries
    }

    /// Allows every special. The first call builds the finder, which later calls and clones share.
    #[must_use]
    pub fn allow_all(&self) -> AllowedSpecials {
        if self.entries.is_empty() {
            return AllowedSpecials::none();
        }
        AllowedSpecials(Some(
            self.all.get_or_init(|| SpecialNames::new(self.entries.clone())).clone(),
        ))
    }

    /// Allows the specials of these names.
    ///
    /// # Errors
    ///
    /// If there is no special of some name.
    pub fn allow<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<AllowedSpecials, Error> {
        let mut ids_by_name = BTreeMap::new();
        for name in names {
            ids_by_name.insert(name, self.id(name)?);
        }
        if ids_by_name.len() == self.entries.len() {
            return Ok(self.allow_all());
        }
        let entries: Vec<_> =
            ids_by_name.into_iter().map(|(name, id)| (id, name.to_owned())).collect();
        Ok(AllowedSpecials((!entries.is_empty()).then(|| SpecialNames::new(entries))))
    }
}

impl PartialEq for Specials {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Specials {}

/// The specials that one call may find in text. Only [`Specials`] returns a set that is not empty.
#[derive(Clone, Debug)]
pub struct AllowedSpecials(Option<SpecialNames>);

impl AllowedSpecials {
    /// Returns the set that allows no special, so that all text is ordinary.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Returns whether the set allows no special, so that texts need no search.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the names of allowed specials with this prefix, in the order of their bytes.
    pub(crate) fn starting_with(&self, prefix: &[u8]) -> impl Iterator<Item = &str> {
        let names = self.0.as_ref().map_or(&[][..], |specials| &specials.sorted_names);
        let first = names.partition_point(|name| name.as_bytes() < prefix);
        let has_prefix = move |name: &&String| name.as_bytes().starts_with(prefix);
        names[first..].iter().take_while(has_prefix).map(String::as_str)
    }

    /// Returns the name of the first allowed special in a text, borrowed from the text, or `None`
    /// if there is none.
    #[must_use]
    pub fn first_name<'t>(&self, text: &'t [u8]) -> Option<&'t str> {
        let (range, _) = self.find(text, 0)?;
        Some(std::str::from_utf8(&text[range]).expect("a special's name is UTF-8"))
    }

    /// Returns the range in bytes and the id of each allowed special in a text, in order.
    #[must_use]
    pub fn find_all(&self, text: &[u8]) -> Vec<(std::ops::Range<usize>, Id)> {
        let mut start = 0;
        std::iter::from_fn(|| {
            let found = self.find(text, start)?;
            start = found.0.end;
            Some(found)
        })
        .collect()
    }

    /// Returns the range and the id of the first special at `from` or later. If several begin at
    /// one position, the longest wins.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<(std::ops::Range<usize>, Id)> {
        self.find_starting_before(text, from, text.len())
    }

    /// Returns the range and the id of the first special that begins in `from..end`. The search
    /// reads no further than the longest name behind `end`.
    pub(crate) fn find_starting_before(
        &self,
        text: &[u8],
        from: usize,
        end: usize,
    ) -> Option<(std::ops::Range<usize>, Id)> {
        let specials = self.0.as_ref()?;
        let found = specials.literals.find_within(text, from..end)?;
        Some((found.range, specials.ids[found.needle]))
    }

    /// Returns the position from which the end of a text may become a special, or a longer one,
    /// with more text. For example, 1 for `x<|end` if `<|endoftext|>` is allowed.
    pub(crate) fn find_incomplete_end(&self, text: &[u8]) -> usize {
        let Some(specials) = &self.0 else { return text.len() };
        let is_incomplete = |end: &[u8]| {
            let first = specials.sorted_names.partition_point(|name| name.as_bytes() <= end);
            specials.sorted_names.get(first).is_some_and(|name| name.as_bytes().starts_with(end))
        };
        let first = text.len().saturating_sub(specials.bytes_max - 1);
        (first..text.len()).find(|&at| is_incomplete(&text[at..])).unwrap_or(text.len())
    }
}

/// A finder of some specials.
#[derive(Clone, Debug)]
struct SpecialNames {
    /// The automaton that finds all names.
    literals: Arc<Literals>,
    /// The id of each name, in the order of the automaton.
    ids: Arc<[Id]>,
    /// The names in the order of their bytes.
    sorted_names: Arc<[String]>,
    /// The bytes of the longest name.
    bytes_max: usize,
}

impl SpecialNames {
    /// Builds the finder of the allowed specials, once for each set of them; texts share it.
    fn new(entries: Vec<(Id, String)>) -> Self {
        let names: Vec<&str> = entries.iter().map(|(_, name)| name.as_str()).collect();
        let literals = Literals::try_from_literals(&names, false);
        let literals = Arc::new(literals.expect("names are bounded in number and length"));
        let ids = entries.iter().map(|(id, _)| *id).collect();
        let bytes_max = entries.iter().map(|(_, name)| name.len()).max().unwrap_or(0);
        let mut sorted_names: Vec<String> = entries.into_iter().map(|(_, name)| name).collect();
        sorted_names.sort_unstable();
        Self { literals, ids, sorted_names: sorted_names.into(), bytes_max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::vocab_of;

    fn refusal(entries: &[(Id, &str)]) -> String {
        let entries = entries.iter().map(|(id, name)| (*id, (*name).to_owned())).collect();
        Specials::try_from_entries(entries, &vocab_of([])).unwrap_err().to_string()
    }

    #[test]
    fn refuses_empty_duplicate_and_clashing_names() {
        assert_eq!(
            refusal(&[(256, "")]),
            "the special with id 256 is empty; a special has at least one character"
        );
        assert_eq!(
            refusal(&[(256, "<s>"), (257, "<s>")]),
            "the special \"<s>\" is given twice; give it one id"
        );
        assert_eq!(
            refusal(&[(97, "<s>")]),
            "the special \"<s>\" has id 97, which is token b\"a\"; give it an id of its own"
        );
    }

    #[test]
    fn the_longest_special_wins() {
        let entries = vec![(256, "<|a".to_owned()), (257, "<|a|>".to_owned())];
        let specials = Specials::try_from_entries(entries, &vocab_of([])).unwrap();
        assert_eq!(specials.allow_all().find(b"x<|a|>", 0), Some((1..6, 257)));
        assert_eq!(specials.allow(["<|a"]).unwrap().find(b"x<|a|>", 0), Some((1..4, 256)));
        assert_eq!(AllowedSpecials::none().find(b"x<|a|>", 0), None);
    }

    #[test]
    fn finds_where_a_special_may_be_incomplete() {
        let entries = vec![(256, "<|a".to_owned()), (257, "<|a|>".to_owned())];
        let specials = Specials::try_from_entries(entries, &vocab_of([])).unwrap();
        let all = specials.allow_all();
        for (text, expected) in
            [("", 0), ("x", 1), ("x<", 1), ("x<|a", 1), ("<|a|", 0), ("<|a|>", 5), ("<<|", 1)]
        {
            assert_eq!(all.find_incomplete_end(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(all.find_starting_before(b"x<|a|>", 0, 1), None);
        assert_eq!(all.find_starting_before(b"x<|a|>", 0, 2), Some((1..6, 257)));
    }
}
