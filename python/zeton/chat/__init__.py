"""Chats become ids as a template says: data without code, and content never makes a special."""

from zeton.chat.messages import Conversation
from zeton.chat.render import Keep, Rendered, Renderer, Span
from zeton.chat.template import Part, Role, Template
from zeton.chat.templates import CHATML, NANOCHAT

__all__ = [
    "CHATML",
    "NANOCHAT",
    "Conversation",
    "Keep",
    "Part",
    "Rendered",
    "Renderer",
    "Role",
    "Span",
    "Template",
]
