"""The style sheet of all pictures, and the HTML around them.

Colours are variables with a light and a dark set. The dark set applies if the system prefers dark
colours, or if JupyterLab or VS Code has a dark theme; their light themes win over the system.
"""

from html import escape

__all__ = ["COLORS", "card", "escaped"]

COLORS = 6
"""Backgrounds of tokens; neighbouring tokens have different ones."""

_LIGHT = {
    "ink": "#1b1f24",
    "dim": "#57606a",
    "paper": "#ffffff",
    "line": "#d0d7de",
    "c0": "#cfe5ff",
    "c1": "#ffe1b8",
    "c2": "#d2f4d3",
    "c3": "#ffd6dc",
    "c4": "#e6dcff",
    "c5": "#c9f2ee",
    "special": "#1b1f24",
    "special-ink": "#ffffff",
}
_DARK = {
    "ink": "#e6edf3",
    "dim": "#9ba6b2",
    "paper": "#12161b",
    "line": "#3a424c",
    "c0": "#173f6b",
    "c1": "#5f3f0c",
    "c2": "#1d4d27",
    "c3": "#67262f",
    "c4": "#43307a",
    "c5": "#0e4a48",
    "special": "#e6edf3",
    "special-ink": "#12161b",
}


def _variables(colors: dict[str, str], scheme: str) -> str:
    pairs = "".join(f"--z-{name}:{value};" for name, value in colors.items())
    return f"{{color-scheme:{scheme};{pairs}}}"


_RULES = """
.zeton{background:var(--z-paper);color:var(--z-ink);border:1px solid var(--z-line);
border-radius:6px;padding:.6em .8em;font:14px/1.5 system-ui,sans-serif;max-width:72em;
box-sizing:border-box;
overflow-x:auto;text-align:left}
.zeton .text{font:14px/1.9 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.zeton .t{color:var(--z-ink);padding:.15em 1px;border-radius:3px;unicode-bidi:isolate;
white-space:pre-wrap;-webkit-box-decoration-break:clone;box-decoration-break:clone}
.zeton .t i{font-style:normal;opacity:.7}
.zeton .s{background:var(--z-special);color:var(--z-special-ink);padding:.15em .4em}
.zeton .note{color:var(--z-dim);margin-top:.4em}
.zeton table{border-collapse:collapse;color:inherit;background:none;margin:0}
.zeton th,.zeton td{padding:.2em .8em .2em 0;text-align:left;vertical-align:top;
border:0;border-bottom:1px solid var(--z-line);background:none;color:inherit}
.zeton td:first-child{min-width:9em}
.zeton .n{text-align:right;font-variant-numeric:tabular-nums}
.zeton code{font:13px ui-monospace,Menlo,Consolas,monospace;color:inherit;background:none;
overflow-wrap:anywhere}
"""

_SHEET = (
    f".zeton{_variables(_LIGHT, 'light')}"
    f"@media (prefers-color-scheme:dark){{.zeton{_variables(_DARK, 'dark')}}}"
    f'[data-jp-theme-light="true"] .zeton,.vscode-light .zeton{_variables(_LIGHT, "light")}'
    f'[data-jp-theme-light="false"] .zeton,.vscode-dark .zeton{_variables(_DARK, "dark")}'
    + _RULES.replace("\n", "")
    + "".join(f".zeton .c{at}{{background:var(--z-c{at})}}" for at in range(COLORS))
)


def card(body: str) -> str:
    """Return HTML with the style sheet and a frame around it."""
    return f'<div class="zeton"><style>{_SHEET}</style>{body}</div>'


def escaped(text: str, *, characters_max: int | None = None) -> str:
    """Return text as HTML, cut to a number of characters.

    >>> escaped("<b>", characters_max=2)
    '&lt;…'
    """
    if characters_max is not None and len(text) > characters_max:
        text = text[: characters_max - 1] + "…"
    return escape(text, quote=True)
