"""Pairs → a model that has learned them: batches, gradients, validation, checkpoints."""

import hashlib
import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from zeton.errors import file_error
from zeton.seq2seq.batches import Batch, Batches
from zeton.seq2seq.checkpoint import Checkpoint, discard, is_kept, keep, kept
from zeton.seq2seq.errors import PairsError, Seq2SeqError
from zeton.seq2seq.hidden import Hidden
from zeton.seq2seq.model import MODEL, Seq2Seq, Shape, usable
from zeton.seq2seq.options import Options
from zeton.seq2seq.pairs import Pair, Pairs, references_of
from zeton.seq2seq.pictures import curve
from zeton.seq2seq.rates import rates
from zeton.seq2seq.report import Epoch, Now, Report, Shown, shown
from zeton.seq2seq.tokens import Tokens
from zeton.work.files import given, write_whole

__all__ = ["Learner", "learn"]

REPORT, CURVE = "report.json", "curve.svg"
"""What a folder has beside its model."""

ASKED_MAX = 1000
"""So many texts of the validation share are answered after every epoch, for the error rate."""

LOSS_EVERY = 50
"""Steps whose mean loss is one point of the curve."""

TINY = 1e-12
"""What keeps a rate above nothing, and a share from being divided by it."""


def learn(
    pairs: Sequence[Pair],
    *,
    validation: Sequence[Pair] | float = 0.05,
    out: str | PathLike[str] | None = None,
    tokens: Tokens | None = None,
    source_vocab: int = 512,
    target_vocab: int = 512,
    shape: Shape | None = None,
    options: Options | None = None,
    device: str = "cpu",
    restart: bool = False,
    progress: Shown = False,
) -> tuple[Seq2Seq, Report]:
    """Make a model of pairs: train its tokenizers, unless `tokens` are given, then the model.

    `validation` is pairs, or the share to take, by the hash of a pair's source. With `out`, a
    folder, the model is saved there, and a learning that was stopped goes on from there, to the
    same bytes; what is there of another one, or a model that has learned, is refused, or with
    `restart` removed.
    """
    usable(device)
    if isinstance(validation, float | int):
        pairs, validation = Pairs([Pair(*pair) for pair in pairs]).parted(validation)
    pairs, validation = ([Pair(*pair) for pair in some] for some in (pairs, validation))
    if not pairs or not validation:
        raise PairsError(
            f"there are {len(pairs)} pairs to learn from and {len(validation)} to validate with; "
            "give more, or another share"
        )
    folder = None if out is None else given(out)
    if folder is not None:
        _take(folder, restart=restart)
    tokens = tokens or Tokens.train(pairs, source_vocab, target_vocab)
    chosen = options or Options()
    with seeded(chosen.seed, device):
        model = Seq2Seq(tokens, shape).to(device)
    learner = Learner(model, pairs, validation, chosen, folder)
    learner.run(progress=progress)
    if folder is not None:
        _save(folder, model, chosen, learner.report)
    return model, learner.report


