//! A pattern becomes a program: ordered threads that read classes of characters.
//!
//! The tree is the one that the oracle's parser makes, and the program finds what the oracle's
//! engine finds, without stepping back: it never needs to know more than the characters so far and
//! the class of the next. A pattern for which that does not hold, or is not proven, is
//! [`Unfit`] and goes to the engine that steps back.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::char_classes::{Classes, Partition};

/// Why a pattern has no program, as the end of a sentence about it.
pub(crate) type Unfit = &'static str;

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    /// Reads one character of these classes.
    Read(Classes, u32),
    /// Goes on if the next class, or the end of the text, is one of these.
    Look(Classes, u32),
    /// Goes on at both; the first is preferred.
    Split(u32, u32),
    /// The match ends here.
    Match,
}

/// A program, and the classes that it reads.
pub(crate) struct Program {
    pub(crate) nodes: Vec<Node>,
    pub(crate) start: u32,
    pub(crate) partition: Partition,
}

/// Instructions that a program has at most; counted repeats are written out.
const NODES_MAX: usize = 8192;

impl Program {
    /// Compiles a pattern.
    pub(crate) fn of(pattern: &str) -> Result<Self, Unfit> {
        let tree = Expr::parse_tree(pattern).map_err(|_| "it does not compile")?.expr;
        let (mut numbers, mut sets) = (HashMap::new(), Vec::new());
        let mut rest = vec![&tree];
        while let Some(expr) = rest.pop() {
            if !is_known(expr) {
                return Err(unknown(expr));
            }
            for fragment in fragments(expr) {
                if let Entry::Vacant(number) = numbers.entry(fragment) {
                    sets.push(set_of(number.key()).ok_or("it does not compile")?);
                    number.insert(sets.len() - 1);
                }
            }
            rest.extend(expr.children_iter());
        }
        refuse_rewritten(&tree)?;
        let partition = Partition::of(&sets).ok_or("it tells too many classes apart")?;
        let mut writer = Writer { numbers, partition, nodes: vec![Node::Match] };
        let start = writer.write(&tree, 0, Classes::ALL, true)?;
        Ok(Self { nodes: writer.nodes, start, partition: writer.partition })
    }
}

/// Returns whether the writer knows this kind of node.
fn is_known(expr: &Expr) -> bool {
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

fn unknown(expr: &Expr) -> Unfit {
    match expr {
        Expr::LookAround(..) => "it looks behind",
        Expr::Assertion(Assertion::StartText | Assertion::StartLine { .. }) => {
            "it asks where a text or a line begins"
        }
        Expr::Assertion(_) => "it asks for the edge of a word or of the last line",
        Expr::Backref { .. } | Expr::BackrefWithRelativeRecursionLevel { .. } => {
            "it refers back to a group"
        }
        _ => "it has a rule that only a backtracking engine knows",
    }
}

/// Refuses trees that the oracle's engine rewrites before it runs them, in ways that may change
/// what they match: `x+y?x+` becomes `x+(?:yx+)?` there, and `(x+?)*` becomes `(x+?)?`.
///
/// Greedy repeats of greedy repeats, the other rewriting that it does, keep their meaning; but they
/// may uncover such a tree, so with them any three repeats in a row are refused.
fn refuse_rewritten(tree: &Expr) -> Result<(), Unfit> {
    let unbounded =
        |expr: &Expr| matches!(expr, Expr::Repeat { lo: 0 | 1, hi: usize::MAX, greedy: true, .. });
    let (mut nested, mut triple, mut rewritten) = (false, false, false);
    let mut rest = vec![tree];
    while let Some(expr) = rest.pop() {
        rest.extend(expr.children_iter());
        if let Expr::Repeat { child, greedy, .. } = expr {
            let mut inner = &**child;
            while let Expr::Group(group) = inner {
                inner = group;
            }
            if let Expr::Repeat { greedy: inner_greedy, .. } = inner {
                nested = true;
                rewritten |= !(*greedy && *inner_greedy);
            }
            if let Expr::Concat(parts) = &**child
                && let [prefix, Expr::Repeat { child: tail, .. }] = parts.as_slice()
                && let Expr::Concat(tail) = &**tail
                && let [_, right] = tail.as_slice()
                && let (Some(prefix), Some(right)) = (repeated(prefix), repeated(right))
            {
                triple |= unbounded(expr);
                rewritten |= unbounded(expr) && prefix == right;
            }
        }
        let Expr::Concat(parts) = expr else { continue };
        for three in parts.windows(3) {
            if let [left, Expr::Repeat { lo: 0, .. }, right] = three
                && let (Some(left_child), Some(right_child)) = (repeated(left), repeated(right))
            {
                triple = true;
                rewritten |= left_child == right_child && unbounded(left) && unbounded(right);
            }
        }
    }
    match rewritten || nested && triple {
        true => Err("it has repeats that the engine which defines patterns rewrites"),
        false => Ok(()),
    }
}

/// What a node repeats, if it repeats.
fn repeated(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Repeat { child, .. } => Some(child),
        _ => None,
    }
}

