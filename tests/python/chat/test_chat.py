"""Chats are rendered as their template says, and content never speaks for the template."""

import copy
import dataclasses
import json
import pickle
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support import nanochat_rules
from support.nanochat_rules import SPECIALS, Chat, contents, message, texts
from support.strategies import odd_text, vocab_with
from zeton.chat import CHATML, NANOCHAT, QWEN, Part, Rendered, Role, Span, Template
from zeton.errors import ChatError

IDS = {name: 1000 + at for at, name in enumerate(SPECIALS)}
TOKENS = [b"\n\n", b"lo", b"low", b"hi", b"user", b"assistant", b".\n\n"]
TOK = zeton.Tokenizer(vocab_with(TOKENS), specials=IDS)

# Every rule at once: roles without marks, parts with and without marks, joins anywhere.
FREE = Template(
    name="free",
    begin="<|bos|>",
    roles={
        "note": Role(joins=" | "),
        "user": Role("<|user_start|>", "!", parts={"text": Part(), "quote": Part("> ", "<|go|>")}),
        "assistant": Role("<|go|>", in_loss=True, parts={"text": Part("=", in_loss=False)}),
        "narrator": Role(),
    },
    specials=("<|bos|>", "<|user_start|>", "<|go|>"),
)


def asked(content: object) -> dict[str, Any]:
    return message("user", content)


def answered(content: object) -> dict[str, Any]:
    return message("assistant", content)


def shown(rendered: Rendered) -> str:
    return TOK.decode(rendered.ids)


def trained(rendered: Rendered) -> str:
    return TOK.decode([id for id, bit in zip(rendered.ids, rendered.mask, strict=True) if bit])  # noqa: A001


@st.composite
def free_chats(draw: st.DrawFn) -> Chat:
    """Draw messages of all roles in any order; a note joins a text."""
    chat: Chat = []
    for role in draw(st.lists(st.sampled_from(list(FREE.roles)), min_size=1, max_size=8)):
        kinds = [] if chat and chat[-1]["role"] == "note" else list(FREE.roles[role].parts)
        chat.append(message(role, draw(contents(*kinds) if kinds else texts)))
    return [*chat, asked(draw(texts))] if chat[-1]["role"] == "note" else chat


chats = st.one_of(
    st.tuples(st.just(NANOCHAT), nanochat_rules.chats()), st.tuples(st.just(FREE), free_chats())
)


@given(nanochat_rules.chats())
def test_nanochat_is_rendered_by_its_rules(chat: Chat) -> None:
    rendered = NANOCHAT.render(chat, tokenizer=TOK)
    assert (rendered.ids, rendered.mask) == nanochat_rules.render(chat, TOK.encode, IDS.__getitem__)


def test_chatml_reads_as_chatml() -> None:
    chat = [message("system", "Be kind."), asked("hi"), answered("low"), asked("?")]
    assert shown(CHATML.render(chat, tokenizer=TOK)) == (
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\nlow<|im_end|>\n<|im_start|>user\n?<|im_end|>\n"
    )
    assert trained(CHATML.render(chat, tokenizer=TOK)) == "low<|im_end|>\n"


def test_tools_stand_between_answers() -> None:
    chat = [asked("2+2?"), answered("add(2, 2)"), message("tool", "4"), answered("Four.")]
    assert trained(CHATML.render(chat, tokenizer=TOK)) == "add(2, 2)<|im_end|>\nFour.<|im_end|>\n"
    prompt = CHATML.render_prompt(chat[:3], tokenizer=TOK)
    assert shown(prompt).endswith("<|im_start|>tool\n4<|im_end|>\n<|im_start|>assistant\n")


def test_a_prompt_ends_with_the_start_of_an_answer() -> None:
    prompt = NANOCHAT.render_prompt([message("system", "Short."), asked("hi")], tokenizer=TOK)
    assert shown(prompt) == "<|bos|><|user_start|>Short.\n\nhi<|user_end|><|assistant_start|>"
    assert not any(prompt.mask)
    assert prompt.spans[-1].stop == len(prompt.ids) - 2


def test_a_mark_with_a_special_that_is_not_listed_is_refused() -> None:
    template = dataclasses.replace(NANOCHAT, begin="<|bos|><|go|>")
    with pytest.raises(ChatError, match=r"contains the special token '<\|go\|>', which is"):
        template.render([asked("hi")], tokenizer=TOK)


