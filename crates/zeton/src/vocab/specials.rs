//! Reserved strings with ids of their own. Text never becomes one unless the caller lists it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use crate::search::Literals;
use crate::sys::error::Error;
use crate::vocab::{ID_MAX, Id, Vocab};

pub use crate::sys::bounds::{SPECIAL_BYTES_MAX, SPECIALS_BYTES_MAX, SPECIALS_MAX};

/// The specials of a tokenizer, by rising id.
///
/// Two names may share an id, as in o200k_harmony; the id is decoded as the first of them.
#[derive(Clone, Debug)]
pub struct Specials {
    entries: Vec<(Id, String)>,
    ids: HashMap<String, Id>,
    all: Arc<OnceLock<Names>>,
}

impl Specials {
    /// Checks specials against each other and against a vocabulary.
    ///
    /// # Errors
    ///
    /// When a name is empty, too long or given twice, or an id is that of a token.
    pub fn new(mut entries: Vec<(Id, String)>, vocab: &Vocab) -> Result<Self, Error> {
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
    /// When there is no such special.
    pub fn id(&self, name: &str) -> Result<Id, Error> {
        let unknown = || Error::UnknownSpecial { name: name.to_owned() };
        self.ids.get(name).copied().ok_or_else(unknown)
    }

    /// Returns the name of an id, if it is a special's.
    #[must_use]
    pub fn name(&self, id: Id) -> Option<&str> {
        let at = self.entries.partition_point(|(other, _)| *other < id);
        self.entries.get(at).filter(|(other, _)| *other == id).map(|(_, name)| name.as_str())
    }

    /// Returns all specials, by rising id.
    #[must_use]
    pub fn entries(&self) -> &[(Id, String)] {
        &self.entries
    }

    /// Lets all specials be found in text.
    #[must_use]
    pub fn allow_all(&self) -> Allowed {
        if self.entries.is_empty() {
            return Allowed::none();
        }
        Allowed(Some(self.all.get_or_init(|| Names::new(self.entries.clone())).clone()))
    }

    /// Lets the named specials be found in text.
    ///
    /// # Errors
    ///
    /// When there is no such special.
    pub fn allow<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Allowed, Error> {
        let mut named = BTreeMap::new();
        for name in names {
            named.insert(name, self.id(name)?);
        }
        if named.len() == self.entries.len() {
            return Ok(self.allow_all());
        }
        let entries: Vec<_> = named.into_iter().map(|(name, id)| (id, name.to_owned())).collect();
        Ok(Allowed((!entries.is_empty()).then(|| Names::new(entries))))
    }
}

impl PartialEq for Specials {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Specials {}

/// The specials that may be found in a text. Only a [`Specials`] makes one that is not empty.
#[derive(Clone, Debug)]
pub struct Allowed(Option<Names>);

impl Allowed {
    /// All text is ordinary.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Returns whether all text is ordinary.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the names of those that begin so.
    pub(crate) fn starting_with(&self, prefix: &[u8]) -> impl Iterator<Item = &str> {
        let names = self.0.as_ref().map_or(&[][..], |finder| &finder.names);
        let first = names.partition_point(|name| name.as_bytes() < prefix);
        let begins = move |name: &&String| name.as_bytes().starts_with(prefix);
        names[first..].iter().take_while(begins).map(String::as_str)
    }

    /// Returns the name of the first special in a text, if there is one.
    #[must_use]
    pub fn first<'t>(&self, text: &'t [u8]) -> Option<&'t str> {
        let (place, _) = self.find(text, 0)?;
        Some(std::str::from_utf8(&text[place]).expect("a special's name is UTF-8"))
    }

    /// Returns all specials in a text: their places and ids.
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

    /// Returns the first special in a text: its place and its id. The longest wins where several begin.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<(std::ops::Range<usize>, Id)> {
        self.find_before(text, from, text.len())
    }

    /// The same, of those that begin before `end`. No text far after it is read.
    pub(crate) fn find_before(
        &self,
        text: &[u8],
        from: usize,
        end: usize,
    ) -> Option<(std::ops::Range<usize>, Id)> {
        let finder = self.0.as_ref()?;
        let found = finder.literals.find_within(text, from..end)?;
        Some((found.range, finder.ids[found.needle]))
    }

    /// Returns from where on the end of a text may become a special, or another one, if more follows.
    pub(crate) fn begun_at(&self, text: &[u8]) -> usize {
        let Some(finder) = &self.0 else { return text.len() };
        let is_begun = |end: &[u8]| {
            let first = finder.names.partition_point(|name| name.as_bytes() <= end);
            finder.names.get(first).is_some_and(|name| name.as_bytes().starts_with(end))
        };
        let first = text.len().saturating_sub(finder.bytes_max - 1);
        (first..text.len()).find(|&at| is_begun(&text[at..])).unwrap_or(text.len())
    }
}

#[derive(Clone, Debug)]
struct Names {
    literals: Arc<Literals>,
    ids: Arc<[Id]>,
    /// Sorted.
    names: Arc<[String]>,
    /// The bytes of the longest.
    bytes_max: usize,
}

impl Names {
    fn new(entries: Vec<(Id, String)>) -> Self {
        let names: Vec<&str> = entries.iter().map(|(_, name)| name.as_str()).collect();
        let literals = Literals::new(&names, false);
        let literals = Arc::new(literals.expect("names are bounded in number and length"));
        let ids = entries.iter().map(|(id, _)| *id).collect();
        let bytes_max = entries.iter().map(|(_, name)| name.len()).max().unwrap_or(0);
        let mut names: Vec<String> = entries.into_iter().map(|(_, name)| name).collect();
        names.sort_unstable();
        Self { literals, ids, names: names.into(), bytes_max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::vocab_of;

    fn refusal(entries: &[(Id, &str)]) -> String {
        let entries = entries.iter().map(|(id, name)| (*id, (*name).to_owned())).collect();
        Specials::new(entries, &vocab_of([])).unwrap_err().to_string()
    }

    #[test]
    fn refuses_what_is_empty_doubled_or_clashing() {
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
        let specials = Specials::new(entries, &vocab_of([])).unwrap();
        assert_eq!(specials.allow_all().find(b"x<|a|>", 0), Some((1..6, 257)));
        assert_eq!(specials.allow(["<|a"]).unwrap().find(b"x<|a|>", 0), Some((1..4, 256)));
        assert_eq!(Allowed::none().find(b"x<|a|>", 0), None);
    }

    #[test]
    fn knows_where_a_special_may_have_begun() {
        let entries = vec![(256, "<|a".to_owned()), (257, "<|a|>".to_owned())];
        let specials = Specials::new(entries, &vocab_of([])).unwrap();
        let all = specials.allow_all();
        for (text, begun) in
            [("", 0), ("x", 1), ("x<", 1), ("x<|a", 1), ("<|a|", 0), ("<|a|>", 5), ("<<|", 1)]
        {
            assert_eq!(all.begun_at(text.as_bytes()), begun, "{text}");
        }
        assert_eq!(all.find_before(b"x<|a|>", 0, 1), None);
        assert_eq!(all.find_before(b"x<|a|>", 0, 2), Some((1..6, 257)));
    }
}
