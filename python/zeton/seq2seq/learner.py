"""Training: pairs become a model, by batches, gradients, validation and checkpoints."""

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
from zeton.seq2seq.checkpoint import (
    Checkpoint,
    discard_checkpoint,
    has_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from zeton.seq2seq.error_rates import error_rates
from zeton.seq2seq.errors import PairsError, Seq2SeqError
from zeton.seq2seq.hidden_state import HiddenState
from zeton.seq2seq.model import MODEL, Seq2Seq, Shape, checked_device
from zeton.seq2seq.options import Options
from zeton.seq2seq.pairs import Pair, Pairs, references_of
from zeton.seq2seq.plots import loss_curve
from zeton.seq2seq.report import Epoch, ProgressOption, Report, StepProgress, progress_reporter
from zeton.seq2seq.tokens import Tokens
from zeton.work.files import require_path, write_whole

__all__ = ["Learner", "learn"]

REPORT, CURVE = "report.json", "curve.svg"
"""Files of a folder beside those of its model."""

ASKED_MAX = 1000
"""The largest number of validation texts that are answered after every epoch."""

LOSS_EVERY = 50
"""Steps per point of the loss curve, which is their mean loss."""

TINY = 1e-12
"""A number that keeps rates and divisors above zero."""


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
    progress: ProgressOption = False,
) -> tuple[Seq2Seq, Report]:
    """Train a model on pairs, and its tokenizers too unless `tokens` are given.

    `validation` is pairs, or the share of the sources to hold out, chosen by their hash. With
    `out`, the model and its checkpoints are saved to that folder; the same call resumes from the
    last checkpoint and ends in the same bytes. A folder with another training run's checkpoint or
    with a trained model is an error; `restart=True` discards it.
    """
    checked_device(device)
    if isinstance(validation, float | int):
        pairs, validation = Pairs([Pair(*pair) for pair in pairs]).partition(validation)
    pairs, validation = ([Pair(*pair) for pair in some] for some in (pairs, validation))
    if not pairs or not validation:
        raise PairsError(
            f"the pairs: {len(pairs)} for training, {len(validation)} for validation; both need at "
            "least one; give more pairs, or another validation share"
        )
    folder = None if out is None else require_path(out)
    if folder is not None:
        _prepare_folder(folder, restart=restart)
    tokens = tokens or Tokens.train(pairs, source_vocab, target_vocab)
    chosen = options or Options()
    with seeded(chosen.seed, device):
        model = Seq2Seq(tokens, shape).to(device)
    learner = Learner(model, pairs, validation, chosen, folder)
    learner.run(progress=progress)
    if folder is not None:
        _save(folder, model, chosen, learner.report)
    return model, learner.report


