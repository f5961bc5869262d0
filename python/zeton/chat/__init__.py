"""Chats become ids with a loss mask, by templates that are data.

The text of a message is encoded without special tokens, so it cannot forge a mark.
"""

from zeton.chat.messages import Conversation
from zeton.chat.render import Keep, Rendered, Renderer, Span
from zeton.chat.template import Part, Role, Template
from zeton.chat.templates import (
    CHATML,
    GEMMA,
    LLAMA3,
    MISTRAL,
    MISTRAL_NEMO,
    NANOCHAT,
    QWEN,
    get_template,
    harmony,
    llama3_1,
)

__all__ = [
    "CHATML",
    "GEMMA",
    "LLAMA3",
    "MISTRAL",
    "MISTRAL_NEMO",
    "NANOCHAT",
    "QWEN",
    "Conversation",
    "Keep",
    "Part",
    "Rendered",
    "Renderer",
    "Role",
    "Span",
    "Template",
    "get_template",
    "harmony",
    "llama3_1",
]