def test_a_tokenizer_behind_another_surface_is_taken() -> None:
    enc = zeton.tiktoken.Encoding._of("own", TOK)
    chat = [asked("hi"), answered("low")]
    assert NANOCHAT.render(chat, tokenizer=enc) == NANOCHAT.render(chat, tokenizer=TOK)  # type: ignore[arg-type]


def test_a_cut_answer_ends_with_an_id_of_the_loss_mask() -> None:
    parts = [{"type": "text", "text": "low"}, {"type": "python_output", "text": "123456"}]
    rendered = NANOCHAT.render(
        [asked("why"), answered([*parts, parts[0]])], tokenizer=TOK, max_tokens=12
    )
    assert shown(rendered).endswith("<|assistant_start|>low")
    assert rendered.spans[-1].stop == len(rendered.ids)


@given(chats)
def test_spans_tile_the_chat_and_its_messages(drawn: tuple[Template, Chat]) -> None:
    template, chat = drawn
    ids, mask, spans = template.render(chat, tokenizer=TOK)
    assert len(ids) == len(mask)
    assert [span.start for span in spans] == sorted(span.start for span in spans)
    place = len(TOK.encode(template.begin, allowed_special=template.specials))
    found = {(span.message, span.part): span for span in spans}
    assert len(found) == len(spans)
    joined = ""
    for at, each in enumerate(chat):
        role, content = template.roles[each["role"]], each["content"]
        parts = [{"type": None, "text": content}] if isinstance(content, str) else content
        assert {(at, part) for part in (None, *range(len(parts)))} <= set(found)
        if role.joins is not None:
            joined += content + role.joins
            following = next(i for i in range(at, len(chat)) if chat[i]["role"] != each["role"])
            text = found[following, 0]
            assert found[at, None][:2] == found[at, 0][:2] == text[:2]
            continue
        whole = found.pop((at, None))
        assert (whole.start, whole.role) == (place, each["role"])
        place += len(TOK.encode(role.start, allowed_special=template.specials))
        for part_at, part in enumerate(parts):
            start, stop, *_ = found.pop((at, part_at))
            assert start == place
            kind = role.parts.get(part["type"], Part())
            marks = [
                TOK.encode(mark, allowed_special=template.specials)
                for mark in (kind.start, kind.end)
            ]
            assert ids[start:stop] == marks[0] + TOK.encode(joined + part["text"]) + marks[1]
            if part["type"] is None:
                assert TOK.decode(ids[start:stop]) == joined + content
            assert mask[start:stop] == [int(role.in_loss and kind.in_loss)] * (stop - start)
            place, joined = stop, ""
        end = TOK.encode(role.end, allowed_special=template.specials)
        assert ids[place : whole.stop] == end
        assert mask[place : whole.stop] == [int(role.in_loss)] * len(end)
        place = whole.stop
        joined = ""
    assert place == len(ids)


@given(chats)
def test_content_never_makes_a_special(drawn: tuple[Template, Chat]) -> None:
    template, chat = drawn
    blank: Chat = copy.deepcopy(chat)
    for each in blank:
        if isinstance(each["content"], str):
            each["content"] = ""
        else:
            each["content"] = [part | {"text": ""} for part in each["content"]]
    specials = [
        [id for id in template.render(each, tokenizer=TOK).ids if id >= 1000]  # noqa: A001
        for each in (chat, blank)
    ]
    assert specials[0] == specials[1]


@given(chats)
def test_the_conversation_is_left_as_it_was(drawn: tuple[Template, Chat]) -> None:
    template, chat = drawn
    before = copy.deepcopy(chat)
    template.render({"messages": chat}, tokenizer=TOK)
    assert chat == before


def test_missing_keys_are_not_made_up() -> None:
    given: defaultdict[str, str] = defaultdict(str, role="user")
    with pytest.raises(ChatError):
        NANOCHAT.render([given], tokenizer=TOK)
    assert given == {"role": "user"}


def test_a_conversation_is_a_list_or_holds_one() -> None:
    chat = [asked("hi") | {"extra": [1]}, answered([{"type": "text", "text": "low", "more": 2}])]
    expected = NANOCHAT.render(chat, tokenizer=TOK)
    assert NANOCHAT.render({"messages": chat, "id": 7}, tokenizer=TOK) == expected
    assert NANOCHAT.render(tuple(chat), tokenizer=TOK) == expected
    assert NANOCHAT.bind(TOK).render(chat) == expected


