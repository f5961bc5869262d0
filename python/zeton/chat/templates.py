"""The published chat formats as templates.

Each equals the chat template that its model publishes, checked by `scripts/chat_vectors.py`.
docs/chat.md lists the differences that a template does not express.
"""

from typing import Literal

from zeton.chat.template import Part, Role, Template
from zeton.chat.values import quote
from zeton.errors import ChatError
from zeton.suggest import did_you_mean

__all__ = [
    "CHATML",
    "EFFORTS",
    "GEMMA",
    "LLAMA3",
    "MISTRAL",
    "MISTRAL_NEMO",
    "NANOCHAT",
    "QWEN",
    "TEMPLATES",
    "get_template",
    "harmony",
    "llama3_1",
]

FIRST = ("",)
"""Only at the start of a chat."""

QUESTION = ("", "system", "assistant")
"""The places of a question."""

NANOCHAT = Template(
    name="nanochat",
    begin="<|bos|>",
    roles={
        "system": Role(after=FIRST, joins="\n\n"),
        "user": Role("<|user_start|>", "<|user_end|>", after=QUESTION),
        "assistant": Role(
            "<|assistant_start|>",
            "<|assistant_end|>",
            in_loss=True,
            parts={
                "text": Part(),
                "python": Part("<|python_start|>", "<|python_end|>"),
                "python_output": Part("<|output_start|>", "<|output_end|>", in_loss=False),
            },
            after=("user",),
        ),
    },
    specials=(
        "<|bos|>",
        "<|user_start|>",
        "<|user_end|>",
        "<|assistant_start|>",
        "<|assistant_end|>",
        "<|python_start|>",
        "<|python_end|>",
        "<|output_start|>",
        "<|output_end|>",
    ),
)
"""nanochat: a system message joins the first question, and an answer may run Python."""


def _chatml(name: str, system: Role, tool: Role) -> Template:
    """Return ChatML with its roles for system messages and for results of tools."""
    return Template(
        name=name,
        roles={
            "system": system,
            "user": Role("<|im_start|>user\n", "<|im_end|>\n", after=QUESTION),
            "assistant": Role(
                "<|im_start|>assistant\n", "<|im_end|>\n", in_loss=True, after=("user", "tool")
            ),
            "tool": tool,
        },
        specials=("<|im_start|>", "<|im_end|>"),
    )


CHATML = _chatml(
    "chatml",
    Role("<|im_start|>system\n", "<|im_end|>\n", after=FIRST),
    Role("<|im_start|>tool\n", "<|im_end|>\n", after=("assistant", "tool")),
)
"""ChatML, with a role for the results of tools."""

QWEN = _chatml(
    "qwen2.5",
    Role(
        "<|im_start|>system\n",
        "<|im_end|>\n",
        after=FIRST,
        default="You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
    ),
    Role(
        "<|im_start|>user\n<tool_response>\n",
        "<|im_end|>\n",
        after=("assistant",),
        suffix="\n</tool_response>",
    ),
)
"""Qwen 2.5: ChatML with a default system message; a tool's result is a message of the user."""


