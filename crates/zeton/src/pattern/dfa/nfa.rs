//! Compiles a pattern to a Thompson NFA over classes of characters, with prioritised alternatives.
//!
//! The syntax tree comes from the parser of `fancy_regex`, the engine that defines the meaning of a
//! pattern. The NFA finds the match that this engine would find. For example, `\s+(?!\S)|\s` over
//! the classes `x` (0), blank (1) and the end of the text (2):
//!
//! ```text
//!            ┌──────◀──────┐
//! ─▶ union ─▶ read {1} ─▶ union ─▶ look {1, 2} ─▶ match      `\s+`, then `(?!\S)`
//!      └────▶ read {1} ─────────────────────────▶ match      the second alternative
//! ```
//!
//! The NFA needs to know the characters so far and the class of the next one, and nothing else. A
//! pattern that needs more, or for which equality with `fancy_regex` is not proved, is refused with
//! an [`UnsupportedReason`], and runs on `fancy_regex` itself. In particular, a possessive or
//! atomic part is compiled only in four cases (`compile_atomic`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::char_classes::{CharClasses, ClassSet};

/// The reason why a pattern has no NFA, as the end of a sentence about the pattern, such as "it
/// looks behind".
pub(crate) type UnsupportedReason = &'static str;

/// A state of the NFA, which is an instruction with the index of the next state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NfaState {
    /// Reads one character of these classes.
    Read(ClassSet, u32),
    /// Continues, without reading, if the class of the next character is one of these. The end of
    /// the text is a class too.
    Look(ClassSet, u32),
    /// Continues at both states; the first is preferred.
    Union(u32, u32),
    /// Ends the match.
    Match,
}

/// The NFA of a pattern, and the classes of characters that it reads.
pub(crate) struct Nfa {
    pub(crate) states: Vec<NfaState>,
    /// The index of the start state.
    pub(crate) start: u32,
    pub(crate) classes: CharClasses,
}

/// Maximum number of states, because counted repetitions such as `\w{9999}` are unrolled. The
/// patterns that people use have up to 90 (Kimi's); the limit leaves room for larger ones.
const STATES_MAX: usize = 8192;

impl Nfa {
    /// Compiles a pattern. It first walks the tree to refuse unsupported nodes and to collect the
    /// sets of characters.
    pub(crate) fn try_from_pattern(pattern: &str) -> Result<Self, UnsupportedReason> {
        let tree = Expr::parse_tree(pattern).map_err(|_| "it does not compile")?.expr;
        let (mut numbers, mut sets) = (HashMap::new(), Vec::new());
        let mut rest = vec![&tree];
        while let Some(expr) = rest.pop() {
            if !is_supported(expr) {
                return Err(unsupported_reason(expr));
            }
            for fragment in fragments(expr) {
                if let Entry::Vacant(number) = numbers.entry(fragment) {
                    sets.push(parse_set(number.key()).ok_or("it does not compile")?);
                    number.insert(sets.len() - 1);
                }
            }
            rest.extend(expr.children_iter());
        }
        refuse_rewritten(&tree)?;
        let classes = CharClasses::try_from_sets(&sets)
            .ok_or("it distinguishes too many classes of characters")?;
        let mut compiler = NfaCompiler { numbers, classes, states: vec![NfaState::Match] };
        let start = compiler.compile(&tree, 0, ClassSet::ALL, true)?;
        Ok(Self { states: compiler.states, start, classes: compiler.classes })
    }
}

/// Returns whether the compiler supports this kind of node of a regex; its children are not looked
/// at.
fn is_supported(expr: &Expr) -> bool {
    use LookAround::{LookAhead, LookAheadNeg};
    matches!(
        expr,
        Expr::Empty
            | Expr::Any { .. }
            | Expr::Literal { .. }
            | Expr::Delegate { .. }
            | Expr::Concat(_)
            | Expr::Alt(_)
            | Expr::Group(_)
            | Expr::Repeat { .. }
            | Expr::AtomicGroup(_)
            | Expr::LookAround(_, LookAhead | LookAheadNeg)
            | Expr::Assertion(Assertion::EndText | Assertion::EndLine { crlf: false })
    )
}

