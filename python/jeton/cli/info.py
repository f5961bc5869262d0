"""`jeton info`: what a tokenizer is made of."""

import json

import click

import jeton
from jeton.chat.template import NOTE, Template
from jeton.cli.tokenizer import load, tokenizer_option
from jeton.visible import visible


@click.command()
@tokenizer_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(*, name: str, as_json: bool) -> None:
    """Say what a tokenizer is made of."""
    tokenizer = load(name)
    facts = described(name, tokenizer)
    if as_json:
        click.echo(json.dumps(facts))
        return
    for key, value in facts.items():
        values = (
            value.items() if isinstance(value, dict) else [("", "-" if value is None else value)]
        )
        for part, content in values:
            click.echo(f"{key.replace('_', ' '):<15} {visible(f'{part} {content}'.strip())}")


def described(name: str, tokenizer: jeton.Tokenizer) -> dict[str, object]:
    """Collect the facts, most asked for first.

    A token that no merge reaches is made only of a piece that it is the whole of.
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
        "pattern": tokenizer.pattern,
        "specials": tokenizer.specials,
        "chat": None if template is None else f"{template.name}: {', '.join(template.roles)}",
        "made_by": {key: value for key, value in tokenizer.made_by.items() if key != NOTE},
    }