# Truncation.

TURNS = [asked("111"), answered("1"), asked("222"), answered("2"), asked("333"), answered("3")]


def exchanges_left(rendered: Rendered) -> list[int]:
    return sorted({span.message // 2 for span in rendered.spans})


@pytest.mark.parametrize(
    ("max_tokens", "keep", "left"),
    [
        (25, "last", [0, 1, 2]),
        (24, "last", [1, 2]),
        (17, "last", [1, 2]),
        (16, "last", [2]),
        (25, "first", [0, 1, 2]),
        (24, "first", [0, 2]),
        (17, "first", [0, 2]),
        (16, "first", [2]),
    ],
)
def test_whole_exchanges_are_dropped(max_tokens: int, keep: Any, left: list[int]) -> None:
    rendered = NANOCHAT.render(TURNS, tokenizer=TOK, max_tokens=max_tokens, keep=keep)
    assert exchanges_left(rendered) == left
    assert trained(rendered) == "".join(f"{each + 1}<|assistant_end|>" for each in left)


def test_a_dropped_exchange_ends_what_is_kept() -> None:
    chat = [asked("a"), answered("a"), asked("b" * 50), answered("b"), asked("c"), answered("c")]
    renderer = NANOCHAT.bind(TOK)
    assert exchanges_left(renderer.render(chat, max_tokens=20, keep="last")) == [2]
    assert exchanges_left(renderer.render(chat[2:] + chat[:2], max_tokens=20, keep="first")) == [2]


def test_a_joined_text_goes_to_the_first_exchange_that_is_kept() -> None:
    chat = [message("system", "Be."), *TURNS]
    rendered = NANOCHAT.render(chat, tokenizer=TOK, max_tokens=20)
    assert shown(rendered).startswith("<|bos|><|user_start|>Be.\n\n222<|user_end|>")
    start, stop, *_ = rendered.spans[1]
    assert rendered.spans[1:4] == [
        Span(start, stop, 0, None, "system"),
        Span(start, stop, 0, 0, "system"),
        Span(start, stop, 3, 0, "user"),
    ]
    assert TOK.decode(rendered.ids[start:stop]) == "Be.\n\n222"
    assert shown(NANOCHAT.render(chat, tokenizer=TOK, max_tokens=19)).startswith(
        "<|bos|><|user_start|>Be.\n\n333"
    )


def test_a_head_is_kept() -> None:
    chat = [message("system", "Be."), *TURNS]
    rendered = CHATML.render(chat, tokenizer=TOK, max_tokens=40)
    assert shown(rendered).startswith("<|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\n333")


def test_an_id_of_the_loss_mask_is_kept_where_the_chat_ends_with_a_question() -> None:
    chat = [*TURNS, asked("444")]
    assert trained(NANOCHAT.render(chat, tokenizer=TOK, max_tokens=14)) == "3<|assistant_end|>"
    with pytest.raises(ChatError, match=r"max_tokens is 13, but .* allow at least 14"):
        NANOCHAT.render(chat, tokenizer=TOK, max_tokens=13)


@pytest.mark.parametrize("keep", ["last", "first"])
def test_an_exchange_to_learn_from_is_the_latest_that_fits(keep: Any) -> None:
    chat = [asked("a"), answered("b"), asked("c"), answered("d" * 5), asked("e")]

    def left(max_tokens: int) -> set[int]:
        return {
            span.message
            for span in NANOCHAT.render(chat, tokenizer=TOK, max_tokens=max_tokens, keep=keep).spans
        }

    assert left(14) == {2, 3, 4}
    assert left(13) == {0, 1, 4}
    with pytest.raises(ChatError, match="allow at least 10"):
        NANOCHAT.render(chat, tokenizer=TOK, max_tokens=9, keep=keep)


def test_only_the_last_answer_is_cut() -> None:
    chat = [asked("why"), answered("low low low")]
    rendered = NANOCHAT.render(chat, tokenizer=TOK, max_tokens=10)
    assert shown(rendered) == "<|bos|><|user_start|>why<|user_end|><|assistant_start|>low low"


def test_an_answer_is_cut_down_to_one_id_of_the_loss_mask() -> None:
    tool = {"type": "python_output", "text": "123"}
    chat = [asked("why"), answered([tool, {"type": "text", "text": "low"}])]
    assert trained(NANOCHAT.render(chat, tokenizer=TOK, max_tokens=13)) == "low"
    with pytest.raises(ChatError, match=r"max_tokens is 12, but .* allow at least 13"):
        NANOCHAT.render(chat, tokenizer=TOK, max_tokens=12)


def test_a_cut_message_has_a_clipped_span() -> None:
    said = [{"type": "text", "text": "abcdef"}, {"type": "python", "text": "1"}]
    rendered = NANOCHAT.render([asked("hi"), answered(said)], tokenizer=TOK, max_tokens=7)
    assert rendered.spans == [
        Span(1, 4, 0, None, "user"),
        Span(2, 3, 0, 0, "user"),
        Span(4, 7, 1, None, "assistant"),
        Span(5, 7, 1, 0, "assistant"),
    ]


def test_a_prompt_is_never_cut_within() -> None:
    chat = [*TURNS, asked("444")]
    assert shown(NANOCHAT.render_prompt(chat, tokenizer=TOK, max_tokens=7)).endswith(
        "444<|user_end|><|assistant_start|>"
    )
    with pytest.raises(ChatError, match=r"max_tokens is 6, but .* allow at least 7"):
        NANOCHAT.render_prompt(chat, tokenizer=TOK, max_tokens=6)
    with pytest.raises(ChatError, match=r"max_tokens is 25, but .* allow at least 26"):
        CHATML.render_prompt(
            [asked("hi"), answered("low"), message("tool", "low" * 3)], tokenizer=TOK, max_tokens=25
        )


def test_a_chat_that_is_too_long_may_be_refused() -> None:
    assert NANOCHAT.render(TURNS, tokenizer=TOK, max_tokens=25, keep="error") == NANOCHAT.render(
        TURNS, tokenizer=TOK
    )
    with pytest.raises(ChatError, match="the chat has 25 tokens, but max_tokens is 24;"):
        NANOCHAT.render(TURNS, tokenizer=TOK, max_tokens=24, keep="error")


def test_a_chat_without_a_question_is_not_shortened() -> None:
    with pytest.raises(ChatError, match=r"max_tokens is 3, but .* allow at least 7"):
        FREE.render([message("narrator", "abcdef")], tokenizer=TOK, max_tokens=3)


shares = st.floats(0, 1.1)
"""How much of the whole chat there is room for."""


def question_of(chat: Chat) -> int | None:
    return max((at for at, each in enumerate(chat) if each["role"] == "user"), default=None)


def ids_of(rendered: Rendered, at: int) -> list[int]:
    spans = [span for span in rendered.spans if (span.message, span.part) == (at, None)]
    return rendered.ids[spans[0].start : spans[0].stop] if spans else []


@given(chats, shares, st.sampled_from(["last", "first"]), st.booleans())
def test_what_is_shortened_fits_and_keeps_what_matters(
    drawn: tuple[Template, Chat],
    share: float,
    keep: Any,
    prompt: bool,  # noqa: FBT001
) -> None:
    template, chat = drawn
    renderer = template.bind(TOK)
    if prompt and template is NANOCHAT and chat[-1]["role"] != "user":
        chat = chat[:-1]
    render: Callable[..., Rendered] = renderer.render_prompt if prompt else renderer.render
    whole = render(chat)
    max_tokens = 1 + int(share * len(whole.ids))
    try:
        rendered = render(chat, max_tokens=max_tokens, keep=keep)
    except ChatError as error:
        assert max_tokens < len(whole.ids)
        if "at least" in str(error):
            needed = int(str(error).rsplit(" ", 1)[1])
            assert max_tokens < needed
            assert len(render(chat, max_tokens=needed, keep=keep).ids) <= needed
            with pytest.raises(ChatError):
                render(chat, max_tokens=needed - 1, keep=keep)
        return
    assert len(rendered.ids) == len(rendered.mask) <= max_tokens
    assert all(0 <= span.start <= span.stop <= len(rendered.ids) for span in rendered.spans)
    if len(whole.ids) <= max_tokens:
        assert rendered == whole
        return
    assert prompt or (1 in rendered.mask) == (1 in whole.mask)
    last = question_of(chat)
    assert last is not None
    content, role = chat[last]["content"], template.roles["user"]
    if isinstance(content, str):  # Another text may be joined to it than in the whole chat.
        text = TOK.decode(ids_of(rendered, last))
        assert text.startswith(role.start)
        assert text.endswith(content + role.end)
    if not isinstance(content, str) or not any(each["role"] in ("system", "note") for each in chat):
        assert ids_of(rendered, last) == ids_of(whole, last)


@given(nanochat_rules.chats(), shares, st.sampled_from(["last", "first"]))
def test_as_many_exchanges_are_kept_as_fit(chat: Chat, share: float, keep: Any) -> None:
    max_tokens = 1 + int(share * len(NANOCHAT.render(chat, tokenizer=TOK).ids))
    system = chat[:1] if chat[0]["role"] == "system" else []
    turns = chat[len(system) :]
    exchanges = [turns[at : at + 2] for at in range(0, len(turns), 2)]
    must = exchanges[-2:] if len(exchanges[-1]) == 1 else exchanges[-1:]
    others = exchanges[: len(exchanges) - len(must)]
    fitting = []
    for count in range(len(others) + 1):
        left = others[len(others) - count :] if keep == "last" else others[:count]
        kept = [each for exchange in [*left, *must] for each in exchange]
        rendered = NANOCHAT.render(system + kept, tokenizer=TOK)
        if len(rendered.ids) > max_tokens:
            break
        fitting.append(rendered)
    if fitting:
        rendered = NANOCHAT.render(chat, tokenizer=TOK, max_tokens=max_tokens, keep=keep)
        assert (rendered.ids, rendered.mask) == (fitting[-1].ids, fitting[-1].mask)


# Templates as data.

marks = st.lists(st.sampled_from(["<|go|>", "é", "\n", '"', "a"]), max_size=3).map("".join)
parts = st.builds(Part, marks, marks, st.booleans(), st.none() | marks, st.booleans())
orders = st.none() | st.lists(st.sampled_from(["", "user", "assistant"])).map(tuple)
roles = st.builds(
    Role,
    marks,
    marks,
    st.booleans(),
    st.dictionaries(marks.filter(bool), parts),
    orders,
    strip=st.booleans(),
    suffix=marks,
    start_each=st.booleans(),
)
templates = st.builds(
    Template,
    odd_text,
    marks,
    st.fixed_dictionaries(
        {"user": roles, "assistant": roles, "note": st.builds(Role, after=orders, joins=marks)}
    ),
    st.just(("<|go|>",)),
)


@given(templates | st.sampled_from([NANOCHAT, CHATML, QWEN, FREE]))
def test_a_template_comes_back_from_json(template: Template) -> None:
    again = Template.from_json(template.to_json())
    assert again == template
    assert hash(again) == hash(template)
    assert again.to_json() == template.to_json()


def test_json_that_a_person_writes_may_leave_out_defaults() -> None:
    text = '{"name": "short", "roles": {"user": {"end": "\\n"}, "assistant": {"in_loss": true}}}'
    roles = {"user": Role(end="\n"), "assistant": Role(in_loss=True)}
    assert Template.from_json(text) == Template("short", roles=roles)
    assert '"é"' in Template("é", roles=roles).to_json()


def test_a_template_travels_in_the_file(tmp_path: Path) -> None:
    assert Template.of(TOK) is None
    tok = NANOCHAT.attach_to(TOK)
    assert tok == TOK
    assert tok.made_by.items() > TOK.made_by.items()
    assert Template.of(zeton.load(tok.save(tmp_path))) == NANOCHAT
    assert Template.of(CHATML.attach_to(tok)) == CHATML


def test_a_template_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(NANOCHAT)) == NANOCHAT  # noqa: S301
    assert copy.deepcopy(NANOCHAT.roles["assistant"]) == NANOCHAT.roles["assistant"]
    assert dataclasses.replace(NANOCHAT, name="other") != NANOCHAT
    roles = {"user": Role(), "assistant": Role()}
    template = Template("t", roles=roles, specials=["<|go|>"])  # type: ignore[arg-type]
    roles["user"] = Role("changed")
    assert template.roles["user"] == Role()
    assert template.specials == ("<|go|>",)
    with pytest.raises(TypeError):
        template.roles["user"] = Role()  # type: ignore[index]


# Refusals.

HUGE = 10**5000
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]

