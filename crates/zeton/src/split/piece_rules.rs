//! The pieces of a text, each with the name of its rule, for `tok.explain` and reports.
//!
//! For example, with nanochat's pattern: `It`=word, `'s`=contraction, a blank=space, `42`=number,
//! `!`=punctuation. Rules that a user wrote have the names of their fields, for example `keep` or
//! `isolate date`.

use super::layers::PieceRule;
use super::{SplitEngine, Splitter};
use crate::pattern::Grammar;
use crate::pattern::rules::{Rules, UnderscoreStyle};
use crate::sys::error::Error;

/// The name of all pieces of a pattern outside the family, because its rules are unknown.
const PATTERN_NAME: &str = "pattern";

/// The name of a piece that no rule made, if the rules have no base pattern.
const REST_NAME: &str = "rest";

const UNDERSCORES_NAME: &str = "underscores";

/// Characters of an unnamed group that are shown in its name. Not measured: a name should be short.
const CHARACTERS_SHOWN: usize = 12;

/// The names of the rules that make pieces, in the words that users read.
#[derive(Clone, Debug)]
pub struct RuleNames<'s> {
    splitter: &'s Splitter,
    grammar: Option<&'s Grammar>,
    pattern: &'static str,
    /// Whether a run of underscores is named as such, also where the pattern itself cut it off.
    underscores: bool,
    isolate: Vec<String>,
    lexicon: Vec<String>,
    unknown: Vec<String>,
    groups: Vec<String>,
}

impl Splitter {
    /// Returns the names of the rules that make pieces.
    ///
    /// The rules of a grammar are `contraction`, `word`, `number`, `punctuation` and `space`. Every
    /// other pattern is one rule, `pattern`. Rules of a user have the names of their fields:
    /// `keep`, `isolate date`.
    #[must_use]
    pub fn rule_names(&self) -> RuleNames<'_> {
        let grammar = match &self.engine {
            SplitEngine::Scanner { grammar, .. } => Some(grammar),
            _ => None,
        };
        let rules = Rules::recognise(&self.pattern).and_then(Result::ok);
        let underscores =
            rules.as_ref().is_some_and(|rules| rules.underscores == Some(UnderscoreStyle::Alone));
        let from_nothing =
            rules.as_ref().is_some_and(|rules| rules.base.is_none() && rules.pattern.is_none());
        let (isolate, lexicon, groups) = rules
            .map_or_else(Default::default, |rules| (rules.isolate, rules.lexicon, rules.groups));
        let isolate = isolate.into_iter().zip(1..).map(|(isolate, number): (_, usize)| {
            format!("isolate {}", isolate.name.unwrap_or_else(|| number.to_string()))
        });
        let groups = groups.into_iter().map(|group| {
            let characters = || group.characters.chars().take(CHARACTERS_SHOWN).collect();
            format!("groups {}", group.name.clone().unwrap_or_else(characters))
        });
        let scripts = lexicon.iter().map(|lexicon| &lexicon.script);
        RuleNames {
            splitter: self,
            grammar,
            pattern: if from_nothing { REST_NAME } else { PATTERN_NAME },
            underscores,
            isolate: isolate.collect(),
            lexicon: scripts.clone().map(|script| format!("lexicon {script}")).collect(),
            unknown: scripts.map(|script| format!("lexicon {script}, unknown")).collect(),
            groups: groups.collect(),
        }
    }
}

impl RuleNames<'_> {
    /// Calls `visit` with every piece of `text` and the name of its rule, from left to right.
    ///
    /// # Errors
    ///
    /// The errors of [`Splitter::split`].
    pub fn split<'t>(
        &self,
        text: &'t [u8],
        mut visit: impl FnMut(&'t [u8], &str),
    ) -> Result<(), Error> {
        self.splitter
            .split_with_rules(text, |piece, rule| visit(piece, self.find_name(piece, rule)))
    }

    /// Returns the name of the rule that made a piece, borrowed, as `explain` shows it. For the
    /// pattern of a grammar, the piece's characters tell its alternative.
    fn find_name(&self, piece: &[u8], rule: PieceRule) -> &str {
        match rule {
            PieceRule::Keep => "keep",
            PieceRule::KeepWords => "keep_words",
            PieceRule::Isolate(number) => &self.isolate[number],
            PieceRule::Lexicon(number) => &self.lexicon[number],
            PieceRule::Unknown(number) => &self.unknown[number],
            PieceRule::Group(number) => &self.groups[number],
            PieceRule::Pattern if self.underscores && piece.iter().all(|&byte| byte == b'_') => {
                UNDERSCORES_NAME
            }
            PieceRule::Pattern => {
                self.grammar.map_or(self.pattern, |grammar| grammar.rule_of(piece).name())
            }
            PieceRule::Digits => "digits",
            PieceRule::Case => "case",
            PieceRule::Underscores => UNDERSCORES_NAME,
            PieceRule::Scripts => "scripts",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_named(pattern: &str, text: &str) -> String {
        let mut named = Vec::new();
        let splitter = Splitter::parse(pattern).unwrap();
        let take = |piece: &[u8], rule: &str| {
            named.push(format!("{}={rule}", String::from_utf8_lossy(piece)));
        };
        splitter.rule_names().split(text.as_bytes(), take).unwrap();
        named.join("|")
    }

    #[test]
    fn every_piece_has_its_rule() {
        assert_eq!(
            split_named(crate::pattern::NANOCHAT, "It's 42!"),
            "It=word|'s=contraction| =space|42=number|!=punctuation"
        );
        assert_eq!(split_named(r"\w+|\W", "It's"), "It=pattern|'=pattern|s=pattern");
    }

    #[test]
    fn rules_are_named_by_their_fields() {
        let rules = concat!(
            r#"{"rules":1,"digits":3,"digits_from":"right","case":"words","underscores":"alone","#,
            r#""scripts":true,"keep":["C++"],"keep_words":["BRCA1"],"#,
            r#""isolate":[{"regex":"\\d+-\\d+","name":"date"},{"regex":"@\\w+"}],"#,
            r#""lexicon":[{"script":"Thai","words":["ไทย"]}],"#,
            r#""groups":[{"characters":"αβ","size":1},{"characters":"γδ","size":1,"name":"end"}]}"#,
        );
        assert_eq!(
            split_named(rules, "C++BRCA1 is 12-3@x"),
            "C++=keep|BRCA1=keep_words| is=word| =space|12-3=isolate date|@x=isolate 2"
        );
        assert_eq!(
            split_named(rules, "ไทยก αγ 1234 aB_c"),
            "ไทย=lexicon Thai|ก=lexicon Thai, unknown| =space|α=groups αβ|γ=groups end| =space|\
             1=digits|234=digits| a=word|B=case|_=underscores|c=underscores"
        );
        assert_eq!(split_named(rules, "aб"), "a=word|б=scripts");
        assert_eq!(
            split_named(r#"{"rules":1,"base":null,"keep":["x"]}"#, "axb"),
            "a=rest|x=keep|b=rest"
        );
    }
}
