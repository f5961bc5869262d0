"""The model: an encoder, a decoder and their two tokenizers. Texts go in, texts come out."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor, nn

from zeton.errors import FormatError, MissingFileError
from zeton.seq2seq.decoder import Attention, Decoder
from zeton.seq2seq.encoder import Encoder
from zeton.seq2seq.errors import Seq2SeqError
from zeton.seq2seq.hidden_state import Cell, HiddenState
from zeton.seq2seq.pairs import Pair
from zeton.seq2seq.search import beam as search_by_beam
from zeton.seq2seq.search import greedy
from zeton.seq2seq.search import stream as stream_ids
from zeton.seq2seq.tokens import Tokens, padded
from zeton.tokenizer import load as load_tokenizer
from zeton.work.files import read_whole, require_path, write_whole

__all__ = ["Candidate", "Seq2Seq", "Shape", "load"]

MODEL, WEIGHTS, SOURCE, TARGET = "model.json", "model.safetensors", "source.zeton", "target.zeton"
"""The files of a saved model."""

FORMAT = "zeton seq2seq 1"
SIZE_MAX, LAYERS_MAX, LENGTH_MAX = 1 << 13, 64, 1 << 20
"""Limits of a model's file: numbers of a state, layers, ids of an answer."""

READ_MAX = 1 << 14
"""The largest number of ids in a batch, padding included; long texts make smaller batches."""

WEIGHTS_BYTES_MAX = 1 << 33
JSON_BYTES_MAX = 1 << 24


@dataclass(frozen=True)
class Shape:
    """The sizes and parts of a model."""

    cell: Cell = "gru"
    embedding_size: int = 64
    """Numbers in the embedding of an id."""
    size: int = 256
    """Numbers in a hidden state; both directions of an encoder share them."""
    layers: int = 1
    decoder_layers: int | None = None
    """Layers of the decoder, if fewer: it starts from the states of the encoder's last layers."""
    bidirectional: bool = True
    attention: Attention | None = "additive"
    dropout: float = 0.2
    backward: bool = False
    """True if answers are written from their last token to their first."""

    def __post_init__(self) -> None:
        """Refuse values outside their ranges."""
        sizes = {"embedding_size": SIZE_MAX, "size": SIZE_MAX, "layers": LAYERS_MAX}
        for name, most in sizes.items():
            number = getattr(self, name)
            if type(number) is not int or not 1 <= number <= most:
                raise Seq2SeqError(f"{name} is {number!r}; it is a number from 1 to {most}")
        for name in ("bidirectional", "backward"):
            if type(getattr(self, name)) is not bool:
                raise Seq2SeqError(f"{name} is {getattr(self, name)!r}; it is True or False")
        if not 0 <= self.dropout < 1:
            raise Seq2SeqError(f"dropout is {self.dropout}; it is from 0 to below 1")
        if not 1 <= self.decoder_layer_count <= self.layers:
            raise Seq2SeqError(
                f"decoder_layers is {self.decoder_layers}; it is from 1 to layers, {self.layers}"
            )

    @property
    def decoder_layer_count(self) -> int:
        """The number of the decoder's layers."""
        return self.layers if self.decoder_layers is None else self.decoder_layers


class Candidate(NamedTuple):
    """An answer and its score: its log probability, divided by its length to the `length_power`."""

    text: str
    score: float