ASKED = asked("a")


@pytest.mark.parametrize(
    ("conversation", "refusal"),
    [
        (
            7,
            (
                "the conversation is of type int; it must be a list of messages, "
                "or a mapping with 'messages'"
            ),
        ),
        (
            "hi",
            (
                "the conversation is 'hi'; it must be a list of messages, "
                "or a mapping with 'messages'"
            ),
        ),
        ({"message": []}, "the conversation has no 'messages'; rename its key 'message'"),
        ({"text": []}, "the conversation has no 'messages'; add one"),
        (
            {"messages": {}},
            (
                "the conversation is of type dict; it must be a list of messages, "
                "or a mapping with 'messages'"
            ),
        ),
        ([], "the conversation is empty; give at least one message"),
        ({"messages": ()}, "the conversation is empty; give at least one message"),
        (["hi"], "message 0 is 'hi'; it must be a mapping with 'role'"),
        ([ASKED, DEEP], "message 1 is of type list; it must be a mapping with 'role'"),
        ([{"content": "a"}], "message 0 has no 'role'; add one"),
        ([{"role": "user"}], "message 0 has no 'content'; add one"),
        ([message(DEEP, "a")], "the role of message 0 is of type list; it must be a str"),
        (
            [message("asistant", "a")],
            (
                "message 0 has the role 'asistant', which 'nanochat' does not have; "
                "did you mean 'assistant'?"
            ),
        ),
        (
            [message("\n" + "r" * 99, "a")],
            (
                f"message 0 has the role '\\n{'r' * 38}…', which 'nanochat' does not have; "
                "known are 'system', 'user' and 'assistant'"
            ),
        ),
        ([asked(HUGE)], "the content of message 0 is of type int; it must be a str"),
        ([asked(b"a")], "the content of message 0 is of type bytes; it must be a str"),
        ([asked([])], "the content of message 0 is of type list; it must be a str"),
        (
            [ASKED, answered(None)],
            "the content of message 1 is of type NoneType; it must be a str or a list of parts",
        ),
        (
            [ASKED, answered(None) | {"tool_calls": [{"name": "add"}]}],
            (
                "message 1 has tool_calls, which no template of zeton renders; "
                "write the calls into its content, as the model expects them"
            ),
        ),
        ([ASKED, answered(["a"])], "part 0 of message 1 is 'a'; it must be a mapping with 'type'"),
        ([ASKED, answered([{}])], "part 0 of message 1 has no 'type'; add one"),
        ([ASKED, answered([{"type": "text"}])], "part 0 of message 1 has no 'text'; add one"),
        (
            [ASKED, answered([{"type": "text", "text": HUGE}])],
            "the text of part 0 of message 1 is of type int; it must be a str",
        ),
        (
            [ASKED, answered([{"type": "pyton", "text": ""}])],
            (
                "part 0 of message 1 has the type 'pyton', which 'assistant' does not have; "
                "did you mean 'python'?"
            ),
        ),
        (
            [message("system", "a")],
            (
                "the last message has the role 'system', whose text joins another message; "
                "add the message that it joins"
            ),
        ),
        (
            [answered("a")],
            (
                "message 0 has the role 'assistant', which cannot begin a chat; "
                "begin with 'system' or 'user'"
            ),
        ),
        (
            [ASKED, answered("a"), ASKED, ASKED],
            (
                "message 3 has the role 'user' after a message of 'user'; "
                "after 'user' comes 'assistant'"
            ),
        ),
        (
            [ASKED, message("system", "b")],
            (
                "message 1 has the role 'system' after a message of 'user'; "
                "after 'user' comes 'assistant'"
            ),
        ),
    ],
)
def test_refuses_what_is_no_chat(conversation: Any, refusal: str) -> None:
    with pytest.raises(ChatError) as caught:
        NANOCHAT.render(conversation, tokenizer=TOK)
    assert str(caught.value) == refusal
    with pytest.raises(ChatError):
        NANOCHAT.render_prompt(conversation, tokenizer=TOK)


