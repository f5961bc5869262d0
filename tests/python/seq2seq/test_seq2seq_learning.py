"""Learning: it learns, stops when it should, and goes on after any end to the same bytes."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import zeton

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` does it")

from zeton import seq2seq  # noqa: E402 - it needs torch.
from zeton.seq2seq import Learner, Options, Pair, Seq2Seq, Shape, StepProgress, Tokens  # noqa: E402
from zeton.seq2seq.pairs import Pairs, read_pairs  # noqa: E402

torch.set_num_threads(1)

SMALL = Shape(embedding_size=8, size=16, dropout=0.2)
BYTES = Tokens.of(*[zeton.Tokenizer({bytes([byte]): byte for byte in range(256)})] * 2)


def words(count: int, letters: str = "abcdef", longest: int = 5) -> list[str]:
    draw = random.Random(count)
    found = ("".join(draw.choices(letters, k=draw.randint(1, longest))) for _ in range(count * 100))
    return list(dict.fromkeys(found))[:count]


PAIRS = [Pair(word, word.upper()) for word in words(150)]


def learned(folder: Path | None = None, **more: Any) -> tuple[Seq2Seq, seq2seq.Report]:
    options = {"epochs": 3, "batch": 16, "checkpoint_every": 4} | more
    told = {"progress": options.pop("progress", False), "restart": options.pop("restart", False)}
    pairs = options.pop("pairs", PAIRS)
    return seq2seq.learn(
        pairs,
        validation=0.2,
        out=folder,
        tokens=BYTES,
        shape=SMALL,
        options=Options(**options),
        **told,
    )


@pytest.mark.parametrize("attention", [None, "additive"])
@pytest.mark.parametrize("turned", [False, True], ids=["copy", "reverse"])
def test_learns_to_copy_and_to_reverse(attention: Any, turned: bool) -> None:  # noqa: FBT001
    """Words that it never saw are right, more than 99 of 100."""
    pairs = [Pair(word, word[::-1] if turned else word) for word in words(3300, "abcde")]
    known, new = pairs[:3000], pairs[3000:]
    model, report = seq2seq.learn(
        known,
        validation=0.05,
        tokens=BYTES,
        shape=Shape(embedding_size=16, size=64, attention=attention, dropout=0.0),
        options=Options(epochs=20, batch=32, learning_rate=0.01),
    )
    answers = model.generate([pair.source for pair in new])
    right = sum(answer == pair.target for answer, pair in zip(answers, new, strict=True))
    assert right / len(new) > 0.99
    assert report.epochs[-1].bits_per_byte < report.epochs[0].bits_per_byte


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        learned(tmp_path / name, seed=seed)
    same = ["model.json", "model.safetensors", "source.zeton", "target.zeton", "curve.svg"]
    files = {
        name: [(tmp_path / name / file).read_bytes() for file in same] for name in ("a", "b", "c")
    }
    assert files["a"] == files["b"] != files["c"]


def test_others_draw_the_numbers_that_they_would_have_drawn() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        expected = torch.rand(4)
        torch.manual_seed(3)
        learned()
        assert torch.equal(torch.rand(4), expected)


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_seq2seq_learning import learned
learned(Path({folder!r}), epochs=6, progress=lambda now: print(now.step, flush=True))
"""


def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    learned(whole, epochs=6)
    code = KILLED.format(tests=str(Path(__file__).parent), folder=str(killed))
    first = []
    for steps in (11, 20):  # In the second epoch, and in a later one: each time from a checkpoint.
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said = [int(next(process.stdout)) for _ in range(steps)]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        first.append(said[0])
        assert not (killed / "model.json").exists()
    assert first[0] == 1
    assert first[1] > 1
    learned(killed, epochs=6)
    for file in ("model.json", "model.safetensors"):
        assert (killed / file).read_bytes() == (whole / file).read_bytes()
    assert not list(killed.glob("learning*"))