/// Returns the reason why a node of a regex is refused, which `info` shows for the pattern.
fn unsupported_reason(expr: &Expr) -> UnsupportedReason {
    match expr {
        Expr::LookAround(..) => "it looks behind",
        Expr::Assertion(Assertion::StartText | Assertion::StartLine { .. }) => {
            "it tests for the start of a text or of a line"
        }
        Expr::Assertion(_) => "it tests for the edge of a word or of the last line",
        Expr::Backref { .. } | Expr::BackrefWithRelativeRecursionLevel { .. } => {
            "it refers back to a group"
        }
        _ => "it has syntax that only the backtracking engine supports",
    }
}

/// Refuses trees that `fancy_regex` rewrites before it runs them, where the rewriting may change
/// the match: `x+y?x+` becomes `x+(?:yx+)?`, and `(x+?)*` becomes `(x+?)?`.
///
/// Its other rewriting, of a greedy repetition of a greedy repetition, keeps the meaning. It may
/// produce one of the trees above, however, so that a pattern with it and with three repetitions in
/// a row is refused.
fn refuse_rewritten(tree: &Expr) -> Result<(), UnsupportedReason> {
    let is_unbounded =
        |expr: &Expr| matches!(expr, Expr::Repeat { lo: 0 | 1, hi: usize::MAX, greedy: true, .. });
    let (mut has_nested, mut has_triple, mut is_rewritten) = (false, false, false);
    let mut rest = vec![tree];
    while let Some(expr) = rest.pop() {
        rest.extend(expr.children_iter());
        if let Expr::Repeat { child, greedy, .. } = expr {
            let mut inner = &**child;
            while let Expr::Group(group) = inner {
                inner = group;
            }
            if let Expr::Repeat { greedy: inner_greedy, .. } = inner {
                has_nested = true;
                is_rewritten |= !(*greedy && *inner_greedy);
            }
            if let Expr::Concat(parts) = &**child
                && let [prefix, Expr::Repeat { child: tail, .. }] = parts.as_slice()
                && let Expr::Concat(tail) = &**tail
                && let [_, right] = tail.as_slice()
                && let (Some(prefix), Some(right)) = (repeated_child(prefix), repeated_child(right))
            {
                has_triple |= is_unbounded(expr);
                is_rewritten |= is_unbounded(expr) && prefix == right;
            }
        }
        let Expr::Concat(parts) = expr else { continue };
        for three in parts.windows(3) {
            if let [left, Expr::Repeat { lo: 0, .. }, right] = three
                && let (Some(left_child), Some(right_child)) =
                    (repeated_child(left), repeated_child(right))
            {
                has_triple = true;
                is_rewritten |=
                    left_child == right_child && is_unbounded(left) && is_unbounded(right);
            }
        }
    }
    match is_rewritten || has_nested && has_triple {
        true => Err("it has repetitions that the backtracking engine rewrites"),
        false => Ok(()),
    }
}

/// Returns the node that a repetition repeats; `None` for a node of any other kind.
fn repeated_child(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Repeat { child, .. } => Some(child),
        _ => None,
    }
}

/// Returns the sets that a node itself, without its children, reads or looks at, one for each
/// character, in the syntax of `regex_syntax`. For example, the literal `ab` without case has
/// `(?i:a)` and `(?i:b)`.
fn fragments(expr: &Expr) -> Vec<String> {
    let cased = |inner: &str, casei| if casei { format!("(?i:{inner})") } else { inner.to_owned() };
    match expr {
        Expr::Any { newline: true, .. } => vec!["(?s:.)".to_owned()],
        Expr::Any { newline: false, crlf: true } => vec!["(?R-s:.)".to_owned()],
        Expr::Any { newline: false, crlf: false } => vec![".".to_owned()],
        Expr::Literal { val, casei } => {
            let escaped =
                |c: char| cased(&regex_syntax::escape(c.encode_utf8(&mut [0; 4])), *casei);
            val.chars().map(escaped).collect()
        }
        Expr::Delegate { inner, casei } => vec![cased(inner, *casei)],
        Expr::Assertion(Assertion::EndLine { .. }) => vec!["\n".to_owned()],
        _ => Vec::new(),
    }
}

/// Parses a fragment of a regex to its set of characters, by the parser to which `fancy_regex`
/// delegates it. Returns `None` if it is more than one character or does not parse.
fn parse_set(fragment: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(fragment).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        HirKind::Class(Class::Bytes(none)) if none.ranges().is_empty() => {
            Some(ClassUnicode::empty())
        }
        HirKind::Literal(literal) => {
            let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
            let (one, rest) = (chars.next()?, chars.next());
            rest.is_none().then(|| ClassUnicode::new([ClassUnicodeRange::new(one, one)]))
        }
        _ => None,
    }
}