def test_refuses_to_join_parts() -> None:
    chat = [message("note", "a"), message("user", [{"type": "text", "text": "b"}])]
    with pytest.raises(
        ChatError, match=r"message 0 \(note\) joins message 1 \(user\), whose content"
    ):
        FREE.render(chat, tokenizer=TOK)


def test_refuses_a_prompt_after_an_answer() -> None:
    with pytest.raises(ChatError, match="the prompt ends with a message of 'assistant', which"):
        NANOCHAT.render_prompt(TURNS, tokenizer=TOK)


@pytest.mark.parametrize(
    ("max_tokens", "keep", "kind", "refusal"),
    [
        (0, "last", ChatError, "max_tokens is less than 1; give at least 1"),
        (-1, "last", ChatError, "max_tokens is less than 1; give at least 1"),
        (True, "last", TypeError, "max_tokens must be an int or None, not bool"),
        ("5", "last", TypeError, "max_tokens must be an int or None, not str"),
        (None, "lst", ChatError, "keep is 'lst'; did you mean 'last'?"),
        (
            5,
            None,
            ChatError,
            "keep is of type NoneType; known are 'last', 'first' and 'error'",
        ),
    ],
)
def test_refuses_a_limit(max_tokens: Any, keep: Any, kind: type, refusal: str) -> None:
    with pytest.raises(kind) as caught:
        NANOCHAT.render(TURNS, tokenizer=TOK, max_tokens=max_tokens, keep=keep)
    assert str(caught.value) == refusal


