"""The page of results: measurements as tables in Markdown."""

from typing import Any

__all__ = ["page"]

Measured = dict[str, Any]

INTRODUCTION = """\
`python examples/pronounce` makes this page; [the example](../README.md) says how to run it.
Errors are of the test share, with any listed pronunciation accepted."""

SHORT = """\
Short runs of {} epochs on a tenth of the words. They compare vocabularies; a long run has far
fewer errors.

| ids of letters | word error, beam 5 | phoneme error | validation bits per byte | learned in |
|---:|---:|---:|---:|---:|"""

MAKING = """\
| model | cell, size, layers | weights | epochs | learned in | words a second, greedy, one core |
|---|---|---:|---:|---:|---:|"""

JOINING = """\
The score is the mean of the models' log probabilities plus the weighted log probability of the
n-gram counts. The validation share chooses the weight:

| together | models | weight of counts | n-grams | learned in, side by side | words a CPU second |
|---|---|---:|---:|---:|---:|"""

ANCHORS = """\
| published | word error | phoneme error |
|---|---:|---:|
| encoder-decoder LSTM (Yao and Zweig 2015) | 28.6 % | 7.6 % |
| bidirectional LSTM with CTC (Rao and others 2015) | 25.8 % | |
| encoder-decoder with attention (Toshniwal and Livescu 2016) | 20.2 to 21.7 % | 4.7 to 5.0 % |
"""


def page(
    models: dict[str, Measured], together: dict[str, Measured], compared: dict[str, Measured]
) -> str:
    """Write the page of all measured models and ensembles."""
    parts = [
        "# Pronouncing English: the recorded run",
        INTRODUCTION,
    ]
    if models | together:
        parts += [_errors(models | together), ANCHORS.rstrip()]
    if models:
        parts.append(_making(models))
    if together:
        parts.append(_joining(together))
    for name, measured in models.items():
        parts += [f"## {name}", *_learning(name, measured), *_about(measured)]
        if measured["shape"]["attention"] is not None:
            parts.append(f"Attention while it writes:\n\n![Attention]({name}-look.svg)")
    for name, measured in together.items():
        parts += [f"## {name}", *_about(measured)]
    if compared:
        parts += ["## Bytes and subwords", _compared(compared)]
    return "\n\n".join(parts) + "\n"


def _errors(models: dict[str, Measured]) -> str:
    lines = [
        "| model | word error, greedy | beam 5 | phoneme error, greedy | beam 5 |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, each in models.items():
        ways = [each.get("greedy"), each["beam_5"]]
        cells = [
            "" if found is None else _percent(found[error])
            for error in ("word_error", "phoneme_error")
            for found in ways
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _making(models: dict[str, Measured]) -> str:
    lines = [MAKING]
    for name, each in models.items():
        shape = each["shape"]
        cells = [
            _shape(shape),
            f"{each['parameters']:,}",
            f"{each['options']['epochs']}, best {each['best_epoch']}",
            f"{each['learned_seconds'] / 60:.0f} minutes",
            f"{each['words_a_second']:,.0f} ({each['words_a_cpu_second']:,.0f} by CPU time)",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    machine = next(iter(models.values()))["machine"]
    note = f"One thread, {machine['CPU']}, torch {machine['torch']}; the time is that of the clock."
    return "\n".join(lines) + f"\n\n{note}"


def _joining(together: dict[str, Measured]) -> str:
    lines = [JOINING]
    for name, each in together.items():
        seconds = max(each["learned_seconds"]) + each["counted_seconds"]
        cells = [
            ", ".join(each["models"]),
            f"{each['joint_weight']:.2f}",
            f"{each['ngrams']:,}",
            f"{seconds / 60:.0f} minutes, the counts in {each['counted_seconds']:.0f} s",
            f"{each['words_a_cpu_second']:,.0f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shape(shape: dict[str, Any]) -> str:
    read = shape["layers"]
    written = shape["decoder_layers"] or read
    layers = "" if read == written == 1 else f", {read} layers to read, {written} to write"
    return f"{shape['cell']} {shape['size']}{layers}"


def _learning(name: str, each: Measured) -> list[str]:
    parts = [f"![Loss while learning]({name}-curve.svg)"]
    lines = [
        "| epoch | loss | validation loss | bits per byte | wrong |",
        "|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {epoch['epoch']} | {epoch['loss']:.3f} | {epoch['validation_loss']:.3f} | "
        f"{epoch['bits_per_byte']:.3f} | {_percent(epoch['text_error'])} |"
        for epoch in each["epochs"]
    ]
    return [*parts, "\n".join(lines)]


def _about(each: Measured) -> list[str]:
    lines = ["| letters | words | word error | phoneme error |", "|---:|---:|---:|---:|"]
    lines += [
        f"| {length} | {found['texts']:,} | {_percent(found['word_error'])} | "
        f"{_percent(found['phoneme_error'])} |"
        for length, found in each["by_length"].items()
    ]
    parts = ["\n".join(["By length, beam 5:", "", *lines])]
    for kind, examples in each["examples"].items():
        parts.append(f"Some that are {kind}:\n\n" + "\n".join(f"- `{line}`" for line in examples))
    return parts


def _compared(compared: dict[str, Measured]) -> str:
    epochs = next(iter(compared.values()))["options"]["epochs"]
    lines = [SHORT.format(epochs)]
    for each in compared.values():
        beam, best = each["beam_5"], each["epochs"][each["best_epoch"] - 1]
        cells = [
            f"{each['source_vocab']:,}" + " (bytes)" * (each["source_vocab"] == 258),
            _percent(beam["word_error"]),
            _percent(beam["phoneme_error"]),
            f"{best['bits_per_byte']:.3f}",
            f"{each['learned_seconds']:.0f} s",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
