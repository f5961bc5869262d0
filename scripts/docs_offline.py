"""A hook of MkDocs: no page of the built site loads anything from another host.

The site works without a network once it is built. Links that a reader may follow are allowed;
scripts, style sheets, fonts, images and frames from elsewhere end the build:

    site/index.html loads https://fonts.googleapis.com/css; keep the file in docs/assets
"""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from mkdocs.exceptions import Abort

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
LOADING_LINKS = {"stylesheet", "preconnect", "preload", "prefetch", "modulepreload", "icon"}
IN_STYLE = re.compile(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')\s]+)")


class Loads(HTMLParser):
    """Collects the addresses on other hosts that a page loads from."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one element."""
        values = dict(attrs)
        address = values.get(LOADING.get(tag, ""))
        if tag == "link" and LOADING_LINKS & set((values.get("rel") or "").split()):
            address = values.get("href")
        self.addresses += [address] if address and is_elsewhere(address) else []
        self.addresses += IN_STYLE.findall(values.get("style") or "")


def is_elsewhere(address: str) -> bool:
    """Return whether an address names a host.

    >>> is_elsewhere("//example.org/a.js"), is_elsewhere("../assets/a.js")
    (True, False)
    """
    return re.match(r"(?:https?:)?//", address) is not None


def loads(file: Path) -> list[str]:
    """Return the addresses on other hosts that a built page or style sheet loads from."""
    text = file.read_text()
    if file.suffix == ".css":
        return IN_STYLE.findall(text)
    parser = Loads()
    parser.feed(text)
    return parser.addresses + IN_STYLE.findall(
        " ".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    )


def on_post_build(*, config: Any) -> None:  # noqa: ANN401 - MkDocs has no types here.
    """Refuse a site that loads from another host."""
    site = Path(config.site_dir)
    wrong = [
        f"{file.relative_to(site.parent)} loads {address}; keep the file in docs/assets"
        for file in [*site.rglob("*.html"), *site.rglob("*.css")]
        for address in loads(file)
    ]
    if wrong:
        raise Abort("\n".join(wrong))