/// The sets that a node itself reads or looks at, in the syntax of `regex_syntax`.
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

/// The set that a fragment means, by the parser that the oracle's engine hands it to.
fn set_of(fragment: &str) -> Option<ClassUnicode> {
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

/// Writes a tree's instructions, the last first.
struct Writer {
    /// The number of each fragment's set.
    numbers: HashMap<String, usize>,
    partition: Partition,
    nodes: Vec<Node>,
}

impl Writer {
    fn add(&mut self, node: Node) -> Result<u32, Unfit> {
        if self.nodes.len() == NODES_MAX {
            return Err("its repeats and alternatives are too many");
        }
        self.nodes.push(node);
        Ok(self.nodes.len() as u32 - 1)
    }

    /// The classes of a node that reads exactly one character.
    fn set(&self, expr: &Expr) -> Option<Classes> {
        match expr {
            Expr::Group(child) => self.set(child),
            Expr::Any { .. } | Expr::Delegate { .. } | Expr::Literal { .. } => {
                let fragments = fragments(expr);
                let [fragment] = fragments.as_slice() else { return None };
                Some(self.partition.sets[self.numbers[fragment]])
            }
            _ => None,
        }
    }

    /// The next classes at which `expr` matches something, where the next class alone decides that.
    fn ahead(&self, expr: &Expr) -> Option<Classes> {
        let end = Classes::of(self.partition.end());
        Some(match expr {
            Expr::Empty => Classes::ALL,
            Expr::Assertion(Assertion::EndText) => end,
            Expr::Assertion(Assertion::EndLine { .. }) => {
                end.or(self.partition.sets[self.numbers["\n"]])
            }
            Expr::Alt(children) => {
                let sets = children.iter().map(|child| self.ahead(child));
                sets.collect::<Option<Vec<_>>>()?.into_iter().fold(Classes::NONE, Classes::or)
            }
            Expr::Group(child) => self.ahead(child)?,
            Expr::AtomicGroup(child) => self.ahead(child)?,
            Expr::Repeat { lo: 0, .. } => Classes::ALL,
            Expr::Repeat { child, lo: 1, hi: 1.., .. } => self.ahead(child)?,
            Expr::Concat(children) => {
                let (first, rest) = children.split_first()?;
                rest.iter().all(cannot_fail).then(|| self.ahead(first))??
            }
            Expr::LookAround(child, LookAround::LookAhead) => self.ahead(child)?,
            Expr::LookAround(child, LookAround::LookAheadNeg) => self.ahead(child)?.not(),
            _ => self.set(expr)?,
        })
    }

    /// The next classes at which `expr` and what follows may match; `after` are those of the latter.
    fn first(&self, expr: &Expr, after: Classes) -> Classes {
        match expr {
            Expr::Empty => after,
            Expr::Literal { .. } => match fragments(expr).first() {
                Some(fragment) => self.partition.sets[self.numbers[fragment]],
                None => after,
            },
            Expr::Concat(children) => {
                children.iter().rev().fold(after, |after, child| self.first(child, after))
            }
            Expr::Alt(children) => {
                let firsts = children.iter().map(|child| self.first(child, after));
                firsts.fold(Classes::NONE, Classes::or)
            }
            Expr::Group(child) => self.first(child, after),
            Expr::AtomicGroup(child) => self.first(child, after),
            Expr::Repeat { hi: 0, .. } => after,
            Expr::Repeat { child, lo, hi: 1, .. } => {
                let first = self.first(child, after);
                if *lo == 0 { first.or(after) } else { first }
            }
            // What is repeated is never empty, or the pattern is refused.
            Expr::Repeat { child, lo, .. } => {
                let first = self.first(child, Classes::ALL);
                if *lo == 0 { first.or(after) } else { first }
            }
            Expr::LookAround(..) | Expr::Assertion(_) => {
                self.ahead(expr).unwrap_or(Classes::ALL).and(after)
            }
            _ => self.set(expr).unwrap_or(Classes::ALL),
        }
    }

    /// Writes `expr`, which goes on at `next`, and returns where it begins.
    ///
    /// What follows can match only where the next class is in `after`; it always can if `sure`.
    fn write(&mut self, expr: &Expr, next: u32, after: Classes, sure: bool) -> Result<u32, Unfit> {
        match expr {
            Expr::Empty => Ok(next),
            Expr::Literal { .. } => {
                fragments(expr).iter().rev().try_fold(next, |next, fragment| {
                    self.add(Node::Read(self.partition.sets[self.numbers[fragment]], next))
                })
            }
            Expr::Any { .. } | Expr::Delegate { .. } => {
                let set = self.set(expr).expect("such a node is a set");
                self.add(Node::Read(set, next))
            }
            Expr::Concat(children) => {
                let (mut next, mut after, mut sure) = (next, after, sure);
                for child in children.iter().rev() {
                    next = self.write(child, next, after, sure)?;
                    after = self.first(child, after);
                    sure &= cannot_fail(child);
                }
                Ok(next)
            }
            Expr::Alt(children) => {
                let (last, others) = children.split_last().ok_or("it does not compile")?;
                let last = self.write(last, next, after, sure)?;
                others.iter().rev().try_fold(last, |rest, child| {
                    let first = self.write(child, next, after, sure)?;
                    self.add(Node::Split(first, rest))
                })
            }
            Expr::Group(child) => self.write(child, next, after, sure),
            Expr::Repeat { child, lo, hi, greedy } => {
                let repeat = Repeat { lo: *lo, hi: *hi, greedy: *greedy, exit: next };
                self.write_repeat(child, repeat, next, after, sure)
            }
            Expr::AtomicGroup(child) => self.write_atomic(child, next, after, sure),
            Expr::LookAround(..) | Expr::Assertion(_) => {
                let ahead = self.ahead(expr).ok_or("it looks ahead by more than one character")?;
                self.add(Node::Look(ahead, next))
            }
            _ => Err(unknown(expr)),
        }
    }

    /// Writes `child{lo,hi}`; before `hi` is reached, it is left at `exit`, and then at `next`.
    fn write_repeat(
        &mut self,
        child: &Expr,
        repeat: Repeat,
        next: u32,
        after: Classes,
        sure: bool,
    ) -> Result<u32, Unfit> {
        let Repeat { lo, hi, greedy, exit } = repeat;
        if hi < lo {
            return Err("it has a repeat whose bounds are the wrong way round");
        }
        if hi == 0 {
            return Ok(next);
        }
        if hi > 1 && is_nullable(child) {
            return Err("it repeats what may be empty");
        }
        // What follows one round is another, or what follows the repeat once there were enough.
        let (after, sure) = match hi {
            1 => (after, sure),
            _ => (after.or(self.first(child, Classes::ALL)), sure && lo <= 1),
        };
        let fork = |body, exit| match greedy {
            true => Node::Split(body, exit),
            false => Node::Split(exit, body),
        };
        let (mut begin, written) = if hi == usize::MAX {
            let loops = self.add(Node::Match)?;
            let body = self.write(child, loops, after, sure)?;
            self.nodes[loops as usize] = fork(body, exit);
            if lo == 0 { (loops, 0) } else { (body, 1) }
        } else {
            let mut begin = next;
            for _ in lo..hi {
                let body = self.write(child, begin, after, sure)?;
                begin = self.add(fork(body, exit))?;
            }
            (begin, 0)
        };
        for _ in written..lo {
            begin = self.write(child, begin, after, sure)?;
        }
        Ok(begin)
    }

    /// Writes `(?>child)`, of which a possessive repeat is one, in these cases, where it is proven
    /// that some program which steps back finds the same:
    ///
    /// - A set repeated possessively stops at `hi`, or before a character outside the set, and
    ///   nowhere else. So where a greedy repeat would be left, the possessive one first looks ahead
    ///   for a character outside the set; that is all that it means.
    /// - What follows cannot fail: the first way of matching `child` is the one that is used.
    /// - All ways of matching `child` have one length: to step back into it changes nothing.
    /// - A greedy repeat of a child of one length, where what follows cannot match what the child
    ///   begins with: a repeat cut short ends where the child matched, and what follows fails there.
    fn write_atomic(
        &mut self,
        child: &Expr,
        next: u32,
        after: Classes,
        sure: bool,
    ) -> Result<u32, Unfit> {
        let mut child = child;
        while let Expr::Group(inner) = child {
            child = inner;
        }
        if let Expr::Repeat { child: one, lo, hi, greedy: true } = child {
            if let Some(set) = self.set(one) {
                let exit = self.add(Node::Look(set.not(), next))?;
                let repeat = Repeat { lo: *lo, hi: *hi, greedy: true, exit };
                return self.write_repeat(one, repeat, next, after, sure);
            }
            let first = self.first(one, Classes::ALL);
            if length(one).is_some_and(|length| length > 0) && first.and(after) == Classes::NONE {
                return self.write(child, next, after, sure);
            }
        }
        match sure || length(child).is_some() {
            true => self.write(child, next, after, sure),
            false => Err("it has a possessive part that is not proven equal to a greedy one"),
        }
    }
}

/// The bounds of a repeat, and where it is left.
#[derive(Clone, Copy)]
struct Repeat {
    lo: usize,
    hi: usize,
    greedy: bool,
    exit: u32,
}

/// Returns whether a node may match nothing.
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

/// Returns whether a node matches something, if only nothing, before any text.
fn cannot_fail(expr: &Expr) -> bool {
    match expr {
        Expr::Empty => true,
        Expr::Concat(children) => children.iter().all(cannot_fail),
        Expr::Alt(children) => children.iter().any(cannot_fail),
        Expr::Group(child) => cannot_fail(child),
        Expr::AtomicGroup(child) => cannot_fail(child),
        Expr::Repeat { child, lo, .. } => *lo == 0 || cannot_fail(child),
        _ => false,
    }
}

/// The characters that a node reads, if all ways of matching it read as many.
fn length(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Empty | Expr::LookAround(..) | Expr::Assertion(_) => Some(0),
        Expr::Any { .. } | Expr::Delegate { .. } => Some(1),
        Expr::Literal { val, .. } => Some(val.chars().count()),
        Expr::Concat(children) => {
            children.iter().try_fold(0_usize, |sum, child| sum.checked_add(length(child)?))
        }
        Expr::Alt(children) => {
            let mut lengths = children.iter().map(length);
            let first = lengths.next()??;
            lengths.all(|length| length == Some(first)).then_some(first)
        }
        Expr::Group(child) => length(child),
        Expr::AtomicGroup(child) => length(child),
        Expr::Repeat { child, lo, hi, .. } if lo == hi => lo.checked_mul(length(child)?),
        _ => None,
    }
}