def test_huge_limits_are_limits() -> None:
    assert NANOCHAT.render(TURNS, tokenizer=TOK, max_tokens=HUGE) == NANOCHAT.render(
        TURNS, tokenizer=TOK
    )
    with pytest.raises(ChatError, match="max_tokens is less than 1"):
        NANOCHAT.render(TURNS, tokenizer=TOK, max_tokens=-HUGE)


def test_refuses_a_tokenizer_without_the_specials() -> None:
    bare = zeton.Tokenizer(vocab_with([]), specials={"<|im_end|>": 256})
    refusal = (
        "the tokenizer lacks the special token '<|im_start|>', which the template 'chatml' needs; "
        "add them: tok.with_specials(template.specials)"
    )
    for use in (CHATML.bind, CHATML.attach_to):
        with pytest.raises(ChatError) as caught:
            use(bare)
        assert str(caught.value) == refusal
    with pytest.raises(ChatError, match=r"lacks the special tokens '<\|bos\|>', .* and '<"):
        NANOCHAT.bind(bare)


@pytest.mark.parametrize("use", [NANOCHAT.bind, NANOCHAT.attach_to, Template.of])
def test_refuses_what_is_no_tokenizer(use: Callable[[Any], object]) -> None:
    with pytest.raises(
        TypeError, match=r"must be a zeton\.Tokenizer, not str; zeton\.load reads one"
    ):
        use("gpt2")