class StopError(Exception):
    """An exception that ends training in the middle."""


def stopped(folder: Path, step: int, **more: Any) -> None:
    def tell(now: StepProgress) -> None:
        if now.step == step:
            raise StopError

    with pytest.raises(StopError):
        learned(folder, progress=tell, **more)


@pytest.mark.parametrize(
    "more",
    [{"teacher_forcing": 0.5, "token_dropout": 0.3}, {"ema_decay": 0.9, "best_by": "errors"}],
    ids=repr,
)
def test_goes_on_from_every_step(tmp_path: Path, more: dict[str, Any]) -> None:
    whole = learned(tmp_path / "whole", epochs=2, **more)[1]
    for step in range(1, whole.epochs[-1].step):
        stopped(tmp_path / "stopped", step, epochs=2, **more)
    learned(tmp_path / "stopped", epochs=2, **more)
    for file in ("model.json", "model.safetensors"):
        there = tmp_path / "stopped" / file
        assert there.read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_another_learning_is_refused_and_stays(tmp_path: Path) -> None:
    stopped(tmp_path, 9)
    with pytest.raises(seq2seq.Seq2SeqError, match="training with other options; give the same"):
        learned(tmp_path, learning_rate=0.5)
    with pytest.raises(seq2seq.Seq2SeqError, match="training with other pairs"):
        learned(tmp_path, pairs=PAIRS[1:])
    assert (tmp_path / "learning.json").exists()
    learned(tmp_path, learning_rate=0.005, restart=True)
    assert (tmp_path / "model.json").exists()


def test_a_damaged_checkpoint_is_begun_anew(tmp_path: Path) -> None:
    learned(tmp_path / "whole")
    stopped(tmp_path / "damaged", 13)
    (tensors,) = (tmp_path / "damaged").glob("learning-*.safetensors")
    tensors.write_bytes(tensors.read_bytes()[:-1] + b"!")
    learned(tmp_path / "damaged")
    weights = [
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "damaged")
    ]
    assert weights[0] == weights[1]


def test_the_model_has_the_average_of_its_weights() -> None:
    """The EMA equals one computed by hand from the weights of every step."""
    learner = Learner(
        Seq2Seq(BYTES, SMALL), PAIRS, PAIRS, Options(epochs=1, batch=16, ema_decay=0.5)
    )
    weight = learner.model.decoder.logits.weight
    expected = weight.detach().clone()
    steps: list[int] = []

    def follow(_: StepProgress) -> None:
        if learner.step > len(steps):
            steps.append(learner.step)
            stays = min(0.5, learner.step / (9 + learner.step))
            expected.lerp_(weight.detach(), 1 - stays)

    report = learner.run(progress=follow)
    assert len(steps) == report.epochs[-1].step > 8
    assert torch.allclose(learner.model.decoder.logits.weight, expected, atol=1e-6)
    assert learner._validate()[0] == pytest.approx(report.epochs[-1].validation_loss)


def test_without_an_average_the_model_has_the_weights_themselves() -> None:
    learner = Learner(Seq2Seq(BYTES, SMALL), PAIRS, PAIRS, Options(epochs=1, batch=16))
    learner._learn(next(learner.batches.epoch(0, 0)))
    for name, each in learner.model.state_dict().items():
        assert torch.equal(learner.ema[name], each)


def test_stops_when_validation_gets_no_better_and_keeps_the_best() -> None:
    draw = random.Random(1)
    noise = [Pair(word, "".join(draw.choices("xyz", k=4))) for word in words(120)]
    options = Options(epochs=60, batch=8, learning_rate=0.02, patience=2)
    model = Seq2Seq(BYTES, SMALL)
    learner = Learner(model, noise[:80], noise[80:], options)
    report = learner.run()
    losses = [each.validation_loss for each in report.epochs]
    assert len(losses) == report.best + 2 < 60
    assert losses[report.best - 1] == min(losses)
    assert learner._validate()[0] == pytest.approx(min(losses))


