r"""A hook of MkDocs: code in a table may contain `|`.

GitHub ends a cell at every bar without a backslash, also in code. Python-Markdown ends none in code
and prints the backslash, so the site gets the bar alone:

    docs/rules.md:  | contractions | `'s\|'t` |
    on the site:    | contractions | `'s|'t` |
"""

import re

CODE = re.compile(r"`[^`]+`")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Remove the backslashes before bars from the code in rows of tables."""
    return "\n".join(
        CODE.sub(lambda code: code[0].replace(r"\|", "|"), line) if line.startswith("|") else line
        for line in markdown.split("\n")
    )
