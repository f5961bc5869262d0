"""Published templates render as the models' own Jinja templates do.

`tests/vectors/chat.txt` has the texts that those Jinja templates gave; `scripts/chat_vectors.py`
makes the file anew.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.nanochat_rules import message, texts
from support.paths import SHARED, VECTORS
from support.strategies import vocab_with
from zeton.chat import (
    CHATML,
    GEMMA,
    LLAMA3,
    MISTRAL_NEMO,
    QWEN,
    Rendered,
    Template,
    get_template,
    harmony,
    llama3_1,
)
from zeton.chat.templates import TEMPLATES
from zeton.errors import ChatError

LINES = (VECTORS / "chat.txt").read_text().splitlines()
ROWS = [line.split("\t") for line in LINES if not line.startswith("#")]
DATED = {"llama3.1": llama3_1(date="19 Nov 2026"), "harmony": harmony(date="2026-11-19")}


def template_of(name: str) -> Template:
    """Return a template on the day of the vectors."""
    return DATED.get(name) or get_template(name)


def with_parts(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with its thoughts as a part, which Jinja templates take as a key."""
    if "thinking" not in message:
        return message
    parts = [("analysis", message["thinking"]), ("final", message["content"])]
    content = [{"type": kind, "text": text} for kind, text in parts]
    return {"role": message["role"], "content": content}


def render(row: list[str], tok: zeton.Tokenizer) -> Rendered:
    template, chat = template_of(row[0]), [with_parts(each) for each in json.loads(row[3])]
    renderer = template.bind(tok)
    return renderer.render_prompt(chat) if row[2] == "prompt" else renderer.render(chat)


def tokenizer_for(template: Template) -> zeton.Tokenizer:
    """Return a tokenizer of bytes with the special tokens of a template."""
    specials = {name: 300 + at for at, name in enumerate(template.specials)}
    return zeton.Tokenizer(vocab_with([b".\n\n", b"\n\n"]), specials=specials)


def trained(rendered: Rendered, tok: zeton.Tokenizer) -> str:
    ids = [id for id, bit in zip(rendered.ids, rendered.mask, strict=True) if bit]  # noqa: A001
    return tok.decode(ids)


def test_every_published_template_has_vectors() -> None:
    assert {row[0] for row in ROWS} == set(TEMPLATES) - {"nanochat"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[1]}-{row[2]}")
def test_text_is_that_of_the_published_template(row: list[str]) -> None:
    tok = tokenizer_for(template_of(row[0]))
    assert tok.decode(render(row, tok).ids) == json.loads(row[4])


def vocabulary(name: str) -> zeton.Tokenizer:
    """Return the tokenizer of a model; skip where its file is not at hand."""
    if name == "o200k_harmony":
        return zeton.pretrained(name)
    specs = SHARED / "vocabs" / "tiktoken_specs.json"
    file = {"llama3": "llama3.tokenizer.model", "qwen": "qwen.tiktoken"}[name]
    path = SHARED / "vocabs" / "tiktoken" / file
    if not (path.is_file() and specs.is_file()):
        pytest.skip(f"{path} is not here")
    spec = json.loads(specs.read_text())[name]
    ranks = zeton.tiktoken.load.load_tiktoken_bpe(str(path))
    return zeton.Tokenizer(ranks, pattern=spec["pat_str"], specials=spec["special_tokens"])


@pytest.mark.parametrize(
    ("vocab", "names"),
    [
        ("o200k_harmony", ["harmony"]),
        ("llama3", ["llama3", "llama3.1"]),
        ("qwen", ["qwen2.5", "chatml"]),
    ],
)
def test_ids_are_those_of_the_whole_text(vocab: str, names: list[str]) -> None:
    tok = vocabulary(vocab)
    rows = [row for row in ROWS if row[0] in names and "[/INST]" not in row[3]]
    assert rows
    for row in rows:
        expected = tok.encode(json.loads(row[4]), allowed_special=template_of(row[0]).specials)
        assert render(row, tok).ids == expected


