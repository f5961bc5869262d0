"""Text that is safe on a terminal: characters that do not print are escaped."""


def visible(text: str | bytes) -> str:
    r"""Escape every character that does not print and every byte that is not UTF-8.

    >>> print(visible(b"caf\xc3\xa9\n\x1b[2J\xe4"))
    café\n\x1b[2J\xe4
    >>> print(visible("a\u200bb"))
    a\u{200b}b
    """
    if isinstance(text, bytes):
        text = text.decode(errors="backslashreplace")
    return text if text.isprintable() else text.translate(_ESCAPES)


class _Escapes(dict[int, str]):
    """The escape of each code point, computed once: `str.translate` reads it in C."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = shown = character if character.isprintable() else escape(character)
        return shown


_ESCAPES = _Escapes()


def escape(character: str) -> str:
    r"""Write one character as `\n`, as `\x1b`, or beyond ASCII as `\u{200b}`."""
    if character.isascii():
        return character.encode("unicode_escape").decode()
    return f"\\u{{{ord(character):x}}}"
