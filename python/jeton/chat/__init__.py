"""Chats become ids as a template says: data without code, and content never makes a special."""

from jeton.chat.messages import Conversation
from jeton.chat.render import Keep, Rendered, Renderer, Span
from jeton.chat.template import Part, Role, Template
from jeton.chat.templates import CHATML, NANOCHAT

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