def test_forcing_falls_from_all_to_its_share() -> None:
    learner = Learner(Seq2Seq(BYTES, SMALL), PAIRS, PAIRS, Options(epochs=5, teacher_forcing=0.2))
    shares = []
    for epoch in range(5):
        learner.epoch = epoch
        shares.append(learner._teacher_forcing_ratio())
    assert shares == pytest.approx([1, 0.8, 0.6, 0.4, 0.2])
    told = torch.tensor([[BYTES.begin, *b"abcdefgh"]])
    hidden = learner.model.encode(torch.tensor([[65]]), torch.tensor([1]))
    assert torch.equal(learner._mix_guesses(told, hidden, 1.0), told)
    mixed = learner._mix_guesses(told, hidden, 0.0)
    assert mixed[0, 0] == BYTES.begin
    learner.model.eval()  # Without dropout, guesses are the same each time.
    guesses = learner.model.decoder.run(told, hidden)[0].argmax(dim=-1)
    mixed = learner._mix_guesses(told, hidden, 0.0)
    assert torch.equal(mixed[0, 1:], guesses[0, :-1])


def test_hides_a_share_of_what_steps_are_told() -> None:
    told = torch.arange(20).expand(50, -1)
    for share in (0.0, 0.3, 1.0):
        learner = Learner(Seq2Seq(BYTES, SMALL), PAIRS, PAIRS, Options(token_dropout=share))
        shown = learner._drop_tokens(told)
        is_hidden = shown == BYTES.begin
        assert float(is_hidden.double().mean()) == pytest.approx(share, abs=0.05)
        assert torch.equal(shown[~is_hidden], told[~is_hidden])


def test_the_best_epoch_has_the_least_loss_or_the_fewest_errors() -> None:
    """Validations are made up: loss and share of wrong texts."""
    validations = [(0.5, 0.5), (0.3, 0.4), (0.4, 0.3), (0.6, 0.3), (0.35, 0.3)]
    for by, best in (("loss", [1, 2, 2, 2, 2]), ("errors", [1, 2, 3, 3, 5])):
        options = Options(best_by=by)  # type: ignore[arg-type]
        learner = Learner(Seq2Seq(BYTES, SMALL), PAIRS, PAIRS, options)
        found = []
        for loss, error in validations:
            learner._validate = lambda loss=loss, error=error: (loss, loss, error)  # type: ignore[method-assign, misc]
            learner._finish_epoch()
            found.append(learner.report.best)
        assert found == best


def test_the_rate_rises_and_falls() -> None:
    learner = Learner(Seq2Seq(BYTES, SMALL), PAIRS, PAIRS, Options(epochs=10, warmup=0.2))
    paces = []
    for step in range(learner.steps):
        learner.step = step
        paces.append(learner._rate_factor())
    top = paces.index(max(paces))
    assert top / len(paces) == pytest.approx(0.2, abs=0.1)
    assert paces[: top + 1] == sorted(paces[: top + 1])
    assert paces[top:] == sorted(paces[top:], reverse=True)
    assert max(paces) == pytest.approx(1, abs=0.02)
    assert paces[-1] == pytest.approx(0, abs=1e-6)


def test_gradients_are_clipped() -> None:
    """Adam's step does not depend on the scale of gradients, but the moments that it keeps do."""

    def largest(clip: float) -> float:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            learner = Learner(Seq2Seq(BYTES, SMALL), PAIRS, PAIRS, Options(clip=clip))
            learner._learn(next(learner.batches.epoch(0, 0)))
        moments = [each["exp_avg"] for each in learner.adam.state_dict()["state"].values()]
        return math.sqrt(sum(float((each**2).sum()) for each in moments)) * 10  # 1 - 0.9

    assert largest(0.01) == pytest.approx(0.01, rel=0.01)
    assert largest(1e6) > 0.1


