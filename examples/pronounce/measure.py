"""Measurements of a model on the test share: error rates and speed."""

import json
import os
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from dictionary import Shares
from zeton.seq2seq import Ensemble, JointNgrams, Seq2Seq, error_rates, load
from zeton.seq2seq.learner import REPORT
from zeton.seq2seq.pairs import references_of
from zeton.seq2seq.plots import attention_map

__all__ = ["draw_pictures", "measure_ensemble", "measure_model"]

BEAM = 5
SHOWN = 12
"""Examples of each kind."""

LOOKED_AT = "thoroughbred"


def measure_model(place: Path, parts: Shares) -> dict[str, Any]:
    """Measure a model on the test share, on one thread, greedily and by beam search."""
    torch.set_num_threads(1)
    model, references = load(place), references_of(parts.test)
    words = list(references)
    start, before = time.perf_counter(), time.process_time()
    greedy = dict(zip(words, model.generate(words), strict=True))
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    beam = dict(zip(words, model.generate(words, beam=BEAM), strict=True))
    report = json.loads((place / REPORT).read_text())
    about = json.loads((place / "model.json").read_text())
    return {
        "shape": about["shape"],
        "options": about["options"],
        "parameters": sum(each.numel() for each in model.parameters()),
        "source_vocab": model.tokens.source_size,
        "learned_seconds": report["seconds"],
        "best_epoch": report["best"],
        "epochs": report["epochs"],
        "greedy": _errors(greedy, references),
        f"beam_{BEAM}": _errors(beam, references),
        "words_a_second": len(words) / seconds,
        "words_a_cpu_second": len(words) / cpu,
        "by_length": _by_length(beam, references),
        "examples": _examples(beam, references),
        "machine": _machine(),
    }


def measure_ensemble(places: list[Path], counts: JointNgrams, parts: Shares) -> dict[str, Any]:
    """Measure an ensemble of models and counts on the test share, on one thread, by beam search.

    The validation share chooses the weight of the counts.
    """
    torch.set_num_threads(1)
    ensemble, references = (
        Ensemble([load(place) for place in places], counts),
        references_of(parts.test),
    )
    weight, words = ensemble.tune(parts.validation, beam=BEAM), list(references)
    before = time.process_time()
    answers = dict(zip(words, ensemble.generate(words, beam=BEAM), strict=True))
    cpu = time.process_time() - before
    return {
        "models": [place.name for place in places],
        "joint_weight": weight,
        "ngrams": sum(len(each.keys) for each in counts.counted),
        "learned_seconds": [json.loads((each / REPORT).read_text())["seconds"] for each in places],
        f"beam_{BEAM}": _errors(answers, references),
        "words_a_cpu_second": len(words) / cpu,
        "by_length": _by_length(answers, references),
        "examples": _examples(answers, references),
        "machine": _machine(),
    }


def draw_pictures(place: Path) -> dict[str, str]:
    """Return the pictures of a model, by the ends of their file names: loss curve and attention."""
    pictures = {"curve.svg": (place / "curve.svg").read_text()}
    model: Seq2Seq = load(place)
    if model.shape.attention is not None:
        (answer,) = model.generate([LOOKED_AT], beam=BEAM)
        pictures["look.svg"] = attention_map(*model.attend(LOOKED_AT, answer))
    return pictures


def _errors(answers: dict[str, str], references: dict[str, list[str]]) -> dict[str, float]:
    found = error_rates(answers, references, str.split)
    return asdict(found) | {"word_error": found.text_error, "phoneme_error": found.part_error}


def _by_length(
    answers: dict[str, str], references: dict[str, list[str]]
) -> dict[str, dict[str, float]]:
    """Return the errors of words by their number of letters."""
    names = {length: str(length) if length < 13 else "13 and more" for length in range(1, 100)}
    groups: dict[str, dict[str, str]] = {name: {} for name in names.values()}
    for word, answer in answers.items():
        groups[names[len(word)]][word] = answer
    return {name: _errors(some, references) for name, some in groups.items() if some}


def _examples(answers: dict[str, str], references: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return some right and some wrong answers, evenly spread over the dictionary."""
    right = [f"{word}: {answer}" for word, answer in answers.items() if answer in references[word]]
    wrong = [
        f"{word}: {answer} (listed: {', or '.join(references[word])})"
        for word, answer in answers.items()
        if answer not in references[word]
    ]
    return {"right": _spread(right), "wrong": _spread(wrong)}


def _spread(lines: list[str]) -> list[str]:
    return lines[:: max(len(lines) // SHOWN, 1)][:SHOWN]


def _machine() -> dict[str, Any]:
    return {"CPU": _cpu(), "cores": os.cpu_count(), "torch": torch.__version__}


def _cpu() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