/// Compiles a syntax tree to states, from the end of the pattern to its start, so that the next
/// state of each node exists already.
struct NfaCompiler {
    /// The number of each fragment's set.
    numbers: HashMap<String, usize>,
    classes: CharClasses,
    states: Vec<NfaState>,
}

impl NfaCompiler {
    /// Adds a state to the NFA and returns its index. At [`STATES_MAX`] states it returns the
    /// reason that ends the compilation.
    fn add_state(&mut self, state: NfaState) -> Result<u32, UnsupportedReason> {
        if self.states.len() == STATES_MAX {
            return Err("it has too many repetitions and alternatives");
        }
        self.states.push(state);
        Ok(self.states.len() as u32 - 1)
    }

    /// Returns the classes that a node of a regex reads, if it reads exactly one character; `None`
    /// for any other node.
    fn set_of(&self, expr: &Expr) -> Option<ClassSet> {
        match expr {
            Expr::Group(child) => self.set_of(child),
            Expr::Any { .. } | Expr::Delegate { .. } | Expr::Literal { .. } => {
                let fragments = fragments(expr);
                let [fragment] = fragments.as_slice() else { return None };
                Some(self.classes.sets[self.numbers[fragment]])
            }
            _ => None,
        }
    }

    /// Returns the classes of a next character before which `expr` matches; `None` if that class
    /// alone does not decide it. For example, `\s+` matches exactly before a blank, and `bc` is
    /// undecided.
    fn lookahead_set(&self, expr: &Expr) -> Option<ClassSet> {
        let end = ClassSet::from_class(self.classes.end());
        Some(match expr {
            Expr::Empty => ClassSet::ALL,
            Expr::Assertion(Assertion::EndText) => end,
            Expr::Assertion(Assertion::EndLine { .. }) => {
                end.union(self.classes.sets[self.numbers["\n"]])
            }
            Expr::Alt(children) => {
                let sets = children.iter().map(|child| self.lookahead_set(child));
                sets.collect::<Option<Vec<_>>>()?.into_iter().fold(ClassSet::NONE, ClassSet::union)
            }
            Expr::Group(child) => self.lookahead_set(child)?,
            Expr::AtomicGroup(child) => self.lookahead_set(child)?,
            Expr::Repeat { lo: 0, .. } => ClassSet::ALL,
            Expr::Repeat { child, lo: 1, hi: 1.., .. } => self.lookahead_set(child)?,
            Expr::Concat(children) => {
                let (first, rest) = children.split_first()?;
                rest.iter().all(is_certain).then(|| self.lookahead_set(first))??
            }
            Expr::LookAround(child, LookAround::LookAhead) => self.lookahead_set(child)?,
            Expr::LookAround(child, LookAround::LookAheadNeg) => {
                self.lookahead_set(child)?.complement()
            }
            _ => self.set_of(expr)?,
        })
    }

    /// Returns the FIRST set of `expr` and the pattern behind it: the classes of a next character
    /// before which they may match. `follow` is the FIRST set of the pattern behind `expr`.
    fn first_set(&self, expr: &Expr, follow: ClassSet) -> ClassSet {
        match expr {
            Expr::Empty => follow,
            Expr::Literal { .. } => match fragments(expr).first() {
                Some(fragment) => self.classes.sets[self.numbers[fragment]],
                None => follow,
            },
            Expr::Concat(children) => {
                children.iter().rev().fold(follow, |follow, child| self.first_set(child, follow))
            }
            Expr::Alt(children) => {
                let firsts = children.iter().map(|child| self.first_set(child, follow));
                firsts.fold(ClassSet::NONE, ClassSet::union)
            }
            Expr::Group(child) => self.first_set(child, follow),
            Expr::AtomicGroup(child) => self.first_set(child, follow),
            Expr::Repeat { hi: 0, .. } => follow,
            Expr::Repeat { child, lo, hi: 1, .. } => {
                let first = self.first_set(child, follow);
                if *lo == 0 { first.union(follow) } else { first }
            }
            // The child cannot be empty, because `compile_repeat` refuses that.
            Expr::Repeat { child, lo, .. } => {
                let first = self.first_set(child, ClassSet::ALL);
                if *lo == 0 { first.union(follow) } else { first }
            }
            Expr::LookAround(..) | Expr::Assertion(_) => {
                self.lookahead_set(expr).unwrap_or(ClassSet::ALL).intersection(follow)
            }
            _ => self.set_of(expr).unwrap_or(ClassSet::ALL),
        }
    }