def test_the_loss_is_told_in_bits_per_byte_too() -> None:
    learner = Learner(Seq2Seq(BYTES, SMALL), PAIRS, PAIRS[:40], Options())
    nats, bits, error = learner._validate()
    ids = sum(len(pair.target) + 1 for pair in PAIRS[:40])
    letters = sum(len(pair.target) for pair in PAIRS[:40])
    assert bits == pytest.approx(nats * ids / letters / math.log(2))
    assert bits == pytest.approx(math.log2(258) * ids / letters, rel=0.1)  # It knows nothing yet.
    assert error == 1


def test_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[StepProgress] = []
    report = learned(progress=told.append)[1]
    assert [now.step for now in told][-1] == report.epochs[-1].step == told[0].steps
    assert told[0].text_error is None
    assert told[-1].text_error == report.epochs[-1].text_error
    learned(progress=True)
    shown = capsys.readouterr().err
    assert "loss" in shown
    assert "wrong" in shown


def test_the_report_tells_the_whole_story(tmp_path: Path) -> None:
    before = time.monotonic()
    report = learned(tmp_path)[1]
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["best"] == report.best
    assert 0 < told["seconds"] < time.monotonic() - before
    assert [each["epoch"] for each in told["epochs"]] == [1, 2, 3]
    assert (tmp_path / "curve.svg").read_text().startswith("<svg xmlns")


def test_refuses_what_cannot_be_learned() -> None:
    with pytest.raises(seq2seq.Seq2SeqError, match="best_by is 'luck'; it is one of loss, errors"):
        Options(best_by="luck")  # type: ignore[arg-type]
    for wrong in (
        {"epochs": 0},
        {"learning_rate": 0.0},
        {"teacher_forcing": 1.5},
        {"token_dropout": 2.0},
        {"clip": -1.0},
    ):
        with pytest.raises(seq2seq.Seq2SeqError, match=f"{next(iter(wrong))} is "):
            Options(**wrong)
    with pytest.raises(seq2seq.PairsError, match="0 for validation"):
        seq2seq.learn(PAIRS, validation=0.0)
    with pytest.raises(seq2seq.PairsError, match="0 for training"):
        seq2seq.learn([])


def test_bad_lines_are_named_and_counted(tmp_path: Path) -> None:
    lines = ["good\tGOOD", "no tab", "two\ttabs\there", "\tempty", "more\tMORE\r", "b\t\xff"]
    content = "\n".join([*lines, *["bad"] * 9]).encode("latin-1")
    (tmp_path / "pairs.tsv").write_bytes(content)
    found = read_pairs(tmp_path / "pairs.tsv")
    assert list(found) == [("good", "GOOD"), ("more", "MORE")]
    assert found.bad == 13
    assert len(found.named) == 5
    said = found.warnings()
    assert said[0].endswith("line 2: it has 0 tabs instead of one")
    assert said[1].endswith("line 3: it has 2 tabs instead of one")
    assert said[2].endswith("line 4: one of its two texts is empty")
    assert said[3].endswith("line 6: it is not UTF-8")
    assert said[-1] == "skipped 13 bad lines, read 2 pairs"
    (tmp_path / "none.tsv").write_bytes(b"")
    with pytest.raises(seq2seq.PairsError, match="is empty; each line must be"):
        read_pairs(tmp_path / "none.tsv")
    with pytest.raises(zeton.errors.MissingFileError):
        read_pairs(tmp_path / "missing.tsv")


def test_all_pairs_of_a_source_are_in_one_part() -> None:
    pairs = Pairs([Pair(word, f"{word} {number}") for word in words(500) for number in range(3)])
    first, second = pairs.partition(0.2)
    assert not {pair.source for pair in first} & {pair.source for pair in second}
    assert sorted([*first, *second]) == sorted(pairs)
    assert len(second) / len(pairs) == pytest.approx(0.2, abs=0.06)
    assert second.pairs == pairs.partition(0.2)[1].pairs