class Seq2Seq(nn.Module):
    """A model that turns texts into texts."""

    def __init__(self, tokens: Tokens, shape: Shape | None = None, *, length_max: int = 64) -> None:
        """Make an untrained model; its answers have at most `length_max` ids."""
        super().__init__()
        self.shape, self.length_max = shape or Shape(), length_max
        self.tokens = replace(tokens, backward=self.shape.backward)
        chosen = asdict(self.shape)
        attention, bidirectional = chosen.pop("attention"), chosen.pop("bidirectional")
        del chosen["decoder_layers"], chosen["backward"]
        self.encoder = Encoder(tokens.source_size, bidirectional=bidirectional, **chosen)
        chosen["layers"] = self.shape.decoder_layer_count
        self.decoder = Decoder(
            tokens.target_size, begin=tokens.begin, end=tokens.end, attention=attention, **chosen
        )

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.decoder.logits.weight.device

    def encode(self, ids: Tensor, lengths: Tensor) -> HiddenState:
        """Encode padded rows of ids; with attention, the hidden state has the encoder's states."""
        states, hidden = self.encoder.run(ids, lengths)
        hidden = hidden.last(self.shape.decoder_layer_count)
        if self.decoder.attention is None:
            return hidden
        mask = torch.arange(ids.shape[1])[None] < lengths.cpu()[:, None]
        return hidden._replace(memory=self.decoder.attention.remember(states, mask.to(ids.device)))

    def forward(self, ids: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """Return the logits of every step of a target, by teacher forcing."""
        logits: Tensor = self.decoder(self.encode(ids, lengths), target.shape[1], target)
        return logits

    def generate(
        self,
        texts: Sequence[str],
        *,
        beam: int = 1,
        length_max: int | None = None,
        batch: int = 256,
        length_power: float = 0.0,
    ) -> list[str]:
        """Return an answer for each text, greedily or by a beam search of that width.

        Texts of similar length are answered together, `batch` at a time.
        """
        if beam != 1:
            found = self.candidates(
                texts, beam=beam, length_max=length_max, batch=batch, length_power=length_power
            )
            return [each[0].text for each in found]
        limit = self.length_max if length_max is None else length_max
        answers = [""] * len(texts)
        with _inference(self):
            for rows, hidden in self._read(texts, batch):
                for row, ids in zip(rows, greedy(self.decoder, hidden, limit), strict=True):
                    answers[row] = self.tokens.text(ids)
        return answers

    def candidates(
        self,
        texts: Sequence[str],
        *,
        beam: int = 5,
        length_max: int | None = None,
        batch: int = 256,
        length_power: float = 0.0,
    ) -> list[list[Candidate]]:
        """Return the answers of a beam search for each text, the best first."""
        if beam < 1:
            raise Seq2SeqError(f"beam is {beam}; it is 1 or more")
        limit = self.length_max if length_max is None else length_max
        every: list[list[Candidate]] = [[] for _ in texts]
        with _inference(self):
            for rows, hidden in self._read(texts, batch):
                written = search_by_beam(
                    self.decoder, hidden, beam, limit, length_power=length_power
                )
                for row, found in zip(rows, written, strict=True):
                    every[row] = [Candidate(self.tokens.text(ids), score) for ids, score in found]
        return every

    def log_probabilities(self, pairs: Sequence[Pair], *, batch: int = 256) -> list[float]:
        """Return the log probability of each answer given its text, in nats."""
        targets = self.tokens.targets([target for _, target in pairs])
        places: dict[str, list[int]] = {}
        for place, (source, _) in enumerate(pairs):
            places.setdefault(source, []).append(place)
        texts, likely = list(places), [0.0] * len(pairs)
        with _inference(self):
            for rows, hidden in self._read(texts, batch):  # Each text is encoded once.
                asked = [(at, place) for at, row in enumerate(rows) for place in places[texts[row]]]
                numbers = torch.tensor([at for at, _ in asked], device=self.device)
                target, lengths = padded([targets[place] for _, place in asked], self.device)
                logits = self.decoder(hidden.rows(numbers), target.shape[1], target)
                found = logits.log_softmax(dim=-1).gather(2, target[:, :, None])[:, :, 0]
                is_there = torch.arange(target.shape[1])[None] < lengths[:, None]
                found = found.masked_fill(~is_there.to(found.device), 0.0)
                for (_, place), each in zip(asked, found.sum(dim=1).tolist(), strict=True):
                    likely[place] = each
        return likely

    def _read(self, texts: Sequence[str], batch: int) -> Iterator[tuple[list[int], HiddenState]]:
        """Yield the hidden states of texts of similar length, with their positions in `texts`."""
        if batch < 1:
            raise Seq2SeqError(f"batch is {batch}; it is 1 or more")
        rows = self.tokens.sources(texts)
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        while order:
            count = min(batch, len(order))
            while count > 1 and count * len(rows[order[count - 1]]) > READ_MAX:
                count //= 2
            some, order = order[:count], order[count:]
            yield some, self.encode(*padded([rows[row] for row in some], self.device))

    def stream(self, text: str, *, length_max: int | None = None) -> Iterator[str]:
        """Yield an answer in parts while it is generated greedily; the parts are whole characters.

        A backward model yields its answer in one part, at the end.
        """
        if self.shape.backward:
            yield from self.generate([text], length_max=length_max)
            return
        limit = self.length_max if length_max is None else length_max
        decoder = self.tokens.target.decoder()
        with _inference(self):
            hidden = self.encode(*padded(self.tokens.sources([text]), self.device))
        ids = stream_ids(self.decoder, hidden, limit)
        while True:
            with _inference(self):  # Only while torch runs: the caller runs between two tokens.
                found = next(ids, None)
            if found is None:
                break
            if found != self.tokens.begin and (ready := decoder.push(found)):
                yield ready
        if rest := decoder.finish():
            yield rest

    def attend(self, text: str, answer: str) -> tuple[list[str], list[str], list[list[float]]]:
        """Return the tokens of a text, the tokens of an answer, and the attention weights.

        The weights have a row for each token of the answer. Both lists end with the end token.
        """
        source, target = self.tokens.sources([text]), self.tokens.targets([answer])
        with _inference(self):
            hidden = self.encode(*padded(source, self.device))
            weights = self.decoder.attention_weights(padded(target, self.device)[0], hidden)[0]
        read = [self.tokens.source.decode([each]) for each in source[0]]
        written = [self.tokens.target.decode([each]) for each in target[0]]
        return read, written, weights.tolist()

    def save(self, folder: str | os.PathLike[str], **notes: Any) -> Path:  # noqa: ANN401 - JSON.
        """Write the model to a folder, each file atomically; return the folder.

        `notes` are added to its JSON, beside its shape.
        """
        place = require_path(folder)
        place.mkdir(parents=True, exist_ok=True)
        self.tokens.source.save(place / SOURCE)
        self.tokens.target.save(place / TARGET)
        weights = {name: each.detach().cpu() for name, each in self.state_dict().items()}
        write_whole(place / WEIGHTS, bytes_of(weights))
        about = {"format": FORMAT, "shape": asdict(self.shape), "length_max": self.length_max}
        write_whole(place / MODEL, (json.dumps(about | notes, indent=1) + "\n").encode())
        return place


def load(folder: str | os.PathLike[str], *, device: str = "cpu") -> Seq2Seq:
    """Read a saved model; no code in its files is run."""
    place = require_path(folder)
    if not (place / MODEL).exists():
        raise MissingFileError(f"{place} has no {MODEL}; make a model with `zeton seq2seq learn`")
    try:
        about = json.loads(read_whole(place / MODEL, JSON_BYTES_MAX))
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r}, not {FORMAT!r}")  # noqa: TRY301
        length = about["length_max"]
        if type(length) is not int or not 1 <= length <= LENGTH_MAX:
            raise ValueError(f"its length_max is {length!r}")  # noqa: TRY301
        tokens = Tokens(load_tokenizer(place / SOURCE), load_tokenizer(place / TARGET))
        weights = tensors_of(read_whole(place / WEIGHTS, WEIGHTS_BYTES_MAX))
        if not all(bool(each.isfinite().all()) for each in weights.values()):
            raise ValueError("its weights are not all numbers")  # noqa: TRY301
        with torch.device("meta"):  # Memory waits until the sizes fit the weights.
            model = Seq2Seq(tokens, Shape(**about["shape"]), length_max=length)
        model.load_state_dict(weights, assign=True)
    except (ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise FormatError(
            f"{place} is damaged or no model: {_line(error)}; train it again"
        ) from None
    model.to(checked_device(device))
    model.eval()
    return model


def checked_device(device: str) -> str:
    """Return the name of a device; refuse one that torch cannot use here."""
    try:
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError) as error:
        raise Seq2SeqError(f"device {device!r} cannot be used: {_line(error)}; try 'cpu'") from None
    return device


def _line(error: Exception) -> str:
    """Return an error of torch as one line."""
    return " ".join(f"{type(error).__name__} {error}".split())[:300]


@contextmanager
def _inference(model: Seq2Seq) -> Iterator[None]:
    """Switch dropout and gradients off within the context."""
    was = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was)