    /// Appends the states of `expr`, which continues at `next`; returns its start state.
    ///
    /// The pattern behind `expr` can match only before the classes of `follow`. It can match before
    /// any text if `follow_is_certain`.
    fn compile(
        &mut self,
        expr: &Expr,
        next: u32,
        follow: ClassSet,
        follow_is_certain: bool,
    ) -> Result<u32, UnsupportedReason> {
        match expr {
            Expr::Empty => Ok(next),
            Expr::Literal { .. } => {
                fragments(expr).iter().rev().try_fold(next, |next, fragment| {
                    self.add_state(NfaState::Read(self.classes.sets[self.numbers[fragment]], next))
                })
            }
            Expr::Any { .. } | Expr::Delegate { .. } => {
                let set = self.set_of(expr).expect("a node of this kind is a set");
                self.add_state(NfaState::Read(set, next))
            }
            Expr::Concat(children) => {
                let (mut next, mut follow, mut follow_is_certain) =
                    (next, follow, follow_is_certain);
                for child in children.iter().rev() {
                    next = self.compile(child, next, follow, follow_is_certain)?;
                    follow = self.first_set(child, follow);
                    follow_is_certain &= is_certain(child);
                }
                Ok(next)
            }
            Expr::Alt(children) => {
                let (last, others) = children.split_last().ok_or("it does not compile")?;
                let last = self.compile(last, next, follow, follow_is_certain)?;
                others.iter().rev().try_fold(last, |rest, child| {
                    let first = self.compile(child, next, follow, follow_is_certain)?;
                    self.add_state(NfaState::Union(first, rest))
                })
            }
            Expr::Group(child) => self.compile(child, next, follow, follow_is_certain),
            Expr::Repeat { child, lo, hi, greedy } => {
                let repeat = RepeatBounds { lo: *lo, hi: *hi, greedy: *greedy, exit: next };
                self.compile_repeat(child, repeat, next, follow, follow_is_certain)
            }
            Expr::AtomicGroup(child) => self.compile_atomic(child, next, follow, follow_is_certain),
            Expr::LookAround(..) | Expr::Assertion(_) => {
                let lookahead =
                    self.lookahead_set(expr).ok_or("it looks ahead by more than one character")?;
                self.add_state(NfaState::Look(lookahead, next))
            }
            _ => Err(unsupported_reason(expr)),
        }
    }

    /// Compiles `child{lo,hi}`. A repetition of fewer than `hi` rounds continues at `exit`, one of
    /// `hi` rounds at `next`.
    fn compile_repeat(
        &mut self,
        child: &Expr,
        repeat: RepeatBounds,
        next: u32,
        follow: ClassSet,
        follow_is_certain: bool,
    ) -> Result<u32, UnsupportedReason> {
        let RepeatBounds { lo, hi, greedy, exit } = repeat;
        if hi < lo {
            return Err("it has a repetition whose upper bound is below the lower one");
        }
        if hi == 0 {
            return Ok(next);
        }
        if hi > 1 && is_nullable(child) {
            return Err("it repeats a part that may be empty");
        }
        // A round is followed by another round or, after `lo` rounds, by the pattern behind.
        let (follow, follow_is_certain) = match hi {
            1 => (follow, follow_is_certain),
            _ => (follow.union(self.first_set(child, ClassSet::ALL)), follow_is_certain && lo <= 1),
        };
        let fork = |body, exit| match greedy {
            true => NfaState::Union(body, exit),
            false => NfaState::Union(exit, body),
        };
        let (mut begin, written) = if hi == usize::MAX {
            let loops = self.add_state(NfaState::Match)?;
            let body = self.compile(child, loops, follow, follow_is_certain)?;
            self.states[loops as usize] = fork(body, exit);
            if lo == 0 { (loops, 0) } else { (body, 1) }
        } else {
            let mut begin = next;
            for _ in lo..hi {
                let body = self.compile(child, begin, follow, follow_is_certain)?;
                begin = self.add_state(fork(body, exit))?;
            }
            (begin, 0)
        };
        for _ in written..lo {
            begin = self.compile(child, begin, follow, follow_is_certain)?;
        }
        Ok(begin)
    }

