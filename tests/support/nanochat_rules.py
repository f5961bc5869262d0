"""nanochat's rendering of chats, stated once more in the plainest way, and chats to render."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from support.strategies import odd_text
from zeton.chat import CHATML, NANOCHAT

Chat = list[dict[str, Any]]

SPECIALS = [*NANOCHAT.specials, *CHATML.specials, "<|go|>"]

# Texts that try to be specials among the others.
texts = st.one_of(
    odd_text, st.lists(st.sampled_from([*SPECIALS, "low", " ", "\n"]), max_size=4).map("".join)
)


def message(role: object, content: object) -> dict[str, Any]:
    return {"role": role, "content": content}


def contents(*kinds: str) -> st.SearchStrategy[object]:
    """Draw a text, or a list of parts of these types."""
    part = st.fixed_dictionaries({"type": st.sampled_from(kinds), "text": texts})
    return st.one_of(texts, st.lists(part, max_size=4))


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    """Draw a chat that nanochat allows: an optional system message, then questions and answers."""
    chat = [message("system", draw(texts))] if draw(st.booleans()) else []
    answers = contents("text", "python", "python_output")
    for at in range(draw(st.integers(1, 7))):
        role, content = ("user", texts) if at % 2 == 0 else ("assistant", answers)
        chat += [message(role, draw(content))]
    return chat


def render(
    chat: Chat, encode: Callable[[str], list[int]], special: Callable[[str], int]
) -> tuple[list[int], list[int]]:
    """Return the ids and the mask."""
    rows: list[tuple[int, int]] = []

    def mark(name: str, bit: int) -> None:
        rows.append((special(f"<|{name}|>"), bit))

    def write(text: str, bit: int) -> None:
        rows.extend((number, bit) for number in encode(text))

    mark("bos", 0)
    before = ""
    for each in chat:
        content = each["content"]
        if each["role"] == "system":
            before = content + "\n\n"
        elif each["role"] == "user":
            mark("user_start", 0)
            write(before + content, 0)
            mark("user_end", 0)
            before = ""
        else:
            mark("assistant_start", 0)
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for part in parts:
                if part["type"] == "text":
                    write(part["text"], 1)
                elif part["type"] == "python":
                    mark("python_start", 1)
                    write(part["text"], 1)
                    mark("python_end", 1)
                else:
                    mark("output_start", 0)
                    write(part["text"], 0)
                    mark("output_end", 0)
            mark("assistant_end", 1)
    return [number for number, _ in rows], [bit for _, bit in rows]
