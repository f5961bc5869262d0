"""`zeton info`: the size, the pattern and the special tokens of a tokenizer."""

import json
from typing import TYPE_CHECKING

import click

import zeton
from zeton.chat.template import NOTE, Template
from zeton.cli.options.single import Single
from zeton.cli.options.tokenizer import load, tokenizer_option
from zeton.cli.render.examples import examples
from zeton.rules.display import rule_lines
from zeton.text.escape import visible

if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command(cls=Single, epilog=examples("zeton info -t cl100k_base", "zeton info --json"))
@tokenizer_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(*, name: str, as_json: bool) -> None:
    """Describe a tokenizer: its size, its pattern or rules, and its special tokens."""
    tokenizer = load(name)
    facts = described(name, tokenizer)
    if as_json:
        click.echo(json.dumps(facts))
        return
    rules = tokenizer.rules
    del facts["rules" if rules is None else "pattern"]
    for key, value in facts.items():
        values: Iterable[tuple[str, object]] = [("", "-" if value is None else value)]
        if key == "rules" and rules is not None:
            values = rule_lines(rules)
        elif isinstance(value, dict):
            values = value.items()
        for part, content in values:
            click.echo(f"{key.replace('_', ' '):<15} {visible(f'{part} {content}'.strip())}")


def described(name: str, tokenizer: zeton.Tokenizer) -> dict[str, object]:
    """Return the facts in the order of their use.

    A token is unreached if no sequence of merges makes it; it encodes a whole piece only.
    """
    vocab = tokenizer.ranks()
    merges = len(tokenizer.merges())
    template = Template.of(tokenizer)
    path = tokenizer.info
    return {
        "name": name,
        "vocab_size": tokenizer.vocab_size,
        "tokens": len(vocab),
        "merges": merges,
        "unreached": len(vocab) - 256 - merges,
        "longest_bytes": max(map(len, vocab)),
        "split": path.way,
        "why": path.why,
        "pattern": None if tokenizer.rules else tokenizer.pattern,
        "rules": json.loads(tokenizer.pattern) if tokenizer.rules else None,
        "specials": tokenizer.specials,
        "chat": None if template is None else f"{template.name}: {', '.join(template.roles)}",
        "made_by": {key: value for key, value in tokenizer.made_by.items() if key != NOTE},
    }