CHAT = [
    {"role": "user", "content": "2+2?"},
    {"role": "assistant", "content": "Four."},
    {"role": "user", "content": "3+3?"},
    {"role": "assistant", "content": "Six."},
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chatml", "Four.<|im_end|>\nSix.<|im_end|>\n"),
        ("qwen2.5", "Four.<|im_end|>\nSix.<|im_end|>\n"),
        ("llama3", "Four.<|eot_id|>Six.<|eot_id|>"),
        ("llama3.1", "Four.<|eot_id|>Six.<|eot_id|>"),
        ("mistral", "Four.</s>Six.</s>"),
        ("mistral-nemo", "Four.</s>Six.</s>"),
        ("gemma", "Four.<end_of_turn>\nSix.<end_of_turn>\n"),
        (
            "harmony",
            "<|channel|>final<|message|>Four.<|end|><|channel|>final<|message|>Six.<|return|>",
        ),
    ],
)
def test_the_loss_mask_has_answers_and_their_ends(name: str, expected: str) -> None:
    template = get_template(name)
    tok = tokenizer_for(template)
    assert trained(template.render(CHAT, tokenizer=tok), tok) == expected
    prompt = template.render_prompt(CHAT[:3], tokenizer=tok)
    asked = next(span for span in prompt.spans if span.message == 2)
    assert not any(prompt.mask[asked.start :])


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_spans_have_the_texts_of_messages(name: str) -> None:
    template = get_template(name)
    tok = tokenizer_for(template)
    ids, _, spans = template.render(CHAT, tokenizer=tok)
    for at, each in enumerate(CHAT):
        (text,) = [span for span in spans if (span.message, span.part) == (at, 0)]
        assert each["content"] in tok.decode(ids[text.start : text.stop])
        assert text.role == each["role"]


def test_a_default_is_written_once_and_has_no_span() -> None:
    tok = tokenizer_for(QWEN)
    rendered = QWEN.render(CHAT[:2], tokenizer=tok)
    assert tok.decode(rendered.ids).startswith("<|im_start|>system\nYou are Qwen, created by")
    assert [span.message for span in rendered.spans if span.part is None] == [0, 1]
    short = QWEN.render(CHAT, tokenizer=tok, max_tokens=len(rendered.ids) + 1)
    assert tok.decode(short.ids).count("You are Qwen") == 1
    own = [{"role": "system", "content": "Short."}, *CHAT]
    assert "You are Qwen" not in tok.decode(QWEN.render(own, tokenizer=tok).ids)


def test_a_system_message_joins_the_last_question_that_is_kept() -> None:
    tok = tokenizer_for(MISTRAL_NEMO)
    chat = [{"role": "system", "content": "Short."}, *CHAT]
    rendered = MISTRAL_NEMO.render(chat, tokenizer=tok)
    text = "<s>[INST]2+2?[/INST]Four.</s>[INST]Short.\n\n3+3?[/INST]Six.</s>"
    assert tok.decode(rendered.ids) == text
    short = MISTRAL_NEMO.render(chat, tokenizer=tok, max_tokens=len(rendered.ids) - 1)
    assert tok.decode(short.ids) == "<s>[INST]Short.\n\n3+3?[/INST]Six.</s>"
    spans = {(span.message, span.part): span for span in short.spans}
    assert spans[0, 0][:2] == spans[3, 0][:2]


def answer(*parts: tuple[str, str]) -> dict[str, Any]:
    content = [{"type": kind, "text": text} for kind, text in parts]
    return {"role": "assistant", "content": content}