def _llama(name: str, system: Role) -> Template:
    """Return Llama 3's form of chats with its role for system messages."""
    header = "<|start_header_id|>{}<|end_header_id|>\n\n"
    return Template(
        name=name,
        begin="<|begin_of_text|>",
        roles={
            "system": system,
            "user": Role(header.format("user"), "<|eot_id|>", after=QUESTION, strip=True),
            "assistant": Role(
                header.format("assistant"),
                "<|eot_id|>",
                in_loss=True,
                after=("user",),
                strip=True,
            ),
        },
        specials=("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    )


LLAMA_SYSTEM = "<|start_header_id|>system<|end_header_id|>\n\n"

LLAMA3 = _llama("llama3", Role(LLAMA_SYSTEM, "<|eot_id|>", after=FIRST, strip=True))
"""Llama 3: a header before each message, and white space removed from its ends."""


def llama3_1(*, date: str = "26 Jul 2024") -> Template:
    """Return the template of Llama 3.1, 3.2 and 3.3, whose system message names the date.

    >>> llama3_1(date="19 Nov 2026").roles["system"].start.splitlines()[2:4]
    ['Cutting Knowledge Date: December 2023', 'Today Date: 19 Nov 2026']
    """
    dates = f"Cutting Knowledge Date: December 2023\nToday Date: {date}\n\n"
    system = Role(LLAMA_SYSTEM + dates, "<|eot_id|>", after=FIRST, strip=True, default="")
    return _llama("llama3.1", system)


GEMMA = Template(
    name="gemma",
    begin="<bos>",
    roles={
        "system": Role(after=FIRST, joins="\n\n"),
        "user": Role("<start_of_turn>user\n", "<end_of_turn>\n", after=QUESTION, strip=True),
        "assistant": Role(
            "<start_of_turn>model\n", "<end_of_turn>\n", in_loss=True, after=("user",), strip=True
        ),
    },
    specials=("<bos>", "<start_of_turn>", "<end_of_turn>"),
)
"""Gemma 2 and 3: a system message joins the first question; Gemma 2 itself has none."""


def _mistral(name: str, system: Role, *specials: str) -> Template:
    """Return Mistral's form of chats with its role for system messages."""
    return Template(
        name=name,
        begin="<s>",
        roles={
            "system": system,
            "user": Role("[INST]", "[/INST]", after=QUESTION),
            "assistant": Role("", "</s>", in_loss=True, after=("user",)),
        },
        specials=("<s>", "</s>", "[INST]", "[/INST]", *specials),
    )


MISTRAL = _mistral(
    "mistral",
    Role("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", after=FIRST),
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
)
"""Mistral Small 3 and later (mistral-common's version 7): a system message has its own marks."""

MISTRAL_NEMO = _mistral("mistral-nemo", Role(after=FIRST, joins="\n\n", joins_to="last"))
"""Mistral NeMo (mistral-common's version 3): a system message joins the last question."""


def harmony(
    *, date: str | None = None, reasoning: Literal["low", "medium", "high"] = "medium"
) -> Template:
    """Return the template of gpt-oss, for the vocabulary o200k_harmony.

    An answer has the channels `analysis` (reasoning) and `final` as parts; a plain text is `final`.
    A system or developer message holds the instructions. `date` is written as 2025-06-28.

    >>> sorted(harmony().roles["assistant"].parts)
    ['analysis', 'final']
    """
    if reasoning not in EFFORTS:
        raise ChatError(f"reasoning is {quote(reasoning)}{did_you_mean(reasoning, EFFORTS)}")
    today = "" if date is None else f"Current date: {date}\n"
    identity = "You are ChatGPT, a large language model trained by OpenAI."
    channels = "# Valid channels: analysis, commentary, final."
    instructions = Role(
        "<|start|>developer<|message|># Instructions\n\n", "<|end|>", after=FIRST, suffix="\n\n"
    )
    return Template(
        name="harmony",
        begin=(
            f"<|start|>system<|message|>{identity}\nKnowledge cutoff: 2024-06\n{today}\n"
            f"Reasoning: {reasoning}\n\n"
            f"{channels} Channel must be included for every message.<|end|>"
        ),
        roles={
            "system": instructions,
            "developer": instructions,
            "user": Role("<|start|>user<|message|>", "<|end|>", after=(*QUESTION, "developer")),
            "assistant": Role(
                "<|start|>assistant",
                in_loss=True,
                parts={
                    "analysis": Part("<|channel|>analysis<|message|>", "<|end|>", only_last=True),
                    "final": Part("<|channel|>final<|message|>", "<|end|>", last_end="<|return|>"),
                },
                after=("user",),
                text_type="final",
                start_each=True,
            ),
        },
        specials=("<|start|>", "<|message|>", "<|channel|>", "<|end|>", "<|return|>"),
    )


EFFORTS = ("low", "medium", "high")
"""The levels of reasoning that harmony names."""

TEMPLATES: dict[str, Template] = {
    template.name: template
    for template in (
        NANOCHAT,
        CHATML,
        LLAMA3,
        llama3_1(),
        QWEN,
        MISTRAL,
        MISTRAL_NEMO,
        GEMMA,
        harmony(),
    )
}
"""The published templates by name."""


def get_template(name: str) -> Template:
    """Return a published template by its name.

    >>> get_template("qwen2.5") == QWEN
    True
    """
    if name not in TEMPLATES:
        raise ChatError(f"there is no template {quote(name)}{did_you_mean(name, TEMPLATES)}")
    return TEMPLATES[name]
