//! The answer of a visitor: whether a split continues with the next piece.

/// The result of a closure that visits pieces: `()` always continues, `bool` continues if `true`.
///
/// Both are statically known types, so a visitor that returns `()` costs no test. The standard
/// `ControlFlow` would make every such visitor spell out `ControlFlow::Continue(())`.
///
/// ```
/// let splitter = zeton::Splitter::parse(r"\w+|\W")?;
/// let mut pieces = Vec::new();
/// splitter.split(b"one two three", |piece| {
///     pieces.push(piece);
///     pieces.len() < 3
/// })?;
/// assert_eq!(pieces, [&b"one"[..], b" ", b"two"]);
/// # Ok::<(), zeton::Error>(())
/// ```
pub trait VisitControl {
    /// Returns whether to visit the next piece; if not, the split stops without an error.
    fn is_continue(&self) -> bool;
}

impl VisitControl for () {
    fn is_continue(&self) -> bool {
        true
    }
}

impl VisitControl for bool {
    fn is_continue(&self) -> bool {
        *self
    }
}