def test_only_the_last_answer_has_its_reasoning() -> None:
    template = harmony()
    tok = zeton.pretrained("o200k_harmony")
    thought = answer(("analysis", "Add."), ("final", "Four."))
    rendered = template.render([CHAT[0], thought, CHAT[2], thought], tokenizer=tok)
    final = "<|channel|>final<|message|>Four."
    analysis = "<|channel|>analysis<|message|>Add.<|end|>"
    expected = f"{final}<|end|>{analysis}<|start|>assistant{final}<|return|>"
    assert trained(rendered, tok) == expected
    assert [span.part for span in rendered.spans if span.message == 1] == [None, 1]
    assert [span.part for span in rendered.spans if span.message == 3] == [None, 0, 1]


def test_an_answer_that_is_only_reasoning_is_dropped() -> None:
    tok = zeton.pretrained("o200k_harmony")
    chat = [CHAT[0], answer(("analysis", "Add.")), CHAT[2]]
    text = tok.decode(harmony().render_prompt(chat, tokenizer=tok).ids)
    assert text.endswith("2+2?<|end|><|start|>user<|message|>3+3?<|end|><|start|>assistant")


def test_a_date_and_an_effort_are_written() -> None:
    begin = harmony(date="2026-11-19", reasoning="high").begin
    assert "Current date: 2026-11-19\n\nReasoning: high\n" in begin
    assert "Current date" not in harmony().begin


def test_white_space_around_a_message_is_removed_where_the_model_does() -> None:
    chat = [{"role": "user", "content": "\n hi \n"}]
    for template, text in (
        (GEMMA, "user\nhi<end"),
        (LLAMA3, "\n\nhi<|eot"),
        (CHATML, "\n\n hi \n<|im"),
    ):
        tok = tokenizer_for(template)
        assert text in tok.decode(template.render_prompt(chat, tokenizer=tok).ids)


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda: get_template("qwen"), "there is no template 'qwen'; did you mean 'qwen2.5'?"),
        (lambda: get_template("lama3"), "there is no template 'lama3'; did you mean 'llama3'?"),
        (
            lambda: harmony(reasoning="hihg"),  # type: ignore[arg-type]
            "reasoning is 'hihg'; did you mean 'high'?",
        ),
    ],
)
def test_a_misspelt_name_gets_the_nearest(call: Any, refusal: str) -> None:
    with pytest.raises(ChatError) as caught:
        call()
    assert str(caught.value) == refusal


def test_published_templates_travel_as_json(tmp_path: Path) -> None:
    for template in TEMPLATES.values():
        assert Template.from_json(template.to_json()) == template
    tok = tokenizer_for(QWEN)
    assert Template.of(zeton.load(QWEN.attach_to(tok).save(tmp_path))) == QWEN


@given(
    st.sampled_from(sorted(TEMPLATES)),
    st.lists(texts, min_size=1, max_size=7),
    st.none() | texts,
    st.floats(0, 1),
)
def test_a_shortened_chat_fits_and_keeps_its_last_question(
    name: str, contents: list[str], system: str | None, share: float
) -> None:
    template = get_template(name)
    tok = tokenizer_for(template)
    chat = [message(("user", "assistant")[at % 2], text) for at, text in enumerate(contents)]
    if system is not None:
        chat.insert(0, message("system", system))
    whole = template.render(chat, tokenizer=tok)
    max_tokens = 1 + int(share * len(whole.ids))
    try:
        ids, mask, spans = template.render(chat, tokenizer=tok, max_tokens=max_tokens)
    except ChatError as error:
        assert max_tokens < int(str(error).rsplit(" ", 1)[1]) <= len(whole.ids)  # noqa: PT017
        return
    assert len(ids) == len(mask) <= max_tokens
    assert ids[: len(tok.encode(template.begin, allowed_special="all"))] == tok.encode(
        template.begin, allowed_special="all"
    )
    asked = max(at for at, each in enumerate(chat) if each["role"] == "user")
    assert asked in {span.message for span in spans}
    if 1 in whole.mask:
        assert 1 in mask
    assert all(0 <= span.start <= span.stop <= len(ids) for span in spans)