    /// Compiles `(?>child)`, of which a possessive repetition is the commonest form.
    ///
    /// An atomic group forbids backtracking into the child, which an NFA cannot express in general.
    /// It is compiled in four cases, in each of which backtracking is proved to change nothing:
    ///
    /// - The child is a set repeated greedily, as in `\s++`. A possessive repetition stops at `hi`
    ///   rounds, or before a character outside the set, and nowhere else. So the exit of the greedy
    ///   repetition first looks ahead for a character outside the set.
    /// - The child is a greedy repetition of a part of one length, and the pattern behind cannot
    ///   match the first character of that part. A repetition that stops early stops before the
    ///   part, where the pattern behind fails.
    /// - The pattern behind cannot fail, so that the first way to match the child is used.
    /// - All ways to match the child have one length, so that another way changes nothing.
    fn compile_atomic(
        &mut self,
        child: &Expr,
        next: u32,
        follow: ClassSet,
        follow_is_certain: bool,
    ) -> Result<u32, UnsupportedReason> {
        let mut child = child;
        while let Expr::Group(inner) = child {
            child = inner;
        }
        if let Expr::Repeat { child: one, lo, hi, greedy: true } = child {
            if let Some(set) = self.set_of(one) {
                let exit = self.add_state(NfaState::Look(set.complement(), next))?;
                let repeat = RepeatBounds { lo: *lo, hi: *hi, greedy: true, exit };
                return self.compile_repeat(one, repeat, next, follow, follow_is_certain);
            }
            let first = self.first_set(one, ClassSet::ALL);
            if fixed_length(one).is_some_and(|length| length > 0)
                && first.intersection(follow) == ClassSet::NONE
            {
                return self.compile(child, next, follow, follow_is_certain);
            }
        }
        match follow_is_certain || fixed_length(child).is_some() {
            true => self.compile(child, next, follow, follow_is_certain),
            false => Err("it has a possessive part that is not proven equal to a greedy one"),
        }
    }
}

/// The bounds of a repetition, and its exit.
#[derive(Clone, Copy)]
struct RepeatBounds {
    lo: usize,
    /// `usize::MAX` if there is no upper bound.
    hi: usize,
    greedy: bool,
    /// The state after fewer than `hi` rounds.
    exit: u32,
}

/// Returns whether a node may match the empty text. The compiler refuses to repeat a part that may.
fn is_nullable(expr: &Expr) -> bool {
    match expr {
        Expr::Any { .. } | Expr::Delegate { .. } => false,
        Expr::Literal { val, .. } => val.is_empty(),
        Expr::Concat(children) => children.iter().all(is_nullable),
        Expr::Alt(children) => children.iter().any(is_nullable),
        Expr::Group(child) => is_nullable(child),
        Expr::AtomicGroup(child) => is_nullable(child),
        Expr::Repeat { child, lo, .. } => *lo == 0 || is_nullable(child),
        _ => true,
    }
}

/// Returns whether a node matches before any text, perhaps the empty text. It may answer `false`
/// for a node that does.
fn is_certain(expr: &Expr) -> bool {
    match expr {
        Expr::Empty => true,
        Expr::Concat(children) => children.iter().all(is_certain),
        Expr::Alt(children) => children.iter().any(is_certain),
        Expr::Group(child) => is_certain(child),
        Expr::AtomicGroup(child) => is_certain(child),
        Expr::Repeat { child, lo, .. } => *lo == 0 || is_certain(child),
        _ => false,
    }
}

/// Returns the number of characters that a node of a regex reads; `None` if that depends on the way
/// to match it.
fn fixed_length(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Empty | Expr::LookAround(..) | Expr::Assertion(_) => Some(0),
        Expr::Any { .. } | Expr::Delegate { .. } => Some(1),
        Expr::Literal { val, .. } => Some(val.chars().count()),
        Expr::Concat(children) => {
            children.iter().try_fold(0_usize, |sum, child| sum.checked_add(fixed_length(child)?))
        }
        Expr::Alt(children) => {
            let mut lengths = children.iter().map(fixed_length);
            let first = lengths.next()??;
            lengths.all(|length| length == Some(first)).then_some(first)
        }
        Expr::Group(child) => fixed_length(child),
        Expr::AtomicGroup(child) => fixed_length(child),
        Expr::Repeat { child, lo, hi, .. } if lo == hi => lo.checked_mul(fixed_length(child)?),
        _ => None,
    }
}
