"""An encoder and a decoder: padding and batching change nothing, one step is as good as many."""

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import zeton

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` does it")

from zeton import seq2seq  # noqa: E402 - it needs torch.
from zeton.seq2seq import Decoder, Encoder, HiddenState, Pair, Seq2Seq, Shape, Tokens  # noqa: E402
from zeton.seq2seq.plots import attention_map, loss_curve  # noqa: E402
from zeton.seq2seq.search import beam, greedy  # noqa: E402

CELLS = ["rnn", "gru", "lstm"]
WAYS = list(itertools.product(CELLS, [None, "additive"], [False, True]))
TEXTS = ["lower", "lowest", "", "new", "widest and newest", "é中😀"]
CLOSE = {"rtol": 1e-4, "atol": 1e-6}

torch.set_num_threads(1)  # Small tensors: more threads would only wait for each other.


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        yield


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    pairs = [Pair(text + "x", text[::-1] + "é") for text in TEXTS]
    return Tokens.train(pairs, 270, 270)


def model_of(tokens: Tokens, cell: Any, attention: Any, both: Any, **more: Any) -> Seq2Seq:
    shape = Shape(cell, 8, 12, 2, bidirectional=both, attention=attention, dropout=0.3)
    model = Seq2Seq(tokens, shape, **more)
    model.eval()
    return model


def read(model: Seq2Seq, texts: list[str]) -> HiddenState:
    from zeton.seq2seq.tokens import padded

    return model.encode(*padded(model.tokens.sources(texts), model.device))


@pytest.mark.parametrize(("cell", "attention", "both"), WAYS)
def test_padding_changes_no_result(tokens: Tokens, cell: Any, attention: Any, both: Any) -> None:
    from zeton.seq2seq.tokens import padded

    model = model_of(tokens, cell, attention, both)
    rows = tokens.sources(TEXTS)
    targets, _ = padded(tokens.targets([text[::-1] for text in TEXTS]), model.device)
    ids, lengths = padded(rows, model.device)
    ids = torch.nn.functional.pad(ids, (0, 3), value=65)  # Padding that is an id like any other.
    together = model(ids, lengths, targets)
    for row, target, found in zip(rows, targets, together, strict=True):
        alone = model(torch.tensor([row]), torch.tensor([len(row)]), target[None])
        torch.testing.assert_close(found, alone[0], **CLOSE)
        hidden = model.encoder(torch.tensor([row]))  # Without lengths, nothing is padding.
        torch.testing.assert_close(read(model, [tokens.source.decode(row[:-1])])[0], hidden[0])


@pytest.mark.parametrize("cell", CELLS)
def test_the_encoder_ends_in_its_last_state(cell: Any) -> None:
    encoder = Encoder(300, size=6, cell=cell, layers=2, bidirectional=False)
    ids, lengths = torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]]), torch.tensor([4, 2])
    states, hidden = encoder.states(ids, lengths), encoder(ids, lengths)
    assert states.shape == (2, 4, 6)
    assert hidden.state.shape == (2, 2, 6)
    assert (hidden.cell is not None) == (cell == "lstm")
    torch.testing.assert_close(hidden.state[-1], torch.stack([states[0, 3], states[1, 1]]))
    assert not states[1, 2:].any()  # Padding has no state.


@pytest.mark.parametrize("cell", CELLS)
def test_both_directions_are_halves_of_the_state(cell: Any) -> None:
    encoder = Encoder(300, size=6, cell=cell)
    ids = torch.tensor([[5, 6, 7]])
    states, hidden = encoder.run(ids)
    torch.testing.assert_close(hidden.state[0, 0, :3], states[0, -1, :3])
    torch.testing.assert_close(hidden.state[0, 0, 3:], states[0, 0, 3:])
    with pytest.raises(seq2seq.Seq2SeqError, match="needs an even size"):
        Encoder(300, size=5)


@pytest.mark.parametrize(("cell", "attention", "both"), WAYS)
def test_one_step_at_a_time_equals_the_whole_sequence(
    tokens: Tokens, cell: Any, attention: Any, both: Any
) -> None:
    model = model_of(tokens, cell, attention, both)
    target = torch.tensor(tokens.targets(["tsewol"])).expand(len(TEXTS), -1)
    hidden = read(model, TEXTS)
    whole = model.decoder(hidden, target.shape[1], target)
    told = torch.full((len(TEXTS),), tokens.begin)
    for at in range(target.shape[1]):
        logits, hidden = model.decoder.step(told, hidden)
        torch.testing.assert_close(logits, whole[:, at], **CLOSE)
        told = target[:, at]


@pytest.mark.parametrize(("cell", "attention"), list(itertools.product(CELLS, [None, "additive"])))
def test_gradients_are_the_slopes_of_the_loss(tokens: Tokens, cell: Any, attention: Any) -> None:
    from zeton.seq2seq.tokens import padded

    model = model_of(tokens, cell, attention, both=True).double()
    ids, lengths = padded(tokens.sources(TEXTS[:3]), model.device)
    target, _ = padded(tokens.targets(["ab", "tsewol", "x"]), model.device)

    def loss() -> Any:
        logits = model(ids, lengths, target)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())

    loss().backward()
    draw, tiny = random.Random(0), 1e-6
    for name, weights in model.named_parameters():
        flat, slopes = weights.data.view(-1), weights.grad.view(-1)
        steepest = int(slopes.abs().argmax())
        for at in {steepest, draw.randrange(len(flat))}:
            before = flat[at].item()
            flat[at] = before + tiny
            above = loss().item()
            flat[at] = before - tiny
            below = loss().item()
            flat[at] = before
            slope = (above - below) / (2 * tiny)
            assert slopes[at].item() == pytest.approx(slope, rel=1e-4, abs=1e-8), name


@pytest.mark.parametrize("cell", CELLS)
def test_a_decoder_of_fewer_layers_starts_in_the_last_ones(tokens: Tokens, cell: Any) -> None:
    model = Seq2Seq(tokens, Shape(cell, 8, 12, 3, decoder_layers=2))
    model.eval()
    ids, lengths = torch.tensor([[5, 6, 7]]), torch.tensor([3])
    whole, last = model.encoder(ids, lengths), model.encode(ids, lengths)
    assert torch.equal(last.state, whole.state[1:])
    assert (last.cell is None) == (cell != "lstm")
    if last.cell is not None:
        assert torch.equal(last.cell, whole.cell[1:])
    assert model.decoder.recurrent.num_layers == 2
    assert len(model.generate(["lowest"], length_max=3)) == 1


def test_forget_gates_start_open() -> None:
    encoder = Encoder(9, embedding_size=4, size=6, cell="lstm", layers=2)
    for part in ("l0", "l1", "l0_reverse", "l1_reverse"):
        biases = [getattr(encoder.recurrent, f"bias_{side}_{part}") for side in ("ih", "hh")]
        total = biases[0] + biases[1]
        assert total[3:6].tolist() == [1, 1, 1]
        assert not torch.cat([total[:3], total[6:]]).eq(1).any()


def test_every_weight_has_a_gradient(tokens: Tokens) -> None:
    model = model_of(tokens, "lstm", "additive", both=True)
    target = torch.tensor(tokens.targets(["tsewol"]))
    ids = torch.tensor(tokens.sources(["lowest"]))
    (model(ids, torch.tensor([ids.shape[1]]), target) ** 2).sum().backward()
    assert all(each.grad is not None and each.grad.abs().sum() > 0 for each in model.parameters())


@pytest.mark.parametrize(("cell", "attention", "both"), WAYS)
def test_generation_is_one_step_after_another(
    tokens: Tokens, cell: Any, attention: Any, both: Any
) -> None:
    model = model_of(tokens, cell, attention, both)
    hidden = read(model, TEXTS)
    logits = model.decoder(hidden, 9)
    assert logits.shape[0] == len(TEXTS)
    assert logits.shape[1] <= 9
    written = greedy(model.decoder, hidden, 9)
    for row, ids in zip(logits.argmax(dim=-1).tolist(), written, strict=True):
        end = row.index(tokens.end) if tokens.end in row else len(row)
        assert row[:end] == ids
    # The generated ids are the likeliest ids of the whole pass with them as its target.
    told = logits.argmax(dim=-1)
    again = model.decoder(hidden, 9, told)
    torch.testing.assert_close(again, logits, **CLOSE)


def test_a_text_is_answered_alike_alone_and_among_others(tokens: Tokens) -> None:
    model = model_of(tokens, "gru", "additive", both=True, length_max=12)
    texts = TEXTS * 3
    for width in (1, 4):
        alone = [model.generate([text], beam=width)[0] for text in texts]
        assert model.generate(texts, beam=width) == alone
        assert model.generate(texts, beam=width, batch=4) == alone
    assert model.generate([]) == []


def likelihood(decoder: Decoder, hidden: HiddenState, ids: list[int]) -> float:
    target = torch.tensor([ids])
    steps = decoder(hidden, len(ids), target).log_softmax(dim=-1)[0]
    return float(steps.gather(1, target.T).sum())


@pytest.mark.parametrize("attention", [None, "additive"])
def test_a_wide_beam_finds_the_likeliest_of_all(attention: Any) -> None:
    begin, end, length_max = 4, 3, 3
    encoder = Encoder(9, embedding_size=5, size=6, bidirectional=True)
    decoder = Decoder(5, begin=begin, end=end, embedding_size=5, size=6, attention=attention)
    states, hidden = encoder.run(torch.tensor([[1, 2, 3]]))
    if decoder.attention is not None:
        mask = torch.ones((1, 3), dtype=torch.bool)
        hidden = hidden._replace(memory=decoder.attention.remember(states, mask))
    others = [each for each in range(5) if each != end]
    with torch.no_grad():
        decoder.logits.weight *= 8  # Far from uniform.
        every = [
            [*ids, end][:length_max]
            for length in range(length_max + 1)
            for ids in itertools.product(others, repeat=length)
        ]
        scores = {tuple(ids): likelihood(decoder, hidden, ids) for ids in every}
        best = max(scores, key=lambda ids: scores[ids])
        (found,) = beam(decoder, hidden, 5**length_max, length_max)
        assert tuple(found[0].ids) == tuple(each for each in best if each != end)
        assert [each.score for each in found] == pytest.approx(
            sorted(scores.values(), reverse=True), abs=1e-4
        )
        (narrow,) = beam(decoder, hidden, 1, length_max)
        assert narrow[0].ids == greedy(decoder, hidden, length_max)[0]


@pytest.mark.parametrize("backward", [False, True])
def test_a_candidate_counts_what_the_whole_pass_says_of_it(backward: Any) -> None:
    letters = Tokens.train([Pair("a", "b")], 258, 258)
    model = Seq2Seq(letters, Shape("lstm", 8, 12, backward=backward), length_max=40)
    model.eval()
    with torch.no_grad():  # Answers are of a few letters, and end.
        model.decoder.logits.bias[:] = -1e9
        model.decoder.logits.bias[[*b"abc", letters.end]] = torch.tensor([0.0, 0.0, 0.0, 3.0])
    every = model.candidates(TEXTS, beam=4)
    assert [each[0].text for each in every] == model.generate(TEXTS, beam=4)
    for text, found in zip(TEXTS, every, strict=True):
        likely = model.log_probabilities([Pair(text, each.text) for each in found], batch=3)
        assert len(found) == len({each.text for each in found}) == 4
        assert [each.score for each in found] == pytest.approx(likely, abs=1e-4)
        assert likely == pytest.approx(sorted(likely, reverse=True), abs=1e-4)
    assert model.log_probabilities([]) == []


def test_backward_the_last_token_is_written_first(tokens: Tokens) -> None:
    forward = model_of(tokens, "gru", "additive", both=True, length_max=12)
    backward = Seq2Seq(tokens, replace(forward.shape, backward=True), length_max=12)
    backward.load_state_dict(forward.state_dict())
    backward.eval()
    for text in TEXTS:
        row, turned = forward.tokens.targets([text])[0], backward.tokens.targets([text])[0]
        assert turned == [*reversed(row[:-1]), tokens.end]
        assert backward.tokens.text(turned) == text
        assert list(backward.stream(text)) == backward.generate([text])
    ids = greedy(forward.decoder, read(forward, ["lower"]), 12)[0]
    assert backward.generate(["lower"]) == [tokens.target.decode(ids[::-1])]


def test_a_stream_yields_whole_characters_and_is_the_answer(tokens: Tokens) -> None:
    """Make a model that writes 😀 byte by byte: its step says the next byte, then the end."""
    model = model_of(tokens, "gru", None, both=True, length_max=9)
    wanted = [*"a😀é".encode(), tokens.end]

    class Writing(Decoder):
        def step(self, id: Any, hidden: HiddenState) -> Any:  # noqa: A002 - as the class has it.
            at = int(hidden.state[0, 0, 0])
            logits = torch.zeros((len(id), tokens.target_size))
            logits[:, wanted[at]] = 1
            return logits, hidden._replace(state=hidden.state + 1)

    model.decoder = Writing(tokens.target_size, begin=tokens.begin, end=tokens.end)
    with torch.no_grad():
        for each in model.encoder.parameters():
            each.zero_()
    parts = list(model.stream("any"))
    assert parts == ["a", "😀", "é"]
    assert model.generate(["any"]) == ["a😀é"]
    assert "".join(model.stream("any", length_max=3)) == "a�"


def test_real_streams_equal_generated_texts(tokens: Tokens) -> None:
    model = model_of(tokens, "lstm", "additive", both=False, length_max=20)
    for text in TEXTS:
        assert "".join(model.stream(text)) == model.generate([text])[0]


def test_an_answer_ends_at_its_limit(tokens: Tokens) -> None:
    model = model_of(tokens, "gru", None, both=True)
    with torch.no_grad():
        model.decoder.logits.bias[tokens.end] = -1e9
        model.decoder.logits.bias[ord("a")] = 1e3
    for width in (1, 3):
        assert model.generate(["x"], length_max=5, beam=width) == ["aaaaa"]
    assert model.generate(["x"], length_max=0) == [""]
    assert len(model.generate(["x"])[0]) == model.length_max


def test_a_model_is_saved_and_loaded(tokens: Tokens, tmp_path: Path) -> None:
    model = model_of(tokens, "lstm", "additive", both=True, length_max=11)
    loaded = seq2seq.load(model.save(tmp_path / "model"))
    assert (loaded.shape, loaded.tokens, loaded.length_max) == (model.shape, model.tokens, 11)
    assert loaded.generate(TEXTS) == model.generate(TEXTS)
    assert {file.suffix for file in (tmp_path / "model").iterdir()} == {
        ".json",
        ".safetensors",
        ".zeton",
    }


def test_refuses_what_is_no_model(tokens: Tokens, tmp_path: Path) -> None:
    with pytest.raises(zeton.errors.MissingFileError, match="has no model"):
        seq2seq.load(tmp_path)
    place = model_of(tokens, "gru", None, both=True).save(tmp_path / "model")
    weights = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(weights[:-9])
    with pytest.raises(zeton.errors.FormatError, match="is damaged or no model"):
        seq2seq.load(place)
    (place / "model.safetensors").write_bytes(weights)
    seq2seq.load(place)
    about = (place / "model.json").read_text()
    for spoiled in (
        about.replace('"size": 12', '"size": 14'),
        about.replace('"layers": 2', '"layers": 64'),
        about.replace('"length_max": 64', '"length_max": 1e999'),
        about.replace('"length_max": 64', '"length_max": -1'),
        "{}",
        about.replace("q 1", "q 9"),
    ):
        assert spoiled != about
        (place / "model.json").write_text(spoiled)
        with pytest.raises(zeton.errors.FormatError, match="is damaged or no model"):
            seq2seq.load(place)


def test_refuses_weights_that_are_no_numbers(tokens: Tokens, tmp_path: Path) -> None:
    model = model_of(tokens, "gru", None, both=True)
    with torch.no_grad():
        model.decoder.logits.weight[0, 0] = math.nan
    with pytest.raises(zeton.errors.FormatError, match="not all numbers"):
        seq2seq.load(model.save(tmp_path / "model"))


def test_refuses_a_device_that_is_not_there(tokens: Tokens, tmp_path: Path) -> None:
    place = model_of(tokens, "gru", None, both=True).save(tmp_path / "model")
    for device in ("foo", "cuda:77"):
        with pytest.raises(seq2seq.Seq2SeqError, match=f"device '{device}' cannot be used"):
            seq2seq.load(place, device=device)
        with pytest.raises(seq2seq.Seq2SeqError, match="cannot be used"):
            seq2seq.learn([Pair("a", "b")] * 2, validation=[Pair("a", "b")], device=device)


def test_a_long_text_changes_no_other_answer(tokens: Tokens) -> None:
    model = model_of(tokens, "lstm", "additive", both=True)
    short = ["low", "lower", "lowest"] * 20
    answers = model.generate([*short, "low " * 9000], length_max=8)
    assert answers[:-1] == model.generate(short, length_max=8)


def test_any_tokenizers_get_the_specials_that_they_lack() -> None:
    gpt2 = zeton.pretrained("gpt2")
    both = Tokens.of(gpt2, zeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
    assert both.source.encode("lower") == gpt2.encode("lower")
    assert (both.begin, both.end, both.target_size) == (256, 257, 258)
    assert both.sources(["a"]) == [[gpt2.encode("a")[0], both.source.specials["<|end|>"]]]
    assert Tokens.of(both.source, both.target) == both
    assert both.text([*b"ab", both.end, *b"c"]) == "ab"


def test_refuses_shapes_and_numbers_that_make_no_model(tokens: Tokens) -> None:
    wrong: dict[str, list[Any]] = {
        "size": [0, 1 << 20, 2.0],
        "embedding_size": [0],
        "layers": [0, 1000],
        "dropout": [1.0],
        "bidirectional": ["no"],
        "backward": [1],
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(seq2seq.Seq2SeqError, match=f"{name} is "):
                Shape(**{name: value})
    for layers in (0, 3):
        with pytest.raises(seq2seq.Seq2SeqError, match=f"decoder_layers is {layers}; it is from 1"):
            Shape(layers=2, decoder_layers=layers)
    with pytest.raises(seq2seq.Seq2SeqError, match="cell is 'tree'"):
        Seq2Seq(tokens, Shape(cell="tree"))  # type: ignore[arg-type]
    with pytest.raises(seq2seq.Seq2SeqError, match="attention is 'hard'"):
        Seq2Seq(tokens, Shape(attention="hard"))  # type: ignore[arg-type]
    model = Seq2Seq(tokens, Shape(size=8, attention=None))
    with pytest.raises(seq2seq.Seq2SeqError, match="beam is 0"):
        model.generate(["x"], beam=0)
    with pytest.raises(seq2seq.Seq2SeqError, match="the model has no attention"):
        model.attend("x", "y")


def test_attention_looks_at_the_text_and_nowhere_else(tokens: Tokens) -> None:
    model = model_of(tokens, "gru", "additive", both=True)
    read_tokens, written, weights = model.attend("lowest", "tsewol")
    assert "".join(read_tokens) == "lowest<|end|>"
    assert "".join(written) == "tsewol<|end|>"
    assert [sum(row) for row in weights] == pytest.approx([1] * len(written))
    assert {len(row) for row in weights} == {len(read_tokens)}
    hidden = read(model, ["lowest", "a"])
    shares = model.decoder.attention_weights(torch.tensor([[65], [65]]), hidden)
    assert not shares[1, 0, 2:].any()
    picture = attention_map(read_tokens, written, weights)
    assert picture.count("<rect") == len(read_tokens) * len(written)


def test_a_curve_has_both_losses() -> None:
    epoch = seq2seq.Epoch(1, 100, 2.0, 1.5, 1.0, 0.5)
    picture = loss_curve(seq2seq.Report([epoch], 1, 3.0, [(50, 3.0), (100, 2.0)]))
    assert "training" in picture
    assert "100 steps: 1.5 nats per token" in picture
    assert loss_curve(seq2seq.Report()) == ""