def _take(folder: Path, *, restart: bool) -> None:
    """Make a folder to learn in, or take one that has no model that would be lost."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise file_error(folder, "write", error) from None
    if restart:
        discard(folder)
    elif (folder / MODEL).exists() and not is_kept(folder):
        raise Seq2SeqError(
            f"{folder} has a model that has learned; name another folder, or give restart=True "
            "(--restart) to learn again"
        )


def _save(folder: Path, model: Seq2Seq, options: Options, report: Report) -> None:
    """Save a model with what its learning came to; then the checkpoint is of no use.

    What depends on the clock is in the report only: the other files are the same every time.
    """
    epochs = [asdict(each) for each in report.epochs]
    model.save(folder, options=asdict(options), epochs=epochs, best=report.best)
    write_whole(folder / REPORT, (json.dumps(asdict(report)) + "\n").encode())
    write_whole(folder / CURVE, curve(report).encode())
    discard(folder)


class Learner:
    """A model, what it learns from, and how far it is."""

    def __init__(
        self,
        model: Seq2Seq,
        pairs: Sequence[Pair],
        validation: Sequence[Pair],
        options: Options,
        folder: Path | None = None,
    ) -> None:
        """Take a model; with a folder, go on from the checkpoint there, if there is one."""
        self.model, self.options, self.folder = model, options, folder
        self.batches = Batches(pairs, model.tokens, options.batch, model.device)
        self.held = Batches(validation, model.tokens, options.batch, model.device)
        self.references = references_of(validation)
        model.length_max = max(self.batches.target_longest, self.held.target_longest) * 3 // 2
        self.adam = torch.optim.Adam(model.parameters(), lr=options.rate, eps=1e-8)
        self.step = self.epoch = self.position = 0
        self.loss_sum = self.loss_ids = self.recent_sum = 0.0
        self.report = Report()
        self.average = _copied(model)
        self.best = _copied(model)
        self.identity = _identity(model, pairs, validation, options)
        if folder is not None and (found := kept(folder, self.identity)) is not None:
            self._go_on(found)

    @property
    def steps(self) -> int:
        """How many steps there are in all, unless learning stops early."""
        return self.options.epochs * len(self.batches)

    def run(self, *, progress: Shown = False) -> Report:
        """Learn to the end; the model then has the weights of its best epoch."""
        start, before = time.monotonic(), self.report.seconds
        with shown(progress) as tell, seeded(self.options.seed, self.model.device.type):
            while self.epoch < self.options.epochs and not self._is_stuck():
                for batch in self.batches.epoch(self.options.seed, self.epoch, self.position):
                    self._learn(batch)
                    self.report.seconds = before + time.monotonic() - start
                    if self.step % self.options.keep == 0 and self.position < len(self.batches):
                        self.keep()
                    tell(self._now())
                self._finish_epoch()
                self.report.seconds = before + time.monotonic() - start
                tell(self._now())
                self.keep()
        self.model.load_state_dict(self.best)
        self.model.eval()
        return self.report

    def keep(self) -> None:
        """Keep a checkpoint, if there is a folder for it."""
        if self.folder is None:
            return
        tensors = {f"model.{name}": each for name, each in self.model.state_dict().items()}
        tensors |= {f"average.{name}": each for name, each in self.average.items()}
        tensors |= {f"best.{name}": each for name, each in self.best.items()}
        for number, moments in self.adam.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{name}": each for name, each in moments.items()}
        state = {name: getattr(self, name) for name in COUNTED}
        keep(
            self.folder, self.identity, Checkpoint(state | {"report": asdict(self.report)}, tensors)
        )

    def _learn(self, batch: Batch) -> None:
        """Take one step: dropout and guesses depend on the seed and the step's number only."""
        torch.manual_seed((self.options.seed << 32) + self.step)
        for group in self.adam.param_groups:
            group["lr"] = self.options.rate * self._pace()
        self.model.train()
        hidden = self.model.encode(batch.source, batch.source_lengths)
        told = self.model.decoder.shifted(batch.target)
        if (forcing := self._forcing()) < 1:
            told = self._mixed(told, hidden, forcing)
        if self.options.hiding:
            told = self._hidden(told)
        logits, _ = self.model.decoder.whole(told, hidden)
        mask = batch.mask
        loss = nn.functional.cross_entropy(
            logits[mask], batch.target[mask], label_smoothing=self.options.smoothing
        )
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip)
        self.adam.step()
        self._take_average()
        count, value = int(batch.target_lengths.sum()), loss.item()
        if not math.isfinite(value):
            raise Seq2SeqError(f"the loss is {value} at step {self.step}; try a lower rate")
        self.step, self.position = self.step + 1, self.position + 1
        self.loss_sum, self.loss_ids = self.loss_sum + value * count, self.loss_ids + count
        self.recent_sum += value
        if self.step % LOSS_EVERY == 0:
            self.report.losses.append((self.step, self.recent_sum / LOSS_EVERY))
            self.recent_sum = 0.0

    def _take_average(self) -> None:
        """Let the average follow the weights, at first closely: the start should not stay in it."""
        stays = min(self.options.average, (1 + self.step) / (10 + self.step))
        for name, each in self.model.state_dict().items():
            self.average[name].lerp_(each, 1 - stays)

    def _pace(self) -> float:
        """Return the share of the highest rate that this step has."""
        done, rising = (self.step + 1) / self.steps, self.options.warmup
        if done < rising:
            return done / rising
        left = (1 - done) / max(1 - rising, TINY)
        return (1 - math.cos(math.pi * left)) / 2 + TINY

    def _forcing(self) -> float:
        """Return how many of the ids that steps are told are the target's, in this epoch."""
        return 1 - (1 - self.options.forcing) * self.epoch / max(self.options.epochs - 1, 1)

    def _mixed(self, told: Tensor, hidden: Hidden, forcing: float) -> Tensor:
        """Put the model's own guesses in place of some ids that steps are told.

        A guess is what a step would choose if it were told the target, so that one more pass
        finds all of them.
        """
        with torch.no_grad():
            guesses = self.model.decoder.whole(told, hidden)[0].argmax(dim=-1)
        guesses = torch.cat([told[:, :1], guesses[:, :-1]], dim=1)
        is_told = torch.rand(told.shape, device=told.device) < forcing
        return torch.where(is_told, told, guesses)

    def _hidden(self, told: Tensor) -> Tensor:
        """Put the begin in place of some ids that steps are told."""
        is_hidden = torch.rand(told.shape, device=told.device) < self.options.hiding
        return told.masked_fill(is_hidden, self.model.decoder.begin)

    def _finish_epoch(self) -> None:
        """Validate the average of the weights, and remember it if it is the best so far."""
        weights = _copied(self.model)
        self.model.load_state_dict(self.average)
        loss, bits, text_error = self._validate()
        self.model.load_state_dict(weights)
        mean = self.loss_sum / max(self.loss_ids, 1)
        self.epoch, self.position = self.epoch + 1, 0
        self.loss_sum = self.loss_ids = 0.0
        now = Epoch(self.epoch, self.step, mean, loss, bits, text_error)
        if all(self._badness(now) < self._badness(each) for each in self.report.epochs):
            self.best = {name: each.clone() for name, each in self.average.items()}
            self.report.best = self.epoch
        self.report.epochs.append(now)

    def _badness(self, epoch: Epoch) -> tuple[float, float]:
        """Return what the best epoch has least of."""
        wrong = epoch.text_error if self.options.best_by == "errors" else 0.0
        return wrong, epoch.validation_loss

    def _validate(self) -> tuple[float, float, float]:
        """Return the loss of the validation share, its bits per byte, and the texts in error."""
        self.model.eval()
        nats, count = 0.0, 0
        with torch.inference_mode():
            for batch in self.held.all():
                logits = self.model(batch.source, batch.source_lengths, batch.target)
                mask = batch.mask
                loss = nn.functional.cross_entropy(
                    logits[mask], batch.target[mask], reduction="sum"
                )
                nats, count = nats + loss.item(), count + int(batch.target_lengths.sum())
        sources = list(self.references)[:ASKED_MAX]
        answers = dict(zip(sources, self.model.generate(sources), strict=True))
        found = rates(answers, self.references)
        bits = nats / math.log(2) / max(self.held.target_bytes, 1)
        return nats / count, bits, found.text_error

    def _is_stuck(self) -> bool:
        return self.epoch - self.report.best >= self.options.patience and bool(self.report.epochs)

    def _now(self) -> Now:
        epochs = self.report.epochs
        loss = self.loss_sum / self.loss_ids if self.loss_ids else epochs[-1].loss
        error = epochs[-1].text_error if epochs else None
        return Now(self.step, self.steps, self.epoch, loss, error)

    def _go_on(self, found: Checkpoint) -> None:
        """Take up a checkpoint: weights, Adam's moments, and all that is counted."""
        named: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "best": {}}
        moments: dict[int, dict[str, Tensor]] = {}
        for name, each in found.tensors.items():
            kind, _, rest = name.partition(".")
            if kind == "adam":
                number, _, moment = rest.partition(".")
                moments.setdefault(int(number), {})[moment] = each
            else:
                named[kind][rest] = each
        self.model.load_state_dict(named["model"])
        device = self.model.device
        self.average = {name: each.to(device) for name, each in named["average"].items()}
        self.best = {name: each.to(device) for name, each in named["best"].items()}
        self.adam.load_state_dict(self.adam.state_dict() | {"state": moments})
        for name in COUNTED:
            setattr(self, name, found.state[name])
        told = found.state["report"]
        self.report = Report(
            [Epoch(**each) for each in told["epochs"]],
            told["best"],
            told["seconds"],
            [(step, loss) for step, loss in told["losses"]],
        )


COUNTED = ("step", "epoch", "position", "loss_sum", "loss_ids", "recent_sum")
"""What a learner counts, as a checkpoint keeps it."""


@contextmanager
def seeded(seed: int, device: str) -> Iterator[None]:
    """Draw numbers by a seed for a while; those that others draw afterwards are as before."""
    devices = [torch.cuda.current_device()] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def _copied(model: Seq2Seq) -> dict[str, Tensor]:
    return {name: each.detach().clone() for name, each in model.state_dict().items()}


def _identity(
    model: Seq2Seq, pairs: Sequence[Pair], validation: Sequence[Pair], options: Options
) -> dict[str, Any]:
    """Return what tells a learning from others: only the very same goes on from a checkpoint."""

    def digest(*parts: bytes) -> str:
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    texts = [json.dumps([list(pair) for pair in some]).encode() for some in (pairs, validation)]
    tokens = model.tokens
    return {
        "pairs": digest(*texts),
        "tokenizers": [tokens.source.digest, tokens.target.digest],
        "shape": asdict(model.shape),
        "options": asdict(options) | {"keep": None},
    }