def _prepare_folder(folder: Path, *, restart: bool) -> None:
    """Make the folder of a training run; refuse one with a trained model, unless `restart`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise file_error(folder, "write", error) from None
    if restart:
        discard_checkpoint(folder)
    elif (folder / MODEL).exists() and not has_checkpoint(folder):
        raise Seq2SeqError(
            f"{folder} has a trained model; name another folder, or give restart=True "
            "(--restart) to train again"
        )


def _save(folder: Path, model: Seq2Seq, options: Options, report: Report) -> None:
    """Save a trained model with its report, then discard the checkpoint.

    Times are in the report only, so that the other files have the same bytes every time.
    """
    epochs = [asdict(each) for each in report.epochs]
    model.save(folder, options=asdict(options), epochs=epochs, best=report.best)
    write_whole(folder / REPORT, (json.dumps(asdict(report)) + "\n").encode())
    write_whole(folder / CURVE, loss_curve(report).encode())
    discard_checkpoint(folder)


class Learner:
    """A training run: a model, its pairs and its progress."""

    def __init__(
        self,
        model: Seq2Seq,
        pairs: Sequence[Pair],
        validation: Sequence[Pair],
        options: Options,
        folder: Path | None = None,
    ) -> None:
        """Begin a run, or resume it from the checkpoint in the folder if there is one."""
        self.model, self.options, self.folder = model, options, folder
        self.batches = Batches(pairs, model.tokens, options.batch, model.device)
        self.held = Batches(validation, model.tokens, options.batch, model.device)
        self.references = references_of(validation)
        model.length_max = max(self.batches.target_longest, self.held.target_longest) * 3 // 2
        self.adam = torch.optim.Adam(model.parameters(), lr=options.learning_rate, eps=1e-8)
        self.step = self.epoch = self.position = 0
        self.loss_sum = self.loss_ids = self.recent_sum = 0.0
        self.report = Report()
        self.ema = _copied(model)
        self.best = _copied(model)
        self.identity = _identity(model, pairs, validation, options)
        if folder is not None and (found := load_checkpoint(folder, self.identity)) is not None:
            self._resume(found)

    @property
    def steps(self) -> int:
        """The number of steps of all epochs, unless training stops early."""
        return self.options.epochs * len(self.batches)

    def run(self, *, progress: ProgressOption = False) -> Report:
        """Train to the end; the model then has the weights of its best epoch."""
        start, before = time.monotonic(), self.report.seconds
        with progress_reporter(progress) as tell, seeded(self.options.seed, self.model.device.type):
            while self.epoch < self.options.epochs and not self._is_out_of_patience():
                for batch in self.batches.epoch(self.options.seed, self.epoch, self.position):
                    self._learn(batch)
                    self.report.seconds = before + time.monotonic() - start
                    if self.step % self.options.checkpoint_every == 0 and self.position < len(
                        self.batches
                    ):
                        self.save_checkpoint()
                    tell(self._now())
                self._finish_epoch()
                self.report.seconds = before + time.monotonic() - start
                tell(self._now())
                self.save_checkpoint()
        self.model.load_state_dict(self.best)
        self.model.eval()
        return self.report

    def save_checkpoint(self) -> None:
        """Save a checkpoint, if there is a folder for it."""
        if self.folder is None:
            return
        tensors = {f"model.{name}": each for name, each in self.model.state_dict().items()}
        tensors |= {f"ema.{name}": each for name, each in self.ema.items()}
        tensors |= {f"best.{name}": each for name, each in self.best.items()}
        for number, moments in self.adam.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{name}": each for name, each in moments.items()}
        state = {name: getattr(self, name) for name in COUNTERS}
        save_checkpoint(
            self.folder, self.identity, Checkpoint(state | {"report": asdict(self.report)}, tensors)
        )

    def _learn(self, batch: Batch) -> None:
        """Train one step; dropout and guesses depend only on the seed and the step's number."""
        torch.manual_seed((self.options.seed << 32) + self.step)
        for group in self.adam.param_groups:
            group["lr"] = self.options.learning_rate * self._rate_factor()
        self.model.train()
        hidden = self.model.encode(batch.source, batch.source_lengths)
        inputs = self.model.decoder.shift_right(batch.target)
        if (forcing := self._teacher_forcing_ratio()) < 1:
            inputs = self._mix_guesses(inputs, hidden, forcing)
        if self.options.token_dropout:
            inputs = self._drop_tokens(inputs)
        logits, _ = self.model.decoder.run(inputs, hidden)
        mask = batch.mask
        loss = nn.functional.cross_entropy(
            logits[mask], batch.target[mask], label_smoothing=self.options.label_smoothing
        )
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip)
        self.adam.step()
        self._update_ema()
        count, value = int(batch.target_lengths.sum()), loss.item()
        if not math.isfinite(value):
            raise Seq2SeqError(f"the loss is {value} at step {self.step}; try a lower rate")
        self.step, self.position = self.step + 1, self.position + 1
        self.loss_sum, self.loss_ids = self.loss_sum + value * count, self.loss_ids + count
        self.recent_sum += value
        if self.step % LOSS_EVERY == 0:
            self.report.losses.append((self.step, self.recent_sum / LOSS_EVERY))
            self.recent_sum = 0.0

    def _update_ema(self) -> None:
        """Update the EMA of the weights; its decay is small at first, to forget the start."""
        decay = min(self.options.ema_decay, (1 + self.step) / (10 + self.step))
        for name, each in self.model.state_dict().items():
            self.ema[name].lerp_(each, 1 - decay)

    def _rate_factor(self) -> float:
        """Return this step's share of the highest learning rate."""
        done, rising = (self.step + 1) / self.steps, self.options.warmup
        if done < rising:
            return done / rising
        left = (1 - done) / max(1 - rising, TINY)
        return (1 - math.cos(math.pi * left)) / 2 + TINY

    def _teacher_forcing_ratio(self) -> float:
        """Return the share of decoder inputs from the target in this epoch (scheduled sampling)."""
        return 1 - (1 - self.options.teacher_forcing) * self.epoch / max(self.options.epochs - 1, 1)

    def _mix_guesses(self, inputs: Tensor, hidden: HiddenState, forcing: float) -> Tensor:
        """Replace some inputs by the model's own guesses (scheduled sampling).

        A guess is the likeliest id after the target's previous ids, so one more pass makes all.
        """
        with torch.no_grad():
            guesses = self.model.decoder.run(inputs, hidden)[0].argmax(dim=-1)
        guesses = torch.cat([inputs[:, :1], guesses[:, :-1]], dim=1)
        is_target = torch.rand(inputs.shape, device=inputs.device) < forcing
        return torch.where(is_target, inputs, guesses)

    def _drop_tokens(self, inputs: Tensor) -> Tensor:
        """Replace some inputs by the begin token (token dropout)."""
        is_dropped = torch.rand(inputs.shape, device=inputs.device) < self.options.token_dropout
        return inputs.masked_fill(is_dropped, self.model.decoder.begin)

    def _finish_epoch(self) -> None:
        """Validate the EMA of the weights, and keep it if it is the best so far."""
        weights = _copied(self.model)
        self.model.load_state_dict(self.ema)
        loss, bits, text_error = self._validate()
        self.model.load_state_dict(weights)
        mean = self.loss_sum / max(self.loss_ids, 1)
        self.epoch, self.position = self.epoch + 1, 0
        self.loss_sum = self.loss_ids = 0.0
        now = Epoch(self.epoch, self.step, mean, loss, bits, text_error)
        if all(self._criterion(now) < self._criterion(each) for each in self.report.epochs):
            self.best = {name: each.clone() for name, each in self.ema.items()}
            self.report.best = self.epoch
        self.report.epochs.append(now)

    def _criterion(self, epoch: Epoch) -> tuple[float, float]:
        """Return the number by which epochs are compared; the best epoch has the smallest."""
        wrong = epoch.text_error if self.options.best_by == "errors" else 0.0
        return wrong, epoch.validation_loss

    def _validate(self) -> tuple[float, float, float]:
        """Return the validation loss, its bits per byte, and the share of wrong texts."""
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
        found = error_rates(answers, self.references)
        bits = nats / math.log(2) / max(self.held.target_bytes, 1)
        return nats / count, bits, found.text_error

    def _is_out_of_patience(self) -> bool:
        return self.epoch - self.report.best >= self.options.patience and bool(self.report.epochs)

    def _now(self) -> StepProgress:
        epochs = self.report.epochs
        loss = self.loss_sum / self.loss_ids if self.loss_ids else epochs[-1].loss
        error = epochs[-1].text_error if epochs else None
        return StepProgress(self.step, self.steps, self.epoch, loss, error)

    def _resume(self, found: Checkpoint) -> None:
        """Restore a checkpoint: weights, Adam's moments and counters."""
        named: dict[str, dict[str, Tensor]] = {"model": {}, "ema": {}, "best": {}}
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
        self.ema = {name: each.to(device) for name, each in named["ema"].items()}
        self.best = {name: each.to(device) for name, each in named["best"].items()}
        self.adam.load_state_dict(self.adam.state_dict() | {"state": moments})
        for name in COUNTERS:
            setattr(self, name, found.state[name])
        report = found.state["report"]
        self.report = Report(
            [Epoch(**each) for each in report["epochs"]],
            report["best"],
            report["seconds"],
            [(step, loss) for step, loss in report["losses"]],
        )


COUNTERS = ("step", "epoch", "position", "loss_sum", "loss_ids", "recent_sum")
"""Counters of a learner that its checkpoints hold."""


@contextmanager
def seeded(seed: int, device: str) -> Iterator[None]:
    """Seed torch's random numbers within the context, and restore its generator afterwards."""
    devices = [torch.cuda.current_device()] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def _copied(model: Seq2Seq) -> dict[str, Tensor]:
    return {name: each.detach().clone() for name, each in model.state_dict().items()}


def _identity(
    model: Seq2Seq, pairs: Sequence[Pair], validation: Sequence[Pair], options: Options
) -> dict[str, Any]:
    """Return the identity of a training run: a checkpoint resumes only the same one."""

    def digest(*parts: bytes) -> str:
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    texts = [json.dumps([list(pair) for pair in some]).encode() for some in (pairs, validation)]
    tokens = model.tokens
    return {
        "pairs": digest(*texts),
        "tokenizers": [tokens.source.digest, tokens.target.digest],
        "shape": asdict(model.shape),
        "options": asdict(options) | {"checkpoint_every": None},
    }