PAIR = {"user": Role(), "assistant": Role()}


@pytest.mark.parametrize(
    ("kind", "given", "refusal"),
    [
        (Part, {"start": 1}, "start of a part is of type int; it must be a str"),
        (Part, {"in_loss": 1}, "in_loss of a part is of type int; it must be a bool"),
        (Part, {"only_last": None}, "only_last of a part is of type NoneType; it must be a bool"),
        (Role, {"end": None}, "end of a role is of type NoneType; it must be a str"),
        (
            Role,
            {"start": "\ud800"},
            "start of a role is '\\ud800', which holds a lone surrogate; remove it",
        ),
        (Role, {"parts": []}, "parts of a role is of type list; it must be a mapping"),
        (Role, {"parts": {"a": 1}}, "'a' in parts of a role is of type int; it must be a Part"),
        (
            Role,
            {"parts": {1: Part()}},
            "a name in parts of a role is of type int; it must be a str",
        ),
        (
            Role,
            {"parts": {"": Part()}},
            "a name in parts of a role is empty; it must have at least one character",
        ),
        (Role, {"after": "user"}, "after of a role is 'user'; it must be a list of str"),
        (Role, {"after": [1]}, "an item in after of a role is of type int; it must be a str"),
        (Role, {"joins": 1}, "joins of a role is of type int; it must be a str"),
        (
            Role,
            {"joins": "", "end": "a"},
            (
                "a role that joins has a start, an end or parts; remove them, "
                "because its text becomes part of another message"
            ),
        ),
        (
            Role,
            {"joins": "", "default": "a"},
            "a role that joins has a default; remove one of the two",
        ),
        (Role, {"joins_to": "lst"}, "joins_to is 'lst'; did you mean 'last'?"),
        (
            Role,
            {"parts": {"final": Part()}, "text_type": "finl"},
            ("text_type is 'finl', which is no type of part of this role; did you mean 'final'?"),
        ),
        (Template, {"name": 1}, "name of a template is of type int; it must be a str"),
        (Template, {"specials": [""]}, "a special of the template is empty; remove it"),
        (
            Template,
            {"specials": None},
            "specials of a template is of type NoneType; it must be a list of str",
        ),
        *(
            (
                Template,
                wrong,
                (
                    "the template names the role 'x', which it does not define; "
                    "known are 'user' and 'assistant'"
                ),
            )
            for wrong in (
                {"asks": "x"},
                {"answers": "x"},
                {"roles": PAIR | {"user": Role(after=("x",))}},
            )
        ),
        (
            Template,
            {"roles": PAIR | {"user": Role(joins="")}},
            (
                "the role 'user' asks or answers, so it cannot join another message; "
                "set its joins to None"
            ),
        ),
        (
            Template,
            {"roles": PAIR | {"a": Role(default=""), "b": Role(default="")}},
            "'a' and 'b' have a default each; a chat begins with at most one",
        ),
    ],
)
def test_refuses_what_is_no_template(
    kind: Callable[..., object], given: dict[str, Any], refusal: str
) -> None:
    with pytest.raises(ChatError) as caught:
        kind(**({"name": "t", "roles": PAIR} | given if kind is Template else given))
    assert str(caught.value) == refusal


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("{", "the template is not valid JSON: Expecting property name"),
        ("[" * 100_000, "the template is not valid JSON: "),
        (f'{{"name": {"1" * 5000}}}', "the template is not valid JSON: "),
        (
            '{"name": "a", "name": "b"}',
            "the template is not valid JSON: an object has the same key twice",
        ),
        ("[]", "template is of type list; it must be a mapping with 'name'"),
        ("{}", "template has no 'name'; add one"),
        (
            '{"name": "t", "beginn": 1}',
            "template has an unknown key 'beginn'; did you mean 'begin'?",
        ),
        ('{"name": "t", "roles": []}', "template: roles of a template is of type list; "),
        (
            '{"name": "t", "roles": {"user": 1}}',
            "template.roles['user'] is of type int; it must be a JSON object",
        ),
        (
            '{"name": "t", "roles": {"user": {"end": 1}}}',
            "template.roles['user']: end of a role is of type int; it must be a str",
        ),
        (
            '{"name": "t", "roles": {"user": {"x": 1}}}',
            "template.roles['user'] has an unknown key 'x'; known are 'start', ",
        ),
        (
            '{"name": "t", "roles": {"user": {"parts": {"a": {"x": 1}}}}}',
            "template.roles['user'].parts['a'] has an unknown key 'x'; known are 'start', ",
        ),
        (
            '{"name": "\\ud800"}',
            "template: name of a template is '\\ud800', which holds a lone surrogate; remove it",
        ),
    ],
)
def test_refuses_json_that_is_no_template(text: str, refusal: str) -> None:
    with pytest.raises(ChatError) as caught:
        Template.from_json(text)
    assert str(caught.value).startswith(refusal)
    assert "\n" not in str(caught.value)


def test_refuses_json_that_is_no_text() -> None:
    with pytest.raises(TypeError, match="text must be a str, not bytes"):
        Template.from_json(b"{}")  # type: ignore[arg-type]


FIELDS = ["messages", "role", "content", "type", "text", "name", "roles", "user", "parts", "after"]
atoms = st.none() | st.booleans() | st.integers() | st.floats() | odd_text
values = st.recursive(
    atoms | st.just("user"),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=8,
)


@given(values)
def test_nothing_but_our_refusals_comes_out(value: Any) -> None:
    for conversation in (value, [value], [asked(value)], [ASKED, answered(value)]):
        with suppress(ChatError):
            NANOCHAT.render(conversation, tokenizer=TOK)
    for text in (json.dumps(value), json.dumps({"name": "t", "roles": {"user": value}})):
        with suppress(ChatError):
            Template.from_json(text)
