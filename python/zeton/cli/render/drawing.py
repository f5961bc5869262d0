r"""A token, drawn for a terminal.

What would not print is escaped, so nothing in a text can command the terminal. A backslash of the
text is shown as two, so that `\n` is always a line break.
"""

from zeton.text.escape import visible

# Black on pale colours of the fixed 256: the same on a dark terminal as on a light one.
COLORS = [f"\x1b[38;5;16;48;5;{pale}m" for pale in (153, 193, 223, 219)]
DIM = "\x1b[2m"
RESET = "\x1b[0m"

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")

BLANK = "␣"


def drawn(
    token: bytes, token_id: int | None, number: int, *, colored: bool, blanks: bool = False
) -> str:
    """Draw a token, the so many-th, and its id if it is given.

    Without colours its `blanks` may be made to show.
    """
    shown = visible(token.replace(b"\\", b"\\\\"))
    small = "" if token_id is None else str(token_id).translate(SUBSCRIPTS)
    if not colored:
        return (shown.replace(" ", BLANK) if blanks else shown) + small
    shown = f"{COLORS[number % len(COLORS)]}{shown}{RESET}"
    return shown + (f"{DIM}{small}{RESET}" if small else "")


def bar(*, colored: bool) -> str:
    """Return what stands between tokens."""
    return "" if colored else "|"
